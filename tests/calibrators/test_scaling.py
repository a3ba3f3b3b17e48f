"""Vector, structured matrix and quadratic scaling, and splines: against naive versions, slopes, limits and laws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import naive_scaling as naive
from naive_recalibration import repeated
from petiole.calibrators import (
    QuadraticCalibrator,
    SplineCalibrator,
    StructuredMatrixCalibrator,
    TemperatureCalibrator,
    VectorScalingCalibrator,
)
from petiole.calibrators._fitting import LogisticLoss
from petiole.calibrators._scaling import SoftmaxLoss
from petiole.calibrators._splines import SMOOTHINGS, slope_features

NEW = [VectorScalingCalibrator, StructuredMatrixCalibrator, QuadraticCalibrator, SplineCalibrator]
JOINT = NEW[:2]


def tied_problem(seed, n_rows, n_classes):
    """Probabilities in steps of 0.05, zeros among them; labels that follow their squares; weights 1 to 3."""
    rng = np.random.default_rng(seed)
    proba = (rng.dirichlet(np.ones(n_classes), n_rows) * 20).round() / 20 + 1e-9
    proba /= proba.sum(axis=1, keepdims=True)
    odds = (proba**2 + 0.02) * np.linspace(0.5, 1.5, n_classes)
    odds /= odds.sum(axis=1, keepdims=True)
    labels = (odds.cumsum(axis=1) > rng.random((n_rows, 1))).argmax(axis=1)
    labels[:n_classes] = np.arange(n_classes)
    weights = rng.integers(1, 4, n_rows)
    weights[0] = 1  # one row somewhere, so that the others are so many rows
    return proba.clip(0, 1), labels, weights


# Against the naive versions.


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_vector_against_naive(seed, n_classes):
    proba, labels, weights = tied_problem(seed, 12, n_classes)
    penalty = [0.1, 1.0, 5.0][seed]
    found = VectorScalingCalibrator(penalty, 0.01).fit(proba, labels, weights).predict(proba[:2])
    many = repeated(proba.tolist(), weights), repeated(labels.tolist(), weights)
    for row, query in zip(found, proba.tolist(), strict=False):
        expected = naive.structured_matrix(*many, (penalty, 1.0, penalty), 0.01, query, only_diagonal=True)
        np.testing.assert_allclose(row, expected, atol=2e-5)


@pytest.mark.parametrize("seed", range(2))
def test_structured_matrix_against_naive(seed):
    proba, labels, weights = tied_problem(seed, 10, 3)
    penalties = [(0.3, 0.2, 0.5), (1.0, 2.0, 0.1)][seed]
    found = StructuredMatrixCalibrator(*penalties, 0.01).fit(proba, labels, weights).predict(proba[:1])[0]
    many = repeated(proba.tolist(), weights), repeated(labels.tolist(), weights)
    expected = naive.structured_matrix(*many, penalties, 0.01, proba[0].tolist(), only_diagonal=False)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_quadratic_against_naive(seed):
    proba, labels, weights = tied_problem(seed, 20, 2)
    scores, penalty = proba[:, 1], [1.0, 0.1, 3.0, 1.0][seed]
    if seed == 3:
        labels = 1 - labels  # turned around: the slopes are held at 0
    queries = [0.0, 0.3, 0.97, 1.0]
    found = QuadraticCalibrator(penalty, 0.02).fit(scores, labels, weights).predict(queries)
    many = repeated(scores.tolist(), weights), repeated(labels.tolist(), weights)
    expected = [naive.spline(*many, 2, penalty, 0.0, 0.02, query) for query in queries[:2]]
    np.testing.assert_allclose(found[:2], expected, atol=2e-5)
    assert (np.diff(found) >= 0).all()


@pytest.mark.parametrize("seed", range(2))
def test_a_parabola_that_may_fall_against_naive(seed):
    proba, labels, weights = tied_problem(seed, 20, 2)
    scores, labels = proba[:, 1], (np.abs(proba[:, 1] - 0.5) < 0.2).astype(int)
    queries = [0.02, 0.5, 0.97]
    found = QuadraticCalibrator(0.5, 0.02, monotone=False).fit(scores, labels, weights).predict(queries)
    many = repeated(scores.tolist(), weights), repeated(labels.tolist(), weights)
    expected = [naive.spline(*many, 2, 0.5, 0.0, 0.02, query, least_slope=None) for query in queries]
    np.testing.assert_allclose(found, expected, atol=2e-5)
    assert found[0] < found[1] > found[2]


@pytest.mark.parametrize(("seed", "smoothing"), [(0, 0.1), (1, 1.0), (2, 20.0)])
def test_spline_against_naive(seed, smoothing):
    proba, labels, weights = tied_problem(seed, 20, 2)
    scores = proba[:, 1]
    found = SplineCalibrator(4, smoothing, 0.02).fit(scores, labels, weights).predict([0.3])
    many = repeated(scores.tolist(), weights), repeated(labels.tolist(), weights)
    np.testing.assert_allclose(found, naive.spline(*many, 4, 1.0, smoothing, 0.02, 0.3), atol=5e-5)


def test_spline_features_are_integrals_of_the_slope():
    rng = np.random.default_rng(0)
    for n_knots, first, last in [(2, -1.0, 2.0), (3, 0.5, 3.0), (7, -4.0, -1.0), (12, -6.0, 6.0)]:
        slopes, odds = rng.random(n_knots), rng.normal(scale=4, size=20)
        knots = np.linspace(first, last, n_knots).tolist()
        expected = [naive.spline_value(s, 0.0, knots, slopes.tolist()) for s in odds]
        np.testing.assert_allclose(slope_features(odds, first, last, n_knots) @ slopes, expected, atol=1e-12)


# Slopes.


@pytest.mark.parametrize("only_diagonal", [False, True])
def test_slopes_of_the_softmax_loss(only_diagonal):
    rng = np.random.default_rng(0)
    logits, codes, weights = rng.normal(size=(30, 4)), rng.integers(0, 4, 30), rng.random(30)
    free = np.eye(4, dtype=bool) if only_diagonal else np.ones((4, 4), dtype=bool)
    objective = SoftmaxLoss(logits, codes, weights, free).penalised(1 + rng.random((4, 4)), 0.7)
    x = objective.centre + rng.normal(size=len(objective.centre))
    np.testing.assert_allclose(objective(x)[1], approx_fprime(x, lambda x: objective(x)[0]), atol=1e-6)


def test_slopes_and_curvature_of_the_logistic_loss():
    rng = np.random.default_rng(0)
    penalty = np.cov(rng.normal(size=(3, 9)))
    loss = LogisticLoss(rng.normal(size=(30, 3)), rng.random(30), rng.random(30), rng.normal(size=3), penalty)
    x = rng.normal(size=3)
    np.testing.assert_allclose(loss(x)[1], approx_fprime(x, lambda x: loss(x)[0]), atol=1e-6)
    second = np.array([approx_fprime(x, lambda x, i=i: loss(x)[1][i]) for i in range(3)])
    np.testing.assert_allclose(loss.curvature(x) + penalty, second * loss.weights.sum(), atol=1e-4)


# Limits.


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("penalty", [1e8, 1e100])
def test_temperature_is_the_limit_of_large_penalties(n_classes, penalty):
    proba, labels, weights = tied_problem(0, 200, n_classes)
    expected = TemperatureCalibrator().fit(proba, labels, weights).predict(proba)
    for made in (VectorScalingCalibrator(penalty), StructuredMatrixCalibrator(penalty, penalty, penalty)):
        np.testing.assert_allclose(made.fit(proba, labels, weights).predict(proba), expected, atol=1e-5)


def test_vector_scaling_is_the_limit_of_a_diagonal_matrix():
    proba, labels, weights = tied_problem(1, 300, 4)
    expected = VectorScalingCalibrator(0.5).fit(proba, labels, weights).predict(proba)
    structured = StructuredMatrixCalibrator(0.5, 1e9, 0.5).fit(proba, labels, weights)
    np.testing.assert_allclose(structured.predict(proba), expected, atol=1e-5)
    two, codes, weights = tied_problem(1, 300, 2)
    expected = VectorScalingCalibrator(0.5).fit(two, codes, weights).predict(two)
    np.testing.assert_allclose(
        StructuredMatrixCalibrator(0.5, 0.5, 0.5).fit(two, codes, weights).predict(two), expected, atol=1e-6
    )


def test_a_large_penalty_leaves_log_odds_as_they_are():
    proba, labels, _ = tied_problem(0, 100, 2)
    inside = proba[:, 1].clip(0.002, 0.998)
    np.testing.assert_allclose(QuadraticCalibrator(1e9).fit(inside, labels).predict(inside), inside, atol=1e-6)


def test_much_smoothing_is_a_straight_line():
    proba, labels, _ = tied_problem(0, 400, 2)
    found = SplineCalibrator(smoothing=1e6).fit(proba[:, 1], labels).calibrators_[0]
    assert np.ptp(found.slopes) < 1e-3 * found.slopes.mean()
    two = SplineCalibrator(2, 0).fit(proba[:, 1], labels).predict(proba[:, 1])
    np.testing.assert_allclose(two, QuadraticCalibrator(1.0).fit(proba[:, 1], labels).predict(proba[:, 1]), atol=1e-6)


@pytest.mark.parametrize("make", NEW)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_calibrated_scores_stay_about_as_they_are(make, n_classes):
    rng = np.random.default_rng(1)
    proba = rng.dirichlet(np.ones(n_classes), 30_000).clip(0.01)
    proba /= proba.sum(axis=1, keepdims=True)
    labels = (proba.cumsum(axis=1) > rng.random((len(proba), 1))).argmax(axis=1)
    assert np.abs(make().fit(proba, labels).predict(proba) - proba).mean() < 0.006
    if make is StructuredMatrixCalibrator:
        held = make(1e6, 1e6, 1e6).fit(proba, labels).predict(proba)
        np.testing.assert_allclose(held, proba, atol=0.01)


# Laws.


@pytest.mark.parametrize("make", NEW)
@pytest.mark.parametrize("n_classes", [2, 5])
def test_permuted_classes_have_permuted_answers(make, n_classes):
    proba, labels, weights = tied_problem(3, 150, n_classes)
    order = np.random.default_rng(0).permutation(n_classes)[::-1]
    place = np.argsort(order)
    found = make().fit(proba, labels, weights).predict(proba)
    other = make().fit(proba[:, order], place[labels], weights).predict(proba[:, order])
    np.testing.assert_allclose(other, found[:, order], atol=1e-5)


@pytest.mark.parametrize("make", NEW)
def test_the_unit_of_weight_does_not_matter(make):
    proba, labels, weights = tied_problem(4, 80, 3)
    found = make().fit(proba, labels, weights).predict(proba)
    np.testing.assert_allclose(make().fit(proba, labels, 1e-6 * weights).predict(proba), found, atol=1e-7)


@pytest.mark.parametrize("make", NEW)
def test_the_same_data_give_the_same_answers(make):
    proba, labels, weights = tied_problem(5, 80, 3)
    first, second = (make().fit(proba, labels, weights).predict(proba) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("make", NEW)
def test_tiny_data_and_absent_classes(make):
    for n_classes in (1, 2, 3, 6):
        classes = np.arange(n_classes)
        for n_rows in (1, 2, 5):
            for kind in ("even", "certain", "wrong"):
                codes = np.zeros(n_rows, dtype=np.int32)
                table = np.full((n_rows, n_classes), 1 / n_classes)
                if kind != "even":
                    table = np.tile(np.eye(n_classes)[0 if kind == "certain" else -1], (n_rows, 1))
                found = make()._fit_checked(table, codes, None, classes).predict(np.eye(n_classes))
                assert np.isfinite(found).all() and (found >= 0).all()
                np.testing.assert_allclose(found.sum(axis=1), 1)


@pytest.mark.parametrize("seed", range(5))
def test_two_classes_keep_the_order_of_scores(seed):
    rng = np.random.default_rng(seed)
    scores = rng.random(60)
    y = rng.random(60) < [0.5, 1 - scores[0], 0.9, 0.1, 0.5][seed] * (1 - scores if seed == 1 else 1)
    y[:2] = 0, 1
    queries = np.sort(np.concatenate([rng.random(200), [0, 1e-6, 1 - 1e-6, 1]]))
    for make in NEW:
        assert (np.diff(make().fit(scores, y).predict(queries)) >= -1e-12).all(), make


def test_a_spline_bends_where_the_data_do_and_only_there():
    """A step of the true frequencies at one half: much better than a straight line; straight data stay straight."""
    rng = np.random.default_rng(0)
    scores = rng.random(20_000)
    truth = np.where(scores > 0.5, 0.8, 0.2)
    y = rng.random(20_000) < truth
    bent = SplineCalibrator().fit(scores[:10_000], y[:10_000]).predict(scores[10_000:])
    straight = SplineCalibrator(smoothing=1e6).fit(scores[:10_000], y[:10_000]).predict(scores[10_000:])
    assert np.mean((bent - truth[10_000:]) ** 2) < 0.5 * np.mean((straight - truth[10_000:]) ** 2)
    affine = 1 / (1 + np.exp(-(0.5 + 0.6 * np.log(scores / (1 - scores)))))
    found = SplineCalibrator().fit(scores, rng.random(20_000) < affine).calibrators_[0]
    assert np.ptp(found.slopes) < 0.2


def test_smoothings_go_from_smooth_to_rough():
    assert list(SMOOTHINGS) == sorted(SMOOTHINGS, reverse=True)


def test_the_matrix_finds_classes_that_are_confused():
    """Of what is said to be of class 0, half is of class 1: temperature cannot say so, the matrix can."""
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.full(3, 0.5), 4000).clip(0.01)
    proba /= proba.sum(axis=1, keepdims=True)
    truth = proba @ np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    labels = (truth.cumsum(axis=1) > rng.random((4000, 1))).argmax(axis=1)

    def distance(calibrator):
        return np.mean((calibrator.fit(proba[:2000], labels[:2000]).predict(proba[2000:]) - truth[2000:]) ** 2)

    assert distance(StructuredMatrixCalibrator()) < 0.6 * distance(TemperatureCalibrator())
    assert distance(StructuredMatrixCalibrator()) < distance(VectorScalingCalibrator())


# Errors.


@pytest.mark.parametrize(
    ("calibrator", "message"),
    [
        (VectorScalingCalibrator(0), "penalty=0: must be a number at least 0.001"),
        (VectorScalingCalibrator(floor=0.7), "floor=0.7: must be a number between 1e-12 and 0.5"),
        (StructuredMatrixCalibrator(off_diagonal_penalty=-1), "off_diagonal_penalty=-1: must be a number at least"),
        (StructuredMatrixCalibrator(intercept_penalty="1"), "intercept_penalty='1': must be a number at least"),
        (QuadraticCalibrator(float("nan")), "penalty=nan: must be a number at least 0.001"),
        (QuadraticCalibrator(monotone="no"), "monotone='no': must be one of True, False"),
        (SplineCalibrator(1), "n_knots=1: must be a whole number at least 2"),
        (SplineCalibrator(10_000), "n_knots=10000: must be at most 1000"),
        (SplineCalibrator(smoothing="cv"), "smoothing='cv': must be one of 'auto', or a number between 0 and 1e"),
        (SplineCalibrator(smoothing=1e9), "smoothing=1000000000.0: must be a number between 0 and 1e"),
    ],
)
def test_errors_name_parameter_value_and_remedy(calibrator, message):
    with pytest.raises(ValueError, match=message):
        calibrator.fit([0.2, 0.7, 0.4], [0, 1, 0])


@pytest.mark.parametrize("make", NEW)
def test_scores_are_probabilities(make):
    with pytest.raises(ValueError, match=r"scores\[0\]=-1: must be a probability"):
        make().fit([-1.0, 0.5], [0, 1])
    with pytest.raises(ValueError, match=r"scores has shape \(1, 3\): must be \(n_rows,\), as in fit"):
        make().fit([0.2, 0.5], [0, 1]).predict([[0.2, 0.5, 0.3]])
