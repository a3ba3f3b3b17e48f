"""Sections of a model card about the model: its purpose, what was demanded of it, parameters, and its file."""

from __future__ import annotations

import datetime
import hashlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import petiole
from petiole._classifiers.constraining import fitted_constraints
from petiole._classifiers.oob_calibrated import OOBCalibratedClassifier
from petiole.conformal import ConformalClassifier
from petiole.decisions import CostSensitiveClassifier, ExpectedProfitClassifier
from petiole.files import read_header
from petiole.report.card_known import Known, parts_of
from petiole.report.card_parts import (
    Bullets,
    Cell,
    Facts,
    Grid,
    NotKnown,
    Part,
    Section,
    Words,
    counted,
    listed,
    readable,
)

PACKAGES = ("numpy", "scipy", "scikit-learn", "narwhals")
LONGEST_VALUE = 160
LONGEST_TEXT = 4000
MOST_DECISIONS = 12
SET_ROWS = {
    "oob": "out-of-bag rows",
    "folds": "rows held out in folds",
    "share": "rows held out from the fit",
    "rows": "rows that the model had not seen",
}


@dataclass(frozen=True)
class ModelFile:
    """A model file: its name, size, checksum, and what its header says."""

    name: str
    size: int
    sha256: str
    changed: datetime.datetime
    petiole_version: str
    format_version: int

    @classmethod
    def of(cls, path: Path) -> ModelFile:
        header, found = read_header(path), path.stat()
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        changed = datetime.datetime.fromtimestamp(found.st_mtime).astimezone()
        return cls(path.name, found.st_size, digest, changed, header["petiole_version"], header["format_version"])


def purpose_section(purpose: str | None, owner: str | None, notes: Mapping[str, str]) -> Section:
    """What the user says about the model."""
    parts: list[Part] = []
    if purpose:
        parts += [Words(one) for one in _paragraphs(purpose)]
    else:
        parts.append(NotKnown("what the model is for", "nobody has said it: --purpose TEXT, or purpose= in Python"))
    entries = [("Owner", readable(owner, LONGEST_VALUE))] if owner else []
    entries += [(readable(name), readable(value, LONGEST_TEXT)) for name, value in notes.items()]
    if not owner:
        parts.append(NotKnown("who is responsible for it", "nobody has said it: --owner NAME, or owner= in Python"))
    return Section("purpose", "What it is for", [*parts, *([Facts(entries)] if entries else [])])


def _paragraphs(text: str) -> list[str]:
    return [readable(one, LONGEST_TEXT) for one in text.split("\n\n") if one.strip()]


def demands_section(known: Known) -> Section:
    """Constraints, recalibration, prediction sets and costs."""
    entries = [
        ("Constraints", _constraints(known.model)),
        ("Recalibration", _recalibration(known.model)),
        ("Prediction sets", _sets(known.model)),
        ("Costs", _costs(known.model)),
    ]
    facts, table = Facts([(title, " ".join(lines)) for title, lines in entries]), _cost_table(known.model)
    return Section("demands", "Demands", [facts] if table is None else [facts, table])


def _constraints(model: Any) -> list[str]:
    lines = []
    for part in parts_of(model):
        if getattr(part, "monotonic_cst", None) is None and getattr(part, "interaction_cst", None) is None:
            continue
        found = fitted_constraints(part)
        names = part.encoder_.feature_names or [f"column {j + 1}" for j in range(part.encoder_.n_features)]
        if found is None:
            continue
        if found.orders:
            label = readable(np.asarray(part.classes_).tolist()[found.target])
            for sign, verb in ((1, "falls"), (-1, "rises")):
                along = [names[j] for j, one in enumerate(found.signs) if one == sign]
                words = f"The probability of \u201c{label}\u201d never {verb} as one of these rises: "
                lines += [f"{words}{listed(along, 20)}."] if along else []
        if found.groups:
            groups = "; ".join(listed([names[j] for j in group], 12) for group in found.groups[:MOST_DECISIONS])
            lines.append(f"Only columns of one group interact in a tree: {groups}.")
    return lines or ["None."]


def _recalibration(model: Any) -> list[str]:
    lines = []
    for part in parts_of(model):
        if not isinstance(part, OOBCalibratedClassifier):
            continue
        method = part.method if isinstance(part.method, str) else type(part.method).__name__
        lines.append(f"By the method {readable(method)} on {counted(part.n_calibration_rows_, 'out-of-bag row')}.")
        groups = getattr(part, "group_calibrator_", None)
        if groups is not None:
            named = groups.groups_[1:]
            lines.append(
                f"Corrected for {counted(len(named), 'group')} of rows: {listed(named, 12)}."
                if named
                else "No group has enough rows to be corrected."
            )
    return lines or ["None: the probabilities are those of the model itself."]


def _sets(model: Any) -> list[str]:
    for part in parts_of(model):
        if isinstance(part, ConformalClassifier):
            rows = SET_ROWS.get(part.calibrated_on_, readable(part.calibrated_on_))
            lines = [
                f"Calibrated on {counted(part.n_calibration_rows_, 'row')} ({rows}) by the method "
                f"{readable(part.method)}, for a coverage of {part.coverage:.4g}."
            ]
            if part.per_class:
                lines.append("Each class has its own threshold.")
            if part.by is not None:
                names = [part.by] if isinstance(part.by, (str, int)) else list(part.by)
                lines.append(f"Groups have thresholds of their own, by {listed(names)}.")
            return lines
    return ["None are kept. petiole fit --sets lac keeps what they need."]


def _costs(model: Any) -> list[str]:
    for part in parts_of(model):
        if isinstance(part, CostSensitiveClassifier):
            actions = np.asarray(part.actions_).tolist()
            where = "in the table" if _fits_table(part) else "in its parameters"
            words = f"The cheapest decision of {listed(actions)} is predicted, not the most probable class."
            return [
                f"{words} Its costs are {where}." if part.cost_ is not None else f"{words} Costs come with the rows."
            ]
        if isinstance(part, ExpectedProfitClassifier):
            return ["The decision of the largest expected profit is predicted; amounts come with the rows."]
    return ["None: what is predicted is the most probable class."]


def _fits_table(part: CostSensitiveClassifier) -> bool:
    return part.cost_ is not None and max(part.cost_.shape) <= MOST_DECISIONS


def _cost_table(model: Any) -> Grid | None:
    for part in parts_of(model):
        if isinstance(part, CostSensitiveClassifier) and _fits_table(part):
            labels = [readable(label, 30) for label in np.asarray(part.classes_).tolist()]
            header = ["Decision", *(f"if it is \u201c{label}\u201d" for label in labels)]
            rows: list[Sequence[Cell]] = [
                [readable(action), *(f"{value:,.6g}" for value in costs)]
                for action, costs in zip(
                    np.asarray(part.actions_).tolist(), np.asarray(part.cost_).tolist(), strict=True
                )
            ]
            return Grid("Costs", header, rows, numeric=range(1, len(header)))
    return None


def model_section(known: Known) -> Section:
    """Classes of petiole that the model is made of, their trees and parameters."""
    parts: list[Part] = []
    for place, part in enumerate(parts_of(known.model)):
        name = type(part).__name__
        parts.append(Words(f"Inside it, {name}:" if place else f"{name}:"))
        entries = _made_of(part)
        if entries:
            parts.append(Facts(entries))
        given = part.get_params(deep=False) if hasattr(part, "get_params") else {}
        rows: list[Sequence[Cell]] = [[readable(key), _value(value)] for key, value in sorted(given.items())]
        if rows:
            parts.append(Grid(f"Parameters of {name}", ["Parameter", "Value"], rows))
    return Section("model", "The model and its parameters", parts)


def _made_of(part: Any) -> list[tuple[str, str]]:
    entries = []
    if hasattr(part, "tree_"):
        tree = part.tree_
        entries.append(("Tree", f"{tree.n_nodes:,} nodes, {tree.n_leaves:,} leaves, depth {tree.depth}"))
    elif hasattr(part, "trees_"):
        entries.append(("Trees", f"{len(part.trees_):,}"))
    if hasattr(part, "smoothing_"):
        entries.append(("Leaf estimator", _value(part.smoothing_)))
    return entries


def _value(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 16:
        return f"array of shape {value.shape}"
    return readable(repr(value) if isinstance(value, str) else value, LONGEST_VALUE)


def file_section(file: ModelFile | None, made: str, command: str) -> Section:
    """The file, its checksum and versions."""
    parts: list[Part] = []
    if file is None:
        why = "the card was written from a model in memory; give the path of its file"
        parts.append(NotKnown("the file and its checksum", why))
        entries = []
    else:
        entries = [
            ("File", readable(file.name)),
            ("Size", f"{file.size:,} bytes"),
            ("SHA-256 of the file", file.sha256),
            ("Last changed", f"{file.changed:%Y-%m-%d %H:%M %Z}"),
            ("Written by", f"petiole {readable(file.petiole_version, 40)}, format version {file.format_version}"),
        ]
    why = "model files hold no dates, so that the same model gives the same bytes; say it with --note, if it matters"
    parts.append(NotKnown("the date of the fit", why))
    versions = {"Python": platform.python_version(), "petiole": petiole.__version__}
    versions |= {name: metadata.version(name) for name in PACKAGES}
    entries.append(("Card made", made))
    entries.append(("Card made with", ", ".join(f"{name} {version}" for name, version in versions.items())))
    if command:
        entries.append(("Command", readable(command, LONGEST_TEXT)))
    return Section("file", "File and versions", [Facts(entries), *parts])


def limits_section(known: Known) -> Section:
    """When the figures of the card do not hold."""
    items = []
    if known.counted_now is not None:
        items.append(
            f"The model was updated after its fit and counts {counted(known.counted_now, 'row')} now. Scores, "
            "reliability, groups and columns are those of the fit."
        )
    items += [
        "All figures hold for rows like those of the fit. petiole monitor tests whether new rows are like that, and "
        "whether the probabilities are still right.",
        "A score is a mean over rows. Probabilities can be right on average and wrong in a group of rows that is not "
        "among the groups of this card.",
        "Intervals cover chance in the measured rows. They do not cover rows that were chosen badly, wrong labels, or "
        "changes over time.",
    ]
    return Section("limits", "When these figures do not hold", [Bullets(items)])
