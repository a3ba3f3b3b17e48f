"""BCost and BDeltaCost: the cost of a classifier, and of two compared, from bootstrapped confusion counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole._table.labels import Codes, check_weights, encode_labels, label_codes
from petiole._validation import check_number
from petiole.comparison.classes import distinct_names, union
from petiole.comparison.resampling import (
    Wholes,
    as_generator,
    central_interval,
    check_draws,
    draw_totals,
    sample_size,
    sums_of_draws,
)

# A total this small relative to the number of rows times the largest cost is rounding, and counts as zero.
TINY = 1e-14


@dataclass(frozen=True)
class CostInterval:
    """The cost of a classifier on the test rows, with a confidence interval.

    Attributes
    ----------
    cost : float
        Total over the test rows.
    interval : (float, float)
        For the total.
    level : float
        The share of the draws inside.
    n_examples : float
        Number of test rows, or sum of the weights.
    draws : array of shape (n_draws,)
        Totals of the bootstrap draws, sorted.
    """

    cost: float
    interval: tuple[float, float]
    level: float
    n_examples: float
    draws: Floats = field(repr=False, compare=False)

    @property
    def mean_cost(self) -> float:
        """Cost per test row."""
        return self.cost / self.n_examples

    @property
    def mean_interval(self) -> tuple[float, float]:
        """The interval for the cost per test row."""
        return self.interval[0] / self.n_examples, self.interval[1] / self.n_examples


@dataclass(frozen=True)
class CostDifference:
    """The difference in cost of two classifiers, with a confidence interval.

    Attributes
    ----------
    difference : float
        Total cost of the first less that of the second; negative if the first is cheaper.
    interval : (float, float)
        For the total difference.
    level : float
        The share of the draws inside.
    n_examples : float
        Number of test rows, or sum of the weights.
    draws : array of shape (n_draws,)
        Total differences of the bootstrap draws, sorted.
    """

    difference: float
    interval: tuple[float, float]
    level: float
    n_examples: float
    draws: Floats = field(repr=False, compare=False)

    @property
    def winner(self) -> int:
        """1 or 2 for the classifier that is significantly cheaper; 0 for a tie, when the interval contains zero."""
        low, high = self.interval
        return 2 if low > 0 else 1 if high < 0 else 0

    @property
    def mean_difference(self) -> float:
        """Difference per test row."""
        return self.difference / self.n_examples

    @property
    def mean_interval(self) -> tuple[float, float]:
        """The interval for the difference per test row."""
        return self.interval[0] / self.n_examples, self.interval[1] / self.n_examples


def bdelta_cost(
    y_true: Any,
    pred_1: Any,
    pred_2: Any,
    cost: Any,
    *,
    n_draws: int = 1000,
    random_state: Any = None,
    level: float = 0.95,
    labels: Any = None,
    actions: Any = None,
    sample_weight: Any = None,
    cell_prior: float = 0.0,
) -> CostDifference:
    """BDeltaCost: test whether two classifiers differ in cost on the same test rows.

    The test counts how often (prediction of the first, prediction of the second, true class) occurred, draws as many
    rows again from these counts ``n_draws`` times, and sorts the differences of cost. Of 1000 draws the 25th and the
    976th are the interval. If it does not contain zero, the difference is significant: Margineantu & Dietterich 2002,
    section 1.6.

    Parameters
    ----------
    y_true : array of shape (n,)
        True classes of the test rows.
    pred_1, pred_2 : arrays of shape (n,)
        The classes that two classifiers predicted, or the actions that were taken.
    cost : array of shape (n_actions, n_classes)
        ``cost[i, j]`` is the cost of predicting i (or taking action i) if j is true. May be negative.
    n_draws : int, default=1000
    random_state : int, RandomState, Generator or None, default=None
    level : float, default=0.95
        The share of the draws in the interval.
    labels : array of shape (n_classes,), default: the sorted labels
        The class of each column of ``cost``.
    actions : array of shape (n_actions,), default: ``labels`` if ``cost`` is square, else the sorted predictions
        What each row of ``cost`` stands for.
    sample_weight : array of shape (n,), default=None
        The number of rows that each row stands for. A draw has as many rows as the weights sum to.
    cell_prior : float, default=0
        Pseudo-rows added to each cell, so that cells that are empty by chance can be drawn. The paper of 2002 has
        none; Margineantu & Dietterich (2000) add 0.1 (see the provenance page).

    Returns
    -------
    CostDifference

    Examples
    --------
    Missing a true 1 costs 5, a false alarm costs 1. The first classifier missed four that the second found:

    >>> from petiole.comparison import bdelta_cost
    >>> y_true = [1, 1, 1, 1, 0, 0, 0, 1, 1, 1]
    >>> pred_1 = [0, 0, 0, 0, 1, 0, 0, 1, 1, 1]
    >>> pred_2 = [1, 1, 1, 1, 0, 0, 0, 1, 1, 1]
    >>> test = bdelta_cost(y_true, pred_1, pred_2, [[0, 5], [1, 0]], random_state=0)
    >>> test.difference, test.interval, test.winner
    (21.0, (6.0, 36.0), 2)
    """
    _check_options(n_draws, level, cell_prior)
    outcomes = _read_outcomes(y_true, {"pred_1": pred_1, "pred_2": pred_2}, cost, labels, actions, sample_weight)
    table = outcomes.cost

    def delta(true: Array, first: Array, second: Array) -> Floats:
        return np.asarray(table[first, true] - table[second, true])

    difference, draws = _bootstrap(outcomes, delta, cell_prior, n_draws, as_generator(random_state))
    return CostDifference(difference, central_interval(draws, level), level, outcomes.n_examples, draws)


def bcost(
    y_true: Any,
    pred: Any,
    cost: Any,
    *,
    n_draws: int = 1000,
    random_state: Any = None,
    level: float = 0.95,
    labels: Any = None,
    actions: Any = None,
    sample_weight: Any = None,
    cell_prior: float = 0.0,
) -> CostInterval:
    """BCost: compute a confidence interval for the cost of one classifier, from bootstrapped confusion counts.

    The same draws as in :func:`bdelta_cost`, from the counts of (prediction, true class).

    Parameters
    ----------
    y_true, pred : arrays of shape (n,)
        True classes of the test rows, and predicted classes or actions taken.
    cost : array of shape (n_actions, n_classes)
        ``cost[i, j]`` is the cost of predicting i if j is true.
    n_draws, random_state, level, labels, actions, sample_weight, cell_prior
        As in :func:`bdelta_cost`.

    Returns
    -------
    CostInterval

    Examples
    --------
    >>> from petiole.comparison import bcost
    >>> result = bcost(["ill", "well", "well", "well"] * 25, ["well"] * 100, [[0, 1], [20, 0]], random_state=0)
    >>> result.cost, result.interval, result.mean_cost
    (500.0, (320.0, 660.0), 5.0)
    """
    _check_options(n_draws, level, cell_prior)
    outcomes = _read_outcomes(y_true, {"pred": pred}, cost, labels, actions, sample_weight)
    table = outcomes.cost

    def price(true: Array, predicted: Array) -> Floats:
        return np.asarray(table[predicted, true])

    total, draws = _bootstrap(outcomes, price, cell_prior, n_draws, as_generator(random_state))
    return CostInterval(total, central_interval(draws, level), level, outcomes.n_examples, draws)


@dataclass(frozen=True)
class _Outcomes:
    """Cells that occurred: the codes of (true class, predictions...) and the weight of the rows in each."""

    codes: tuple[Array, ...]
    weights: Floats
    cost: Floats

    @property
    def n_examples(self) -> float:
        return float(self.weights.sum())

    @property
    def shape(self) -> tuple[int, ...]:
        n_actions, n_classes = self.cost.shape
        return (n_classes,) + (n_actions,) * (len(self.codes) - 1)


def _check_options(n_draws: int, level: float, cell_prior: float) -> None:
    check_draws(n_draws, level)
    check_number("cell_prior", cell_prior, 0)


def _bootstrap(
    outcomes: _Outcomes,
    price: Callable[..., Floats],
    cell_prior: float,
    n_draws: int,
    random: np.random.Generator,
) -> tuple[float, Floats]:
    """The observed total, and the sorted totals of the draws on the same scale."""
    values = price(*outcomes.codes)
    n, size = outcomes.n_examples, sample_size(outcomes.weights)
    sizes: Wholes = np.full(n_draws, size, dtype=np.int64)
    # (n_c + prior) / (N + prior * cells) mixes the occurring cells with all cells, which then need not be listed
    pretended = cell_prior * float(np.prod([float(length) for length in outcomes.shape]))
    n_from_prior = random.binomial(sizes, pretended / (n + pretended))
    totals = draw_totals(values, outcomes.weights, sizes - n_from_prior, random)
    if cell_prior > 0:
        totals += sums_of_draws(
            n_from_prior, lambda m: price(*(random.integers(length, size=m) for length in outcomes.shape))
        )
    largest = float(np.abs(outcomes.cost).max())
    total = _without_rounding(np.atleast_1d(values @ outcomes.weights), n * largest)[0]
    return float(total), np.sort(_without_rounding(totals, size * largest) * (n / size))


def _without_rounding(totals: Floats, scale: float) -> Floats:
    """Differences of costs that cancel become exactly zero, so that 3 * 0.1 - 0.3 is not significant."""
    return np.where(np.abs(totals) <= TINY * scale, 0.0, totals)


def _read_outcomes(
    y_true: Any, predictions: dict[str, Any], cost: Any, labels: Any, actions: Any, sample_weight: Any
) -> _Outcomes:
    table = _read_cost(cost)
    if labels is None:
        classes = _found_classes(y_true, predictions, table.shape, actions)
    else:
        classes = distinct_names("labels", labels, table.shape[1], "column of cost")
    true = label_codes(y_true, classes, "y_true", remedy="pass labels= with the class of each column of cost")
    if actions is None:
        names = _found_actions(predictions, table.shape, classes)
    else:
        names = distinct_names("actions", actions, table.shape[0], "row of cost")
    codes = [true, *(_action_codes(name, given, names, len(true)) for name, given in predictions.items())]
    weights = check_weights(sample_weight, len(true))
    return _Outcomes(*_count_cells(codes, (len(classes),) + (len(names),) * len(predictions), weights), table)


def _read_cost(cost: Any) -> Floats:
    try:
        table = np.asarray(cost, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"cost={cost!r}: must be a table of numbers, cost[predicted, true]") from None
    if table.ndim != 2 or not table.size:
        raise ValueError(f"cost has shape {table.shape}: must have a row per action and a column per class")
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise ValueError(f"cost[{row}, {column}]={table[row, column]}: must be a finite number")
    return table


def _found_classes(y_true: Any, predictions: dict[str, Any], shape: tuple[int, ...], actions: Any) -> Array:
    classes, _ = encode_labels(y_true)
    if len(classes) != shape[1] and shape[0] == shape[1] and actions is None:
        # a class may be absent from the truth and still be predicted
        classes = union(classes, *(encode_labels(given)[0] for given in predictions.values()))
    if len(classes) != shape[1]:
        raise ValueError(
            f"cost has {shape[1]} columns, but the classes found are {classes.tolist()}: "
            "pass labels= with the class of each column"
        )
    return classes


def _found_actions(predictions: dict[str, Any], shape: tuple[int, ...], classes: Array) -> Array:
    if shape[0] == shape[1]:
        return classes
    names = union(*(encode_labels(given)[0] for given in predictions.values()))
    if len(names) != shape[0]:
        raise ValueError(
            f"cost has {shape[0]} rows, but the actions found are {names.tolist()}: "
            "pass actions= with what each row stands for"
        )
    return names


def _action_codes(parameter: str, predictions: Any, actions: Array, n_rows: int) -> Codes:
    codes = label_codes(predictions, actions, parameter, remedy="pass actions= with what each row of cost stands for")
    if len(codes) != n_rows:
        raise ValueError(f"{parameter} has {len(codes)} entries, but y_true has {n_rows}: give one per test row")
    return codes


def _count_cells(
    codes: list[Codes], shape: tuple[int, ...], weights: Floats | None
) -> tuple[tuple[Array, ...], Floats]:
    """The cells in which rows fall, and the weight of the rows in each."""
    n_cells = int(np.prod([int(length) for length in shape], dtype=object))
    cell = np.ravel_multi_index(tuple(codes), shape)
    if n_cells <= max(1024, 4 * len(cell)):
        counts = np.bincount(cell, weights=weights, minlength=n_cells).astype(np.float64)
        cells = np.flatnonzero(counts)
        return np.unravel_index(cells, shape), counts[cells]
    cells, position = np.unique(cell, return_inverse=True)
    counts = np.bincount(position, weights=weights).astype(np.float64)
    return np.unravel_index(cells[counts > 0], shape), counts[counts > 0]
