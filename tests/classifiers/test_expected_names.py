"""Names that users of scikit-learn's forests expect."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from count_problems import problem
from petiole import BaggedPETClassifier, MOBESPClassifier, PETClassifier, ProbabilityForestClassifier
from petiole.smoothing import Curtailment

ENSEMBLES = {
    "B-PETs": BaggedPETClassifier.b_pets(n_estimators=6, random_state=0),
    "EB-PETs": BaggedPETClassifier.eb_pets(n_estimators=6, random_state=0),
    "curtailed": BaggedPETClassifier(6, smoothing=Curtailment(), random_state=0),
    "leave one out": BaggedPETClassifier(6, smoothing="hgs", count="distinct", random_state=0),
    "MOB-ESP": MOBESPClassifier(6, random_state=0),
    "flagship": ProbabilityForestClassifier(6, random_state=0),
}


def fitted(name, **parameters):
    X, y, w = problem(4)
    model = clone(ENSEMBLES[name]).set_params(categorical_features=[1], **parameters)
    return model.fit(X, np.array(["a", "b", "c"])[y], w), X


@pytest.mark.parametrize("kind", [PETClassifier, BaggedPETClassifier, ProbabilityForestClassifier])
def test_log_loss_is_another_name_of_entropy(kind):
    X, y, w = problem(5)
    size = {} if kind is PETClassifier else {"n_estimators": 4}
    models = [kind(criterion=name, random_state=0, **size).fit(X, y, w) for name in ("entropy", "log_loss")]
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))
    np.testing.assert_array_equal(models[0].feature_importances_, models[1].feature_importances_)
    assert models[1].criterion == "log_loss"


@pytest.mark.parametrize("name", ENSEMBLES)
def test_estimators_are_the_trees_as_classifiers(name):
    model, X = fitted(name)
    assert len(model.estimators_) == len(model.trees_)
    whole = ~np.isnan(X).any(axis=1)  # a missing value follows the heaviest branch, of equals either
    for index, (single, tree) in enumerate(zip(model.estimators_, model.trees_, strict=True)):
        assert isinstance(single, PETClassifier) and single.tree_.structure == tree.structure
        np.testing.assert_array_equal(single.classes_, model.classes_)
        np.testing.assert_array_equal(single.apply(X[whole]), model.apply(X[whole])[:, index])


@pytest.mark.parametrize("name", ["B-PETs", "EB-PETs", "curtailed", "leave one out"])
def test_the_mean_of_the_estimators_is_the_ensemble(name):
    model, X = fitted(name)
    mean = np.mean([single.predict_proba(X) for single in model.estimators_], axis=0)
    np.testing.assert_allclose(mean, model.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_out_of_bag_probabilities_have_both_names(name):
    model, _ = fitted(name, oob_score=True)
    assert model.oob_decision_function_ is model.oob_predict_proba_


@pytest.mark.parametrize("name", ENSEMBLES)
def test_what_is_not_there_is_no_attribute(name):
    model, _ = fitted(name)
    with pytest.raises(AttributeError, match="oob_score=True"):
        _ = model.oob_decision_function_
    unfitted = clone(ENSEMBLES[name])
    assert not hasattr(unfitted, "estimators_") and not hasattr(unfitted, "oob_decision_function_")
