"""The page on Nielsen (2004): its tables beside ours, made from the database."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from petiole.comparison import win_tie_loss
from petiole.comparison.rendering import as_markdown
from petiole.experiments._grid.results import Results, read_stored
from petiole.experiments._pages.building import (
    AGREEMENT_HEADER,
    LEAST_DIGITS,
    MARKS,
    Agreement,
    Compared,
    ComparedPair,
    ComparedSigns,
    counts_text,
    pair_table,
    rounded,
    welch_marks,
    write_page,
    write_picture,
)
from petiole.experiments.nielsen_2004 import (
    ADDED,
    B_PETS,
    EB_PETS,
    METRICS,
    MOB_ESP,
    REMOVED,
    TRIALS,
    experiment,
    timing,
    with_enhancement,
    without_enhancement,
)
from petiole.experiments.nielsen_2004 import readings_page as nielsen_2004_readings_page
from petiole.experiments.nielsen_2004.data import REMARKS, SOURCES
from petiole.experiments.published import PublishedTable, read_published

ALPHA = 0.1
# The columns of the paper's tables, our names, and the paper's.
COLUMNS = {
    "mse": ("zero_one_mse", "0/1-MSE"),
    "avll": ("log_loss", "AvLL"),
    "aulc": ("lift_area", "AULC"),
    "dacc": ("accuracy_change", "ΔAcc"),
}
PRINTED_NAMES = {B_PETS: "b_pets", EB_PETS: "eb_pets", MOB_ESP: "mob_esp"}
TABLES = ((2, B_PETS, EB_PETS), (6, EB_PETS, MOB_ESP))
# Tables 3 to 5: the name of a line, and the two methods that it counts wins of the second of.
COUNTED = {
    3: [*((name, B_PETS, with_enhancement(name)) for name in ADDED), ("All (EB-PETs)", B_PETS, EB_PETS)],
    4: [(name, EB_PETS, without_enhancement(name)) for name in REMOVED],
    5: [(name, name, MOB_ESP) for name in (B_PETS, EB_PETS)],
}
N_FURTHEST = 8
N_CORES = 2


def write(database: str | os.PathLike[str], page: str | os.PathLike[str]) -> Path:
    """Write the page, and its picture if matplotlib is there, from what the database has."""
    results = _read(database)
    picture = Path(page).parent / "images" / f"{Path(page).stem}.png"
    drawn = _draw(results, picture)
    shown = picture.relative_to(Path(page).parent).as_posix() if drawn else None
    tried = nielsen_2004_readings_page.section(database)
    return write_page(
        page,
        f"{render(results, shown, _read_timed(database))}\n\n## What we tried where the results differ\n\n{tried}",
    )


def agreements(database: str | os.PathLike[str]) -> list[Agreement]:
    """Tables 2 and 6: of each metric, which comparisons agree."""
    return _agreements(_read(database))


def _agreements(results: Results) -> list[Agreement]:
    found = []
    for number, first, second in TABLES:
        for column, (_, title) in COLUMNS.items():
            pairs = [pair for _, pair in compare(results, number, column, first, second)]
            found.append(Agreement.of(pairs, f"table {number}, {title}: {second} against {first}"))
    return found + [
        Agreement.of(compare_counts(results, column), f"tables 3 to 5, {title}: more wins than losses, or fewer")
        for column, (_, title) in COLUMNS.items()
    ]


def compare_counts(results: Results, column: str) -> list[ComparedSigns]:
    """The counts of tables 3 to 5 that do not follow from tables 2 and 6: whether wins outnumber losses."""
    compared = []
    for number, lines in COUNTED.items():
        table = read_published(f"nielsen_2004_table_{number}")
        for name, first, second in lines:
            if (first, second) not in [pair[1:] for pair in TABLES]:
                wins, _, losses = map(int, table.cell(name, column).split("/"))
                ours = int(paired_marks(results, COLUMNS[column][0], first, second).sum())
                compared.append(ComparedSigns((int(np.sign(wins - losses)), int(np.sign(ours)))))
    return compared


def _read(database: str | os.PathLike[str]) -> Results:
    results = read_stored(database, experiment())
    if len(results.trials) < 2:
        raise ValueError(f"{len(results.trials)} trial of {TRIALS} is there: t-tests need at least 2, run more")
    return results


def _read_timed(database: str | os.PathLike[str]) -> Results | None:
    try:
        return read_stored(database, timing())
    except ValueError:
        return None


def render(results: Results, picture: str | None = None, timed: Results | None = None) -> str:
    """The page as text."""
    parts = [
        "# Nielsen (2004): MOB-ESP and other improvements in probability estimation",
        "<!-- Made by `python -m petiole reproduce nielsen-2004`: do not edit. -->",
        _introduction(results, timed),
        "## Summary",
        _summary(results),
    ]
    if picture is not None:
        parts.append(f"![Published scores beside ours, a point per data set and method]({picture})")
    parts += ["## What is done as in the paper, and what differs", _protocol(results), _data_table(results)]
    for number, first, second in TABLES:
        parts += _by_data_set(results, number, first, second)
    parts += ["## Tables 3, 4 and 5: wins, ties and losses", _counts(results)]
    return "\n\n".join(parts)


def compare(results: Results, number: int, column: str, first: str, second: str) -> list[tuple[str, ComparedPair]]:
    """Two methods under one metric on each data set, as in table 2 or 6 of the paper."""
    table, metric = read_published(f"nielsen_2004_table_{number}"), COLUMNS[column][0]
    marks = paired_marks(results, metric, first, second)
    pairs = []
    for name, mark in zip(results.data_sets, marks.tolist(), strict=True):
        sides = [
            Compared(
                table.cell(name, f"{column}_{PRINTED_NAMES[method]}"),
                results.mean(metric, name, method),
            )
            for method in (first, second)
        ]
        pairs.append((name, ComparedPair(sides[0], sides[1], MARKS[table.cell(name, f"{column}_win")], mark)))
    return pairs


def paired_marks(results: Results, metric: str, first: str, second: str) -> NDArray[np.int64]:
    """1 where the second method wins by a paired t-test at 0.1, -1 where the first does, else 0."""
    scores = np.stack([results.trial_scores(metric, method) for method in (first, second)], axis=1)
    table = win_tie_loss(
        scores, reference=second, names=[first, second], greater_is_better=METRICS[metric], alpha=ALPHA
    )
    marks: NDArray[np.int64] = table.marks[0, 0]
    return marks


def unpaired_marks(results: Results, metric: str, first: str, second: str) -> NDArray[np.int64]:
    """The same by unpaired t-tests."""
    one, other = (results.trial_scores(metric, method) for method in (first, second))
    return welch_marks(one, other, METRICS[metric], ALPHA)


def _introduction(results: Results, timed: Results | None) -> str:
    n_trials = len(results.trials)
    state = f"{n_trials} of the paper's {TRIALS} trials" if n_trials < TRIALS else f"all {TRIALS} trials"
    missing = [name for name in SOURCES if name not in results.data_sets]
    lines = [
        f"{len(results.data_sets)} data sets, {state}, {len(results.methods)} methods: {_n_ensembles(results):,} "
        f"ensembles of 128 trees, computed with petiole {', '.join(results.versions)}.",
        time_spent(results, timed),
    ]
    if n_trials < TRIALS:
        lines.append(
            f"**This is not the whole experiment.** With {n_trials} trials fewer differences are significant than "
            f"with {TRIALS}, so read the verdicts with care. `python -m petiole reproduce nielsen-2004` computes the "
            "rest."
        )
    if missing:
        lines.append(f"Not there: {', '.join(missing)}.")
    return "\n\n".join(lines)


def time_spent(results: Results, timed: Results | None) -> str:
    """How long it took by the clock, and how much processor time the whole experiment takes."""
    clock = (
        f"In elapsed time, including other work on the machine, the cells took {results.total_seconds / 60:.1f} "
        "minutes."
    )
    if timed is None:
        return clock
    each = float(timed.tables["processor_seconds"].mean())
    minutes = each * TRIALS * len(SOURCES) * len(results.methods) / 60
    return (
        f"{clock} Measured separately, an ensemble takes {each:.3f} s of processor time to grow and evaluate, and the "
        "whole "
        f"experiment {minutes:.1f} minutes: {minutes / N_CORES:.1f} on {N_CORES} free cores."
    )


def _n_ensembles(results: Results) -> int:
    return len(results.data_sets) * len(results.methods) * len(results.trials)


def _summary(results: Results) -> str:
    rows, everything = [], []
    for number, first, second in TABLES:
        for column, (_, title) in COLUMNS.items():
            pairs = [pair for _, pair in compare(results, number, column, first, second)]
            everything += pairs
            rows.append([f"{second} against {first}", title, *Agreement.of(pairs).cells()])
    whole = Agreement.of(everything)
    rows.append(["all", "", *whole.cells()[:-1], ""])
    text = (
        f"Where the paper's printed scores of two methods differ, the same method is better here in {whole.same_sign} "
        "of "
        f"{whole.n_signs} comparisons. Of the {whole.n_significant} differences that are significant in the paper, "
        f"{whole.confirmed} are significant here in the same direction, {whole.opposite_mark} are significant in the "
        "other direction, and the rest are ties here."
    )
    table = as_markdown(["comparison", "metric", *AGREEMENT_HEADER], rows)
    return "\n\n".join([text, _in_words(results), table, _levels(results), _furthest(results)])


def _in_words(results: Results) -> str:
    """What agrees and what does not, by what the paper concludes."""
    by_name = {one.name: one for one in _agreements(results)}

    def confirmed(*names: str) -> str:
        found = [by_name[name] for name in names]
        return f"{sum(one.confirmed for one in found)} of {sum(one.n_significant for one in found)}"

    mob = confirmed(*(f"table 6, {title}: {MOB_ESP} against {EB_PETS}" for title in ("0/1-MSE", "AvLL")))
    enhanced = confirmed(*(f"table 2, {title}: {EB_PETS} against {B_PETS}" for title in ("0/1-MSE", "AvLL")))
    ranking = confirmed(f"table 2, AULC: {EB_PETS} against {B_PETS}")
    voting = confirmed(f"table 2, ΔAcc: {EB_PETS} against {B_PETS}", f"table 6, ΔAcc: {MOB_ESP} against {EB_PETS}")
    better = sum(one.difference < 0 for _, one in compare_scores(results, "mse", B_PETS))
    return (
        "These shares of the significant differences are confirmed. MOB-ESP against EB-PETs, quality of the "
        "probabilities "
        f"(0/1-MSE and AvLL): {mob}. EB-PETs against B-PETs, quality: {enhanced}; ranking (AULC): {ranking}. "
        f"The effect of the probabilities on the accuracy of the vote: {voting}. B-PETs, the baseline, have a lower "
        "0/1-MSE "
        f"here than in print on {better} of {len(results.data_sets)} data sets, which leaves less to gain; the last "
        "section describes what we tried to find out why."
    )


def compare_scores(results: Results, column: str, method: str) -> list[tuple[str, Compared]]:
    """One method's scores on each data set, as printed and ours. Those of EB-PETs are in both tables of the paper."""
    if method == B_PETS:
        return [(name, pair.first) for name, pair in compare(results, 2, column, B_PETS, EB_PETS)]
    if method == EB_PETS:
        return [(name, pair.second) for name, pair in compare(results, 2, column, B_PETS, EB_PETS)]
    return [(name, pair.second) for name, pair in compare(results, 6, column, EB_PETS, MOB_ESP)]


def _levels(results: Results) -> str:
    """Whether a method scores higher or lower here than in the paper: a baseline that does better is harder to "
    "beat."""
    rows = []
    for method in PRINTED_NAMES:
        row = [method]
        for column, (metric, _) in COLUMNS.items():
            sign = 1 if METRICS[metric] else -1
            gains = [sign * rounded(one.difference, LEAST_DIGITS) for _, one in compare_scores(results, column, method)]
            better, worse = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
            row.append(f"{better} / {len(gains) - better - worse} / {worse}")
        rows.append(row)
    table = as_markdown(["method", *(title for _, title in COLUMNS.values())], rows)
    return (
        "The number of data sets on which a method is better / the same / worse here than in the paper, to 3 digits:"
        f"\n\n{table}"
    )


def _furthest(results: Results) -> str:
    """The scores that are furthest from the paper's, measured by the middle difference of their metric."""
    found = []
    for column, (_, title) in COLUMNS.items():
        compared = {method: compare_scores(results, column, method) for method in PRINTED_NAMES}
        scale = float(np.median([abs(one.difference) for pairs in compared.values() for _, one in pairs]))
        for method, pairs in compared.items():
            for name, one in pairs:
                found.append((abs(one.difference) / max(scale, 1e-9), [name, method, title, *one.cells()]))
    rows = [cells for _, cells in sorted(found, key=lambda one: -one[0])[:N_FURTHEST]]
    header = ["data set", "method", "metric", "published", "ours", "difference"]
    return (
        "The scores that differ most from the paper's, relative to the scale of their metric:"
        f"\n\n{as_markdown(header, rows)}"
    )


def _protocol(results: Results) -> str:
    return "\n".join(
        [
            "As in the paper: two-class data sets, a random third held out in each trial (not stratified), 128 trees, "
            "stratified bootstrap, leaves of two rows or more, Laplace's correction in B-PETs, α = 1, ⌈√D⌉ features, "
            "ε = min(0.005, ½ min prior) for probabilities of 0 and 1, AULC weighted by the priors of the training "
            "rows, verdicts by t-tests at 0.1.",
            "",
            "What the paper leaves open, and what is done here:",
            "",
            "- Whether its t-tests are paired. The methods of a trial share the split here, so the verdicts are by "
            "paired tests; the last tables also have those of unpaired (Welch) tests.",
            "- Whether methods share trees. Here each ensemble is grown by itself.",
            "- Splits are chosen by information gain, ties at random.",
            "- In-bag rows count once where out-of-bag rows count (as footnote 5 implies), and with their copies in "
            "B-PETs.",
            "- How the lift is integrated between ties: positives are spread evenly over a tie.",
            "- How most categories were converted to integers: we chose a natural order where there is one.",
        ]
    )


def _data_table(results: Results) -> str:
    published = read_published("nielsen_2004_table_1")
    rows = []
    for name in results.data_sets:
        n_rows, n_features = SOURCES[name].shape  # as load_nielsen has checked before every cell
        sizes = [published.cell(name, "n"), f"{n_rows}", published.cell(name, "d"), f"{n_features}"]
        rows.append([name, SOURCES[name].name, ", ".join(SOURCES[name].classes or ()), *sizes, REMARKS.get(name, "")])
    header = ["data set", "from", "classes", "N published", "N ours", "D published", "D ours", "remark"]
    return as_markdown(header, rows)


def _by_data_set(results: Results, number: int, first: str, second: str) -> list[str]:
    parts = [f"## Table {number}: {second} against {first}"]
    for column, (metric, title) in COLUMNS.items():
        better = "more is better" if METRICS[metric] else "less is better"
        pairs = compare(results, number, column, first, second)
        parts += [f"### {title} ({better})", pair_table(first, second, pairs)]
    return parts


def _counts(results: Results) -> str:
    """Tables 3 to 5: each cell has the published counts, ours by paired tests and ours by unpaired ones."""
    titles = {3: "added to B-PETs", 4: "removed from EB-PETs", 5: "MOB-ESP against"}
    parts = [
        "Each cell: published · ours by paired t-tests · ours by unpaired t-tests."
        + ("" if len(results.data_sets) == len(SOURCES) else " Ours are of fewer data sets."),
        *(
            _counts_table(
                results, read_published(f"nielsen_2004_table_{number}"), lines, f"table {number}: {titles[number]}"
            )
            for number, lines in COUNTED.items()
        ),
    ]
    return "\n\n".join(parts)


def _counts_table(
    results: Results, published: PublishedTable, lines: Iterable[tuple[str, str, str]], title: str
) -> str:
    rows = []
    for name, first, second in lines:
        row = [name]
        for column, (metric, _) in COLUMNS.items():
            ours = [counts_text(marks(results, metric, first, second)) for marks in (paired_marks, unpaired_marks)]
            row.append(" · ".join([published.cell(name, column), *ours]))
        rows.append(row)
    return as_markdown([title, *(one for _, one in COLUMNS.values())], rows)


def _draw(results: Results, path: Path) -> bool:
    """Published scores against ours; False without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(12, 3.2), layout="constrained")
    for axes, column in zip(figure.subplots(1, len(COLUMNS)), COLUMNS, strict=True):
        _draw_metric(axes, results, column)
    figure.axes[0].set_ylabel("ours")
    figure.axes[0].legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_picture(path, figure, dpi=100)
    return True


def _draw_metric(axes: Any, results: Results, column: str) -> None:
    for method, marker in zip(PRINTED_NAMES, "os^", strict=True):
        compared = [one for _, one in compare_scores(results, column, method)]
        published, ours = [float(one.published) for one in compared], [one.ours for one in compared]
        axes.scatter(published, ours, s=18, marker=marker, alpha=0.7, label=method)
    low, high = axes.get_xlim()
    axes.axline((low, low), (high, high), color="grey", linewidth=0.8, zorder=0)
    axes.set_title(COLUMNS[column][1])
    axes.set_xlabel("published")
