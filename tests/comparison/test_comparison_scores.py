"""t-tests, sign test, mean ranks and tables of wins: beside SciPy, the naive versions and the papers' figures."""

from __future__ import annotations

import builtins

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from naive_comparison import friedman, groups, ranks, t_statistic
from naive_comparison import sign_test as naive_sign_test
from naive_comparison import win_tie_loss as naive_win_tie_loss
from petiole.comparison import (
    corrected_resampled_t_test,
    critical_difference_diagram,
    friedman_nemenyi,
    paired_t_test,
    sign_test,
    sign_test_of_counts,
    win_tie_loss,
)

# Nielsen 2004, tables 2 and 6: 0/1-MSE of B-PETs, EB-PETs and MOB-ESP on 20 data sets
NIELSEN = np.array(
    [
        (0.045, 0.050, 0.004), (0.197, 0.197, 0.199), (0.109, 0.098, 0.095), (0.010, 0.012, 0.002),
        (0.247, 0.069, 0.056), (0.0009, 0.0005, 0.0000), (0.042, 0.038, 0.026), (0.212, 0.136, 0.127),
        (0.162, 0.160, 0.162), (0.053, 0.039, 0.031), (0.146, 0.145, 0.131), (0.169, 0.127, 0.129),
        (0.231, 0.232, 0.229), (0.058, 0.045, 0.039), (0.047, 0.039, 0.011), (0.033, 0.027, 0.025),
        (0.036, 0.034, 0.032), (0.035, 0.022, 0.014), (0.166, 0.170, 0.169), (0.036, 0.017, 0.008),
    ]
)  # fmt: skip
METHODS = ["B-PETs", "EB-PETs", "MOB-ESP"]

coarse_scores = st.integers(0, 4).map(lambda whole: whole / 4)


def tables(min_rows=2, min_columns=2):
    shape = st.tuples(st.integers(min_rows, 12), st.integers(min_columns, 6))
    return shape.flatmap(
        lambda s: st.lists(st.lists(coarse_scores, min_size=s[1], max_size=s[1]), min_size=s[0], max_size=s[0])
    )


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


# t-tests


@pytest.mark.parametrize("seed", range(5))
def test_t_tests_are_the_naive_ones(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    one, other = rng.normal(size=(2, n)) + np.array([[0.3], [0]])
    plain = paired_t_test(one, other, alpha=0.1)
    scipy = stats.ttest_rel(one, other)
    assert plain.statistic == pytest.approx(t_statistic(one, other, 1 / n)) == pytest.approx(scipy.statistic)
    assert plain.p_value == pytest.approx(scipy.pvalue)
    assert plain.interval == pytest.approx(tuple(scipy.confidence_interval(0.9)))
    assert plain.difference == pytest.approx(np.mean(one - other))
    corrected = corrected_resampled_t_test(one, other, n_train=200, n_test=100)
    assert corrected.statistic == pytest.approx(t_statistic(one, other, 1 / n + 0.5))
    assert corrected.p_value == pytest.approx(2 * stats.t.sf(abs(corrected.statistic), n - 1))
    assert corrected.p_value >= plain.p_value
    assert corrected == corrected_resampled_t_test(one, other, n_train=2 / 3, n_test=1 / 3)


def test_swapping_methods_flips_the_sign():
    one, other = np.random.default_rng(0).normal(size=(2, 9)) + np.array([[2], [0]])
    there, back = paired_t_test(one, other), paired_t_test(other, one)
    assert (there.winner, back.winner) == (2, 1)  # losses: less is better
    assert (there.statistic, there.p_value) == (-back.statistic, back.p_value)
    assert there.interval == pytest.approx([-end for end in reversed(back.interval)])
    assert paired_t_test(one, other, greater_is_better=True).winner == 1


def test_without_variance():
    same = paired_t_test([0.1, 0.2], [0.1, 0.2])
    assert (same.statistic, same.p_value, same.winner, same.interval) == (0, 1, 0, (0, 0))
    certain = paired_t_test([0.1, 0.2, 0.3], [0.4, 0.5, 0.6])
    assert (certain.statistic, certain.p_value, certain.winner) == (-np.inf, 0, 1)


def test_corrected_test_keeps_its_level_where_the_plain_one_does_not():
    """Scores with a part in common between the trials, as splits of one data set have it."""
    rng = np.random.default_rng(1)
    ratio, n_trials, n_studies = 0.5, 10, 1200
    shared = rng.normal(size=(n_studies, 1)) * np.sqrt(ratio / (1 + ratio))
    scores = shared + rng.normal(size=(n_studies, n_trials)) * np.sqrt(1 / (1 + ratio))
    zeros = np.zeros(n_trials)
    plain = np.mean([paired_t_test(row, zeros).winner != 0 for row in scores[:200]])
    corrected = np.mean([corrected_resampled_t_test(row, zeros, n_train=2, n_test=1).winner != 0 for row in scores])
    assert plain > 0.3
    assert abs(corrected - 0.05) < 3 * np.sqrt(0.05 * 0.95 / n_studies)


# sign test


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 9))
@settings(max_examples=60, deadline=None)
def test_sign_test_is_exact(wins, losses, ties):
    result = sign_test_of_counts(wins, ties, losses)
    assert result.p_value == pytest.approx(naive_sign_test(wins, losses))
    if wins + losses:
        assert result.p_value == pytest.approx(stats.binomtest(wins, wins + losses).pvalue)
    assert result.winner == (0 if result.p_value > 0.05 else 1 if wins > losses else 2)
    half = sign_test_of_counts(wins, ties, losses, ties="split")
    assert half.p_value == pytest.approx(naive_sign_test(wins + ties // 2, losses + ties // 2))


@given(
    st.lists(st.tuples(coarse_scores, coarse_scores), min_size=1, max_size=20),
    st.booleans(),
    st.sampled_from([0.0, 0.25]),
)
@settings(max_examples=60, deadline=None)
def test_sign_test_counts_wins(pairs, greater, tolerance):
    one, other = zip(*pairs, strict=True)
    result = sign_test(one, other, greater_is_better=greater, tie_tolerance=tolerance)
    assert (result.wins, result.ties, result.losses) == naive_win_tie_loss(one, other, greater, tolerance)
    back = sign_test(other, one, greater_is_better=greater, tie_tolerance=tolerance)
    assert (back.wins, back.losses, back.p_value) == (result.losses, result.wins, result.p_value)


def test_zhang_table_1():
    """All wins in RMSE are significant, none of those in 0-1 loss, as the text says."""
    for counts in [(108, 2, 33), (111, 4, 28), (98, 4, 41), (96, 3, 44), (92, 1, 50)]:
        assert sign_test_of_counts(*counts).winner == 1
    for counts in [(69, 22, 52), (68, 22, 53), (66, 23, 54), (59, 32, 52), (64, 21, 58)]:
        assert sign_test_of_counts(*counts).winner == 0


# ranks


@given(tables(min_columns=3))
@settings(max_examples=60, deadline=None)
def test_friedman_is_the_naive_one(scores):
    result = friedman_nemenyi(scores)
    assert result.ranks.tolist() == [ranks(row) for row in scores]
    k = len(scores[0])
    assert result.mean_ranks.sum() == pytest.approx(k * (k + 1) / 2)
    if any(len(set(row)) > 1 for row in scores):
        assert result.statistic == pytest.approx(friedman(scores), abs=1e-9)
        scipy = stats.friedmanchisquare(*np.transpose(scores))
        assert result.statistic == pytest.approx(scipy.statistic, abs=1e-9)
        assert result.p_value == pytest.approx(scipy.pvalue, abs=1e-9)
    else:
        assert (result.statistic, result.p_value, result.f_p_value) == (0, 1, 1)
    found = {tuple(sorted(result.names.index(name) for name in group)) for group in result.groups()}
    assert found == groups(result.mean_ranks.tolist(), result.critical_difference)


@pytest.mark.parametrize(
    ("k", "q_05", "q_10"),
    [(2, 1.960, 1.645), (3, 2.343, 2.052), (4, 2.569, 2.291), (5, 2.728, 2.459), (6, 2.850, 2.589), (10, 3.164, 2.920)],
)
def test_critical_differences_are_demsars(k, q_05, q_10):
    scores = np.random.default_rng(0).random((14, k))
    for alpha, q in ((0.05, q_05), (0.1, q_10)):
        result = friedman_nemenyi(scores, alpha=alpha)
        assert result.critical_difference == pytest.approx(q * np.sqrt(k * (k + 1) / (6 * 14)), abs=1e-3)
        differs = result.differs()
        assert (differs == (result.p_values() <= alpha))[~np.eye(k, dtype=bool)].all()
        assert (differs == differs.T).all() and not differs.diagonal().any()


def test_ranks_turn_with_the_direction():
    scores = np.random.default_rng(0).random((8, 4))
    up, down = friedman_nemenyi(scores, greater_is_better=True), friedman_nemenyi(scores)
    assert (up.mean_ranks + down.mean_ranks == 5).all()
    assert up.statistic == pytest.approx(down.statistic)


def test_a_clear_order():
    result = friedman_nemenyi(np.tile([0.1, 0.2, 0.3], (50, 1)), names=["a", "b", "c"])
    assert result.groups() == []
    assert result.f_statistic == np.inf and result.f_p_value == 0
    assert result.order == [0, 1, 2]


def test_frames_name_the_methods():
    for frame in (pd.DataFrame(NIELSEN, columns=METHODS), pl.DataFrame(NIELSEN, schema=METHODS)):
        assert friedman_nemenyi(frame).names == METHODS


def test_rank_tables():
    result = friedman_nemenyi(NIELSEN, names=METHODS)
    assert result.to_text().splitlines()[:2] == ["method   mean rank", "MOB-ESP       1.27"]
    assert "| EB-PETs | 2.08 |" in result.to_markdown()
    assert "critical difference 0.74" in result.to_markdown()


# wins, ties and losses


def test_plain_wins_of_nielsens_table():
    table = win_tie_loss(NIELSEN, reference="MOB-ESP", names=METHODS)
    assert (table.wins.ravel().tolist(), table.losses.ravel().tolist()) == ([17, 17], [2, 3])
    assert table.ties.ravel().tolist() == [1, 0]
    assert table.p_values[0, 0] == pytest.approx(naive_sign_test(17, 2))
    assert table.to_text().splitlines()[1] == "MOB-ESP vs. B-PETs   17-1-2*"
    assert "| MOB-ESP vs. EB-PETs | **17/0/3** |" in table.to_markdown(separator="/")
    assert table.details("EB-PETs").splitlines()[1].split() == ["data", "set", "1", "0.050", "0.004", "W"]
    assert table.details("EB-PETs", markdown=True).splitlines()[4] == "| data set 3 | 0.098 | 0.095 | W |"


@given(tables(), st.booleans(), st.sampled_from([0.0, 0.25]))
@settings(max_examples=60, deadline=None)
def test_plain_wins_are_the_naive_ones(scores, greater, tolerance):
    table = win_tie_loss(scores, reference=0, greater_is_better=greater, tie_tolerance=tolerance)
    columns = list(zip(*scores, strict=True))
    expected = [naive_win_tie_loss(columns[0], other, greater, tolerance) for other in columns[1:]]
    assert list(zip(table.wins[:, 0], table.ties[:, 0], table.losses[:, 0], strict=True)) == expected
    turned = win_tie_loss(scores, reference=0, greater_is_better=greater, tie_tolerance=tolerance, wins_of="opponents")
    assert (turned.marks == -table.marks).all()


@pytest.mark.parametrize("ratio", [None, 0.5])
def test_wins_by_t_tests(ratio):
    rng = np.random.default_rng(3)
    loss = rng.random((15, 1, 1)) + rng.normal(size=(15, 3, 10)) * 0.1 + [[[0.0], [0.05], [0.15]]]
    accuracy = 1 - loss
    table = win_tie_loss(
        {"loss": loss, "accuracy": accuracy},
        reference="C",
        names="ABC",
        greater_is_better=["accuracy"],
        rule=None if ratio is None else "corrected_t_test",
        test_ratio=ratio,
    )
    for opponent, column in enumerate((0, 1)):
        for d in range(15):
            if ratio is None:
                test = paired_t_test(loss[d, 2], loss[d, column], alpha=0.1)
            else:
                test = corrected_resampled_t_test(loss[d, 2], loss[d, column], n_train=2, n_test=1, alpha=0.1)
            assert table.marks[opponent, 0, d] == {0: 0, 1: 1, 2: -1}[test.winner]
    assert (table.marks[:, 0] == table.marks[:, 1]).all()
    assert table.marks.any() and not table.marks.all()
    assert table.reference_scores[0] == pytest.approx(loss[:, 2].mean(axis=1))
    assert table.opponent_scores[1, 1] == pytest.approx(accuracy[:, 1].mean(axis=1))
    plain = win_tie_loss(loss, reference=2, rule="plain")
    assert not plain.ties.any()
    assert "t-tests at 0.1" in str(table) and "plain" in str(plain)


def test_variants_against_a_baseline():
    table = win_tie_loss(
        {"0/1-MSE": NIELSEN}, reference="B-PETs", names=METHODS, wins_of="opponents", data_sets=range(20)
    )
    assert table.to_text(separator="/").splitlines()[1].startswith("EB-PETs vs. B-PETs")
    assert (table.wins[0, 0], table.ties[0, 0], table.losses[0, 0]) == (15, 1, 4)
    assert table.details("EB-PETs").splitlines()[:2] == [
        "data set  0/1-MSE: B-PETs  EB-PETs  win",
        "0                   0.045    0.050    L",
    ]


# the diagram


def test_diagram_shows_methods_and_groups():
    result = friedman_nemenyi(NIELSEN, names=METHODS)
    ax = result.plot(title="0/1-MSE")
    words = [text.get_text() for text in ax.texts]
    assert "MOB-ESP  1.27" in words and "2.65  B-PETs" in words
    assert "critical difference 0.74" in words
    bars = [line for line in ax.lines if line.get_gid() == "group"]
    assert [sorted(bar.get_xdata()) for bar in bars] == [[2.075, 2.65]]
    assert ax.get_title() == "0/1-MSE"


@pytest.mark.parametrize(("n", "k"), [(3, 2), (10, 12), (121, 17), (2, 8)])
def test_names_do_not_overlap(n, k):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(n, k)) + np.linspace(0, 2, k)
    ax = critical_difference_diagram(scores, names=[f"method {i}, $x$ and {'more ' * (i % 5)}WMWM" for i in range(k)])
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts if "method" in text.get_text()]
    assert len(boxes) == k
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
        assert box.x0 >= 0 and box.x1 <= ax.figure.bbox.x1


def test_diagram_on_given_axes():
    _, ax = plt.subplots()
    assert critical_difference_diagram(NIELSEN, ax=ax) is ax


def test_diagram_needs_matplotlib(monkeypatch):
    real = builtins.__import__

    def no_matplotlib(name, *arguments, **options):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", no_matplotlib)
    with pytest.raises(ImportError, match=r"pip install matplotlib"):
        critical_difference_diagram(NIELSEN)


# what is refused


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: paired_t_test([1], [2]), "scores_1 has 1 scores: must have at least 2"),
        (lambda: paired_t_test([1, 2], [2]), "scores_2 has 1"),
        (lambda: paired_t_test([1, 2, 3], [2, 3]), "give both from the same trials"),
        (lambda: paired_t_test([1, np.nan], [2, 3]), r"scores_1\[1\]=nan"),
        (lambda: paired_t_test([1, "x"], [2, 3]), "scores must be numbers"),
        (lambda: paired_t_test([[1, 2]], [2, 3]), "one score per trial"),
        (lambda: paired_t_test([1, 2], [2, 3], alpha=0), "alpha=0"),
        (lambda: corrected_resampled_t_test([1, 2], [2, 3], n_train=0, n_test=1), "n_train=0: must be greater than 0"),
        (lambda: sign_test([1], [2], ties="share"), "ties='share'"),
        (lambda: sign_test([1], [2], tie_tolerance=-1), "tie_tolerance=-1"),
        (lambda: sign_test_of_counts(-1, 0, 2), "wins=-1"),
        (lambda: friedman_nemenyi([[1, 2]]), "at least two data sets"),
        (lambda: friedman_nemenyi([[1], [2]]), "at least two methods"),
        (lambda: friedman_nemenyi([1, 2]), "a row per data set"),
        (lambda: friedman_nemenyi([[1, 2], [np.inf, 2]]), r"scores\[1, 0\]=inf"),
        (lambda: friedman_nemenyi([[1, 2], [3, 2]], names=["a"]), "must be 2 names"),
        (lambda: friedman_nemenyi([[1, 2], [3, 2]], names=["a", "a"]), "each name must occur once"),
        (lambda: critical_difference_diagram(friedman_nemenyi(NIELSEN), alpha=0.1), "belong to friedman_nemenyi"),
        (lambda: win_tie_loss(NIELSEN, reference="x"), "reference='x'"),
        (lambda: win_tie_loss(NIELSEN, reference=3), "reference=3"),
        (lambda: win_tie_loss(NIELSEN, reference=0, rule="t_test"), "needs scores of shape"),
        (lambda: win_tie_loss(NIELSEN, reference=0, rule="chance"), "rule='chance'"),
        (lambda: win_tie_loss(NIELSEN, reference=0, test_ratio=1), "test_ratio=1"),
        (lambda: win_tie_loss({}, reference=0), "at least one metric"),
        (lambda: win_tie_loss({"a": NIELSEN, "b": NIELSEN[:3]}, reference=0), "the same data sets"),
        (lambda: win_tie_loss({"a": NIELSEN}, reference=0, greater_is_better=["b"]), "greater_is_better names 'b'"),
        (lambda: win_tie_loss(NIELSEN, reference=0).details(), "opponent=None"),
        (lambda: win_tie_loss(NIELSEN, reference=0, data_sets=["a"]), "must be 20 names"),
    ],
)  # fmt: skip
def test_what_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
