"""scikit-learn's own checks, in full, for every classifier."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from petiole import BaggedPETClassifier, PETClassifier

CLASSIFIERS = [
    PETClassifier(),
    PETClassifier.c44(),
    PETClassifier.c45(),
    PETClassifier(criterion="gini", max_features="sqrt", max_bins=16, missing="separate", nominal_splits="binary"),
    PETClassifier(pruning="pruning_set", random_state=0),
    BaggedPETClassifier(n_estimators=5, random_state=0),
    BaggedPETClassifier.eb_pets(n_estimators=5, random_state=0),
]


def expected_failures(estimator):
    """Rows are drawn for the pruning set or for a bootstrap sample, and a draw cannot know that a weight is copies."""
    if isinstance(estimator, BaggedPETClassifier) or estimator.pruning == "pruning_set":
        reason = "draws rows at random, as scikit-learn's forests do with bootstrap samples under weights"
        return {"check_sample_weight_equivalence_on_dense_data": reason}
    return {}


@parametrize_with_checks(CLASSIFIERS, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)
