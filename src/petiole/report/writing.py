"""Put the page together and write it atomically, so that a reader never sees half a file."""

from __future__ import annotations

import datetime
import platform
import string
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import petiole
from petiole.files.atomic import write_atomically
from petiole.report import sections
from petiole.report.curves import curve_data, shown_classes, shown_methods
from petiole.report.decisions import decision_data
from petiole.report.markup import Markup, json_for_script, text
from petiole.report.tree_data import tree_data
from petiole.study import Study
from petiole.study.explaining import Explanation, explain
from petiole.study.results import SCORE_TITLES
from petiole.study.scoring import GREATER_IS_BETTER

SCRIPTS = ("theme.js", "charts.js", "costs.js", "tree.js")
MOST_FEATURES = 20  # in the chart of importance
PACKAGES = ("numpy", "scikit-learn", "plotly")


def write_report(study: Study, path: Any, *, title: str | None = None, command: str | None = None) -> Path:
    """Write a study as one HTML file that needs neither the network nor other files.

    The page has the verdict in one sentence, the table of methods, reliability diagrams, lift and gains, a cost
    calculator, the features that matter, an explorer of the single tree, the most uncertain rows, a summary of the data
    with warnings, and what is needed to repeat it. It takes about 5 MB, most of which is the library that draws the
    charts.

    Parameters
    ----------
    study : Study
        From :func:`petiole.study.compare_methods`.
    path : str or path
        Where to write; an earlier file is replaced once the new one is complete.
    title : str, default=None
        Title of the page; by default the name of the data.
    command : str, default=None
        The command that made the report, shown at the end; by default the call in Python.

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
        raise TypeError(f"study={study!r}: must be a Study, as petiole.study.compare_methods returns it")
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"path={str(path)!r}: is a folder; name a file in it, such as report.html")
    page = render(study, explain(study), title, command)
    write_atomically(target, [page.encode("utf-8")])
    return target


def render(study: Study, explanation: Explanation, title: str | None, command: str | None) -> str:
    """The page as text; no model is fitted for it."""
    asset = resources.files("petiole.report").joinpath("assets")
    page = string.Template(asset.joinpath("page.html").read_text(encoding="utf-8"))
    heading = title or (f"{study.name}" if study.name else "Class probabilities")
    best = study.result(study.petiole_winner or study.winner).title
    parts: dict[str, Any] = {
        "title": heading,
        "style": Markup(asset.joinpath("style.css").read_text(encoding="utf-8")),
        "verdict": study.verdict,
        "cards": sections.key_numbers(study),
        "warnings": sections.warnings_box(study),
        "methods": sections.methods_table(study),
        "methods_note": sections.methods_note(study),
        "best": best,
        "uncertain": sections.uncertain_rows(study, [found.name for found in explanation.importance]),
        "classes": sections.classes_table(study),
        "columns": sections.columns_table(study),
        "how": sections.how_made(study, command, _versions(), _now()),
        "data": json_for_script(_page_data(study, explanation)),
        "plotly": Markup(_plotly()),
        "scripts": Markup("\n".join(asset.joinpath(name).read_text(encoding="utf-8") for name in SCRIPTS)),
    }
    return page.substitute({name: text(part) for name, part in parts.items()})


def _page_data(study: Study, explanation: Explanation) -> dict[str, Any]:
    """What the scripts draw."""
    return {
        "classes": [str(label) for label in study.classes],
        "shownClasses": shown_classes(study),
        "decides": study.design.decides,
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
        "curves": curve_data(study),
        "decision": decision_data(study),
        "importance": [list(found) for found in explanation.importance[:MOST_FEATURES]],
        "nFeatures": len(explanation.importance),
        "tree": tree_data(study, explanation.tree),
    }


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError("a report needs plotly: pip install plotly") from error
    return get_plotlyjs()


def _versions() -> dict[str, str]:
    others = {name: metadata.version(name) for name in PACKAGES}
    return {"Python": platform.python_version(), "petiole": petiole.__version__, **others}


def _now() -> str:
    return datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
