"""Linear models in files: they come back as they were, and nothing in a file is trusted."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import petiole
from file_mutations import Parts, forged
from linear_problems import problem
from petiole._estimates.cross_fitted import CrossFitted
from petiole._linear.cross_fitting import fit_linear_folds
from petiole._linear.plan import LinearPlan
from petiole.files import ModelFileError, save

ODD = np.array([[np.nan] * 7, [1e300] * 7, [-1e300] * 7])


@pytest.fixture(scope="module")
def fitted():
    rows, fold_of = problem(21)
    return CrossFitted(fit_linear_folds(LinearPlan(degree=2, ranks=True), rows, fold_of).models), rows.matrix


@pytest.fixture(scope="module")
def whole(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("linear") / "model"
    save(fitted[0], path)
    return path.read_bytes()


def loaded(whole, tmp_path):
    (tmp_path / "model").write_bytes(whole)
    return petiole.load(tmp_path / "model")


def changed(whole, kind, name, value):
    """The file with a part of the first object of a class changed."""
    parts = Parts(whole)
    state = next(one for one in parts.model["objects"] if one["class"] == kind)["state"]
    if isinstance(state[name], dict) and state[name].get("$") == "array":
        parts.array(state[name]["tensor"])[-1] = value
    else:
        state[name] = value
    return parts.joined()


def test_a_model_comes_back_as_it_was(fitted, whole, tmp_path):
    model, matrix = fitted
    for again in (loaded(whole, tmp_path), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.answer(matrix), model.answer(matrix))
        np.testing.assert_array_equal(again.answer(ODD), model.answer(ODD))
        assert repr(again) == repr(model) == f"CrossFitted(3 × {model.models[0]!r})"


@pytest.mark.parametrize(
    ("kind", "name", "value", "message"),
    [
        ("NumericFeatures", "columns", -1, "columns"),
        ("NumericFeatures", "scales", 0.0, "scales"),
        ("NumericFeatures", "centers", np.inf, "centers"),
        ("NumericFeatures", "deciles", -1e9, "deciles: must not decrease"),
        ("NumericFeatures", "second", 99, "second: must be positions"),
        ("Indicators", "columns", -1, "columns"),
        ("Indicators", "n_indicators", 1, "chosen"),
        ("Indicators", "chosen", [], "chosen: must be one per column"),
        ("LinearEncoding", "units", 0.0, "units"),
        ("LinearEncoding", "means", np.nan, "means"),
        ("LinearEncoding", "n_columns", 3, "n_columns"),
        ("LinearModel", "coefficients", np.nan, "coefficients"),
        ("LinearModel", "intercepts", 1e200, "intercepts"),
        ("CrossFitted", "models", [], "models: must be one or more"),
    ],
)
def test_a_forged_part_is_refused(whole, tmp_path, kind, name, value, message):
    with pytest.raises(ModelFileError, match=message):
        loaded(changed(whole, kind, name, value), tmp_path)


def test_models_of_different_classes_do_not_go_together(fitted, tmp_path):
    rows, fold_of = problem(21, n_classes=4)
    other = fit_linear_folds(LinearPlan(), rows, fold_of).models
    with pytest.raises(ModelFileError, match="same columns and classes"):
        save(CrossFitted([*fitted[0].models, *other]), tmp_path / "model")


def test_forged_files_are_refused_or_give_probabilities(fitted, whole, tmp_path):
    outcomes = {"refused": 0, "loaded": 0}
    for seed in range(400):
        try:
            model = loaded(forged(whole, np.random.default_rng(seed)), tmp_path)
        except ModelFileError:
            outcomes["refused"] += 1
            continue
        outcomes["loaded"] += 1
        if isinstance(model, CrossFitted) and model.n_columns == 7:
            proba = model.answer(np.concatenate([fitted[1][:20], ODD]))
            assert np.isfinite(proba).all() and (proba >= 0).all()
            np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert min(outcomes.values()) > 40
