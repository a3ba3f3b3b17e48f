"""Descriptions of fitted classifiers: with pictures in a notebook, as text elsewhere."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from petiole._sheet import Picture, Sheet, SmallTable
from petiole._table.dates import DateColumn
from petiole._tree.svg import draw_svg
from petiole._tree.text import export_text, shorten_list

MOST_ROWS = 8
SHOWN_DEPTH = 3
SCORES = {"oob_log_loss_": "log-loss (bits)", "oob_brier_": "Brier score", "oob_score_": "accuracy"}


class Described:
    """Adds ``describe`` and, in notebooks, a page about the fitted classifier above scikit-learn's diagram."""

    def describe(self) -> str:
        """Describe the fitted model and its quality as text; a notebook shows the same.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from petiole import PETClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> print(PETClassifier(max_depth=1).fit(X, y).describe())
        PETClassifier(max_depth=1)
          classes  3: 0, 1, 2
          columns  4
          tree     3 nodes, 2 leaves, depth 1
        <BLANKLINE>
        Features by importance
          feature  share
          x2       1.000
        <BLANKLINE>
        The tree
        x2 <= 2.45: 0 (50.0)  [0.96 0.02 0.02]
        x2 > 2.45: 1 (100.0)  [0.01 0.50 0.50]
        """
        check_is_fitted(self)
        return sheet_of(self).to_text()

    @property
    def _repr_html_(self) -> Any:
        if get_config()["display"] != "diagram":
            raise AttributeError("_repr_html_: is there only with scikit-learn's setting display='diagram'")
        return functools.partial(_html_of, self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = _html_of(self)
        return bundle


def _html_of(model: Any) -> str:
    diagram = str(estimator_html_repr(model))
    if not hasattr(model, "classes_"):
        return diagram
    return sheet_of(model).to_html(f"<details><summary>All parameters</summary>{diagram}</details>")


def sheet_of(model: Any) -> Sheet:
    """The page about a fitted classifier; that of the classifier inside follows for one that wraps another."""
    classes = [str(label) for label in model.classes_]
    facts = [("classes", f"{len(classes)}: {shorten_list(classes)}"), *_about_columns(model), *_about_trees(model)]
    found = (_scores(model), _held_out_score(model), _components(model), _importance(model))
    tables = [table for table in found if table.rows]
    pictures = [*_tree_drawn(model), *_reliability_drawn(model)]
    note = ""
    inner = getattr(model, "estimator_", None)
    if hasattr(inner, "classes_"):
        if isinstance(inner, Described):
            within = sheet_of(inner)
            tables, pictures = [*tables, *within.tables], [*pictures, *within.pictures]
            facts += [fact for fact in within.facts if fact[0] not in dict(facts)]
        facts.append(("around", type(inner).__name__))
    elif hasattr(model, "oob_score") and not pictures:
        note = "Fit with oob_score=True to see how reliable the probabilities are."
    return Sheet(" ".join(repr(model).split()), facts, tables, pictures, note)


def _about_columns(model: Any) -> list[tuple[str, str]]:
    if not hasattr(model, "n_features_in_"):
        return []
    encoder = getattr(model, "encoder_", None)
    if encoder is None:
        return [("columns", f"{model.n_features_in_}")]
    n_categorical, dates = encoder.kinds.count("nominal"), _dates_of(encoder)
    more = f", {n_categorical} of them categorical" if n_categorical else ""
    more += f", {len(dates)} of dates" if dates else ""
    facts = [("columns", f"{model.n_features_in_}{more}")]
    return [*facts, ("dates", shorten_list(dates))] if dates else facts


def _dates_of(encoder: Any) -> list[str]:
    """The columns of dates, and the features that they became."""
    names = _input_names(encoder)
    columns = zip(names, encoder.columns, strict=True)
    return [f"{name} ({', '.join(column.parts)})" for name, column in columns if isinstance(column, DateColumn)]


def _input_names(encoder: Any) -> list[str]:
    return encoder.input_names or [f"x{position}" for position in range(encoder.n_inputs)]


def _feature_names(model: Any, count: int) -> list[str]:
    """The names of the features, of which a date has several; those of the columns where there is no encoder."""
    encoder = getattr(model, "encoder_", None)
    if encoder is None or encoder.n_features != count:
        return list(map(str, getattr(model, "feature_names_in_", [f"x{j}" for j in range(count)])))
    pairs = zip(_input_names(encoder), encoder.columns, strict=True)
    named = (column.names(name) if isinstance(column, DateColumn) else [name] for name, column in pairs)
    return [str(name) for of_column in named for name in of_column]


def _about_trees(model: Any) -> list[tuple[str, str]]:
    if hasattr(model, "tree_"):
        tree = model.tree_
        return [("tree", f"{tree.n_nodes} nodes, {tree.n_leaves} leaves, depth {tree.depth}")]
    if hasattr(model, "trees_"):
        rounds = f", {model.n_iter_} rounds" if hasattr(model, "n_iter_") else ""
        return [("trees", f"{len(model.trees_)}{rounds}")]
    return []


def _scores(model: Any) -> SmallTable:
    """Scores on training rows, each predicted by trees that have not seen it."""
    rows = [[title, f"{getattr(model, name):.3f}"] for name, title in SCORES.items() if hasattr(model, name)]
    return SmallTable("Out-of-bag scores", ["score", "mean"], rows)


def _held_out_score(model: Any) -> SmallTable:
    """The log-loss of boosted trees on rows that their chains have not seen."""
    losses = getattr(model, "validation_log_loss_", ())
    rows = [["log-loss (bits)", f"{min(losses):.3f}"]] if len(losses) else []
    return SmallTable("Held-out score", ["score", "mean"], rows)


def _components(model: Any) -> SmallTable:
    found = getattr(model, "oob_component_log_loss_", None) or {}
    best = sorted(found.items(), key=lambda item: item[1])[:MOST_ROWS]
    return SmallTable("Components by themselves", ["component", "log-loss"], [[str(k), f"{v:.3f}"] for k, v in best])


def _importance(model: Any) -> SmallTable:
    found = getattr(model, "feature_importances_", None)
    if found is None:
        return SmallTable("", [], [])
    names = _feature_names(model, len(found))
    best = [j for j in np.argsort(-found, kind="stable")[:MOST_ROWS] if found[j] > 0]
    rows = [[names[j], f"{found[j]:.3f}"] for j in best]
    return SmallTable("Features by importance", ["feature", "share"], rows)


def _tree_drawn(model: Any) -> list[Picture]:
    if not hasattr(model, "tree_"):
        return []
    from petiole._classifiers.pet import display_names

    names = display_names(model)
    text = export_text(model.tree_, **names, max_depth=SHOWN_DEPTH)
    return [Picture("The tree", draw_svg(model.tree_, **names, max_depth=SHOWN_DEPTH), text)]


def _reliability_drawn(model: Any) -> list[Picture]:
    found = getattr(model, "oob_reliability_", None)
    if found is None or not len(found):
        return []
    title = "Reliability on out-of-bag rows: how often the predicted class is right, by its probability"
    lines = [f"  {claimed:9.2f}  {right:5.2f}  {'#' * round(20 * right)}" for claimed, right, _ in found]
    return [Picture(title, _reliability_svg(found), "\n".join(["  predicted  right", *lines]))]


def _reliability_svg(found: npt.NDArray[np.float64]) -> str:
    """A point per bin, whose area grows with its rows; a perfect model is on the line."""
    size, edge, above = 180, 24, 10
    largest = found[:, 2].max()
    points = "".join(
        f'<circle cx="{edge + size * claimed:.1f}" cy="{size * (1 - right) + above:.1f}" '
        f'r="{2 + 6 * np.sqrt(weight / largest):.1f}" fill="#0072b2"><title>predicted {claimed:.2f}, '
        f"right {right:.2f}, {weight:.6g} rows</title></circle>"
        for claimed, right, weight in found
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="reliability" width="{size + 2 * edge}" '
        f'height="{size + above + 26}" font-family="system-ui,sans-serif" font-size="10" fill="currentColor">'
        f'<path d="M{edge} {above}V{size + above}H{edge + size}" fill="none" stroke="currentColor"/>'
        f'<path d="M{edge} {size + above}L{edge + size} {above}" fill="none" stroke="currentColor" '
        f'stroke-dasharray="4 3" '
        f'opacity=".6"/>'
        f'{points}<text x="{edge + size}" y="{size + above + 14}" text-anchor="end">predicted 1</text>'
        f'<text x="{edge}" y="{size + above + 14}">0</text><text x="4" y="{above + 8}">1</text></svg>'
    )
