"""The page on Zhang, Petitjean & Buntine (2020): its tables and figures beside ours, made from the database."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from petiole.comparison import SignTest
from petiole.comparison.rendering import as_markdown, p_text
from petiole.experiments._pages.building import AGREEMENT_HEADER, Compared, n_digits, unsigned_zero, write_page
from petiole.experiments.published import read_published
from petiole.experiments.zhang_2020 import ESTIMATORS, FOLDS, FOREST_SIZES, HGS_NAME, NAME
from petiole.experiments.zhang_2020 import figures as figures
from petiole.experiments.zhang_2020.scores import (
    ALPHA,
    COLUMNS,
    DRAW,
    LARGE,
    LARGE_SETS,
    LARGE_SETS_WON_BY_HDP,
    PRINTED_LINES,
    RIVALS,
    Scores,
    agreements_of,
    large_sets,
    published_counts,
    read_scores,
)

PUBLISHED_SETS = 143


def write(database: str | os.PathLike[str], page: str | os.PathLike[str]) -> Path:
    """Write the page, and its pictures if matplotlib is there, from what the database has."""
    scores = read_scores(database)
    if len(scores.rows) < 2:
        raise ValueError(f"{len(scores.rows)} data set is there: comparisons need at least 2, run more")
    folder = Path(page).parent
    drawn = figures.draw(scores, folder / "images", Path(page).stem)
    return write_page(page, render(scores, {name: path.relative_to(folder).as_posix() for name, path in drawn.items()}))


def render(scores: Scores, pictures: dict[str, str] | None = None) -> str:
    """The page as text; ``pictures`` has the path of each figure."""
    pictures = pictures or {}
    parts = [
        "# Zhang, Petitjean & Buntine (2020): hierarchical gradient smoothing",
        f"<!-- Made by `python -m petiole reproduce {NAME}`: do not edit. -->",
        _introduction(scores),
        "## Summary",
        _summary(scores),
        "## What is done as in the paper, and what differs",
        _protocol(),
        "## Table 1: wins, draws and losses of HGS",
        _table_1(scores),
        "## Table 2: averages",
        _table_2(scores),
        "## Figure 2: HGS against HDP and M-branch",
        _figure_2(scores, pictures),
        "## Figure 3: time to train",
        _figure_3(scores, pictures),
        "## Figure 4: forests with and without HGS",
        _figure_4(scores, pictures),
        "## Every data set",
        _every_data_set(scores),
    ]
    return "\n\n".join(part for part in parts if part)


def _introduction(scores: Scores) -> str:
    results = scores.results
    n_folds = len(results.trials)
    n_sets, n_large = len(scores.rows), int((scores.rows > LARGE).sum())
    lines = [
        f"{n_sets} data sets ({n_large} with more than {LARGE:,} rows), {n_folds} of {FOLDS} folds, {len(ESTIMATORS)} "
        f"leaf estimators on {n_sets * n_folds:,} trees, and as many forests of 1 to {max(FOREST_SIZES)} trees, "
        f"computed with petiole {', '.join(results.versions)}. The paper has {PUBLISHED_SETS} data sets and does "
        "not list them."
    ]
    if results.n_missing:
        lines.append(
            f"**This is not the whole experiment**: {results.n_missing:,} cells are not there. "
            f"`python -m petiole reproduce {NAME}` computes the rest."
        )
    return "\n\n".join(lines)


def _summary(scores: Scores) -> str:
    found = agreements_of(scores)
    same, n = sum(one.same_sign for one in found), sum(one.n_signs for one in found)
    confirmed, significant = sum(one.confirmed for one in found), sum(one.n_significant for one in found)
    text = (
        f"Of the paper's {n} comparisons in which two methods differ, {same} agree here. Of the "
        f"{significant} that its sign test finds significant, {confirmed} are significant here in the same direction. "
        f"HGS has a mean RMSE of {scores.mean('rmse', HGS_NAME):.4f} here, the best other estimator "
        f"({_best_rival(scores)}) {scores.mean('rmse', _best_rival(scores)):.4f}, raw frequencies "
        f"{scores.mean('rmse', 'MLE'):.4f}."
    )
    table = as_markdown(["comparison", *AGREEMENT_HEADER], [[one.name, *one.cells()] for one in found])
    return f"{text}\n\n{table}"


def _best_rival(scores: Scores) -> str:
    return min(RIVALS, key=lambda name: scores.mean("rmse", name))


def _protocol() -> str:
    return "\n".join(
        [
            "As in the paper: C4.4 trees (C4.5's splits, no pruning), missing values as a category of their own, "
            "10-fold "
            "cross-validation, HDP with 1,000 iterations and one concentration for all nodes, HGS by gradient descent "
            "with b = 0.01 and ε = 0.0001, wins and losses by the two-tailed sign test at 0.05.",
            "",
            "What the paper leaves open, and what is done here:",
            "",
            "- The data sets: all of the data folder with more than 100 rows, so means are of other data.",
            "- RMSE: the root of the squared error over rows and classes, and folds pooled, as in the authors' code. "
            "Folds are stratified.",
            "- M-estimation has m = 1 and uniform base rates, M-branch M = 1, as in the authors' code. As we read "
            "that code (we did not run it), it leaves the branch of one leaf in place for the next, which changes "
            "the estimates and makes the "
            "time of M-branch grow with the square of the number of leaves; here it is the formula of the paper.",
            "- Trees are not collapsed. The authors' code leaves C4.5's collapsing on.",
            f"- A draw is a difference of at most {DRAW:g}; draws do not enter the sign test.",
            "- The random forests of figure 4: bootstrap samples, ⌈√d⌉ features at each node, Gini, leaves of single "
            "rows, means of leaf frequencies. The larger forests of a fold have the trees of the smaller, and "
            "forests with and without HGS have the same.",
            "- Run time: processor time of one fit (growth and estimate), one thread, C++; theirs is of Java on "
            "another machine. Only ratios can be compared.",
        ]
    )


def _table_1(scores: Scores) -> str:
    header = ["HGS against"]
    for title in COLUMNS.values():
        header += [f"{title}: published", "ours", "p, ours"]
    rows = []
    for rival in RIVALS:
        row = [rival]
        for column in COLUMNS:
            printed = read_published("zhang_2020_table_1").cell(PRINTED_LINES[rival], column)
            test = scores.compare(column, rival)
            row += [f"{printed}{_star(published_counts(column, rival))}", counts(test), p_text(test.p_value)]
        rows.append(row)
    note = (
        f"\\* significant at {ALPHA} by the two-tailed sign test. The paper uses bold type, which our copy of the "
        "text does not show; the stars of published counts follow from the counts."
    )
    return f"{as_markdown(header, rows)}\n\n{note}"


def counts(test: SignTest) -> str:
    """Wins-draws-losses as the paper prints them, with a star if they are significant."""
    return f"{test.wins}-{test.ties}-{test.losses}{_star(test)}"


def _star(test: SignTest) -> str:
    return " \\*" if test.winner else ""


def _table_2(scores: Scores) -> str:
    table = read_published("zhang_2020_table_2")
    header = ["method"]
    for title in COLUMNS.values():
        header += [f"{title}: published", "ours", "difference"]
    header += ["run time: published, s", "ours, ms", "to MLE: published", "ours"]
    rows = []
    for method in table.column("method"):
        row = [method]
        for column in COLUMNS:
            row += Compared(table.cell(method, column), scores.mean(column, method)).cells()
        rows.append([*row, *_times(scores, method)])
    return f"{_order(scores)}\n\n{as_markdown(header, rows)}"


def _order(scores: Scores) -> str:
    """The methods by mean RMSE, there and here."""
    table = read_published("zhang_2020_table_2")
    there = sorted(ESTIMATORS, key=lambda name: float(table.cell(name, "rmse")))
    here = sorted(ESTIMATORS, key=lambda name: scores.mean("rmse", name))
    if there == here:
        return f"By mean RMSE the order is the same, from the best on: {', '.join(here)}."
    return f"By mean RMSE, from the best on: {', '.join(there)} in the paper; {', '.join(here)} here."


def _times(scores: Scores, method: str) -> list[str]:
    table = read_published("zhang_2020_table_2")
    printed, base = table.cell(method, "runtime"), table.cell("MLE", "runtime")
    ours = scores.mean("seconds", method)
    ratios = float(printed) / float(base), ours / max(scores.mean("seconds", "MLE"), 1e-12)
    return [printed, unsigned_zero(1000 * ours, n_digits(printed)), *(f"{ratio:.1f}" for ratio in ratios)]


def _figure_2(scores: Scores, pictures: dict[str, str]) -> str:
    best, hgs_wins, large = large_sets(scores)
    n_large = int(large.sum())
    wins = {rival: scores.compare("rmse", rival) for rival in ("HDP", "M-branch")}
    spread = {rival: _spread(scores, rival) for rival in wins}
    text = (
        f"Below the line HGS is better: against HDP on {wins['HDP'].wins} of {len(scores.rows)} data sets, against "
        f"M-branch on {wins['M-branch'].wins}. The middle half of the differences is {spread['HDP']:.4f} wide for HDP "
        f"and {spread['M-branch']:.4f} for M-branch; the paper says that HDP varies more. Of the {LARGE_SETS} sets "
        f"with more than {LARGE:,} rows there, HDP is best of the three on {LARGE_SETS_WON_BY_HDP}; here of "
        f"{n_large} on {best}, while HGS beats HDP on {hgs_wins}."
    )
    return _with_picture(text, pictures, "figure_2", "RMSE of HGS less that of HDP and M-branch, large data first")


def _spread(scores: Scores, rival: str) -> float:
    low, high = np.percentile(scores.of("rmse", HGS_NAME) - scores.of("rmse", rival), [25, 75])
    return float(high - low)


def _figure_3(scores: Scores, pictures: dict[str, str]) -> str:
    faster = int((scores.of("seconds", HGS_NAME) < scores.of("seconds", "HDP")).sum())
    ratio = float(np.median(scores.of("seconds", "HDP") / scores.of("seconds", HGS_NAME)))
    text = (
        f"The paper finds HGS faster than HDP almost everywhere: here on {faster} of {len(scores.rows)} data sets, "
        f"{ratio:.1f} times (median). M-branch, 9 times slower than HGS in the paper, takes "
        f"{scores.mean('seconds', 'M-branch') / scores.mean('seconds', HGS_NAME):.1f} of the time of HGS here: it "
        "needs only one pass down the tree."
    )
    return _with_picture(text, pictures, "figure_3", "Processor time of a fit against the number of rows")


def _figure_4(scores: Scores, pictures: dict[str, str]) -> str:
    tree = scores.mean("rmse", HGS_NAME)
    header = ["trees", "RF", "RF with HGS", "one tree with HGS"]
    rows = [
        [f"{n}", *(f"{scores.forest(n, smoothed):.4f}" for smoothed in (False, True)), f"{tree:.4f}"]
        for n in FOREST_SIZES
    ]
    text = (
        "The paper: HGS makes forests of more than three trees worse, and one tree with HGS is better than a forest "
        f"of 7 and close to one of 10. Here: HGS helps forests of {_sizes(_improved_sizes(scores))}, and one tree "
        "with "
        f"HGS is better than forests of {_sizes(_beaten(scores))}. Mean RMSE:"
    )
    return _with_picture(
        f"{text}\n\n{as_markdown(header, rows)}", pictures, "figure_4", "Mean RMSE by the size of forests"
    )


def _improved_sizes(scores: Scores) -> list[int]:
    return [n for n in FOREST_SIZES if scores.forest(n, True) < scores.forest(n, False)]


def _beaten(scores: Scores) -> list[int]:
    tree = scores.mean("rmse", HGS_NAME)
    return [n for n in FOREST_SIZES if tree < scores.forest(n, False)]


def _sizes(found: list[int]) -> str:
    if not found:
        return "no size that was tried"
    return f"{', '.join(str(n) for n in found)} {'tree' if found == [1] else 'trees'}"


def _with_picture(text: str, pictures: dict[str, str], name: str, words: str) -> str:
    return f"{text}\n\n![{words}]({pictures[name]})" if name in pictures else text


def _every_data_set(scores: Scores) -> str:
    header = ["data set", "rows", *(f"RMSE, {name}" for name in ESTIMATORS), "0-1 loss, MLE", "0-1 loss, HGS"]
    rows = []
    for i, name in enumerate(scores.results.data_sets):
        cells = [f"{scores.of('rmse', method)[i]:.4f}" for method in ESTIMATORS]
        losses = [f"{scores.of('zero_one_loss', method)[i]:.4f}" for method in ("MLE", HGS_NAME)]
        rows.append([name, f"{int(scores.rows[i])}", *cells, *losses])
    return as_markdown(header, rows)
