"""The page on Geurts (2001): table 2 beside ours, and the figures, made from the database."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
from scipy import stats

from petiole._table.columns import Floats
from petiole.comparison.rendering import as_markdown
from petiole.datasets.papers import GEURTS
from petiole.experiments._grid.results import Results, read_stored
from petiole.experiments._pages.building import (
    AGREEMENT_HEADER,
    Agreement,
    Compared,
    ComparedPair,
    ComparedSigns,
    pair_table,
    welch_marks,
    write_page,
)
from petiole.experiments.geurts_2001 import (
    BAGGING,
    NAME,
    PARTS,
    STUDY_LEVELS,
    STUDY_SETTINGS,
    TREE,
    TRIALS,
    experiment,
    study_experiment,
    study_score,
)
from petiole.experiments.geurts_2001.pictures import draw_all
from petiole.experiments.published import read_published

ALPHA = 0.05
PRINTED_DIVISIONS = 10
# The data sets as the paper spells them.
PRINTED = {
    "waveform": "Waveform",
    "two-norm": "two-norm",
    "letter": "Letter",
    "segment": "Segment",
    "satellite": "Satellite",
    "pendigits": "Pendigits",
}
# The columns of table 2 with errors: our method and score, and a name.
COLUMNS = {
    "tree": (TREE, "error", "DT"),
    "tree_dual": (TREE, "dual_error", "DT + dual P&C"),
    "bagging": (BAGGING, "error", "bagging"),
    "bagging_dual": (BAGGING, "dual_error", "bagging + dual P&C"),
}
# What the paper compares: the first column, and the second, which may be better.
COMPARISONS = (("tree", "tree_dual"), ("bagging", "bagging_dual"), ("bagging", "tree_dual"), ("tree", "bagging"))


def write(database: str | os.PathLike[str], page: str | os.PathLike[str]) -> Path:
    """Write the page, and its pictures if matplotlib is there, from what the database has."""
    results, study = _read(database)
    folder = Path(page).parent / "images"
    pictures = draw_all(table_columns(results), study, folder, Path(page).stem)
    return write_page(page, render(results, study, {name: f"images/{file}" for name, file in pictures.items()}))


def agreements(database: str | os.PathLike[str]) -> list[Agreement]:
    """Table 2, and the statements on figures 3 and 4 if they are computed."""
    return _agreements(*_read(database))


def _agreements(results: Results, study: dict[str, Floats] | None) -> list[Agreement]:
    found = [
        Agreement.of((pair for _, pair in compare(results, first, second)), f"table 2, error: {title}")
        for first, second in COMPARISONS
        for title in [_title(first, second)]
    ]
    if study is not None:
        signs = [ComparedSigns((1, 1 if holds else -1)) for _, holds in statements(study)]
        found.append(Agreement.of(signs, "figures 3 and 4: bias and variance as the noise grows"))
    return found


def _title(first: str, second: str) -> str:
    return f"{COLUMNS[second][2]} against {COLUMNS[first][2]}"


def _read(database: str | os.PathLike[str]) -> tuple[Results, dict[str, Floats] | None]:
    results = read_stored(database, experiment())
    if len(results.trials) < 2:
        raise ValueError(f"{len(results.trials)} trial of {TRIALS} is there: t-tests need at least 2, run more")
    try:
        study = read_stored(database, study_experiment())
    except ValueError:  # not run
        return results, None
    return results, study_curves(study)


def study_curves(study: Results) -> dict[str, Floats]:
    """Every part of figures 3 and 4 over the noise levels, such as "decisions variance"."""
    return {
        f"{kind} {part}": np.array([study.tables[study_score(kind, part, level)].item() for level in STUDY_LEVELS])
        for kind in ("decisions", "probabilities")
        for part in PARTS
    }


def statements(study: dict[str, Floats]) -> list[tuple[str, bool]]:
    """What section 2.4 says of figures 3 and 4, and whether it is so here."""
    falls = {
        part: study[f"decisions {part}"].min() < study[f"decisions {part}"][0] for part in ("squared_bias", "variance")
    }
    rises = {part: study[f"decisions {part}"][-1] > study[f"decisions {part}"].min() for part in falls}
    bias = study["probabilities squared_bias"]
    return [
        ("a little noise lowers the error", bool(study["decisions error"].min() < study["decisions error"][0])),
        ("it lowers the variance of the decisions", bool(falls["variance"])),
        ("it lowers their bias, too", bool(falls["squared_bias"])),
        ("with more noise both rise again", bool(all(rises.values()))),
        (
            "the variance of the probabilities falls all the way",
            bool((np.diff(study["probabilities variance"]) < 0).all()),
        ),
        ("much noise raises the bias of the probabilities", bool(bias[-1] > bias.min())),
    ]


def trial_errors(results: Results, column: str) -> Floats:
    """Errors in per cent, of shape (n_data_sets, n_trials)."""
    method, score, _ = COLUMNS[column]
    return 100 * results.trial_scores(score, method)


def compare(results: Results, first: str, second: str) -> list[tuple[str, ComparedPair]]:
    """Two columns of table 2 on each data set, with unpaired tests from the printed and from our deviations."""
    table = read_published("geurts_2001_table_2")
    ours = trial_errors(results, first), trial_errors(results, second)
    marks = welch_marks(ours[0], ours[1], greater_is_better=False, alpha=ALPHA)
    pairs = []
    for row, name in enumerate(results.data_sets):
        printed = [(table.cell(PRINTED[name], c), table.cell(PRINTED[name], f"{c}_sd")) for c in (first, second)]
        sides = [Compared(text, float(own[row].mean())) for (text, _), own in zip(printed, ours, strict=True)]
        one, other = ((float(mean), float(sd)) for mean, sd in printed)
        mark = printed_mark(one, other)
        pairs.append((name, ComparedPair(sides[0], sides[1], mark, int(marks[row]))))
    return pairs


def printed_mark(first: tuple[float, float], second: tuple[float, float]) -> int:
    """1 if the second of two printed errors (mean, deviation) is significantly less, -1 if the first is, else 0.

    >>> printed_mark((24.61, 1.64), (17.54, 1.17)), printed_mark((4.30, 0.44), (4.25, 0.47))
    (1, 0)
    """
    n = PRINTED_DIVISIONS
    p = stats.ttest_ind_from_stats(*first, n, *second, n, equal_var=False).pvalue
    return int(np.sign(first[0] - second[0])) if p <= ALPHA else 0


def table_columns(results: Results) -> dict[str, list[tuple[str, Compared, float, float]]]:
    """For each column of errors and data set: the scores, and the deviations over divisions, printed and ours."""
    table = read_published("geurts_2001_table_2")
    return {
        title: [
            (
                name,
                Compared(table.cell(PRINTED[name], column), float(errors.mean())),
                float(table.cell(PRINTED[name], f"{column}_sd")),
                float(errors.std(ddof=1)),
            )
            for name, errors in zip(results.data_sets, trial_errors(results, column), strict=True)
        ]
        for column, (_, _, title) in COLUMNS.items()
    }


def render(results: Results, study: dict[str, Floats] | None, pictures: dict[str, str]) -> str:
    """The page as text."""
    parts = [
        "# Geurts (2001): dual perturb and combine",
        f"<!-- Made by `python -m petiole reproduce {NAME}`: do not edit. -->",
        _introduction(results),
        "## Summary",
        _summary(results, study),
        *_picture(pictures, "errors", "Errors of the four methods on each data set, published and ours"),
        "## What is done as in the paper, and what differs",
        _protocol(),
        _data_table(results),
        "## Table 2: errors",
        _errors_table(results),
    ]
    for first, second in COMPARISONS:
        parts += [f"### {_title(first, second)}", pair_table(*_names(first, second), compare(results, first, second))]
    parts += ["## Table 2: noise levels", _noise_table(results), "## Exact noise", _exact_table(results)]
    return "\n\n".join([*parts, *_figures(study, pictures)])


def _names(first: str, second: str) -> tuple[str, str]:
    return COLUMNS[first][2], COLUMNS[second][2]


def _picture(pictures: dict[str, str], name: str, text: str) -> list[str]:
    return [f"![{text}]({pictures[name]})"] if name in pictures else []


def _introduction(results: Results) -> str:
    n_trials, n_cells = len(results.trials), len(experiment().cells()) - results.n_missing
    state = f"{n_trials} of the paper's {TRIALS} divisions" if n_trials < TRIALS else f"all {TRIALS} divisions"
    lines = [
        f"{len(results.data_sets)} of the paper's nine data sets, {state} into growing and pruning set, a tree and 25 "
        f"bagged trees: {n_cells} cells, computed with petiole {', '.join(results.versions)}. One after another they "
        f"took {results.mean_seconds * n_cells / 60:.1f} minutes. Omib and VST are the author's own data; Dig44 is "
        "not "
        "among ours.",
    ]
    if n_trials < TRIALS:
        lines.append(
            f"**This is not the whole experiment.** With {n_trials} divisions fewer differences are significant than "
            f"with {TRIALS}. `python -m petiole reproduce {NAME}` computes the rest."
        )
    missing = [name for name in GEURTS if name not in results.data_sets]
    if missing:
        lines.append(f"Not there: {', '.join(missing)}.")
    return "\n\n".join(lines)


def _summary(results: Results, study: dict[str, Floats] | None) -> str:
    found = _agreements(results, study)
    table_2 = found[: len(COMPARISONS)]
    signs, same = sum(one.n_signs for one in table_2), sum(one.same_sign for one in table_2)
    significant, confirmed = sum(one.n_significant for one in table_2), sum(one.confirmed for one in table_2)
    opposite = sum(one.opposite_mark for one in table_2)
    rows = [[one.name, *one.cells()] for one in found]
    text = (
        f"The same method is better here in {same} of {signs} comparisons of table 2. Of the {significant} "
        "differences "
        f"that are significant there (unpaired t-tests at {ALPHA} from the printed means and deviations; the paper "
        f"itself has no tests), {confirmed} are significant here in the same direction and {opposite} in the other."
    )
    return "\n\n".join([text, as_markdown(["comparison", *AGREEMENT_HEADER], rows), _distance(results)])


def _distance(results: Results) -> str:
    """How many errors are further from the printed ones than two draws of the test set explain."""
    far, n = [], 0
    for title, lines in table_columns(results).items():
        for name, compared, _, _ in lines:
            chance = chance_of_test_set(name, compared)
            if chance is None:
                continue
            n += 1
            if abs(compared.difference) > chance:
                scores = f"{compared.published} % there, {compared.ours:.2f} % here"
                far.append(f"{title} on {name} ({scores}{_levels(results, title, name)})")
    text = (
        "Where the test set is drawn at random, the paper's rows are not ours, and both studies have only one draw. "
        f"The difference is within two standard errors of two such draws for {n - len(far)} of {n} errors"
    )
    return f"{text}. Beyond that: {'; '.join(far)}." if far else f"{text}."


def _levels(results: Results, title: str, name: str) -> str:
    """The mean noise levels of a method with noise, in the paper and here."""
    column = next(column for column, (_, _, known) in COLUMNS.items() if known == title)
    method, score, _ = COLUMNS[column]
    if score == "error":
        return ""
    printed = read_published("geurts_2001_table_2").cell(PRINTED[name], column.replace("dual", "lambda"))
    return f"; λ {printed} and {results.mean('noise', name, method):.2f}"


def chance_of_test_set(name: str, compared: Compared) -> float | None:
    """Two standard errors, in per cent, of the difference between errors on two test sets; None if it is one."""
    if GEURTS[name].test_is_last:
        return None
    share = (float(compared.published) + compared.ours) / 200
    return 200 * math.sqrt(2 * share * (1 - share) / GEURTS[name].test)


def _protocol() -> str:
    return "\n".join(
        [
            "As in the paper: the sizes of table 1, one fixed test set, random divisions of the rest into a growing "
            "and a pruning set; the pruning set prunes and gives λ, by golden section on its error with at most 15 "
            "evaluations; σ of the growing set; 25 bagged trees; probabilities of leaves averaged with the weights of "
            'equations 3 to 6 (`mode="product"`).',
            "",
            "What the paper leaves open, and what is done here:",
            "",
            "- How trees are grown: by information gain, until leaves are pure (written from memory and not checked: "
            "the paper's reference has a normalised gain).",
            "- How a tree is pruned: of the trees on the cost-complexity path the one with the least error on the "
            "pruning set.",
            '- "Pruned in a combined fashion": one price per leaf for all bagged trees, judged by the error of their '
            "mean (`petiole._tree.pruning.prune_together`).",
            "- Probabilities of leaves are frequencies.",
            "- Golden section starts from [0, 3] and also tries 0; in a tie the smallest λ wins.",
        ]
    )


def _data_table(results: Results) -> str:
    published = read_published("geurts_2001_table_1")
    rows = []
    for name in results.data_sets:
        sizes = GEURTS[name]
        parts = ("growing", sizes.grow), ("pruning", sizes.prune), ("test", sizes.test)
        cells = [f"{published.cell(PRINTED[name], column)} / {ours}" for column, ours in parts]
        remark = "the last rows: the test file at UCI" if sizes.test_is_last else "drawn at random, once"
        rows.append([name, "generated" if sizes.source == "two-norm" else sizes.source, *cells, remark])
    return as_markdown(["data set", "from", "growing, published / ours", "pruning", "test", "test set"], rows)


def _errors_table(results: Results) -> str:
    rows = []
    for title, lines in table_columns(results).items():
        for name, compared, printed_sd, own_sd in lines:
            chance = chance_of_test_set(name, compared)
            rows.append(
                [
                    name,
                    title,
                    f"{compared.published} ± {printed_sd:.2f}",
                    f"{compared.ours:.2f} ± {own_sd:.2f}",
                    f"{compared.difference:+.2f}",
                    "UCI's test file" if chance is None else f"± {chance:.2f}",
                ]
            )
    rows.sort(key=lambda row: results.data_sets.index(row[0]))
    header = ["data set", "method", "published", "ours", "difference", "variation of the test set"]
    return (
        "Errors in per cent ± standard deviations over divisions. The last column has two standard errors of the "
        f"difference between two test sets.\n\n{as_markdown(header, rows)}"
    )


def _noise_table(results: Results) -> str:
    table = read_published("geurts_2001_table_2")
    rows = []
    for row, name in enumerate(results.data_sets):
        cells = [name]
        for method, column in ((TREE, "tree_lambda"), (BAGGING, "bagging_lambda")):
            own = results.trial_scores("noise", method)[row]
            printed = f"{table.cell(PRINTED[name], column)} ± {table.cell(PRINTED[name], f'{column}_sd')}"
            cells += [printed, f"{own.mean():.2f} ± {own.std(ddof=1):.2f}"]
        cells += [f"{results.mean('leaves', name, method):.0f}" for method in (TREE, BAGGING)]
        rows.append(cells)
    header = ["data set", "λ, DT: published", "ours", "λ, bagging: published", "ours", "leaves, DT", "leaves, bagging"]
    return (
        "The error on a pruning set is a step function of λ, so λ varies a lot where the error hardly depends on "
        f"it.\n\n{as_markdown(header, rows)}"
    )


def _exact_table(results: Results) -> str:
    rows = []
    for name in results.data_sets:
        row = [name]
        for method in (TREE, BAGGING):
            for score in ("dual_error", "exact_dual_error"):
                row.append(f"{100 * results.mean(score, name, method):.2f}")
        rows.append(row)
    header = ["data set", "DT: product", "exact", "bagging: product", "exact"]
    return (
        "The paper multiplies the probabilities of the tests on a path, as if each had its own noise, which differs "
        "from perturbing the features if a feature is tested twice. Errors in per cent with the product "
        f"and with the exact probability, each with its own λ:\n\n{as_markdown(header, rows)}"
    )


def _figures(study: dict[str, Floats] | None, pictures: dict[str, str]) -> list[str]:
    if study is None:
        return ["## Figures 2 to 4", f"Not computed yet: `python -m petiole reproduce {NAME}` does it."]
    sizes = STUDY_SETTINGS
    best = STUDY_LEVELS[int(study["decisions error"].argmin())]
    rows = [[text, "yes" if holds else "**no**"] for text, holds in statements(study)]
    return [
        "## Figures 2 to 4",
        "The paper shows its two-dimensional problem only in a picture; it has equally large classes and no "
        "uncertainty. Ours is a square with a sine curve between the classes. As in the paper: "
        f"{sizes['n_sets']} trees from learning sets of {sizes['set_size']} rows out of a pool of "
        f"{sizes['n_pool']:,}, {sizes['n_test']:,} test rows. The error is least at λ = {best:g} here, at 0.25 in the "
        "paper.",
        *_picture(pictures, "boundaries", "Figure 2: the boundary of one tree without noise, with the best, with much"),
        *_picture(pictures, "noise", "Figures 3 and 4: error, bias and variance over the noise level"),
        as_markdown(["section 2.4", "here"], rows),
        _variance_text(study["probabilities variance"]),
    ]


def _variance_text(variance: Floats) -> str:
    least = int(variance.argmin())
    return (
        f"The variance of the probabilities is {variance[0]:.4f} without noise, least ({variance[least]:.4f}) at "
        f"λ = {STUDY_LEVELS[least]:g}, and {variance[-1]:.4f} at λ = {STUDY_LEVELS[-1]:g}."
    )
