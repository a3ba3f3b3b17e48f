"""Which rows ``predict`` writes if there is a limit: a number of rows, or a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from petiole._classifiers.nesting import with_inner_classifiers
from petiole.cli.errors import WrongInput
from petiole.cli.io.cost_tables import CostTable
from petiole.cli.io.model_columns import ModelColumn, Names

ROW, GAIN, PRICE = "row", "expected_gain", "price"
Columns = dict[str, Any]


@dataclass(frozen=True)
class Limits:
    """The options --top, --budget, --price and --default."""

    top: int | None = None
    budget: float | None = None
    price: str | None = None
    default: str | None = None

    def check(self) -> None:
        """Refuse options that have no effect without the others."""
        if self.price is not None and self.budget is None:
            raise WrongInput(f"--price {self.price}: is used only with a budget; add --budget AMOUNT")
        if self.budget is not None and self.price is None:
            raise WrongInput(f"--budget {self.budget:g}: add --price, the price of acting on a row or its column")
        if self.default is not None and not self.limited:
            raise WrongInput(f"--default {self.default}: is for --top and --budget; add one of them")

    @property
    def limited(self) -> bool:
        return self.top is not None or self.budget is not None

    @property
    def price_column(self) -> str | None:
        """The column with the price of each row, unless all have the same."""
        return None if self.price is None or _number(self.price) is not None else self.price


@dataclass
class Shortlist:
    """Collects rows with their gains; ``chosen`` are the best of them, best first.

    ``default`` is the decision for all rows that are not chosen, or None where the gain is a probability.
    """

    limits: Limits
    costs: CostTable | None
    default: int | None
    positive: int
    label: str  # of the class of interest if there are no costs
    _parts: list[Columns] = field(default_factory=list)
    _n_rows: int = 0

    def add(self, columns: Columns, proba: NDArray[np.float64], batch: Any, model_columns: Any) -> None:
        """Add a batch: the columns of the output, and the rows that they belong to."""
        n = len(proba)
        part = {ROW: np.arange(self._n_rows + 1, self._n_rows + n + 1), **columns, GAIN: self._gains(proba)}
        if self.limits.price is not None:
            part[PRICE] = self._prices(n, batch, model_columns)
        self._n_rows += n
        # rows that cannot be chosen any more are dropped
        self._parts = [_best(_joined([*self._parts, _positive(part)]), self._keep())]

    def _keep(self) -> Limits:
        return Limits(top=self.limits.top) if self.limits.budget is None else Limits()

    def _gains(self, proba: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.costs is None or self.default is None:
            found: NDArray[np.float64] = proba[:, self.positive]
            return found
        from petiole.decisions import expected_cost

        expected = expected_cost(proba, self.costs.cost)
        gains: NDArray[np.float64] = expected[:, self.default] - expected.min(axis=1)
        return gains

    def _prices(self, n: int, batch: Any, model_columns: Any) -> NDArray[np.float64]:
        column = self.limits.price_column
        if column is None:
            return np.full(n, _number(self.limits.price or ""))
        values: NDArray[np.float64] = batch.values(
            column, _price_column(column, batch, model_columns), model_columns
        ).values
        wrong = ~(values > 0)
        if wrong.any():
            row = self._n_rows + int(wrong.argmax()) + 1
            raise WrongInput(f"--price {column}: row {row} has no price above 0: correct it, or leave the row out")
        return values

    @property
    def names(self) -> list[str]:
        """The additional columns of the output."""
        return [ROW, GAIN] if self.limits.price is None else [ROW, GAIN, PRICE]

    def chosen(self) -> Columns:
        """The rows to act on, best first."""
        return _best(_joined(self._parts), self.limits)

    def summary(self, chosen: Columns) -> str:
        """A line about them."""
        gains = chosen[GAIN]
        paid = f" for {chosen[PRICE].sum():,.6g}" if PRICE in chosen else ""
        what = f"an expected gain of {gains.sum():,.6g}"
        if self.default is None:
            what = f"{gains.sum():,.1f} of them are expected to be {self.label}"
        few = ""
        if self.limits.top is not None and len(gains) < min(self.limits.top, self._n_rows) and PRICE not in chosen:
            few = "; no other row has an expected gain above 0"
        if self.limits.budget is not None and not len(gains):
            few = "; no row has an expected gain above 0"
            prices = _joined(self._parts)[PRICE]
            if len(prices):
                few = f"; the least price is {prices.min():,.6g}"
        return f"chose {len(gains):,} of {self._n_rows:,} rows{paid}: {what}{few}"


def make_shortlist(limits: Limits, costs: CostTable | None, model: Any, positive: int, named: bool) -> Shortlist | None:
    """The collector of rows, or None if all are written."""
    limits.check()
    if not limits.limited:
        return None
    classes = model.classes_.tolist()
    if costs is None:
        if len(classes) > 2 and not named:
            raise WrongInput("--top and --budget: say which class to look for with --positive, or give --costs")
        if limits.default is not None:
            raise WrongInput(f"--default {limits.default}: is a decision of --costs; give them")
        return Shortlist(limits, None, None, positive, str(classes[positive]))
    return Shortlist(limits, costs, _default(limits.default, costs, model, classes), positive, str(classes[positive]))


def _default(wanted: str | None, costs: CostTable, model: Any, classes: list[Any]) -> int:
    from petiole.decisions.costs import idle_action

    if wanted is not None:
        code = Names(costs.decisions).code(wanted)
        if code < 0:
            raise WrongInput(f"--default {wanted}: the decisions are {', '.join(costs.decisions)}")
        return code
    weights = class_weights(model)
    are_classes = costs.decisions[: len(classes)] == [str(label) for label in classes]
    found = idle_action(costs.cost, weights if are_classes else None)
    if found is None:
        raise WrongInput(
            "--default: say what happens with the rows that are not chosen; it is one of " + ", ".join(costs.decisions)
        )
    return found


def class_weights(model: Any) -> Any:
    """The weight of each class at the fit; None where the model does not know it."""
    for part in with_inner_classifiers(model):
        if hasattr(part, "class_weights_"):
            return part.class_weights_
        if hasattr(part, "tree_"):
            return part.tree_.inbag_class_counts[0]
    return None


def _number(text: str) -> float | None:
    try:
        price = float(text)
    except ValueError:
        return None
    if not 0 < price < np.inf:
        raise WrongInput(f"--price {text}: must be above 0")
    return price


def _price_column(name: str, batch: Any, model: Any) -> ModelColumn:
    """How prices are spelled: as the model knows the column, or else as the cells show."""
    from collections import Counter

    from petiole._table.number_texts import NumberSigns, recognise_numbers

    if name in (model.names or ()):
        return ModelColumn(None, number=model.format.number_format(name))
    texts = Counter(text for text in batch.texts(name) if text is not None)
    found = recognise_numbers(texts, NumberSigns(model.format.decimal, comma_found=model.format.decimal == ","))
    return ModelColumn(None) if found is None else ModelColumn(None, number=found[0])


def _positive(part: Columns) -> Columns:
    return _rows(part, np.flatnonzero(part[GAIN] > 0))


def _best(columns: Columns, limits: Limits) -> Columns:
    from petiole.decisions import best_rows

    if not columns:
        return columns
    kept = best_rows(columns[GAIN], top=limits.top, budget=limits.budget, price=columns.get(PRICE, 1.0))
    return _rows(columns, kept)


def _rows(columns: Columns, rows: NDArray[Any]) -> Columns:
    return {name: np.asarray(values)[rows] for name, values in columns.items()}


def _joined(parts: Sequence[Columns]) -> Columns:
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([part[name] for part in parts]) for name in (parts[0] if parts else ())}
