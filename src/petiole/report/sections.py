"""The parts of the page that are words and tables: they are there without any script."""

from __future__ import annotations

from typing import Any

import numpy as np

from petiole.datasets.columns import KIND_TITLES
from petiole.report.curves import shown_methods
from petiole.report.markup import Markup, element, joined, table
from petiole.study import Interval, Study
from petiole.study.results import SCORE_TITLES
from petiole.study.scoring import log_loss_floor

DIGITS = {"log_loss": 3, "brier": 3, "ece": 3, "aulc": 3, "accuracy": 3}
MOST_COLUMNS = 200  # that the data table lists
MOST_CLASS_ROWS = 60


def number_text(score: str, value: float) -> str:
    """A score with a fitting number of digits.

    >>> number_text("log_loss", 0.12345), number_text("cost", 12.3456), number_text("fit_seconds", 0.0123)
    ('0.123', '12.35', '0.012')
    """
    if score in DIGITS:
        return f"{value:.{DIGITS[score]}f}"
    return f"{value:.2g}" if score.endswith("seconds") else f"{value:.4g}"


def key_numbers(study: Study) -> Markup:
    """The main figures, at the top of the page."""
    best, data = study.table[0], study.data_summary
    decides = study.design.decides
    cards = [(SCORE_TITLES[decides], _with_limits(decides, best.scores[decides]))]
    if decides != "log_loss":
        cards.append(("log-loss (bits)", _with_limits("log_loss", best.scores["log_loss"])))
    cards.append(("accuracy", _with_limits("accuracy", best.scores["accuracy"])))
    cards.append(("calibration error", _with_limits("ece", best.scores["ece"])))
    columns = f"{data['n_attributes']} features, {len(study.classes)} classes"
    cards.append(("rows", (f"{data['n_rows']:,}", columns)))
    return joined(
        element("div", element("dt", name), element("dd", value, element("small", note)), class_="card")
        for name, (value, note) in cards
    )


def _with_limits(score: str, interval: Interval) -> tuple[str, str]:
    mean, low, high = (number_text(score, value) for value in interval)
    return mean, f"{low} to {high}"


def warnings_box(study: Study) -> Markup:
    """The warnings about the data."""
    if not study.warnings:
        return element("p", "Nothing suspicious was found in the data.", class_="fine")
    items = [element("li", warning) for warning in study.warnings]
    return element("ul", *items, class_="warnings")


def methods_table(study: Study) -> Markup:
    """Every method with its scores, best first."""
    scores = study.score_names
    header = ["Method", *(SCORE_TITLES[score] for score in scores), "p"]
    rows = []
    for result in study.table:
        camp, looks = ("other library", "badge peer") if result.is_peer else ("petiole", "badge")
        won = element("span", " winner", class_="won") if result.p_value is None else ""
        name = joined([result.title, " ", element("span", camp, class_=looks), won])
        cells = [_cell(score, result.scores[score]) for score in scores]
        rows.append([name, *cells, "" if result.p_value is None else _p_text(result.p_value)])
    return table(header, rows, label="Methods and their scores", numeric=range(1, len(header)))


def _cell(score: str, interval: Interval) -> Markup:
    mean, limits = _with_limits(score, interval)
    has_limits = interval.low < interval.high and not score.endswith("seconds")
    return joined([mean, element("small", limits) if has_limits else ""])


def _p_text(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def methods_note(study: Study) -> Markup:
    """What the figures in the table are."""
    design, floor = study.design, log_loss_floor(len(study.classes))
    if design.folds is None:
        how = (
            f"Every method was fitted once and scored on {design.n_test_rows:,} test rows; limits and p (against the "
            "winner) are over these rows."
        )
    else:
        repeated = f", {design.repeats} times" if (design.repeats or 1) > 1 else ""
        how = (
            f"{design.folds}-fold stratified cross-validation{repeated}. Small figures are 95% intervals; they and p "
            "(against the winner, corrected resampled t-test) allow for folds that share rows. The winner was chosen "
            "on the same folds, so p is a little too small among near equals."
        )
    rules = (
        f" Log-loss: probabilities below {floor:.2g} count as {floor:.2g}. Less is better, except for accuracy and "
        "area under lift (1 is a random order)."
    )
    return element("p", how + rules, class_="note")


def uncertain_rows(study: Study, important: list[str]) -> Markup:
    """The rows for which the best of petiole's methods is least certain."""
    method = study.petiole_winner or study.winner
    proba = study.probabilities[method].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.nansum(np.where(proba > 0, proba * np.log2(proba), 0.0), axis=1)
    chosen = np.argsort(-entropy, kind="stable")[:15]
    columns = [study.data.names.index(name) for name in important[:4]]
    n_said = 1 if len(study.classes) == 2 else 2
    said_of = ["Most probable", "Next"][:n_said]
    header = ["Row", "Truth", *said_of, "Uncertainty (bits)", *(study.data.names[c] for c in columns)]
    rows = []
    for i in chosen:
        best = np.argsort(-proba[i], kind="stable")
        said = [f"{study.classes[k]} ({proba[i, k]:.2f})" for k in best[:n_said]]
        values = [study.data.value_text(c, float(study.judged.matrix[i, c])) for c in columns]
        truth = str(study.classes[study.judged.labels[i]])
        rows.append([f"{study.judged.positions[i]}", truth, *said, f"{entropy[i]:.2f}", *values])
    return table(header, rows, label="The most uncertain rows", numeric=[2 + n_said])


def classes_table(study: Study) -> Markup:
    """How many rows each class has."""
    data = study.data_summary
    total = sum(data["class_weights"])
    entries = list(zip(data["classes"], data["class_rows"], data["class_weights"], strict=True))
    rows: list[list[Any]] = []
    for label, n, weight in sorted(entries, key=lambda entry: -entry[2])[:MOST_CLASS_ROWS]:
        share = weight / total
        bar = element("span", class_="bar", style=f"width:{100 * share:.1f}%")
        rows.append([str(label), f"{n:,}", joined([element("span", bar, class_="track"), f" {share:.1%}"])])
    return table(["Class", "Rows", "Share"], rows, label="Classes", numeric=[1])


def columns_table(study: Study) -> Markup:
    """A line per column."""
    rows = []
    for column in study.data_summary["columns"][:MOST_COLUMNS]:
        missing = column["n_missing"] / study.data_summary["n_rows"]
        counts = [f"{column['n_distinct']:,}", f"{missing:.1%}" if missing else ""]
        rows.append([column["name"], KIND_TITLES[column["kind"]], *counts, _values(column)])
    left = len(study.data_summary["columns"]) - MOST_COLUMNS
    more = element("p", f"{left} more columns are not listed.", class_="note") if left > 0 else ""
    header = ["Column", "Kind", "Distinct values", "Missing", "Values"]
    return joined([table(header, rows, label="Columns", numeric=[2, 3]), more])


def _values(column: dict[str, Any]) -> str:
    if "common" in column:
        return ", ".join(f"{name} ({n:,})" for name, n in column["common"])
    if "quantiles" in column:
        low, lower, middle, upper, high = (f"{value:.4g}" for value in column["quantiles"])
        return f"{low} to {high}, median {middle} (quartiles {lower} and {upper})"
    return "no value"


def how_made(study: Study, command: str | None, versions: dict[str, str], made: str) -> Markup:
    """What is needed to get the same figures again."""
    design = study.design
    repeat = command or _python_call(study)
    threads = f"{design.n_jobs} thread{'s' if design.n_jobs > 1 else ''}"
    facts = [
        ("Made", made),
        ("Seed", str(design.seed)),
        ("Methods tried", ", ".join(design.methods)),
        ("Time for the comparison", f"{design.seconds:.0f} s with {threads}"),
        ("Versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("Curves shown for", ", ".join(study.result(name).title for name in shown_methods(study))),
    ]
    listed = [joined([element("dt", name), element("dd", value)]) for name, value in facts]
    return joined([element("pre", element("code", repeat), tabindex="0"), element("dl", *listed, class_="facts")])


def _python_call(study: Study) -> str:
    design = study.design
    given = ["X, y"]
    if design.methods:
        given.append(f"methods={design.methods!r}")
    if study.cost is not None:
        given.append(f"cost={study.cost.tolist()!r}")
    if study.given[2] is not None:
        given.append("sample_weight=sample_weight")
    given.append("test=test" if design.folds is None else f"folds={design.folds}, repeats={design.repeats}")
    given.append(f"random_state={design.seed}")
    call = ",\n    ".join(given)
    return f"from petiole.study import compare_methods\n\nstudy = compare_methods(\n    {call},\n)"
