"""scikit-learn's own checks, in full, for every classifier."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from petiole import PETClassifier

CLASSIFIERS = [
    PETClassifier(),
    PETClassifier.c44(),
    PETClassifier.c45(),
    PETClassifier(criterion="gini", max_features="sqrt", max_bins=16, missing="separate", nominal_splits="binary"),
    PETClassifier(pruning="pruning_set", random_state=0),
]


@parametrize_with_checks(CLASSIFIERS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
