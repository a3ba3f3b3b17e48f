"""scikit-learn's own checks, in full, for every classifier."""

from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from petiole import (
    BaggedPETClassifier,
    BinnedNaiveBayesClassifier,
    BoostedPETClassifier,
    ConstantClassifier,
    CostSensitiveClassifier,
    DualPerturbCombineClassifier,
    LazyOptionTreesClassifier,
    MOBESPClassifier,
    OOBCalibratedClassifier,
    PETClassifier,
    ProbabilityForestClassifier,
)
from petiole._classifiers.base import TreeBasedClassifier
from petiole._classifiers.ensemble import ForestClassifier
from petiole.calibrators import BinningCalibrator
from petiole.conformal import ConformalClassifier
from petiole.decisions import ExpectedProfitClassifier
from petiole.smoothing import HDP, HGS
from petiole.study import PeerClassifier

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
    BoostedPETClassifier(max_iter=20, random_state=0),
    BoostedPETClassifier(
        0.3, max_iter=10, early_stopping=False, subsample=1.0, max_features=None, min_samples_leaf=1, random_state=0
    ),
    CostSensitiveClassifier(LogisticRegression()),
    CostSensitiveClassifier(PETClassifier()),
    CostSensitiveClassifier(LogisticRegression(), method="relabel", cv=3),
    ExpectedProfitClassifier(LogisticRegression()),
    ExpectedProfitClassifier(
        PETClassifier(), DecisionTreeRegressor(random_state=0), cost=0.5, add_probability=True, cv=3
    ),
    PeerClassifier(DecisionTreeClassifier(random_state=0)),
    BinnedNaiveBayesClassifier(),
    BinnedNaiveBayesClassifier.zadrozny_elkan(alpha=0),
    ConstantClassifier(),
    ConstantClassifier("zero"),
    ConstantClassifier("one"),
    OOBCalibratedClassifier(BaggedPETClassifier(n_estimators=9, random_state=0)),
    OOBCalibratedClassifier(RandomForestClassifier(n_estimators=9, random_state=0), method="venn_abers"),
    OOBCalibratedClassifier(BaggedPETClassifier(n_estimators=9, random_state=0), method="structured_matrix"),
    OOBCalibratedClassifier(BaggedPETClassifier(n_estimators=9, random_state=0), method="spline"),
    OOBCalibratedClassifier(BaggedPETClassifier(n_estimators=9, random_state=0), method=BinningCalibrator(n_bins=20)),
    ConformalClassifier(BaggedPETClassifier(n_estimators=30, random_state=0), random_state=0),
    ConformalClassifier(LogisticRegression(), method="aps", per_class=True, calibration=2, random_state=0),
    LazyOptionTreesClassifier(n_estimators=5, random_state=0),
    LazyOptionTreesClassifier.paper(n_estimators=1, bootstrap=False),
    LazyOptionTreesClassifier(n_estimators=5, min_samples_leaf="auto", oob_score=True, random_state=0),
    DualPerturbCombineClassifier(PETClassifier(), noise=0.1),
    DualPerturbCombineClassifier(PETClassifier(), random_state=0),
    DualPerturbCombineClassifier(BaggedPETClassifier(5, random_state=0), mode="product"),
    DualPerturbCombineClassifier(MOBESPClassifier(9, random_state=0), noise="per_attribute"),
    DualPerturbCombineClassifier(ProbabilityForestClassifier(9, random_state=0), noise=0.2),
    DualPerturbCombineClassifier(LogisticRegression(), 0.1, "monte_carlo", 10, random_state=0),
]


DRAWS = "draws rows at random, as scikit-learn's forests do with bootstrap samples under weights"
DRAWN = {f"check_sample_weight_equivalence_on_{kind}_data": DRAWS for kind in ("dense", "sparse")}


def expected_failures(estimator):
    """Rows are drawn for a bootstrap sample, a pruning set or folds, and a draw cannot know that a weight is copies."""
    if isinstance(estimator, DualPerturbCombineClassifier):
        inner = expected_failures(estimator.estimator) if isinstance(estimator.estimator, TreeBasedClassifier) else {}
        folds = DRAWN if isinstance(estimator.noise, str) else {}
        return {**inner, **folds}
    if isinstance(estimator, (OOBCalibratedClassifier, ConformalClassifier)):
        return DRAWN
    prunes_with_drawn_rows = getattr(estimator, "pruning", None) == "pruning_set"
    learns_from_folds = isinstance(getattr(estimator, "smoothing", None), HGS)
    is_bagged = isinstance(estimator, ForestClassifier)
    is_bagged |= isinstance(estimator, LazyOptionTreesClassifier) and estimator.bootstrap is not False
    is_drawn = isinstance(estimator, BoostedPETClassifier) and (estimator.early_stopping or estimator.subsample < 1)
    if is_bagged or prunes_with_drawn_rows or learns_from_folds or is_drawn:
        return DRAWN
    return {}


@parametrize_with_checks(CLASSIFIERS, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)
