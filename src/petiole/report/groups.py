"""The recommended method by groups of rows: whether its probabilities are right in each group, and its cost there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole._table.judged import Judged
from petiole.decisions.choice import cheapest
from petiole.metrics import calibration_by_group
from petiole.metrics.calibration import wilson_limits
from petiole.report.curves import judged_of
from petiole.report.decision_sheet import decision_costs, two_ways
from petiole.report.markup import Markup, element, joined, table
from petiole.study import Study
from petiole.study.figures import decimals, number
from petiole.study.scoring import row_losses

MOST_GROUPS = 12  # of a column; numbers are cut into quarters
SURELY_OFF = 0.05  # the chance that any group is called off although all are right
LEAST_OF_WORST = 100  # rows


def check_columns(study: Study, by: Sequence[str] | None) -> list[int]:
    """The columns to group by."""
    if isinstance(by, str):
        raise ValueError(f"by={by!r}: must be a list of names of columns; write [{by!r}]")
    for name in by or ():
        if name not in study.data.names:
            raise ValueError(f"by: there is no column {name!r}; the columns are {', '.join(study.data.names)}")
    return [study.data.names.index(name) for name in by or ()]


def group_tables(study: Study, columns: Sequence[int]) -> Markup:
    """A table for each column to group by."""
    if not columns:
        return Markup("")
    parts: list[Any] = []
    for column in columns:
        parts += [element("h3", study.data.names[column]), _table(study, column)]
    return joined(parts)


def _table(study: Study, column: int) -> Markup:
    judged, cost = judged_of(study, study.recommended), decision_costs(study)
    ways = two_ways(study)
    k = ways.positive if ways is not None else len(study.classes) - 1
    losses, taken = row_losses(judged, cost), cheapest(judged.proba, cost)
    found = [(name, members) for name, members in groups(study, column) if judged.weights[members].sum() > 0]
    errors = calibration_errors(judged, k, found)
    digits = decimals([np.average(losses["cost"][of], weights=judged.weights[of]) for _, of in found])
    rows = []
    for name, of in found:
        inside = Judged(judged.codes[of], judged.proba[of], judged.labels, judged.weights[of])
        row = [name, f"{len(of):,}", f"{inside.mean(inside.proba[:, k]):.1%}", _observed(inside, k)]
        if ways is not None:
            row.append(f"{inside.mean((taken[of] == ways.act).astype(float)):.1%}")
        error, p_value = errors[name]
        shown = f"{error:.3f}"
        row.append(element("b", shown) if p_value < SURELY_OFF / len(found) else shown)
        cost_there = number(inside.mean(losses["cost"][of]), digits)
        rows.append([*row, f"{inside.mean(losses['log_loss'][of]):.3f}", cost_there])
    decided = [f"Decided \u201c{study.decisions[ways.act]}\u201d"] if ways is not None else []
    class_ = study.classes[k]
    header = [
        "Group",
        "Rows",
        f"Predicted share of \u201c{class_}\u201d",
        "Observed share",
        *decided,
        "Calibration error",
        "Log-loss (bits)",
    ]
    minor = [1, *range(4, len(header))]
    header.append("Mistakes per row" if study.cost is None else "Cost per row")
    return table(
        header, rows, label=f"Groups by {study.data.names[column]}", numeric=range(1, len(header)), minor=minor
    )


def calibration_errors(
    judged: Judged, k: int, found: Sequence[tuple[str, npt.NDArray[np.intp]]]
) -> dict[str, tuple[float, float]]:
    """For each group the calibration error of a class, and how probable one as large would be by chance."""
    masks = {}
    for name, of in found:
        masks[name] = np.zeros(len(judged.codes), dtype=bool)
        masks[name][of] = True
    y, class_ = judged.labels[judged.codes], judged.labels.tolist()[k]
    table = calibration_by_group(
        y, judged.proba, masks, target=class_, labels=judged.labels, sample_weight=judged.weights
    )
    pairs = zip(table.error.tolist(), table.p_value.tolist(), strict=True)
    return dict(zip(table.group.tolist(), pairs, strict=True))


def worst_group(study: Study, columns: Sequence[int]) -> str:
    """A sentence about the group whose probabilities are furthest from the truth."""
    judged, ways = judged_of(study, study.recommended), two_ways(study)
    k = ways.positive if ways is not None else len(study.classes) - 1
    entries = []
    for column in columns:
        found = [(name, of) for name, of in groups(study, column) if judged.weights[of].sum() >= LEAST_OF_WORST]
        for name, (error, p_value) in calibration_errors(judged, k, found).items() if found else ():
            entries.append((error, p_value, f"{study.data.names[column]}: {name}"))
    if not entries:
        return ""
    error, _, name = max(entries)
    n_off = sum(p_value < SURELY_OFF / len(entries) for _, p_value, _ in entries)
    if not n_off:
        return f"In no group of {LEAST_OF_WORST} rows or more is the calibration error surely above 0."
    return (
        f"The largest calibration error of a group of {LEAST_OF_WORST} rows or more is {error:.3f}, for "
        f"\u201c{name}\u201d; in {n_off} of {len(entries)} groups it is surely above 0. "
        "OOBCalibratedClassifier(groups=[...]) corrects it."
    )


def _observed(inside: Judged, k: int) -> Markup:
    """The share of a class with its limits; bold where the predicted share is outside them."""
    came = inside.mean((inside.codes == k).astype(float))
    low, high = wilson_limits(np.array([came]), np.array([inside.weights.sum()]), 0.95)
    fits = low[0] <= inside.mean(inside.proba[:, k]) <= high[0]
    shown = f"{came:.1%}" if fits else element("b", f"{came:.1%}")
    return joined([shown, element("small", f"{low[0]:.1%} to {high[0]:.1%}")])


def groups(study: Study, column: int) -> Iterator[tuple[str, npt.NDArray[np.intp]]]:
    """The rows of every group with its name: categories, or quarters of a number with many values."""
    values = study.judged.matrix[:, column].astype(np.float64)
    known = values[~np.isnan(values)]
    distinct, counts = np.unique(known, return_counts=True)
    if study.data.is_categorical[column] or len(distinct) <= MOST_GROUPS:
        for value in np.sort(distinct[np.argsort(-counts, kind="stable")[:MOST_GROUPS]]).tolist():
            yield study.data.value_text(column, value), np.flatnonzero(values == value)
    else:
        edges = np.unique(np.quantile(known, [0, 0.25, 0.5, 0.75, 1]))
        for place, (low, high) in enumerate(pairwise(edges.tolist())):
            inside = (values > low) & (values <= high) if place else (values >= low) & (values <= high)
            yield f"{low:.4g} to {high:.4g}", np.flatnonzero(inside)
    if len(known) < len(values):
        yield "missing", np.flatnonzero(np.isnan(values))
