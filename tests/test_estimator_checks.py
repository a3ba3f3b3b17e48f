"""scikit-learn's own checks, in full, for every classifier."""

from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from petiole import (
    BaggedPETClassifier,
    DualPerturbCombineClassifier,
    MOBESPClassifier,
    PETClassifier,
    ProbabilityForestClassifier,
)
from petiole.classifier import TreeBasedClassifier
from petiole.ensemble import ForestClassifier
from petiole.smoothing import HDP, HGS

CLASSIFIERS = [
    PETClassifier(),
    PETClassifier.c44(),
    PETClassifier.c45(),
    PETClassifier(criterion="gini", max_features="sqrt", max_bins=16, missing="separate", nominal_splits="binary"),
    PETClassifier(pruning="pruning_set", random_state=0),
    PETClassifier(smoothing=HGS(alpha="honest")),
    PETClassifier(smoothing=HDP(n_iter=50, burn_in=10, random_state=0)),
    BaggedPETClassifier(n_estimators=5, random_state=0),
    BaggedPETClassifier.eb_pets(n_estimators=5, oob_score=True, random_state=0),
    BaggedPETClassifier(n_estimators=5, voting=True, pruning="error_based", random_state=0),
    MOBESPClassifier(n_estimators=9, random_state=0),
    MOBESPClassifier(n_estimators=9, oob_weight="auto", rows="shared", voters="as_out_of_bag", random_state=0),
    ProbabilityForestClassifier(n_estimators=12, random_state=0),
    ProbabilityForestClassifier(n_estimators=9, max_features="sqrt", components=("raw", "eb"), random_state=0),
    DualPerturbCombineClassifier(PETClassifier(), noise=0.1),
    DualPerturbCombineClassifier(PETClassifier(), random_state=0),
    DualPerturbCombineClassifier(BaggedPETClassifier(5, random_state=0), mode="product"),
    DualPerturbCombineClassifier(MOBESPClassifier(9, random_state=0), noise="per_attribute"),
    DualPerturbCombineClassifier(ProbabilityForestClassifier(9, random_state=0), noise=0.2),
    DualPerturbCombineClassifier(LogisticRegression(), 0.1, "monte_carlo", 10, random_state=0),
]


WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
DRAWS = "draws rows at random, as scikit-learn's forests do with bootstrap samples under weights"


def expected_failures(estimator):
    """Rows are drawn for a bootstrap sample, a pruning set or folds, and a draw cannot know that a weight is copies."""
    if isinstance(estimator, DualPerturbCombineClassifier):
        inner = expected_failures(estimator.estimator) if isinstance(estimator.estimator, TreeBasedClassifier) else {}
        folds = {WEIGHTS: DRAWS} if isinstance(estimator.noise, str) else {}
        return {**inner, **folds}
    draws = isinstance(estimator, ForestClassifier) or estimator.pruning == "pruning_set"
    if draws or isinstance(estimator.smoothing, HGS):
        return {WEIGHTS: DRAWS}
    return {}


@parametrize_with_checks(CLASSIFIERS, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)
