"""What a model says along each column: partial dependence, its spread over rows, and what was observed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from petiole._classifiers.base import TableClassifier, encode_queries
from petiole._table.encoder import FeatureEncoder
from petiole._table.frames import settled
from petiole._table.labels import check_same_length, check_weights, label_codes
from petiole._tree.drawing import INK, QUIET
from petiole._validation import check_whole
from petiole.explanations.computing import encoded_answer, is_explainable
from petiole.explanations.effects import MOST_ROWS, Dependence, dependence, nearest_points
from petiole.plotting import frame
from petiole.plotting.paths import COLORS, SMALL_FONT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
Matrix = npt.NDArray[Any]
Ask = Callable[[Matrix], Floats]

SPREAD = (0.1, 0.9)  # the quantiles of individual curves between which the band lies
MOST_CURVES = 25  # that are drawn
WIDE = 3  # pictures side by side
# To find the columns with the largest effects, so many rows are asked, of at most so many columns.
ROWS_TO_CHOOSE, COLUMNS_TO_CHOOSE = 40, 60


@dataclass(frozen=True, eq=False)
class ColumnEffect:
    """The predictions of a class along a column.

    Attributes
    ----------
    column : str
    values : array of shape (n_points,)
        Numbers, or codes of categories; NaN for missing values, which come last.
    texts : list of str
        The values in words.
    categorical : bool
    shares : array of shape (n_points,)
        The share of the rows that are near each value.
    mean : array of shape (n_points,)
        The mean prediction if all rows had this value: the partial dependence.
    curves : array of shape (n_points, n_rows)
        The predictions for single rows.
    low, high : arrays of shape (n_points,)
        The 10 % and 90 % quantiles of the curves.
    predicted : array of shape (n_points,)
        The mean prediction for the rows near each value, without replacing cells; NaN if there are no such rows.
    observed : array of shape (n_points,) or None
        The frequency of the class among these rows, if labels were given.
    """

    column: str
    values: Floats
    texts: list[str]
    categorical: bool
    shares: Floats
    mean: Floats
    curves: Floats
    predicted: Floats
    observed: Floats | None

    @property
    def low(self) -> Floats:
        return np.asarray(np.quantile(self.curves, SPREAD[0], axis=1))

    @property
    def high(self) -> Floats:
        return np.asarray(np.quantile(self.curves, SPREAD[1], axis=1))

    def strength(self) -> float:
        """The standard deviation of the partial dependence over the rows."""
        centre = self.shares @ self.mean / self.shares.sum()
        return float(np.sqrt(self.shares @ (self.mean - centre) ** 2 / self.shares.sum()))


def effects(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    columns: Sequence[Any] | None = None,
    label: Any = None,
    sample_weight: Any = None,
    n_columns: int = 6,
    random_state: int = 0,
) -> EffectsDisplay:
    """Draw how a model's predictions depend on each column.

    The line is the partial dependence: the mean prediction if all rows had this value in the column. The band contains
    80 % of the rows, and thin lines are single rows; where they are not parallel, the column interacts with others.
    The bars show where the rows are. If there are labels, each dot is the frequency of the class among the rows near a
    value, and each cross is the mean prediction for the same rows. Where dots and crosses differ, the model is not
    calibrated along the column.

    Parameters
    ----------
    model : fitted classifier of petiole, or another with predict_proba for tables of numbers
    X : rows in the columns of the fit, preferably new to the model
    y : array-like, optional
        Their true labels.
    columns : list of names or positions, default: those with the largest effects
    label : the class, default: the second of two; must be named if there are more
    sample_weight : array-like, optional
        Weights of the rows in the means of rows near a value.
    n_columns : int, default=6
        The number of columns to draw if none are named.
    random_state : int, default=0
        Seed for drawing at most 200 rows, whose cells are replaced.

    Returns
    -------
    EffectsDisplay

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from petiole import BaggedPETClassifier
    >>> from petiole.plotting import effects
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = effects(BaggedPETClassifier(20, random_state=0).fit(X, y), X, y, label=2, n_columns=2)
    >>> [effect.column for effect in display.effects]
    ['petal width (cm)', 'petal length (cm)']
    >>> display.effects[0].mean[[0, -1]].round(1).tolist()
    [0.1, 0.6]
    """
    check_is_fitted(model)
    check_whole("n_columns", n_columns, 1)
    classes = np.asarray(model.classes_)
    k = _class_number(classes, label)
    asked = _Asked.of(model, X)
    labels = None if y is None else label_codes(y, classes, "y", remedy="remove these rows") == k
    if labels is not None:
        check_same_length(len(asked.matrix), len(labels))
    weights = check_weights(sample_weight, len(asked.matrix))
    weights = np.ones(len(asked.matrix)) if weights is None else weights
    rows = np.random.default_rng(random_state).permutation(len(asked.matrix))
    predicted = asked.ask(asked.matrix)[:, k]

    def effect_of(column: int, n_rows: int) -> ColumnEffect:
        chosen = asked.matrix[np.sort(rows[:n_rows])]
        return _effect(asked, column, chosen, k, (predicted, labels, weights))

    if columns is None:
        candidates = _candidates(model, asked)
        strengths = [effect_of(column, ROWS_TO_CHOOSE).strength() for column in candidates]
        wanted = [candidates[place] for place in np.argsort(-np.array(strengths), kind="stable")[:n_columns].tolist()]
    else:
        wanted = [asked.position(column) for column in columns]
        if not wanted:
            raise ValueError("columns=[]: name at least one column")
    found = [effect_of(column, MOST_ROWS) for column in wanted]
    return EffectsDisplay(found, label=classes.tolist()[k]).plot()


class EffectsDisplay:
    """Pictures of the effects of several columns, made by :func:`effects`.

    Attributes
    ----------
    effects : list of ColumnEffect
    label : the class
    axes_ : list of matplotlib Axes
        Where they were drawn last.
    figure_ : matplotlib Figure
    """

    axes_: list[Axes]
    figure_: Figure

    def __init__(self, effects: list[ColumnEffect], *, label: Any) -> None:
        self.effects, self.label = effects, label

    def plot(self, axes: Sequence[Axes] | None = None) -> EffectsDisplay:
        """Draw, in axes for each column or in a new figure; returns the display itself."""
        plt = frame.pyplot()
        figure = None
        if axes is None:
            n_wide = min(WIDE, len(self.effects))
            n_high = math.ceil(len(self.effects) / n_wide)
            figure = plt.figure(figsize=(3.1 * n_wide, 2.5 * n_high + 0.4), layout="constrained")
            axes = [figure.add_subplot(n_high, n_wide, place + 1) for place in range(len(self.effects))]
        if len(axes) != len(self.effects):
            raise ValueError(f"axes: {len(axes)} were given for {len(self.effects)} columns; pass one for each")
        try:
            for ax, effect in zip(axes, self.effects, strict=True):
                _draw(ax, effect, f"P({frame.class_words(self.label)})")
            if figure is not None:
                _add_legend(figure, axes[0])
        except BaseException:
            if figure is not None:
                plt.close(figure)
            raise
        self.axes_, self.figure_ = list(axes), axes[0].figure  # type: ignore[assignment]
        return self


@dataclass(frozen=True, eq=False)
class _Asked:
    """Rows as a matrix, and a model as a function of matrices."""

    matrix: Matrix
    ask: Ask
    encoder: FeatureEncoder

    @classmethod
    def of(cls, model: Any, X: Any) -> _Asked:
        if is_explainable(model):
            inner = model if isinstance(model, TableClassifier) else model.estimator_
            return cls(encode_queries(inner, X), encoded_answer(model), inner.encoder_)
        if isinstance(model, TableClassifier):
            return cls(encode_queries(model, X), model._average, model.encoder_)
        X = settled(X)
        encoder, matrix = FeatureEncoder.fit(X, "from_dtype", "effects")
        if (encoder.n_categories > 0).any() or encoder.n_features > encoder.n_inputs:
            raise ValueError(
                "X: has columns of categories or dates, which can be replaced for classifiers of petiole only, not for "
                f"a {type(model).__name__}; encode them as numbers before the fit"
            )

        def ask(rows: Matrix) -> Floats:
            table: Any = rows
            if encoder.input_names is not None and hasattr(X, "iloc"):
                table = type(X)(rows, columns=X.columns)
            return np.asarray(model.predict_proba(table))

        return cls(matrix, ask, encoder)

    @property
    def names(self) -> list[str]:
        names = self.encoder.feature_names or [f"x{j}" for j in range(self.encoder.n_features)]
        return [str(name) for name in names]

    def position(self, column: Any) -> int:
        if isinstance(column, (int, np.integer)) and not isinstance(column, bool) and 0 <= column < len(self.names):
            return int(column)
        if column in self.names:
            return self.names.index(column)
        raise ValueError(f"columns: there is no column {column!r}; name some of {', '.join(self.names[:20])}")


def _class_number(classes: npt.NDArray[Any], label: Any) -> int:
    names = classes.tolist()
    if label is None and len(names) > 2:
        raise ValueError(f"label=None: name one of the classes {', '.join(map(str, names))}")
    if label is not None and label not in names:
        raise ValueError(f"label={label!r}: must be one of the classes {', '.join(map(str, names))}")
    return len(names) - 1 if label is None else names.index(label)


def _candidates(model: Any, asked: _Asked) -> list[int]:
    """The columns among which those with the largest effects are found."""
    importances = getattr(model, "feature_importances_", None)
    n_columns = asked.matrix.shape[1]
    if n_columns <= COLUMNS_TO_CHOOSE or importances is None or len(importances) != n_columns:
        return list(range(n_columns))
    chosen = np.argsort(-np.asarray(importances), kind="stable")[:COLUMNS_TO_CHOOSE]
    return [int(column) for column in chosen]


def _effect(
    asked: _Asked, column: int, rows: Matrix, k: int, truth: tuple[Floats, npt.NDArray[np.bool_] | None, Floats]
) -> ColumnEffect:
    predicted, labels, weights = truth
    cells = asked.matrix[:, column].astype(np.float64)
    categorical = bool(asked.encoder.n_categories[column])
    found: Dependence = dependence(asked.ask, rows, column, cells, categorical=categorical, with_missing=True)
    place = nearest_points(found.points, cells, categorical=categorical)
    near = place >= 0
    weight = np.bincount(place[near], weights[near], minlength=len(found.points))

    def mean_near(values: Floats) -> Floats:
        sums = np.bincount(place[near], (weights * values)[near], minlength=len(found.points))
        return np.divide(sums, weight, out=np.full(len(sums), np.nan), where=weight > 0)

    return ColumnEffect(
        asked.names[column],
        found.points,
        [asked.encoder.value_text(column, float(point)) for point in found.points],
        categorical,
        found.shares,
        found.means[:, k],
        found.curves[:, :, k],
        mean_near(predicted),
        None if labels is None else mean_near(labels.astype(np.float64)),
    )


def _draw(ax: Axes, effect: ColumnEffect, what: str) -> None:
    frame.tidy(ax)
    places, width = _places(ax, effect)
    is_line = np.zeros(len(places), dtype=bool) if effect.categorical else ~np.isnan(effect.values)
    parts = [effect.high, effect.predicted] + ([] if effect.observed is None else [effect.observed])
    top = min(1.0, 1.12 * max(float(np.nanmax(part)) for part in parts)) or 1.0
    ax.bar(
        places, effect.shares / effect.shares.max() * 0.2 * top, width=width, color=frame.LIGHT, zorder=1, gid="rows"
    )
    color = COLORS[0]
    if is_line.any():
        x, step = places[is_line], max(1, effect.curves.shape[1] // MOST_CURVES)
        ax.plot(x, effect.curves[is_line][:, ::step], color=QUIET, linewidth=0.4, alpha=0.35, zorder=2)
        ax.fill_between(x, effect.low[is_line], effect.high[is_line], color=color, alpha=0.18, linewidth=0, zorder=2)
        style: dict[str, Any] = {"color": color, "linewidth": 1.8, "zorder": 4, "gid": "mean"}
        ax.plot(x, effect.mean[is_line], label="all rows with this value", **style)
    if not is_line.all():
        x, alone = places[~is_line], ~is_line
        ax.vlines(x, effect.low[alone], effect.high[alone], color=color, alpha=0.3, linewidth=4, zorder=2)
        words = None if is_line.any() else "all rows with this value"
        ax.plot(x, effect.mean[alone], "s", color=color, markersize=5, zorder=4, label=words, gid="mean")
    if effect.observed is not None:
        near: dict[str, Any] = {"linestyle": "none", "markersize": 3.5, "zorder": 5}
        dots, crosses = near | {"marker": "o", "color": COLORS[1]}, near | {"marker": "x", "color": INK}
        ax.plot(places, effect.observed, label="observed near this value", gid="observed", **dots)
        ax.plot(places, effect.predicted, label="predicted for the same rows", gid="predicted", **crosses)
    ax.set_ylim(0, top)
    frame.write(ax, title=frame.shortened(effect.column, 30), y=what)


def _places(ax: Axes, effect: ColumnEffect) -> tuple[Floats, Any]:
    """Where values are drawn, and how wide their bars are: numbers as they are, others one after the other."""
    known = ~np.isnan(effect.values)
    places = np.arange(len(effect.values), dtype=np.float64)
    if effect.categorical or not known.any():
        words = [frame.shortened(text, 14) for text in effect.texts]
        turned: dict[str, Any] = {"rotation": 35, "ha": "right"} if len(words) > 3 else {}
        ax.set_xticks(places, words, parse_math=False, **turned)
        return places, 0.8
    numbers = effect.values[known]
    span = float(np.ptp(numbers)) or 1.0
    places = np.where(known, effect.values, numbers.max() + 0.12 * span)
    gaps = np.diff(numbers, prepend=numbers[0] - 0.05 * span, append=numbers[-1] + 0.05 * span)
    widths = np.append(0.8 * np.minimum(gaps[:-1], gaps[1:]), [0.05 * span] * int((~known).sum()))
    if not known.all():
        ax.axvline(numbers.max() + 0.06 * span, color=QUIET, linewidth=0.6, linestyle=":")
        ax.annotate(
            "missing",
            (float(places[-1]), 0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            rotation=90,
            ha="center",
            fontsize=SMALL_FONT - 1,
            color=INK,
        )
    return places, widths


def _add_legend(figure: Figure, ax: Axes) -> None:
    handles, texts = ax.get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside lower left", ncols=3, fontsize=SMALL_FONT, labelcolor=INK, frameon=False)
