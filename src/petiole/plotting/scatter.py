"""Scatter plots of probabilities: against those of another model, and against known true probabilities."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole._table.judged import check_probabilities
from petiole._table.labels import check_weights
from petiole._table.rows import rows_that_count
from petiole._validation import check_choice
from petiole.metrics.rows import Indices, class_shares, judge, target_column
from petiole.plotting import frame
from petiole.plotting.display import ProbabilityDisplay, all_classes, ask, named, named_tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("scatter", "sorted")


class ScoreScatterDisplay(ProbabilityDisplay):
    """Scatter plot of the probabilities of a model against those of a reference model, row by row.

    As in figures 1 and 3 of Zadrozny & Elkan (2001), which show how smoothing and curtailment change raw scores. In
    the paper, the rows are sorted by raw score and both scores are drawn over them (``kind="sorted"``). The number in
    the legend is the mean distance of the scores.

    Parameters
    ----------
    reference : array of shape (n,)
        The scores of the reference.
    scores : dict from names to arrays of shape (n,)
        The scores of the others.
    changes : dict from names to float
        Their mean distances from the reference.
    target : str
        The class, for the labels.
    reference_name : str, default="reference"
    kind : {"scatter", "sorted"}, default="scatter"
    base_rate : float, optional
        The share of the class, to be marked.

    Examples
    --------
    >>> from petiole.plotting import ScoreScatterDisplay
    >>> raw, smoothed = [[1, 0], [0.5, 0.5], [0, 1]], [[0.8, 0.2], [0.6, 0.4], [0.3, 0.7]]
    >>> display = ScoreScatterDisplay.from_predictions([0, 0, 1], {"smoothed": smoothed}, reference={"raw": raw})
    >>> display.reference, display.scores["smoothed"]
    (array([0. , 0.5, 1. ]), array([0.2, 0.4, 0.7]))
    """

    def __init__(
        self,
        reference: Floats,
        scores: dict[str, Floats],
        changes: dict[str, float],
        *,
        target: str,
        reference_name: str = "reference",
        kind: str = "scatter",
        base_rate: float | None = None,
    ) -> None:
        check_choice("kind", kind, KINDS)
        self.reference, self.scores, self.changes = reference, scores, changes
        self.target, self.reference_name, self.kind, self.base_rate = target, reference_name, kind, base_rate

    @classmethod
    def from_estimator(  # type: ignore[override]  # a reference must be given
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        reference: Any,
        labels: Any = None,
        name: Any = None,
        **parameters: Any,
    ) -> ScoreScatterDisplay:
        """Draw the probabilities of fitted classifiers against those of a reference classifier.

        Parameters
        ----------
        estimator : fitted classifier with predict_proba, or dict from names to such
        X : rows, in the form of the classifiers' data
        y : array-like of shape (n,), optional
            Their true labels, to mark the base rate.
        reference : fitted classifier with predict_proba, or dict from a name to it
        labels : array-like of shape (K,), default: the classes of the models and of y, sorted
        name : str, default: the name of the estimator's class
        **parameters
            All others of ``from_predictions``.
        """
        models = named(estimator, name, type(estimator).__name__, "estimator")
        ((reference_name, base),) = _one_reference(reference, type(reference).__name__).items()
        classes = all_classes([*models.items(), (reference_name, base)], y, labels)
        tables = {key: ask(model, X, classes) for key, model in models.items()}
        against = {reference_name: ask(base, X, classes)}
        return cls.from_predictions(y, tables, reference=against, labels=classes, **parameters)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        proba: Any,
        *,
        reference: Any,
        target: Any = None,
        kind: str = "scatter",
        labels: Any = None,
        sample_weight: Any = None,
        name: Any = None,
        ax: Axes | None = None,
        legend: str = "auto",
        **style: Any,
    ) -> ScoreScatterDisplay:
        """Draw given probabilities against others.

        Parameters
        ----------
        y_true : array-like of shape (n,), or None
            True labels, to mark the base rate.
        proba : array-like of shape (n, K), or dict from names to such
            The probabilities of each model.
        reference : array-like of shape (n, K), or dict from a name to it
            The probabilities to compare with.
        target : label, default=None
            The class; by default the second of two.
        kind : {"scatter", "sorted"}, default="scatter"
            "scatter": score against reference. "sorted": both over the rows, sorted by reference.
        labels : array-like of shape (K,), default: the sorted labels of y_true; without it 0…K−1
            The class of each column.
        sample_weight : array-like of shape (n,), optional
            Weights in the base rate and in the mean distance; rows of weight 0 are not drawn.
        name : str, default="model"
            The name of a single model in the legend.
        ax, legend, **style
            As in :meth:`plot`.
        """
        check_choice("kind", kind, KINDS)
        tables = named_tables(proba, name)
        ((reference_name, against),) = _one_reference(reference, "reference").items()
        base = check_probabilities(against, parameter="reference")
        for key, table in tables.items():
            check_same_shape(table, base, key, "reference")
        classes, column, base_rate, weights = _context(y_true, base, labels, target, sample_weight)
        kept = _positions(weights)
        scores = {key: table[kept, column] for key, table in tables.items()}
        changes = {
            key: float(np.average(np.abs(score - base[kept, column]), weights=weights[kept]))
            for key, score in scores.items()
        }
        words: dict[str, Any] = {
            "target": frame.class_words(classes.tolist()[column]),
            "reference_name": reference_name,
        }
        display = cls(base[kept, column], scores, changes, kind=kind, base_rate=base_rate, **words)
        return display.plot(ax, legend=legend, **style)

    def _draw(self, ax: Axes, style: dict[str, Any]) -> None:
        frame.tidy(ax)
        if self.kind == "sorted":
            self._draw_sorted(ax, style)
        else:
            self._draw_scatter(ax, style)
        if self.base_rate is not None:
            span = ax.get_xlim()
            words = f"base rate {self.base_rate:.3g}"
            frame.add_reference(ax, words, span, [self.base_rate] * 2, linestyle="--", scalex=False)
        ax.set_ylim(-0.02, 1.02)

    def _label_of(self, name: str) -> str:
        return frame.entry(name, f"mean change {self.changes[name]:.3f}")

    def _draw_scatter(self, ax: Axes, style: dict[str, Any]) -> None:
        for name, scores in self.scores.items():
            draw_points(ax, self.reference, scores, self._label_of(name), style)
        frame.add_reference(ax, "no change", [0, 1], [0, 1])
        ax.set_xlim(-0.02, 1.02)
        what = f"probability of {frame.shortened(self.target)}"
        x = f"{what} by {frame.shortened(self.reference_name)}"
        frame.write(ax, title="Score against score", x=x, y=what)

    def _draw_sorted(self, ax: Axes, style: dict[str, Any]) -> None:
        order = np.argsort(self.reference, kind="stable")
        places = np.arange(1, len(order) + 1)
        for name, scores in self.scores.items():
            draw_points(ax, places, scores[order], self._label_of(name), style)
        line: dict[str, Any] = {"linestyle": "-", "linewidth": 1.6, "zorder": 4, "color": "black"}
        frame.add_reference(ax, self.reference_name, places, self.reference[order], **line)
        margin = 0.02 * len(order)
        ax.set_xlim(1 - margin, len(order) + margin)
        x = f"rows, sorted by the score of {frame.shortened(self.reference_name)}"
        frame.write(ax, title="Scores of sorted rows", x=x, y=f"probability of {frame.shortened(self.target)}")


class TruthScatterDisplay(ProbabilityDisplay):
    """Scatter plot of predicted against true probabilities, for generated data whose true probabilities are known.

    Parameters
    ----------
    truth : array of shape (m,)
        True probabilities: of one class for each row, or of all classes.
    scores : dict from names to arrays of shape (m,)
        The probabilities of the models.
    errors : dict from names to float
        Root mean squared distances from the truth.
    target : str or None, default=None
        The class, for the labels; None for all.

    Examples
    --------
    >>> from petiole.plotting import TruthScatterDisplay
    >>> truth, proba = [[0.9, 0.1], [0.4, 0.6]], [[0.8, 0.2], [0.3, 0.7]]
    >>> display = TruthScatterDisplay.from_predictions(truth, proba, name="tree")
    >>> round(display.errors["tree"], 6)
    0.1
    """

    def __init__(
        self, truth: Floats, scores: dict[str, Floats], errors: dict[str, float], *, target: str | None = None
    ) -> None:
        self.truth, self.scores, self.errors, self.target = truth, scores, errors, target

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, labels: Any = None, name: Any = None, **parameters: Any
    ) -> TruthScatterDisplay:
        """Draw the probabilities of fitted classifiers against known true probabilities.

        Parameters
        ----------
        estimator : fitted classifier with predict_proba, or dict from names to such
        X : rows, in the form of the classifiers' data
        y : array-like of shape (n, K)
            Their true probabilities; columns in the order of ``labels``.
        labels : array-like of shape (K,), default: the classes of the models, sorted
        name : str, default: the name of the estimator's class
        **parameters
            All others of ``from_predictions``.
        """
        models = named(estimator, name, type(estimator).__name__, "estimator")
        classes = all_classes([*models.items()], None, labels)
        tables = {key: ask(model, X, classes) for key, model in models.items()}
        return cls.from_predictions(y, tables, labels=classes, **parameters)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        proba: Any,
        *,
        target: Any = None,
        labels: Any = None,
        sample_weight: Any = None,
        name: Any = None,
        ax: Axes | None = None,
        legend: str = "auto",
        **style: Any,
    ) -> TruthScatterDisplay:
        """Draw given probabilities against the true ones.

        Parameters
        ----------
        y_true : array-like of shape (n, K)
            True probabilities.
        proba : array-like of shape (n, K), or dict from names to such
            The probabilities of each model.
        target : label, default=None
            The class; by default the second of two, and all classes together if there are more.
        labels : array-like of shape (K,), default: 0…K−1
            The class of each column.
        sample_weight : array-like of shape (n,), optional
            Weights in the error; rows of weight 0 are not drawn.
        name : str, default="model"
            The name of a single model in the legend.
        ax, legend, **style
            As in :meth:`plot`.
        """
        truth = check_probabilities(y_true, parameter="y_true")
        tables = named_tables(proba, name)
        for key, table in tables.items():
            check_same_shape(table, truth, key, "y_true")
        classes, column, _, weights = _context(None, truth, labels, target, sample_weight, all_classes=True)
        kept = _positions(weights)
        chosen = slice(None) if column is None else [column]
        scores = {key: table[kept][:, chosen].ravel() for key, table in tables.items()}
        true = truth[kept][:, chosen].ravel()
        each = np.repeat(weights[kept], true.size // len(kept))
        errors = {key: math.sqrt(np.average((score - true) ** 2, weights=each)) for key, score in scores.items()}
        wanted = None if column is None else frame.class_words(classes.tolist()[column])
        return cls(true, scores, errors, target=wanted).plot(ax, legend=legend, **style)

    def _draw(self, ax: Axes, style: dict[str, Any]) -> None:
        frame.tidy(ax)
        for name, scores in self.scores.items():
            draw_points(ax, self.truth, scores, frame.entry(name, f"RMSE {self.errors[name]:.3f}"), style)
        frame.add_reference(ax, "the truth", [0, 1], [0, 1])
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        what = "each class" if self.target is None else frame.shortened(self.target)
        x, y = f"true probability of {what}", f"predicted probability of {what}"
        frame.write(ax, title="Predicted against true probability", x=x, y=y)


class _Context(NamedTuple):
    classes: Array
    column: Any
    base_rate: float | None
    weights: Floats


def _positions(weights: Floats) -> Indices:
    """The positions of the rows to draw: those of positive weight."""
    kept = rows_that_count(weights)
    return np.arange(len(weights)) if kept is None else kept


def _one_reference(reference: Any, default: str) -> dict[str, Any]:
    by_name = named(reference, None, default, "reference")
    if len(by_name) != 1:
        raise ValueError(f"reference: has {len(by_name)} models, must have one to compare the others with")
    return by_name


def check_same_shape(table: Floats, other: Floats, name: str, parameter: str) -> None:
    if table.shape != other.shape:
        raise ValueError(
            f"the probabilities of {name!r} have shape {table.shape}, but {parameter} has {other.shape}: "
            "both must have the same rows and classes"
        )


def _context(
    y_true: Any, table: Floats, labels: Any, target: Any, sample_weight: Any, *, all_classes: bool = False
) -> _Context:
    """The classes, the column in question (None for all), the share of its class, and one weight per row."""
    weights = check_weights(sample_weight, len(table))
    weights = np.ones(len(table)) if weights is None else weights
    if y_true is not None:
        judged = judge(y_true, table, labels, sample_weight)
        column = target_column(judged.labels, target)
        return _Context(judged.labels, column, float(class_shares(judged)[column]), weights)
    classes = np.arange(table.shape[1]) if labels is None else np.asarray(labels)
    if classes.shape != (table.shape[1],):
        raise ValueError(f"labels={labels!r}: must name the class of each of the {table.shape[1]} columns")
    if all_classes and target is None and len(classes) > 2:
        return _Context(classes, None, None, weights)
    return _Context(classes, target_column(classes, target), None, weights)


def draw_points(ax: Axes, x: Any, y: Floats, label: str, style: dict[str, Any]) -> None:
    """Points, fainter and smaller if there are many; with full opacity in the legend."""
    place = len(frame.drawn(ax, "model"))
    crowd = min(1.0, 150 / len(y))
    look = frame.point_style(place) | {
        "linestyle": "none",
        "markersize": 2.0 + 2.0 * math.sqrt(crowd),
        "markeredgewidth": 0,
        "alpha": 0.15 + 0.55 * math.sqrt(crowd),
        "rasterized": len(y) > 5000,
        "zorder": 3,
    }
    look |= style
    ax.plot(x, y, clip_on=False, gid="points", **look)
    shown = {"alpha": 1.0, "markersize": 5.0, "rasterized": False}
    ax.plot([], [], label=label, gid="model", **look | shown)
