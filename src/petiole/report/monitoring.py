"""The page of ``petiole monitor``: whether a model still holds for new rows, and the evidence."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from petiole.files.atomic import write_atomically
from petiole.monitoring import Finding, Monitoring
from petiole.report.markup import Markup, element, table
from petiole.report.simple_page import cards, facts, lead, section, share_bar, simple_page
from petiole.report.svg_charts import COLORS, evidence_chart, legend, spelled_power

TITLES = {"log_loss": "log-loss (bits)", "brier": "Brier score", "accuracy": "accuracy"}
OF_TWO = {"precision": "precision", "recall": "recall", "roc_auc": "area under the ROC curve"}
MOST_COLUMNS = 60
MOST_LINES = len(COLORS)


def write_monitoring(found: Monitoring, path: Any, *, title: str = "Monitoring", command: str = "") -> Path:
    """Write a monitoring result as one HTML page that needs neither the network nor other files.

    Parameters
    ----------
    found : Monitoring
        From :func:`petiole.monitoring.monitor`.
    path : str or path
    title : str
    command : str, optional
        The command that made it, shown at the end.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from petiole import BaggedPETClassifier
    >>> from petiole.monitoring import monitor
    >>> from petiole.report import write_monitoring
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
    >>> found = monitor(BaggedPETClassifier(random_state=0).fit(X, y), X)
    >>> folder = tempfile.TemporaryDirectory()
    >>> found.verdict in write_monitoring(found, Path(folder.name) / "page.html").read_text(encoding="utf-8")
    True
    >>> folder.cleanup()
    """
    target = Path(path)
    look = "alarm" if found.alarm else "drift" if found.drifted else ""
    top = [
        element("p", found.verdict, class_=f"verdict {look}".strip()),
        cards(_cards(found)),
    ]
    made = datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
    sections = [
        section("todo", "What to do", element("p", found.advice, class_="todo"), *_remedies(found)),
        *_evidence(found),
        *_groups(found),
        _scores(found),
        *_columns(found),
        section("how", "How it was made", facts([("Made", made), *([("Command", command)] if command else [])])),
    ]
    write_atomically(target, [simple_page(title, "petiole monitor", top, sections).encode("utf-8")])
    return target


def _cards(found: Monitoring) -> list[tuple[str, str, str]]:
    entries = [("New rows", f"{found.n_rows:,}", "with labels" if found.observed else "without labels")]
    for name in ("log_loss", "accuracy"):
        promised = found.promised.get(name)
        now = found.observed[name].mean if name in found.observed else found.estimated[name]
        remark = (
            "" if promised is None else f"at the fit {promised.mean:.3f} ({promised.low:.3f} to {promised.high:.3f})"
        )
        what = TITLES[name] if name in found.observed else f"{TITLES[name]}, expected"
        entries.append((what[0].upper() + what[1:], f"{now:.3f}", remark))
    if found.columns:
        n_drifted = sum(column.drifted for column in found.columns)
        entries.append(("Columns with drift", f"{n_drifted}", f"of {len(found.columns)}"))
    return entries


def _remedies(found: Monitoring) -> list[Any]:
    if not found.remedies:
        return []
    rows = [[remedy.name, f"{remedy.log_loss:.4f}"] for remedy in found.remedies]
    words = "Log-loss in bits on the later half of the labelled rows, after each remedy was made from the earlier half."
    return [table(["Remedy", "Log-loss"], rows, label="Remedies", numeric=[1]), element("p", words, class_="note")]


def _evidence(found: Monitoring) -> list[Markup]:
    main = [one for one in (found.calibration, found.loss) if one is not None]
    if not main:
        return []
    words = (
        "The e-value is the evidence against the model. It is the wealth of a bettor who starts with 1 and bets on "
        f"every row that the model is wrong. If the model is right, it ever reaches {1 / found.alpha:g} with a "
        f"probability of at most {found.alpha:g}, however many rows follow."
    )
    lines = [(_title(one), one.positions, one.evidence) for one in main]
    chart = evidence_chart(lines, found.n_rows, [math.log10(one.threshold) for one in main])
    return [
        section(
            "evidence", "The evidence, row by row", lead(words), legend([n for n, _, _ in lines]), chart, _tests(main)
        )
    ]


def _groups(found: Monitoring) -> list[Markup]:
    if not found.groups:
        return []
    worst = sorted(found.groups, key=lambda one: -one.test.log_highest)
    words = (
        f"The calibration test for each group. An alarm is given at an e-value of {found.groups[0].threshold:,.0f}, so "
        f"that the {len(found.groups)} groups together raise a false alarm with a probability of at most "
        f"{found.alpha:g}."
    )
    lines = [(one.name, one.positions, one.evidence) for one in worst[:MOST_LINES]]
    chart = evidence_chart(lines, found.n_rows, [math.log10(found.groups[0].threshold)])
    return [section("by-group", "By group", lead(words), legend([n for n, _, _ in lines]), chart, _tests(worst))]


def _tests(findings: Sequence[Finding]) -> Markup:
    header = ["Test", "Outcome", "Expected", "Observed", "Highest e-value", "Rows", "First alarm"]
    rows = []
    for one in findings:
        outcome = (
            element("span", "ALARM", class_="badge alarm") if one.alarm else element("span", "fine", class_="badge")
        )
        digits = "{:.3f}" if one.name == "log_loss" else "{:.1%}"
        name = _title(one) + (f", \u201c{one.target}\u201d" if one.target else "")
        said, came = digits.format(one.said), digits.format(one.came)
        first = "" if one.first_row is None else f"row {one.first_row:,}"
        rows.append([name, outcome, said, came, _spelled(one.test.log_highest), f"{one.n_rows:,}", first])
    return table(header, rows, label="Tests", numeric=[2, 3, 4, 5], minor=[4, 5, 6])


def _spelled(log_value: float) -> str:
    return f"{math.exp(log_value):,.1f}" if log_value < math.log(1e6) else spelled_power(log_value / math.log(10))


def _scores(found: Monitoring) -> Markup:
    header, rows = ["Score", "At the fit", "Estimated for the new rows"], []
    for name, title in (TITLES | OF_TWO).items():
        if name not in found.estimated:
            continue
        row = [title, _interval(found.promised.get(name)), _number(found.estimated[name])]
        rows.append([*row, _interval(found.observed.get(name))] if found.observed else row)
    header += ["Observed"] if found.observed else []
    words = (
        "At the fit: the score of the honest predictions for the training rows, with its 95% interval. Estimated: the "
        "score to expect if the probabilities for the new rows are right. It shows whether the rows have changed, but "
        "not whether the probabilities have become wrong."
    )
    note = []
    if found.worse_expected:
        note = [
            element(
                "p",
                "The new rows are harder than the training rows: the estimated log-loss is larger by more than chance.",
                class_="warnings",
            )
        ]
    return section("scores", "Scores", lead(words), table(header, rows, label="Scores", numeric=[1, 2, 3]), *note)


def _interval(score: Any) -> Markup | str:
    if score is None:
        return ""
    return Markup(f"{score.mean:.4f}" + element("small", f"{score.low:.4f} to {score.high:.4f}"))


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.4f}"


def _columns(found: Monitoring) -> list[Markup]:
    if not found.columns and found.leaves is None:
        return []
    parts: list[Any] = []
    if found.leaves is not None:
        leaves = found.leaves
        outcome = "different" if leaves.drifted else "about the same"
        parts.append(
            element(
                "p",
                f"Leaves that the new rows reach in {leaves.n_trees} trees, compared with the training rows: {outcome} "
                f"(distance {leaves.distance:.3f}, p {_p(leaves.p_value)}).",
            )
        )
    rows = []
    for one in found.columns[:MOST_COLUMNS]:
        mark = element("span", "drift", class_="badge alarm") if one.drifted else ""
        shown = share_bar(one.distance, f"{one.distance:.3f}")
        rows.append([one.name, mark, shown, _p(one.p_value), f"{one.changed}: {one.before:.1%} \u2192 {one.now:.1%}"])
    header = ["Column", "", "Distance", "p", "What has changed most"]
    words = (
        "How much the distribution of each column, and of the leaves, has changed: the Jensen\u2013Shannon "
        "distance, from 0 to 1. Drift is marked if the distance is at least 0.1 and not due to chance. Drift alone "
        "does not make a model wrong."
    )
    parts.append(table(header, rows, label="Columns", numeric=[3], minor=[3]) if rows else "")
    if len(found.columns) > MOST_COLUMNS:
        parts.append(
            element("p", f"{len(found.columns) - MOST_COLUMNS} more columns have changed less.", class_="note")
        )
    return [section("drift", "Have the rows changed?", lead(words), *parts)]


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _title(one: Finding) -> str:
    return {"calibration": "Calibration", "log_loss": "Log-loss"}.get(one.name, one.name)
