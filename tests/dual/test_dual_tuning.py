"""Dual perturb and combine: how noise is found, and on which rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from test_dual import ALL, ENSEMBLES, Dual, two_norms

from petiole import (
    BaggedPETClassifier,
    PETClassifier,
)
from petiole._classifiers.base import encode_training
from petiole._dual.line_search import best_of, descend, golden_section
from petiole._dual.model import Noise, PerturbedModel
from petiole._dual.tuning import mean_loss, on_folds, on_one_tree, on_unseen, on_validation

pytestmark = pytest.mark.filterwarnings("ignore:.*rows are in the samples of all trees")


# ---- golden section
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("factor", [1e-300, 1e305])
def test_the_scale_of_weights_does_not_matter_on_folds(factor):
    random = np.random.default_rng(0)
    X, y, weights = random.normal(size=(80, 2)), random.integers(0, 2, 80), random.uniform(1, 2, 80)
    one, other = (
        Dual(PETClassifier(), "per_attribute", tune_on="cross_fit", random_state=0).fit(X, y, sample_weight=w)
        for w in (weights, weights * factor)
    )
    np.testing.assert_allclose(other.noise_, one.noise_, rtol=1e-4)


def test_rows_of_weight_zero_are_in_no_fold():
    random = np.random.default_rng(1)
    X, y, weights = random.normal(size=(60, 1)), random.integers(0, 2, 60), random.integers(0, 3, 60)
    kept = weights > 0
    model = Dual(BaggedPETClassifier(3, random_state=0), tune_on="cross_fit", random_state=0)
    noise = clone(model).fit(X, y, sample_weight=weights).noise_
    assert clone(model).fit(X[kept], y[kept], sample_weight=weights[kept]).noise_ == noise


def test_golden_section():
    calls = []

    def loss(x):
        calls.append(x)
        return (x - 0.7) ** 2

    found = golden_section(loss, 3.0)
    assert len(calls) == 15 and calls[0] == 0.0
    assert found.best == pytest.approx(0.7, abs=0.01)
    assert golden_section(lambda x: -x, 3.0).best > 2.98
    assert golden_section(lambda x: x, 3.0).best == 0.0
    assert golden_section(lambda x: 1.0, 3.0).best == 0.0
    assert golden_section(lambda x: float(x > 1.3), 3.0).best == 0.0
    assert golden_section(lambda x: float(not 0.2 < x < 2.8), 3.0).best < 0.22  # equals: on towards smaller noise
    plateau = golden_section(lambda x: abs(round(4 * x) - 3), 3.0).best
    assert 0.625 <= plateau <= 0.875
    assert best_of([(2.0, 1.0), (1.0, 1.0 + 1e-14), (0.5, 1.1)]) == 1.0


def test_losses_that_are_not_numbers_never_win():
    assert golden_section(lambda x: np.nan if x < 1 else x, 3.0).best >= 1


def test_descent_finds_a_minimum_per_attribute():
    target, used = np.log([0.5, 0.05, 1.0]), np.array([True, True, False])

    def loss(noise):
        apart = (np.log(noise) - target) * used
        return 1e5 * float(apart @ apart), 2e5 * apart

    found = descend(loss, 0.2, used, 3.0)
    np.testing.assert_allclose(found, [0.5, 0.05, 0.2], rtol=1e-3)


# ---- tuning
def test_noise_is_found_and_helps():
    X, y = two_norms(400)
    test_X, test_y = two_norms(4000, seed=1)

    def log_loss(model):
        return -np.log(np.maximum(model.predict_proba(test_X)[np.arange(4000), test_y], 1e-6)).mean()

    for estimator in (PETClassifier(), BaggedPETClassifier(15, random_state=0)):
        model = Dual(estimator, random_state=0).fit(X, y)
        assert 0.1 < model.noise_ < 3
        assert model.noise_search_.shape == (15, 2) and model.noise_search_[0, 0] == 0
        assert model.noise_ == best_of([tuple(one) for one in model.noise_search_])
        soft = log_loss(model)
        assert soft < 0.97 * log_loss(model.set_params(noise=0))


@pytest.mark.parametrize("name", list(ENSEMBLES))
def test_out_of_bag_is_what_ensembles_are_tuned_on(name):
    """The losses are those of the out-of-bag probabilities: at λ = 0 of the ensemble's own."""
    X, y = two_norms(150)
    estimator = clone(ENSEMBLES[name]).set_params(n_estimators=40, oob_score=True)
    model = Dual(estimator, random_state=0).fit(X, y)
    assert model.noise_search_[0, 1] == pytest.approx(model.estimator_.oob_log_loss_, abs=1e-9)
    wrong = Dual(estimator, objective="error", random_state=0).fit(X, y)
    assert wrong.noise_search_[0, 1] == pytest.approx(1 - wrong.estimator_.oob_score_, abs=1e-9)


def test_validation_rows_are_used_and_checked():
    X, y = two_norms()
    others = two_norms(200, seed=5)
    model = Dual(PETClassifier(), noise="auto").fit(X, y, validation=others)

    def loss(noise, X, y, weights=None):
        proba = model.set_params(noise=noise).predict_proba(X)
        return np.average(-np.log2(np.maximum(proba[np.arange(len(y)), y], 1e-6)), weights=weights)

    for noise, found in model.noise_search_:
        assert found == pytest.approx(loss(noise, *others), abs=1e-9)
    weights = np.arange(200) % 3
    weighted = Dual(PETClassifier(), noise="auto").fit(X, y, validation=(*others, weights))
    assert weighted.noise_search_[3, 1] == pytest.approx(loss(weighted.noise_search_[3, 0], *others, weights), abs=1e-9)
    with pytest.raises(ValueError, match=r"validation has the label 7, but the classes are \[0, 1\]"):
        model.set_params(noise="auto").fit(X, y, validation=(X, np.full(len(X), 7)))
    with pytest.raises(ValueError, match=r"validation: must be a pair"):
        model.fit(X, y, validation=X)
    with pytest.raises(ValueError, match=r"validation was given, but noise=0.1"):
        Dual(PETClassifier(), noise=0.1).fit(X, y, validation=others)


def test_cross_fitting_asks_models_that_have_not_seen_the_rows():
    X, y = two_norms(100)
    seen = []

    def fit(rows, labels, weights):
        seen.append(rows)
        return PerturbedModel.fit(PETClassifier(), rows, labels, weights, None)

    held_out = on_folds(fit, X, y.astype(np.int32), np.array([0, 1]), None, np.random.default_rng(0))
    assert len(held_out) == len(seen) == 5
    assert all(len(rows) == 80 for rows in seen) and sum(len(one.labels) for one in held_out) == 100
    noise = Noise(0.3, 0.0, "exact")
    by_hand = [one.loss(noise, "log_loss")[0] for one in held_out]
    assert mean_loss(held_out, noise, "log_loss") == pytest.approx(sum(by_hand) / 100)


def test_classes_that_a_fold_has_not_seen():
    X, y = two_norms(60)
    labels = np.array(["a", "b"])[y].astype(object)
    labels[0] = "rare"
    for noise in ("auto", "per_attribute"):
        model = Dual(PETClassifier(min_samples_leaf=1), noise=noise, random_state=0).fit(X, labels)
        assert model.predict_proba(X).shape == (60, 3)


def test_the_papers_shortcut_asks_one_tree():
    X, y = two_norms()
    estimator = BaggedPETClassifier(20, random_state=0)
    model = Dual(estimator, tune_on="one_tree").fit(X, y)
    training = encode_training(model.estimator_, X, y, None)[1]
    (held_out,) = on_one_tree(model.model_, training, np.random.default_rng(0))
    assert 0.3 * len(X) < len(held_out.labels) < 0.45 * len(X)
    whole = Dual(estimator, tune_on="out_of_bag").fit(X, y)
    assert model.noise_ > 0 and model.noise_search_[0, 1] > whole.noise_search_[0, 1]


@pytest.mark.parametrize("mode", ["exact", "product"])
@pytest.mark.parametrize("name", ["tree", "bag", "eb", "mob", "pool"])
def test_slopes_of_held_out_rows(name, mode):
    """The gradient is that of the log-loss of the mean, or of what stands for it."""
    X, y = two_norms(120)
    model = PerturbedModel.fit(ALL[name], X, y, None, None)
    if name == "tree":
        (held_out,) = on_validation(model, *two_norms(80, seed=3))
    else:
        training = encode_training(model.inner, X, y, None)[1]
        (held_out,) = on_unseen(model, training, np.random.default_rng(0))
    levels = np.array([0.3, 0.5, 0.2, 0.8])

    def at(levels):
        return held_out.slopes(Noise(levels, 0.0, mode, tolerance=0.0))

    loss, slopes = at(levels)
    for j in range(4):
        step = np.exp(1e-4 * np.eye(4)[j])
        numeric = (at(levels * step)[0] - at(levels / step)[0]) / 2e-4
        assert slopes[j] == pytest.approx(numeric, rel=1e-3, abs=1e-4)
    if name in ("tree", "bag"):
        bits, _ = held_out.loss(Noise(levels, 0.0, mode, tolerance=0.0), "log_loss")
        assert loss == pytest.approx(bits * np.log(2))


@pytest.mark.parametrize("name", ["tree", "bag", "mob", "pool"])
def test_noise_per_attribute_is_no_worse_on_held_out_rows(name):
    random, n = np.random.default_rng(0), 800 if name == "bag" else 200
    X, y = two_norms(n)
    X[:, 3] = y + 0.01 * random.normal(size=n)  # sharp: noise hurts
    X[random.random(n) < 0.6, 3] = 0.5
    common = Dual(ALL[name], random_state=0).fit(X, y)
    apart = Dual(ALL[name], noise="per_attribute", random_state=0).fit(X, y)
    assert apart.noise_.shape == (4,) and (apart.noise_ >= 0).all()
    if name == "bag":
        training = encode_training(apart.estimator_, X, y, None)[1]
        held_out = on_unseen(apart.model_, training, np.random.default_rng(0))
        losses = [mean_loss(held_out, Noise(m.noise_, 0.0, "exact"), "log_loss") for m in (common, apart)]
        assert losses[1] < losses[0]
        assert apart.noise_[3] < apart.noise_[:3].min()


def test_nominal_noise_is_found():
    random = np.random.default_rng(0)
    y = random.integers(2, size=400)
    said = np.where(random.random((6, 400)) < 0.3, 1 - y, y)  # six witnesses that err now and then
    X = pd.DataFrame({f"witness {i}": np.array(["no", "yes"])[one] for i, one in enumerate(said)})
    model = Dual(PETClassifier(min_samples_leaf=1, smoothing="raw"), nominal_noise="auto", random_state=0).fit(X, y)
    assert model.noise_ == 0 and len(model.noise_search_) == 0  # there is no numeric attribute
    assert model.nominal_noise_search_.shape == (15, 2)
    assert model.nominal_noise_search_[:, 1].min() < 0.97 * model.nominal_noise_search_[0, 1]
    assert model.nominal_noise_ == best_of([tuple(one) for one in model.nominal_noise_search_])
    assert Dual(PETClassifier(), nominal_noise="auto").fit(X.assign(number=y * 1.0), y).noise_search_.shape == (15, 2)


def test_nothing_to_tune_on_means_no_noise():
    one_row = Dual(PETClassifier()).fit([[1.0]], ["a"])
    assert one_row.noise_ == 0
    assert Dual(PETClassifier(), noise="per_attribute").fit([[1.0], [2.0]], ["a", "b"]).predict([[1.0]]) == ["a"]


def test_no_bootstrap_means_cross_fitting():
    X, y = two_norms(80)
    estimator = BaggedPETClassifier(3, bootstrap=False, max_features=1, random_state=0)
    assert Dual(estimator, random_state=0).fit(X, y).noise_search_.shape == (15, 2)
    with pytest.raises(ValueError, match=r"tune_on='out_of_bag': needs one of petiole's ensembles with bootstrap"):
        Dual(estimator, tune_on="out_of_bag").fit(X, y)
