"""The text and tables of the page, which need no script."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from petiole._table.columns import Floats
from petiole.datasets.columns import KIND_TITLES
from petiole.decisions.choice import cheapest
from petiole.report.curves import judged_of, shown_methods
from petiole.report.decision_sheet import decision_costs, two_ways
from petiole.report.markup import Markup, element, joined, table
from petiole.report.ranking import margins
from petiole.study import Interval, MethodResult, Study
from petiole.study.figures import decimals, number
from petiole.study.results import SCORE_TITLES
from petiole.study.scoring import log_loss_floor

DIGITS = {"log_loss": 3, "brier": 3, "ece": 3, "aulc": 3, "accuracy": 3}
MOST_COLUMNS = 200  # that the data table lists
MOST_CLASS_ROWS = 60
MOST_UNCERTAIN = 15


def score_digits(study: Study, score: str) -> int:
    """How many decimals a score has, the same for all methods."""
    if score in DIGITS:
        return DIGITS[score]
    values = [result.scores[score].mean for result in study.table]
    return 2 if score.endswith("seconds") else decimals(values)


def key_numbers(study: Study) -> Markup:
    """The main figures, at the top of the page."""
    best, data = study.result(study.recommended), study.data_summary
    names = dict.fromkeys([study.design.decides, "log_loss", "accuracy", "ece"])
    cards = [(SCORE_TITLES[name], _with_limits(best.scores[name], score_digits(study, name))) for name in names]
    columns = f"{data['n_attributes']} features, {len(study.classes)} classes"
    cards.append(("rows", (f"{data['n_rows']:,}", columns)))
    return joined(
        element("div", element("dt", name), element("dd", value, element("small", note)), class_="card")
        for name, (value, note) in cards
    )


def _with_limits(interval: Interval, digits: int) -> tuple[str, str]:
    mean, low, high = (number(value, digits) for value in interval)
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
    digits = {score: score_digits(study, score) for score in scores}
    minor = [i + 1 for i, score in enumerate(scores) if score not in (study.design.decides, "accuracy")]
    minor.append(len(scores) + 1)
    header = ["Method", *(SCORE_TITLES[score] for score in scores), "p"]
    rows = []
    for result in study.table:
        cells = [_cell(score, result.scores[score], digits[score]) for score in scores]
        rows.append([_named(study, result), *cells, "" if result.p_value is None else _p_text(result.p_value)])
    return table(header, rows, label="Methods and their scores", numeric=range(1, len(header)), minor=minor)


def _named(study: Study, result: MethodResult) -> Markup:
    camp, looks = ("other library", "badge peer") if result.is_peer else ("petiole", "badge")
    marks = []
    if result.name == study.winner and study.is_sure and len(study.table) > 1:
        marks.append(element("span", " winner", class_="won"))
    elif result.name == study.recommended:
        marks.append(element("span", " recommended", class_="won"))
    return joined([result.title, " ", element("span", camp, class_=looks), *marks])


def _cell(score: str, interval: Interval, digits: int) -> Markup:
    mean, limits = _with_limits(interval, digits)
    has_limits = interval.low < interval.high and not score.endswith("seconds")
    return joined([mean, element("small", limits) if has_limits else ""])


def _p_text(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def methods_note(study: Study) -> Markup:
    """An explanation of the figures in the table."""
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
            "on the same folds, so p is a little too small among nearly equal methods."
        )
    rules = (
        f" Log-loss: probabilities below {floor:.2g} count as {floor:.2g}. Less is better, except for accuracy and "
        "area under lift (1 is a random order)."
    )
    return element("p", how + rules, class_="note")


def uncertain_rows(
    study: Study, important: list[str], ids: Mapping[str, Sequence[Any]], row_numbers: Sequence[int] | None = None
) -> Markup:
    """The rows for which the recommended method's decision is closest: those nearest to the threshold."""
    proba = judged_of(study, study.recommended).proba
    away = margins(study, study.recommended)
    chosen = np.argsort(away, kind="stable")[:MOST_UNCERTAIN]
    columns = [study.data.names.index(name) for name in important[:4]]
    ways, positions = two_ways(study), study.judged.positions
    shown = [ways.positive] if ways is not None else [int(k) for k in np.argsort(-proba[chosen].sum(axis=0))[:3]]
    header = ["Row", *ids, "Truth", *(f"P({study.classes[k]})" for k in shown), "Decision", "Margin"]
    header += [study.data.names[c] for c in columns]
    taken = cheapest(proba, decision_costs(study))
    digits = max(decimals(away[chosen]), 3 if study.cost is None else 0)
    cells = [_column_texts(study, c, study.judged.matrix[chosen, c].astype(np.float64)) for c in columns]
    rows = []
    for at, i in enumerate(chosen.tolist()):
        place = int(positions[i])
        said = [f"{proba[i, k]:.3f}" for k in shown]
        values = [texts[at] for texts in cells]
        named = [str(of_rows[place]) for of_rows in ids.values()]
        truth, decision = str(study.classes[study.judged.labels[i]]), str(study.decisions[taken[i]])
        row = place + 1 if row_numbers is None else row_numbers[place]
        rows.append([f"{row}", *named, truth, *said, decision, number(away[i], digits), *values])
    first = 2 + len(ids)
    after = first + len(shown) + 2
    numeric = [*range(first, first + len(shown)), after - 1]
    numeric += [after + at for at, c in enumerate(columns) if _is_number(study, c)]
    return table(header, rows, label="The most uncertain rows", numeric=numeric)


def _is_number(study: Study, column: int) -> bool:
    encoder = study.data.encoder
    return encoder.categories[column] is None and encoder.date_parts[column] is None


def _column_texts(study: Study, column: int, values: Floats) -> list[str]:
    """Some values of a column, numbers with as many decimals as those of them need that need most, but at most six
    significant digits."""
    texts = [study.data.value_text(column, value) for value in values.tolist()]
    known = values[~np.isnan(values)]
    if not _is_number(study, column) or not len(known):
        return texts
    needed = max(len(text.partition(".")[2]) for text in texts) if not any("e" in text for text in texts) else -1
    if needed < 0:
        return texts
    largest = float(np.abs(known).max())
    digits = min(needed, max(0, 5 - math.floor(math.log10(largest))) if largest > 0 else 0)
    return [text if np.isnan(value) else number(value, digits) for text, value in zip(texts, values, strict=True)]


def reading_notes(notes: Sequence[str]) -> Markup:
    """Notes on how the file was read."""
    if not notes:
        return Markup("")
    items = element("ul", *(element("li", line) for line in notes), class_="notes")
    return joined([element("h3", "How the file was read"), items])


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
        low, lower, middle, upper, high = column.get("quantile_texts") or [
            f"{value:.4g}" for value in column["quantiles"]
        ]
        return f"{low} to {high}, median {middle} (quartiles {lower} and {upper})"
    return "no value"


def how_made(study: Study, command: str | None, versions: dict[str, str], made: str) -> Markup:
    """What is needed to reproduce the figures."""
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
    if study.decisions != study.classes:
        given.append(f"decisions={study.decisions!r}")
    if study.given[2] is not None:
        given.append("sample_weight=sample_weight")
    given.append("test=test" if design.folds is None else f"folds={design.folds}, repeats={design.repeats}")
    given.append(f"random_state={design.seed}")
    call = ",\n    ".join(given)
    return f"from petiole.study import compare_methods\n\nstudy = compare_methods(\n    {call},\n)"


def python_next(study: Study) -> list[str]:
    """Python code that fits the recommended method to all rows, saves it and decides for new rows."""
    own = not study.result(study.recommended).is_peer
    name = study.recommended if own else study.petiole_winner
    if name is None:
        return [f'model = study.fit("{study.recommended}")', "model.predict_proba(X_new)"]
    lines = [f'model = study.fit("{name}")', 'model.save("model.petiole")', "proba = model.predict_proba(X_new)"]
    if study.cost is not None:
        lines.append("petiole.decisions.decide(proba, study.cost, actions=study.decisions)")
    return lines
