"""Equal to the ``shap`` package where both work: the same forest as scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from petiole import BaggedPETClassifier, PETClassifier

shap = pytest.importorskip("shap")


def forests():
    for load in (load_iris, load_breast_cancer):
        X, y = load(return_X_y=True)
        X = X.astype(np.float32)
        yield X, PETClassifier().fit(X, y)
        yield X, BaggedPETClassifier(10, random_state=0).fit(X, y)


def test_path_dependent_values_are_those_of_shap():
    for X, model in forests():
        expected = shap.TreeExplainer(model.to_sklearn(), feature_perturbation="tree_path_dependent")
        found = model.explain(X[:30])
        np.testing.assert_allclose(found.values, expected.shap_values(X[:30]), atol=1e-9)
        np.testing.assert_allclose(found.base_values, expected.expected_value, atol=1e-9)


def test_interventional_values_are_those_of_shap():
    for X, model in forests():
        others = X[::20]
        expected = shap.TreeExplainer(model.to_sklearn(), others, feature_perturbation="interventional")
        found = model.explain(X[:30], background=others)
        # shap stores thresholds and values in single precision here
        np.testing.assert_allclose(found.values, expected.shap_values(X[:30]), atol=1e-6)


def test_an_explanation_becomes_one_of_shap():
    X, y = load_iris(return_X_y=True, as_frame=True)
    found = BaggedPETClassifier(5, random_state=0).fit(X, y).explain(X[:7])
    theirs = found.to_shap()
    assert theirs.values.shape == (7, 4, 3) and theirs.feature_names == list(X.columns)
    np.testing.assert_array_equal(theirs.values, found.values)
    np.testing.assert_array_equal(theirs.base_values[3], found.base_values)
    assert theirs.output_names == ["0", "1", "2"]
