"""Put the page together and write it atomically, so that a reader never sees half a file."""

from __future__ import annotations

import datetime
import platform
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import numpy as np

import petiole
from petiole.files.atomic import write_atomically
from petiole.report import sections
from petiole.report.curves import curve_data, rarest_class, rounded, shown_classes, shown_methods
from petiole.report.decision_sheet import decision_sheet, two_ways
from petiole.report.decisions import decision_data
from petiole.report.groups import check_columns, group_tables, worst_group
from petiole.report.markup import Markup, element, json_for_script, text
from petiole.report.ranking import confusion_table, ranking_table
from petiole.report.sections import python_next
from petiole.report.tree_data import tree_data
from petiole.study import Study
from petiole.study.effects import Effect
from petiole.study.explaining import Explanation, explain
from petiole.study.results import SCORE_TITLES
from petiole.study.scoring import GREATER_IS_BETTER

SCRIPTS = ("theme.js", "plot.js", "charts.js", "effects.js", "costs.js", "tree.js")
MOST_FEATURES = 20  # in the chart of importance
MOST_EFFECT_CLASSES = 4
PACKAGES = ("numpy", "scikit-learn")


def write_report(
    study: Study,
    path: Any,
    *,
    title: str | None = None,
    by: Sequence[str] | None = None,
    ids: Mapping[str, Any] | None = None,
    row_numbers: Sequence[int] | None = None,
    notes: Sequence[str] = (),
    command: str | None = None,
    next_commands: Sequence[str] | None = None,
) -> Path:
    """Write a study as one HTML file that needs neither the network nor other files.

    The page begins with a decision sheet: what to do, from which probability on, and what it saves per 1,000 rows
    against doing nothing and against always acting. Below are the verdict and the table of methods, reliability
    diagrams, lift and gains, AUC, Gini and KS, a cost calculator with the confusion matrix, the columns that matter and
    how the probabilities depend on them, groups of rows, a tree to read, the rows nearest to the threshold, a summary
    of the data with warnings, and what is needed to repeat it. Charts are SVG, drawn by the page itself;
    the file takes some 100 to 500 kB.

    Parameters
    ----------
    study : Study
        From :func:`petiole.study.compare_methods`.
    path : str or path
        The file to write; an earlier file is replaced once the new one is complete.
    title : str, default=None
        Title of the page; by default the name of the data.
    by : list of names of columns, default=None
        Columns that define groups of rows, with predicted and observed shares, log-loss and cost: the categories of
        the column, or quarters of its numbers.
    ids : dict from name to values, default=None
        Values that identify rows, such as customer numbers, for the list of uncertain rows. One value for each row of
        ``X``, or of the test set if there is one.
    row_numbers : list of int, default=None
        The numbers of the rows in the user's file, if some of its rows were left out; by default they count from 1.
    notes : list of str, default=()
        Notes on how the data was read, for the section about the data.
    command : str, default=None
        The command that made the report, shown at the end; by default the call in Python.
    next_commands : list of str, default=None
        Commands to run next, shown on the decision sheet; by default Python code that fits and saves the recommended
        method.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from petiole.report import write_report
    >>> from petiole.study import compare_methods
    >>> X, y = load_iris(return_X_y=True)
    >>> study = compare_methods(X, y, methods=["pet", "naive-bayes"], folds=3, repeats=1, name="iris")
    >>> folder = tempfile.TemporaryDirectory()
    >>> page = write_report(study, Path(folder.name) / "iris.html")
    >>> page.name, study.verdict in page.read_text(encoding="utf-8")
    ('iris.html', True)
    >>> folder.cleanup()
    """
    if not isinstance(study, Study):
        raise TypeError(f"study={study!r}: must be a Study, as returned by petiole.study.compare_methods")
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"path={str(path)!r}: is a folder; name a file in it, such as report.html")
    extras = Extras(
        title, check_columns(study, by), _check_ids(study, ids), command, next_commands, row_numbers, list(notes)
    )
    page = render(study, explain(study), extras)
    write_atomically(target, [page.encode("utf-8")])
    return target


@dataclass(frozen=True)
class Extras:
    """Contents of the page besides the study; the defaults are for tests."""

    title: str | None = None
    by: Sequence[int] = ()
    ids: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    command: str | None = None
    next_commands: Sequence[str] | None = None
    row_numbers: Sequence[int] | None = None
    notes: Sequence[str] = ()


def render(study: Study, explanation: Explanation, extras: Extras) -> str:
    """The page as text; no model is fitted for it."""
    asset = resources.files("petiole.report").joinpath("assets")
    page = string.Template(asset.joinpath("page.html").read_text(encoding="utf-8"))
    heading = extras.title or (f"{study.name}" if study.name else "Class probabilities")
    nexts = python_next(study) if extras.next_commands is None else extras.next_commands
    parts: dict[str, Any] = {
        "title": heading,
        "style": Markup(asset.joinpath("style.css").read_text(encoding="utf-8")),
        "verdict": study.verdict,
        "sheet": decision_sheet(study, list(nexts)),
        "cards": sections.key_numbers(study),
        "warnings": sections.warnings_box(study),
        "methods": sections.methods_table(study),
        "methods_note": sections.methods_note(study),
        "best": study.result(study.recommended).title,
        "ranking": ranking_table(study),
        "confusion": confusion_table(study),
        "groups": _groups(study, extras.by),
        "groups_link": Markup('<a href="#groups">Groups</a>') if extras.by else "",
        "uncertain": sections.uncertain_rows(
            study, [found.name for found in explanation.importance], extras.ids, extras.row_numbers
        ),
        "notes": sections.reading_notes(extras.notes),
        "classes": sections.classes_table(study),
        "columns": sections.columns_table(study),
        "how": sections.how_made(study, extras.command, _versions(), _now()),
        "data": json_for_script(_page_data(study, explanation)),
        "scripts": Markup("\n".join(asset.joinpath(name).read_text(encoding="utf-8") for name in SCRIPTS)),
    }
    return page.substitute({name: text(part) for name, part in parts.items()})


def _groups(study: Study, by: Sequence[int]) -> Markup:
    """The section on groups, if there are any."""
    if not by:
        return Markup("")
    title = study.result(study.recommended).title
    lead = (
        f"What {title} says of groups of rows that it was not fitted to, and what was true. An observed share is bold "
        "where the predicted one lies outside its 95% interval: there the probabilities do not fit the group. The "
        "calibration error is the distance between predicted and observed shares inside the group, less what chance "
        "adds to it; it is bold where chance does not explain it."
    )
    worst = worst_group(study, by)
    return element(
        "section", element("h2", "Groups", id="h-groups"), element("p", lead, class_="lead"),
        element("p", worst, class_="note") if worst else "", group_tables(study, by),
        id="groups", aria_labelledby="h-groups",
    )  # fmt: skip


def _check_ids(study: Study, ids: Mapping[str, Any] | None) -> dict[str, list[Any]]:
    found = {str(name): list(values) for name, values in (ids or {}).items()}
    needed = int(study.judged.positions.max()) + 1
    for name, values in found.items():
        if len(values) < needed:
            raise ValueError(f"ids: {name!r} has {len(values)} values; give one for each of the rows")
    return found


def _page_data(study: Study, explanation: Explanation) -> dict[str, Any]:
    """What the scripts draw."""
    return {
        "classes": [str(label) for label in study.classes],
        "shownClasses": shown_classes(study),
        "decides": study.design.decides,
        "repeats": study.design.repeats or 1,
        "scores": {name: SCORE_TITLES[name] for name in study.score_names},
        "greaterIsBetter": [name for name, greater in GREATER_IS_BETTER.items() if greater],
        "methods": [
            {
                "name": result.name,
                "title": result.title,
                "peer": result.is_peer,
                "scores": {name: list(interval) for name, interval in result.scores.items()},
            }
            for result in study.table
        ],
        "shown": shown_methods(study),
        "recommended": study.recommended,
        "curves": curve_data(study),
        "decision": decision_data(study),
        "importance": [list(found) for found in explanation.importance[:MOST_FEATURES]],
        "nFeatures": len(explanation.importance),
        "tree": tree_data(study, explanation.tree) | {"scores": explanation.tree_scores},
        "effects": [_effect(effect) for effect in explanation.effects],
        "effectClasses": _effect_classes(study),
    }


def _effect(effect: Effect) -> dict[str, Any]:
    values = effect.values if isinstance(effect.values, list) else rounded(effect.values, 6)
    found: dict[str, Any] = {"column": effect.column, "values": values, "categories": isinstance(effect.values, list)}
    found |= {"texts": effect.texts, "part": effect.part}
    return found | {"shares": rounded(effect.shares), "proba": [rounded(row) for row in effect.probabilities]}


def _effect_classes(study: Study) -> list[int]:
    """The classes whose probability is drawn: the one in question of two, else the commonest."""
    if len(study.classes) == 2:
        ways = two_ways(study)
        return [rarest_class(study) if ways is None else ways.positive]
    weights = np.array(study.data_summary["class_weights"])
    return sorted(int(k) for k in np.argsort(-weights, kind="stable")[:MOST_EFFECT_CLASSES])


def _versions() -> dict[str, str]:
    others = {name: metadata.version(name) for name in PACKAGES}
    return {"Python": platform.python_version(), "petiole": petiole.__version__, **others}


def _now() -> str:
    return datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
