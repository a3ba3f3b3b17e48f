"""HDP smoothing where leaves hold many rows: ratios of Stirling numbers, memory, and the posterior."""

import math
import subprocess
import sys

import numpy as np
import pytest

from petiole import Tree, _core
from petiole.smoothing import HDP


def naive_ratio_rows(sizes, n_columns):
    """S(n, t+1) / S(n, t) for each n of `sizes` and t = 0 .. n_columns (0 at t = 0 and from t = n on), row by row."""
    rows, ratio = {}, np.zeros(n_columns + 1)
    for n in range(1, max(sizes) + 1):
        if n in sizes:
            rows[n] = ratio.copy()
        step_down = np.zeros(n_columns + 1)  # S(n, t-1) / S(n, t)
        step_down[2:] = np.divide(1, ratio[1:-1], where=ratio[1:-1] > 0, out=np.zeros(n_columns - 1))
        ratio = (1 + n * ratio) / (step_down + n)
        ratio[0], ratio[n + 1 :] = 0, 0
    return rows


@pytest.fixture(scope="module")
def naive_rows():
    return naive_ratio_rows({2, 40, 511, 513, 700, 3000, 8191, 8192, 8193, 9741, 20_000}, 700)


def relative_errors(n, tables, expected):
    return np.abs(np.array(_core.stirling_ratios(n, tables)) / expected[tables] - 1)


def test_ratios_of_small_counts_are_exact(naive_rows):
    for n in (2, 40, 511, 3000, 8191):
        assert relative_errors(n, np.arange(1, min(n, 512)), naive_rows[n]).max() <= 1e-13


def test_ratios_between_exact_rows(naive_rows):
    for n in (8192, 8193, 9741, 20_000):
        assert relative_errors(n, np.arange(1, 512), naive_rows[n]).max() <= 1e-9


def test_ratios_for_many_tables(naive_rows):
    for n in (513, 700, 3000, 8192, 20_000):
        assert relative_errors(n, np.arange(512, min(n, 700)), naive_rows[n]).max() <= 1e-6


def test_ratios_for_nearly_as_many_tables_as_customers():
    """S(n, n) = 1, S(n, n-1) = n (n-1) / 2 and S(n, n-2) = n (n-1) (n-2) (3n-1) / 24."""
    for n in (600, 10_000, 10**6):
        pairs = n * (n - 1) / 2
        one, two = _core.stirling_ratios(n, [n - 1, n - 2])
        assert one == pytest.approx(1 / pairs, rel=1e-6)
        assert two == pytest.approx(pairs / (n * (n - 1) * (n - 2) * (3 * n - 1) / 24), rel=1e-6)


@pytest.mark.parametrize("n", [10**5, 10**7])
def test_ratios_of_large_counts_are_symmetric_polynomials_of_harmonic_numbers(n):
    inverse = 1 / np.arange(1, n, dtype=np.longdouble)
    p1, p2, p3 = (float((inverse**k).sum()) for k in (1, 2, 3))
    e2, e3 = (p1**2 - p2) / 2, (p1**3 - 3 * p1 * p2 + 2 * p3) / 6
    assert _core.stirling_ratios(n, [1, 2, 3]) == pytest.approx([p1, e2 / p1, e3 / e2], rel=1e-11)


def test_ratios_fall_from_column_to_column_and_rise_from_row_to_row():
    """Across the borders between the three ways to compute them, too."""
    for n in (700, 8191, 8192, 10**6, 10**12, 2**53):
        tables = np.arange(1, min(n, 600))
        ratios = np.array(_core.stirling_ratios(n, tables))
        assert (np.diff(ratios) < 0).all()
        assert (np.array(_core.stirling_ratios(1.01 * n, tables)) > ratios).all()


def tree_of_two_leaves(left, right):
    left, right = np.array(left, dtype=float), np.array(right, dtype=float)
    return Tree.from_arrays(
        feature=[0, -1, -1],
        threshold=[0.5, 0, 0],
        left=[1, -1, -1],
        right=[2, -1, -1],
        inbag_class_counts=[left + right, left, right],
    )


def root_mean_of_two_leaves(left, right, concentration, most_tables):
    """The posterior mean of P(class 0) at the root (concentration 2), by summing over all numbers of tables."""
    rows = naive_ratio_rows({*left, *right}, most_tables)
    log_c = math.log(concentration)

    def log_weights(n):  # of t = 1 .. most_tables, the factor S(n, 1) left out
        with np.errstate(divide="ignore"):  # log 0: more tables than customers
            log_ratios = np.log(rows[n][1:most_tables])
        return np.concatenate([[0.0], np.cumsum(log_ratios)]) + log_c * np.arange(most_tables)

    customers = np.arange(2, 2 * most_tables + 1)  # of one class at the root
    by_class = []
    for k in (0, 1):
        one, two = log_weights(left[k]), log_weights(right[k])
        by_class.append(np.log(np.convolve(np.exp(one - one.max()), np.exp(two - two.max())) + 1e-300))
    log_gamma = np.array([math.lgamma(i) for i in range(1, 4 * most_tables + 8)])  # [i]: of i + 1
    n0, n1 = customers[:, None], customers[None, :]
    joint = by_class[0][:, None] + by_class[1][None, :] + log_gamma[n0] + log_gamma[n1] - log_gamma[n0 + n1 + 1]
    joint = np.exp(joint - joint.max())
    return float((joint * (n0 + 1) / (n0 + n1 + 2)).sum() / joint.sum())


@pytest.mark.parametrize("concentration", [1.0, 60.0])
def test_the_posterior_of_large_leaves(concentration):
    left, right = (20_000, 9_000), (300, 12_000)
    exact = root_mean_of_two_leaves(left, right, concentration, 1000)
    hdp = HDP(n_iter=30_000, concentration=concentration, random_state=0)
    assert hdp.node_probabilities(tree_of_two_leaves(left, right))[0, 0] == pytest.approx(exact, abs=0.01)


MEMORY_OF_LARGE_LEAVES = """
import resource, sys
import numpy as np
from petiole import Tree
from petiole.smoothing import HDP
unit = 1024 if sys.platform == "linux" else 1024**2  # kilobytes, and bytes on macOS
megabytes = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
def smooth(left, right, **parameters):
    counts = np.array([np.add(left, right), left, right], dtype=float)
    tree = Tree.from_arrays(feature=[0, -1, -1], threshold=[0.5, 0, 0], left=[1, -1, -1], right=[2, -1, -1],
                            inbag_class_counts=counts)
    table = HDP(random_state=0, **parameters).node_probabilities(tree)
    assert np.isfinite(table).all() and np.allclose(table.sum(axis=1), 1), table
    np.testing.assert_allclose(table[1:], counts[1:] / counts[1:].sum(axis=1, keepdims=True), atol=0.01)
before = megabytes()
smooth([1e7, 3e6], [2e6, 1e5])  # ten million rows
smooth([4e6, 1e6], [2e6, 7e6], concentration=4000.0)  # weights of a million
smooth([1e300, 1e299], [1e200, 1e200])
print(megabytes() - before)
"""


@pytest.mark.posix
def test_memory_does_not_grow_with_the_counts():
    run = subprocess.run(
        [sys.executable, "-c", MEMORY_OF_LARGE_LEAVES], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < 100


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"concentration": 1e300}, "concentration=1e\\+300: must be a number between 1e-06 and 1e\\+09"),
        ({"concentration_prior": (1e300, None)}, "concentration_prior\\[0\\]=1e\\+300"),
        ({"concentration_prior": (2.0, 1e-300)}, "concentration_prior\\[1\\]=1e-300"),
    ],
)
def test_concentrations_past_all_reason_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        HDP(**parameters).node_probabilities(tree_of_two_leaves([3, 1], [1, 2]))
