"""Base of the displays: models by name, their probabilities in the same columns, and a figure only after all checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole._table.judged import check_probabilities
from petiole._table.labels import encode_labels
from petiole._validation import check_choice
from petiole.metrics.scorers import in_columns_of, union_of_classes
from petiole.plotting import frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Self = TypeVar("Self", bound="ProbabilityDisplay")


class ProbabilityDisplay:
    """A plot of the probabilities of one model or of several.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last drawing.
    figure_ : matplotlib Figure
        The figure of these axes.
    """

    ax_: Axes
    figure_: Figure
    height = frame.HEIGHT

    @classmethod
    def from_estimator(
        cls: type[Self], estimator: Any, X: Any, y: Any, *, labels: Any = None, name: Any = None, **parameters: Any
    ) -> Self:
        """Draw the probabilities of fitted classifiers for labelled rows.

        Parameters
        ----------
        estimator : fitted classifier with predict_proba, or dict from names to such
        X : rows, in the form of the classifiers' data
        y : array-like of shape (n,)
            Their true labels.
        labels : array-like of shape (K,), default: the classes of the models and of y, sorted
            All classes; a class that a model does not have gets probability 0.
        name : str, default: the name of the estimator's class
            The name of a single model in the legend.
        **parameters
            All others of ``from_predictions``.

        Returns
        -------
        display
        """
        models = named(estimator, name, type(estimator).__name__, "estimator")
        classes = all_classes([*models.items()], y, labels)
        tables = {key: ask(model, X, classes) for key, model in models.items()}
        drawn: Self = cls.from_predictions(y, tables, labels=classes, **parameters)  # type: ignore[attr-defined]
        return drawn

    def plot(self: Self, ax: Axes | None = None, *, legend: str = "auto", **style: Any) -> Self:
        """Draw the display into axes, or into a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default: a new figure as wide as one column of a journal
            Axes with models of another display of this kind get these models as well.
        legend : {"auto", "below", "inside", "none"}, default="auto"
            "auto": below the axes if the figure makes room for it (``layout="constrained"``, as in new figures),
            otherwise inside the axes.
        **style
            Of the models' lines or points, for matplotlib: ``color="black"``.

        Returns
        -------
        the display itself, with ``ax_`` and ``figure_``
        """
        check_choice("legend", legend, frame.LEGENDS)
        plt = frame.pyplot()
        axes = frame.new_axes(self.height) if ax is None else ax
        try:
            self._draw(axes, style)
            frame.add_legend(axes, legend, below=self._lowest(axes), height=self.height)
        except BaseException:
            if ax is None:
                plt.close(axes.figure)
            raise
        self.ax_, self.figure_ = axes, axes.figure  # type: ignore[assignment]
        return self

    def _draw(self, ax: Axes, style: dict[str, Any]) -> None:
        raise NotImplementedError

    def _lowest(self, ax: Axes) -> Axes:
        """The axes below which the legend is placed."""
        return ax


def named(models: Any, name: Any, default: str, parameter: str) -> dict[str, Any]:
    """Models by their names, from one model or from a dict."""
    if not isinstance(models, Mapping):
        return {default if name is None else str(name): models}
    if name is not None:
        raise ValueError(f"name={name!r}: is for a single model; the keys of the dict are the names of several")
    if not models:
        raise ValueError(f"{parameter}={{}}: must hold at least one model")
    by_name = {str(key): model for key, model in models.items()}
    if len(by_name) < len(models):
        raise ValueError(f"{parameter}: two of the names {list(models)} read the same; rename one")
    return by_name


def named_tables(proba: Any, name: Any, parameter: str = "proba") -> dict[str, Any]:
    """Tables of probabilities by name; errors name the table, which errors of the metrics cannot."""
    tables = named(proba, name, "model", parameter)
    several = isinstance(proba, Mapping)
    return {
        key: check_probabilities(table, parameter=f"{parameter}[{key!r}]" if several else parameter)
        for key, table in tables.items()
    }


def all_classes(models: list[tuple[str, Any]], y: Any, labels: Any) -> Array:
    """The classes of the columns of all models; ``y`` may be None."""
    known = [label for name, model in models for label in _classes_of(name, model).tolist()]
    if labels is not None:
        return np.asarray(labels)
    return union_of_classes(known, [] if y is None else encode_labels(y)[0].tolist())


def ask(model: Any, X: Any, classes: Array) -> Floats:
    """The probabilities of a model for the classes, 0 for those that it does not have."""
    return in_columns_of(classes, np.asarray(model.predict_proba(X)), np.asarray(model.classes_))


def _classes_of(name: str, model: Any) -> Array:
    if isinstance(model, type) or not hasattr(model, "fit"):
        raise TypeError(
            f"estimator {name!r} is {model!r}: must be a fitted classifier; use from_predictions for arrays"
        )
    check_is_fitted(model)
    if not hasattr(model, "predict_proba") or not hasattr(model, "classes_"):
        raise TypeError(
            f"estimator {name!r} is {model!r}: must be a classifier with predict_proba; "
            "wrap it in scikit-learn's CalibratedClassifierCV to get one"
        )
    return np.asarray(model.classes_)
