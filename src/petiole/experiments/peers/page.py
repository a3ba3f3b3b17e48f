"""The page "The probability forest and its peers"."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np

from petiole.comparison.rendering import as_markdown
from petiole.experiments._data.which_method import had_a_part
from petiole.experiments._grid.outcomes import TIMED_OUT
from petiole.experiments._grid.progress import last_line
from petiole.experiments._pages.building import Agreement, write_page
from petiole.experiments.peers import (
    MANY_ROWS,
    NAME,
    SETTINGS,
    TIME_LIMIT,
    TRIALS,
    TRIALS_OF_MANY_ROWS,
    pictures,
    whole_grid,
)
from petiole.experiments.peers.losses import anchors, large_sets, lost_sets
from petiole.experiments.peers.scores import LEAST_LOSS, RANKED, CommonScores, Found, is_ours, read_found
from petiole.experiments.peers.store import file_beside, read_back, write_out


def write(database: str | os.PathLike[str], page: str | os.PathLike[str]) -> Path:
    """Write the page, its pictures if matplotlib is there, and the file of scores, from that file and the database."""
    read_back(database, page)
    found = read_found(database)
    ranked = found.ranked().report()
    if len(ranked.data_sets) < 2 or len(ranked.methods) < 2:
        raise ValueError("ranks need at least 2 data sets for the report and 2 methods: run more")
    folder = Path(page).parent
    drawn = pictures.draw(ranked, found.flagship, folder / "images", Path(page).stem)
    scores = file_beside(page)
    write_out(whole_grid(), found.scores, found.errors, scores)
    paths = {name: path.relative_to(folder).as_posix() for name, path in drawn.items()}
    return write_page(page, render(found, ranked, paths, scores.relative_to(folder).as_posix()))


def agreements(database: str | os.PathLike[str]) -> list[Agreement]:
    """None: there is no paper to agree with."""
    return []


def render(found: Found, ranked: CommonScores, drawn: dict[str, str], scores: str) -> str:
    """The page as text; ``drawn`` has the path of each picture, ``scores`` is that of the file of scores."""
    flagship = found.flagship
    parts = [
        "# The probability forest and its peers",
        f"<!-- Made by `python -m petiole reproduce {NAME}`: do not edit. -->",
        _introduction(found),
        _headline(found, ranked),
        _state(found),
        _picture(drawn, "pareto", "Log-loss against processor time, one point per method"),
        f"Each point is a method. The higher it is, the lower its log-loss, as a multiple of that of the {flagship} "
        "(geometric mean over data sets); the further left, the less time it takes (median). The line joins the "
        "methods that no other method beats in both.",
        "## Mean ranks",
        _ranks(ranked),
        _picture(drawn, "log_loss", "Critical-difference diagram of log-loss"),
        _picture(drawn, "brier", "Critical-difference diagram of the Brier score"),
        "## Head to head",
        _head_to_head(found, ranked),
        "## Means and times",
        _means(ranked),
        "## Data sets of more than 5,000 rows",
        large_sets(found),
        "## Small numeric data sets, and TabPFN",
        anchors(found),
        f"## Where the {flagship} loses",
        lost_sets(found),
        "## What failed",
        _failures(found),
        "## How it is done",
        _protocol(scores),
    ]
    return "\n\n".join(part for part in parts if part)


def _introduction(found: Found) -> str:
    return (
        "This page compares the [probability forest](forests.md), `ProbabilityForestClassifier` with its default "
        "parameters, with gradient boosting, random forests, logistic regression, TabPFN and other methods of "
        f"petiole. In the tables it is called *{found.flagship}*. *Stopped* methods are boosters with early stopping; "
        "[the last section](#how-it-is-done) has the details."
    )


def _headline(found: Found, ranked: CommonScores) -> str:
    flagship, ranks = found.flagship, ranked.ranks("log_loss")
    first, *rest = (ranks.names[i] for i in ranks.order)
    place = [first, *rest].index(flagship) + 1
    rank = ranks.mean_ranks[ranks.names.index(flagship)]
    rivals = [name for name in (first, *rest) if name != flagship and not is_ours(name)]
    text = (
        f"**On {len(ranked.data_sets)} data sets that had no part in its development, the {flagship} is number "
        f"{place} of {len(ranked.methods)} methods by mean rank in log-loss** ({rank:.2f}"
    )
    if not rivals:
        return f"{text})."
    rival = rivals[0]
    test = ranked.compare("log_loss", flagship, rival)
    ratio = ranked.mean_ratio(flagship, rival)
    return (
        f"{text}; the best method of another library, {rival}, has "
        f"{ranks.mean_ranks[ranks.names.index(rival)]:.2f}; critical "
        f"difference {ranks.critical_difference:.2f}). It beats {rival} on {test.wins} of them and "
        f"loses on {test.losses}; the log-loss of {rival} is {ratio:.2f} times as large, and its "
        f"processor time {ranked.mean_time_ratio(flagship, rival):.2g} times (geometric means)."
    )


def _state(found: Found) -> str:
    """How far the grid is, and the methods that are not ranked yet."""
    grid = whole_grid().cells()
    known = set(grid)
    ended = len(known & {*found.scores, *found.errors})
    if ended == len(known):
        return ""
    missing = Counter(cell.method for cell in known - {*found.scores, *found.errors})
    total = Counter(cell.method for cell in grid)
    shares = ", ".join(
        f"{name} {1 - missing[name] / total[name]:.0%}" for name in whole_grid().methods if missing[name]
    )
    return (
        f"**The grid is not finished:** {ended:,} of {len(known):,} cells have been computed. Methods with few data "
        f"sets are not ranked; see [Head to head](#head-to-head). The methods that lack some cells have "
        f"these shares of theirs: {shares}."
    )


def _picture(drawn: dict[str, str], name: str, words: str) -> str:
    return f"![{words}]({drawn[name]})" if name in drawn else ""


def _ranks(ranked: CommonScores) -> str:
    ranks = {metric: ranked.ranks(metric) for metric in RANKED}
    one = ranks["log_loss"]
    rows = []
    for name in (one.names[i] for i in one.order):
        values = {metric: r.mean_ranks[r.names.index(name)] for metric, r in ranks.items()}
        cells = [f"**{v:.2f}**" if v == ranks[m].mean_ranks.min() else f"{v:.2f}" for m, v in values.items()]
        rows.append([name, *cells, str(int((one.ranks[:, one.names.index(name)] == 1).sum()))])
    text = (
        f"{len(ranked.methods)} methods, {len(ranked.data_sets)} data sets, the mean of {_split_counts(ranked)}; 1 is "
        f"best. Two mean ranks differ significantly (Nemenyi, 0.05) if they are {one.critical_difference:.2f} apart. "
        "A method that fails or takes too long has the last rank. “First” is the number of data sets on which a "
        "method has the least log-loss alone. Time is that of fit and prediction."
    )
    return f"{text}\n\n{as_markdown(['method', *RANKED.values(), 'first'], rows)}"


def _split_counts(ranked: CommonScores) -> str:
    least, most = min(ranked.n_splits), max(ranked.n_splits)
    return f"{most} split{'s' if most > 1 else ''} of each" if least == most else f"{least} to {most} splits of each"


def _head_to_head(found: Found, ranked: CommonScores) -> str:
    flagship = found.flagship
    header = ["against", "data sets", "log-loss", "log-loss, ratio", "Brier", "AUC", "accuracy", "time, ratio"]
    rows = []
    for rival in [name for name in found.methods() if name != flagship]:
        both = found.common([flagship, rival]).report()
        if both.data_sets:
            tests = {m: both.compare(m, flagship, rival) for m in ("log_loss", "brier", "auc", "accuracy")}
            text_of = {m: f"{t.wins}-{t.ties}-{t.losses} ({t.p_value:.2g})" for m, t in tests.items()}
            ratios = [f"{mean(flagship, rival):.3g}" for mean in (both.mean_ratio, both.mean_time_ratio)]
            cells = [
                text_of["log_loss"],
                ratios[0],
                text_of["brier"],
                text_of["auc"],
                text_of["accuracy"],
                ratios[1],
            ]
            rows.append([rival, str(len(both.data_sets)), *cells])
    text = (
        f"The {flagship} against each other method, on the report data sets that both have and on their common "
        "splits: wins-draws-losses with p of the two-tailed sign test. Ratios are geometric means of the rival's "
        f"value divided by that of the {flagship}. They are above 1 where the rival is worse or slower "
        f"({LEAST_LOSS} bits are added to both log-losses, "
        "because ratios mean little near 0). A method that fails loses, and has no ratio."
    )
    return f"{text}\n\n{as_markdown(header, rows)}"


def _means(ranked: CommonScores) -> str:
    metrics = ["log_loss", "log_loss_low_floor", "brier", "calibration_error", "auc", "accuracy"]
    header = [
        *("method", "log-loss", f"floor {SETTINGS['low_floor']:g}", "Brier", "calibration error", "AUC", "accuracy"),
        *("fit, s", "predict, s", "memory, MB", "all fits, s"),
    ]
    complete = np.array([np.isfinite(losses).all() for losses in ranked.tables["log_loss"]])
    whole, ranks = ranked.kept(complete), ranked.ranks("log_loss")
    rows = []
    for name in (ranks.names[i] for i in ranks.order):
        means = [f"{whole.of(metric, name).mean():.4f}" for metric in metrics]
        fit, predict = whole.of("fit_seconds", name), whole.of("predict_seconds", name)
        memory = f"{np.nanmax(whole.of('memory_mb', name)):.0f}"
        rows.append([name, *means, f"{np.median(fit):.3f}", f"{np.median(predict):.3f}", memory, f"{fit.sum():.0f}"])
    text = (
        f"Means over the {len(whole.data_sets)} data sets on which no ranked method failed; log-loss in bits. Times "
        "are processor time of one thread: medians over data sets, and the sum of one fit of each. Memory is the "
        "largest growth of the process during a fit and prediction; the first fit of a process counts its library, "
        "too."
    )
    return f"{text}\n\n{as_markdown(header, rows)}"


def _failures(found: Found) -> str:
    if not found.errors:
        return "Nothing has failed so far."
    groups: dict[tuple[str, str], set[str]] = {}
    for cell, error in found.errors.items():
        why = f"more than {TIME_LIMIT:.0f} s" if error.startswith(TIMED_OUT) else last_line(error)[:160]
        groups.setdefault((cell.method, why.replace("|", "/")), set()).add(cell.data_set)
    rows = [[method, why, ", ".join(sorted(names))] for (method, why), names in sorted(groups.items())]
    return as_markdown(["method", "why", "data sets"], rows)


def _protocol(scores: str) -> str:
    mine = sum(had_a_part(name) for name in whole_grid().data_sets)
    total = len(whole_grid().data_sets)
    lines = [
        f"- **Data**: all {total} sets of the data folder with {SETTINGS['least_rows']} to {SETTINGS['most_rows']:,} "
        f"rows and two classes of at least {SETTINGS['least_class_size']} rows; rows of smaller classes are left out. "
        f"{mine} of them are for development, by a hash of their names (* in the tables); choices are made on these. "
        "The ranks, comparisons and means on this page are those of the other sets, for the report.",
        f"- **Splits**: {TRIALS}, {TRIALS_OF_MANY_ROWS} above {MANY_ROWS:,} rows: "
        "`StratifiedShuffleSplit(test_size=1/3, random_state=0)`, the same for all methods.",
        f"- **Scores**: log-loss in bits. Probabilities below {SETTINGS['floor']} are raised to it, and rows divided "
        "by their sums. The rule is the same for all methods, and all ranks and ratios use it. The means also show "
        f"the log-loss with a floor of {SETTINGS['low_floor']:g}. The Brier score is a sum over classes; the "
        "calibration error is that of the largest probability, in 15 bins; AUC is the mean over classes, one against "
        "the rest.",
        "- **Methods** have their defaults. “Stopped” holds out a stratified fifth of the training rows, makes up to "
        "1,000 rounds, and stops when 50 have not improved the log-loss of these rows. scikit-learn's forests (RF, "
        "ExtraTrees) have 100 trees unless the name says otherwise. RF is recalibrated on its out-of-bag "
        "probabilities, and ExtraTrees, whose trees see every row, on those of five folds. Both use petiole's "
        "calibrators: temperature, isotonic (one against the rest) and structured matrix scaling. YDF uses its "
        "template `benchmark_rank1v1`, and its forest averages leaves instead of votes. Logistic regression chooses "
        "its penalty by log-loss in five folds. TabPFN v1 takes sets of at most 1,000 rows, 100 columns and 10 "
        "classes, and categories as numbers. The flagship v1 is "
        "`ProbabilityForestClassifier` with the leaf statistics of its forests alone.",
        "- **Columns**: for boosting, YDF, EBM and petiole, categorical columns are declared as such. scikit-learn's "
        "forests and logistic regression get them one-hot encoded, with a missing value as one more value. Missing "
        "numbers are passed to all methods except logistic regression, which gets medians and an indicator column.",
        f"- **Cost**: processor time of one thread. A cell that takes more than {TIME_LIMIT / 60:.0f} minutes is "
        "stopped, and the other splits of that method on that data set are skipped.",
        f"- **Running it yourself**: [the scores of all cells]({scores}) are a text file. `python -m petiole reproduce "
        f"{NAME}` reads it and computes the cells that are missing; methods whose library is not installed are "
        'skipped (`pip install ".[peers]"`). TabPFN needs an environment of its own: '
        "`petiole.experiments.peers.tabpfn` says how.",
    ]
    return "\n".join(lines)
