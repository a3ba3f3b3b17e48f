"""Bootstrap intervals: weights stand for rows, coverage, beside SciPy's BCa, pairs, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.metrics import log_loss as sklearn_log_loss

from naive_comparison import bca_levels as naive_bca_levels
from naive_comparison import brier, order_statistics
from petiole.comparison import bootstrap as implementation
from petiole.comparison import bootstrap_difference, bootstrap_interval
from petiole.comparison.resampling import RowSampler, as_generator


def mean_of_truth(y_true, proba, *, labels, sample_weight):
    """Mean probability given to the true class."""
    position = {label: k for k, label in enumerate(labels.tolist())}
    own = proba[np.arange(len(proba)), [position[label] for label in y_true.tolist()]]
    return np.average(own, weights=sample_weight)


def unweighted(y_true, proba):
    """The same without weights, for two classes called 0 and 1."""
    return proba[np.arange(len(proba)), y_true].mean()


def log_loss(y_true, proba, *, sample_weight=None):
    """Quick, for classes called 0, 1, ..."""
    return -np.average(np.log(proba[np.arange(len(proba)), y_true]), weights=sample_weight)


def problem(seed=0, n=60, n_classes=2):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(n_classes), size=n)
    y = (proba.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return y, proba


def test_draws_are_those_of_repeated_rows():
    """The same draws as weights and as copies of the rows give the same numbers."""
    y, proba = problem()
    weighted = bootstrap_interval(mean_of_truth, y, proba, random_state=0)
    repeated = bootstrap_interval(unweighted, y, proba, random_state=0)
    assert weighted.draws == pytest.approx(repeated.draws)
    assert weighted.estimate == pytest.approx(unweighted(y, proba))
    assert weighted.interval == order_statistics(weighted.draws.tolist(), 0.95)
    assert weighted.standard_error == pytest.approx(np.std(weighted.draws, ddof=1))


def test_metric_sees_labels_and_counts():
    y, proba = problem(n_classes=3)
    words = np.array(["z", "x", "y"])
    seen = []

    def metric(y_true, proba, *, labels, sample_weight):
        seen.append(sample_weight)
        return brier(y_true, proba, labels, sample_weight)

    result = bootstrap_interval(metric, words[y], proba, labels=words, n_draws=40, random_state=0)
    assert result.estimate == pytest.approx(((proba - np.eye(3)[y]) ** 2).sum(axis=1).mean())
    assert all(counts.sum() == 60 and (counts == np.rint(counts)).all() for counts in seen)
    assert len(seen) == 41


@pytest.mark.parametrize("stratify", [False, True])
def test_weights_are_numbers_of_rows(stratify):
    y, proba = problem(1, n=30)
    weights = np.random.default_rng(1).integers(0, 4, size=30)
    rows = np.repeat(np.arange(30), weights)
    options = {"random_state": 0, "stratify": stratify, "labels": [0, 1]}
    one = bootstrap_interval(mean_of_truth, y, proba, sample_weight=weights, **options)
    other = bootstrap_interval(mean_of_truth, y[rows], proba[rows], **options)
    assert one.estimate == pytest.approx(other.estimate)
    assert one.draws == pytest.approx(other.draws)
    bca = [
        bootstrap_interval(mean_of_truth, *data, method="bca", **options).interval for data in ((y[rows], proba[rows]),)
    ]
    weighted = bootstrap_interval(mean_of_truth, y, proba, sample_weight=weights, method="bca", **options)
    assert weighted.interval == pytest.approx(bca[0])


def test_fractional_weights():
    y, proba = problem(2, n=200)
    weights = np.random.default_rng(2).random(200) * 2
    result = bootstrap_interval(mean_of_truth, y, proba, sample_weight=weights, n_draws=4000, random_state=0)
    own = proba[np.arange(200), y]
    mean = np.average(own, weights=weights)
    assert result.estimate == pytest.approx(mean)
    spread = np.sqrt(np.average((own - mean) ** 2, weights=weights) / round(weights.sum()))
    assert result.standard_error == pytest.approx(spread, rel=0.05)
    counts = RowSampler(weights, as_generator(0)).draw()
    assert counts.sum() == pytest.approx(weights.sum())


def test_stratified_draws_keep_every_class():
    y = np.array([0] * 50 + [1])
    sampler = RowSampler(np.ones(51), as_generator(0), y.astype(np.int32))
    for _ in range(20):
        counts = sampler.draw()
        assert (counts[:50].sum(), counts[50]) == (50, 1)

    def auc(y_true, proba, *, sample_weight):
        return roc_auc_score(y_true, proba[:, 1], sample_weight=sample_weight)

    proba = np.random.default_rng(0).dirichlet([1, 1], size=51)
    interval = bootstrap_interval(auc, y, proba, stratify=True, n_draws=50, random_state=0).interval
    assert 0 <= interval[0] <= interval[1] <= 1


@pytest.mark.parametrize("method", ["percentile", "basic", "normal", "bca"])
def test_coverage(method):
    """The interval of a skewed mean contains it in about 90 of 100 samples."""
    rng = np.random.default_rng(3)
    hits = 0
    for trial in range(120):
        own = rng.beta(1, 3, size=40)
        proba = np.column_stack([own, 1 - own])
        low, high = bootstrap_interval(
            unweighted, np.zeros(40, dtype=int), proba, labels=[0, 1], n_draws=100, level=0.9, method=method,
            random_state=trial,
        ).interval  # fmt: skip
        hits += low <= 0.25 <= high
    assert 0.9 - 4 * np.sqrt(0.09 / 120) < hits / 120 < 0.9 + 3 * np.sqrt(0.09 / 120)


def test_bca_levels_are_the_naive_ones():
    rng = np.random.default_rng(4)
    draws, left_out = np.sort(rng.gamma(2, size=500)), rng.gamma(2, size=30)
    pulls = left_out.mean() - left_out
    acceleration = (pulls**3).sum() / (6 * (pulls**2).sum() ** 1.5)
    found = implementation.bca_levels(1.7, draws, 0.9, acceleration)
    assert found == pytest.approx(naive_bca_levels(1.7, draws.tolist(), 0.9, left_out.tolist()))


@pytest.mark.parametrize("most", [500, 40])
def test_bca_is_scipys(most, monkeypatch):
    """Also when rows are left out in blocks."""
    monkeypatch.setattr(implementation, "MOST_LEFT_OUT", most)
    own = np.random.default_rng(5).beta(0.3, 3, size=120)
    ours = bootstrap_interval(
        unweighted, np.zeros(120, dtype=int), np.column_stack([own, 1 - own]), labels=[0, 1], n_draws=8000,
        method="bca", random_state=0,
    )  # fmt: skip
    theirs = stats.bootstrap((own,), np.mean, n_resamples=8000, method="BCa", random_state=0).confidence_interval
    assert ours.interval == pytest.approx(tuple(theirs), abs=0.1 * ours.standard_error)
    percentile = np.quantile(ours.draws, [0.025, 0.975])
    assert (ours.interval > percentile).all()  # skewed to the right


def test_basic_and_normal():
    y, proba = problem(6)
    made = {
        m: bootstrap_interval(log_loss, y, proba, random_state=0, method=m) for m in ("percentile", "basic", "normal")
    }
    low, high = made["percentile"].interval
    estimate = made["basic"].estimate
    assert made["basic"].interval == pytest.approx((2 * estimate - high, 2 * estimate - low))
    assert np.mean(made["normal"].interval) == pytest.approx(estimate)
    assert np.ptp(made["normal"].interval) == pytest.approx(2 * 1.95996 * made["normal"].standard_error, rel=1e-4)


def test_difference_is_paired():
    y, proba = problem(7, n=300, n_classes=3)
    blurred = 0.9 * proba + 0.1 / 3
    options = {"labels": [0, 1, 2], "random_state": 0}
    there = bootstrap_difference(log_loss, y, proba, blurred, **options)
    back = bootstrap_difference(log_loss, y, blurred, proba, **options)
    assert there.estimate == pytest.approx(log_loss(y, proba) - log_loss(y, blurred)) == pytest.approx(-back.estimate)
    assert there.interval == pytest.approx([-end for end in reversed(back.interval)])
    alone = bootstrap_interval(log_loss, y, proba, **options)
    assert there.standard_error < 0.3 * alone.standard_error
    same = bootstrap_difference(log_loss, y, proba, proba, method="bca", **options)
    assert same.interval == (0, 0) and not same.excludes_zero
    uniform = np.full_like(proba, 1 / 3)
    assert bootstrap_difference(log_loss, y, uniform, proba, **options).excludes_zero


def test_metrics_of_scikit_learn():
    y, proba = problem(9)
    words = np.array(["no", "yes"])
    expected = bootstrap_interval(log_loss, y, proba, n_draws=40, random_state=0)
    found = bootstrap_interval(sklearn_log_loss, words[y], proba, n_draws=40, random_state=0)
    assert found.draws == pytest.approx(expected.draws)

    def brier_of_yes(y_true, proba, *, sample_weight):
        return brier_score_loss(y_true, proba[:, 1], sample_weight=sample_weight, pos_label="yes")

    low, high = bootstrap_interval(brier_of_yes, words[y], proba, n_draws=40, random_state=0).interval
    assert low < ((proba[:, 1] - y) ** 2).mean() < high


def test_seeds():
    y, proba = problem(8)
    one, two, other = (bootstrap_interval(log_loss, y, proba, random_state=seed) for seed in (1, 1, 2))
    assert one == two and (one.draws != other.draws).any()


def nan_without_ones(y_true, proba):
    return float("nan") if not y_true.any() else 1.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "magic"}, "method='magic'"),
        ({"n_draws": 10}, "n_draws=10: must be at least 40"),
        ({"level": 0}, "level=0"),
        ({"proba": [[0.5, 0.6]] * 4}, "sums to 1.1"),
        ({"y_true": [0, 1]}, "y_true has 2 labels"),
        ({"sample_weight": [0.1] * 4}, "sums to 0.4"),
        ({"metric": unweighted, "sample_weight": [0.5] * 4}, "metric has no parameter sample_weight"),
        ({"metric": nan_without_ones}, "not finite on .* of 1000 draws: .*stratify=True"),
        ({"metric": lambda y, p: float("inf")}, "metric gives inf on the rows as they are"),
    ],
)
def test_what_is_refused(options, words):
    arguments = {"metric": log_loss, "y_true": [0, 1, 0, 0], "proba": [[0.5, 0.5]] * 4, **options}
    with pytest.raises(ValueError, match=words):
        bootstrap_interval(**arguments)


@pytest.mark.parametrize(
    ("proba_2", "words"),
    [([[0.5, 0.6]] * 2, r"proba_2\[0\] sums to 1.1"), ([[1.0]] * 2, r"proba_1 has shape \(2, 2\), but proba_2 has")],
)
def test_differences_that_are_refused(proba_2, words):
    with pytest.raises(ValueError, match=words):
        bootstrap_difference(log_loss, [0, 1], [[0.5, 0.5]] * 2, proba_2)


def test_a_metric_must_be_a_function():
    with pytest.raises(TypeError, match="metric='log_loss'"):
        bootstrap_interval("log_loss", [0, 1], [[0.5, 0.5]] * 2)
