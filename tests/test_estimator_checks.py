"""scikit-learn's own checks, in full, for every classifier."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from petiole import (
    BaggedPETClassifier,
    LazyOptionTreesClassifier,
    MOBESPClassifier,
    PETClassifier,
    ProbabilityForestClassifier,
)
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
    LazyOptionTreesClassifier(n_estimators=5, random_state=0),
    LazyOptionTreesClassifier.paper(n_estimators=1, bootstrap=False),
    LazyOptionTreesClassifier(n_estimators=5, min_samples_leaf="auto", oob_score=True, random_state=0),
]


def expected_failures(estimator):
    """Rows are drawn for a bootstrap sample, a pruning set or folds, and a draw cannot know that a weight is copies."""
    draws = isinstance(estimator, ForestClassifier) or getattr(estimator, "pruning", None) == "pruning_set"
    draws |= isinstance(estimator, LazyOptionTreesClassifier) and estimator.bootstrap is not False
    if draws or isinstance(getattr(estimator, "smoothing", None), HGS):
        reason = "draws rows at random, as scikit-learn's forests do with bootstrap samples under weights"
        return {"check_sample_weight_equivalence_on_dense_data": reason}
    return {}


@parametrize_with_checks(CLASSIFIERS, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)
