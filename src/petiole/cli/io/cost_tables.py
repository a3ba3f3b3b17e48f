"""Costs from the command line: a small CSV file, or entries ``decision:truth=cost`` separated by commas."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from petiole.cli.errors import WrongInput, nearest_of
from petiole.cli.io.model_columns import Names

ANY = "*"


@dataclass(frozen=True)
class CostTable:
    """``cost[decision, truth]``: a row per decision, a column per class in the order of the classes."""

    decisions: list[str]
    cost: NDArray[np.float64]

    def are_classes(self, classes: Sequence[Any]) -> bool:
        """Whether the decisions are the classes, each once."""
        return sorted(_codes(self.decisions, classes)) == list(range(len(classes)))

    def square(self, classes: Sequence[Any]) -> NDArray[np.float64]:
        """The rows in the order of the classes, which the decisions are."""
        return self.cost[np.argsort(_codes(self.decisions, classes))]


def read_costs(text: str | None, classes: Sequence[Any]) -> CostTable | None:
    """The costs of the option --costs, for these classes."""
    if text is None:
        return None
    if Path(text).is_file():
        return _read_file(Path(text), classes)
    if "=" not in text:
        raise WrongInput(f"--costs {text}: there is no such file, and it is not of the form decision:truth=cost")
    return _read_inline(text, classes)


def _read_inline(text: str, classes: Sequence[Any]) -> CostTable:
    """Entries that name both decision and truth count before those with one *, and these before ``*:*``.

    The classes are decisions unless all decisions that are named are others.
    """
    entries = [_entry(part) for part in text.split(",") if part.strip()]
    for _, truth, _ in entries:
        if truth != ANY and _codes([truth], classes)[0] < 0:
            raise WrongInput(f"--costs: {truth!r} is not a class; {nearest_of(truth, [*map(str, classes)])}")
    named = Names(classes)
    classes_decide = any(decision == ANY or named.code(decision) >= 0 for decision, _, _ in entries)
    decisions = [str(label) for label in classes] if classes_decide else []
    for decision, _, _ in entries:
        if decision != ANY and named.code(decision) < 0 and decision not in decisions:
            decisions.append(decision)
    cost = np.full((len(decisions), len(classes)), np.nan)
    if classes_decide:
        np.fill_diagonal(cost[: len(classes)], 0.0)
    given = np.zeros_like(cost, dtype=bool)
    for decision, truth, price in sorted(entries, key=lambda entry: (entry[0] == ANY) + (entry[1] == ANY)):
        row = slice(None) if decision == ANY else _row(decision, decisions, named)
        column = slice(None) if truth == ANY else named.code(truth)
        where = np.zeros_like(given)
        where[row, column] = True
        if decision == ANY:  # "*" for the decision stands for all wrong decisions
            where[: len(classes)][np.eye(len(classes), dtype=bool)] = False
        where &= ~given
        cost[where], given = price, given | where
    _check_complete(cost, decisions, classes)
    return CostTable(decisions, cost)


def _entry(part: str) -> tuple[str, str, float]:
    pair, _, price = part.rpartition("=")
    decision, colon, truth = (piece.strip() for piece in pair.partition(":"))
    if not colon or not decision or not truth:
        raise WrongInput(f"--costs {part.strip()!r}: write decision:truth=cost, such as yes:no=5")
    return decision, truth, _price(price, f"--costs {part.strip()!r}")


def _price(text: str, where: str) -> float:
    try:
        price = float(text)
    except ValueError:
        price = math.nan
    if not math.isfinite(price):
        raise WrongInput(f"{where}: {text.strip()!r} is not a number")
    return price


def _row(decision: str, decisions: list[str], named: Names) -> int:
    code = named.code(decision)
    return code if code >= 0 else decisions.index(decision)


def _check_complete(cost: NDArray[np.float64], decisions: list[str], classes: Sequence[Any]) -> None:
    if np.isnan(cost).any():
        row, column = np.argwhere(np.isnan(cost))[0]
        pair = f"{decisions[row]}:{classes[column]}"
        raise WrongInput(
            f"--costs: the cost is missing of deciding {decisions[row]!r} if {str(classes[column])!r} is true. "
            f"Add {pair}=..., or *:*=1 for all that are not named"
        )


def _read_file(path: Path, classes: Sequence[Any]) -> CostTable:
    rows = [row for row in csv.reader(path.read_text(encoding="utf-8-sig").splitlines()) if any(map(str.strip, row))]
    if len(rows) < 2 or len(rows[0]) < 2:
        raise WrongInput(
            f"--costs {path}: the first line names the true classes, each other line is a decision and its costs"
        )
    truths = [cell.strip() for cell in rows[0][1:]]
    codes = _codes(truths, classes)
    for truth, code in zip(truths, codes, strict=True):
        if code < 0:
            raise WrongInput(
                f"--costs {path}: {truth!r} is not a class; {nearest_of(truth, [str(label) for label in classes])}"
            )
    if sorted(codes) != list(range(len(classes))):
        lacking = next((str(label) for code, label in enumerate(classes) if code not in codes), None)
        problem = f"there is no column for the class {lacking!r}" if lacking else "a class has two columns"
        raise WrongInput(f"--costs {path}: {problem}: give each class one column")
    decisions, table = [], []
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(rows[0]):
            raise WrongInput(f"--costs {path}, row {number}: {len(row)} cells, but the first line has {len(rows[0])}")
        decisions.append(row[0].strip())
        table.append([_price(cell, f"--costs {path}, row {number}") for cell in row[1:]])
    if len(set(decisions)) < len(decisions):
        raise WrongInput(f"--costs {path}: two rows are for the same decision: remove one")
    return CostTable(decisions, np.array(table)[:, np.argsort(codes)])


def _codes(texts: Sequence[str], classes: Sequence[Any]) -> list[int]:
    return [int(code) for code in Names(classes).codes(list(texts))]
