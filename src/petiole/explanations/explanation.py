"""The contribution of each column to a model's predictions: numbers, words and pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from petiole._table.encoder import FeatureEncoder
from petiole._validation import check_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = npt.NDArray[np.float64]
SMALLEST = 0.0005  # a value that is 0.000 when it is written is no reason


class Reason(NamedTuple):
    """A column, its value in a row, and its contribution to the prediction.

    >>> print(Reason("size", "7", 0.1234), Reason("town", "missing", -0.05), sep=", ")
    size = 7 (+0.123), town = missing (-0.050)
    """

    column: str
    value: str
    contribution: float

    def __str__(self) -> str:
        return f"{self.column} = {self.value} ({self.contribution:+.3f})"


@dataclass(frozen=True, eq=False)
class Explanation:
    """The contribution of each column to a model's predictions, as ``model.explain(X)`` returns it.

    ``base_values + values.sum(axis=1)`` are the predictions: the probabilities, or the log-odds.

    Attributes
    ----------
    values : array of shape (n_rows, n_columns, n_classes)
    base_values : array of shape (n_classes,)
        The predictions while no column is known.
    data : array of shape (n_rows, n_columns)
        The rows as the model read them: numbers, categories, NaN or None where a value is missing.
    feature_names : list of str
    class_names : list
        The classes, in the order of ``model.classes_``.
    output : {"probability", "log_odds"}
        What is explained. The log-odds of a class are log p minus the mean of the other classes' log p; with two
        classes, these are the ordinary log-odds.
    method : {"path", "interventional", "exact", "sampled"}
    standard_errors : array of the shape of values, or None
        The standard errors of sampled values.
    """

    values: Floats
    base_values: Floats
    data: npt.NDArray[Any]
    feature_names: list[str]
    class_names: list[Any]
    output: str
    method: str
    standard_errors: Floats | None = None
    _read: tuple[npt.NDArray[Any], FeatureEncoder] | None = (
        None  # the rows encoded, to write cells as the file has them
    )

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        n_rows, n_columns, n_classes = self.values.shape
        return f"Explanation({n_rows} rows, {n_columns} columns, {n_classes} classes, {self.output} by {self.method!r})"

    def __getitem__(self, rows: slice | npt.NDArray[Any] | list[int]) -> Explanation:
        """Some of the rows."""
        if isinstance(rows, (int, np.integer)):
            raise TypeError(f"[{rows}]: pass a slice or a list of rows, such as [{rows}:{rows + 1}]")
        errors = None if self.standard_errors is None else self.standard_errors[rows]
        names, classes = self.feature_names, self.class_names
        values, data = self.values[rows], self.data[rows]
        read = None if self._read is None else (self._read[0][rows], self._read[1])
        return Explanation(values, self.base_values, data, names, classes, self.output, self.method, errors, read)

    @property
    def answers(self) -> Floats:
        """The predictions that are explained: the base values plus the sums of all values, (n_rows, n_classes)."""
        answers: Floats = self.base_values + self.values.sum(axis=1)
        return answers

    def class_number(self, label: Any = None) -> int:
        """The position of a class; without a label the second of two classes.

        Raises ValueError if there is no such class, or if there are more than two and none is named.
        """
        names = self.class_names
        if label is None:
            if len(names) > 2:
                raise ValueError(f"label=None: name one of the classes {', '.join(map(str, names))}")
            return len(names) - 1
        found = [k for k, name in enumerate(names) if name == label]
        if len(found) != 1:
            raise ValueError(f"label={label!r}: must be one of the classes {', '.join(map(str, names))}")
        return found[0]

    def importances(self, label: Any = None) -> Floats:
        """The mean absolute value of each column over rows, for a class or over all classes."""
        sizes = np.abs(self.values).mean(axis=0)
        return np.asarray(sizes.mean(axis=1) if label is None else sizes[:, self.class_number(label)])

    def reasons(
        self, row: int = 0, n: int | None = 4, *, label: Any = None, raising: bool | None = None
    ) -> list[Reason]:
        """Return the columns that moved the prediction of a row most, the largest value first.

        Parameters
        ----------
        row : int, default=0
        n : int or None, default=4
            The largest number of columns; None for all that contribute.
        label : the class, default: the second of two
        raising : bool, default=None
            Only the columns that raise the prediction (True), or only those that lower it (False).
        """
        check_whole("n", n, 1, optional=True)
        values = self.values[row, :, self.class_number(label)]
        wanted = np.abs(values) if raising is None else values if raising else -values
        order = np.argsort(-wanted, kind="stable")
        found = [
            Reason(self.feature_names[j], self.value_text(row, j), float(values[j]))
            for j in order.tolist()
            if wanted[j] >= SMALLEST
        ]
        return found[:n]

    def words(self, row: int = 0, n: int | None = 4, *, label: Any = None) -> str:
        """Return a sentence about a row.

        >>> from sklearn.datasets import load_iris
        >>> from petiole import PETClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> print(PETClassifier(max_depth=2).fit(X, y).explain(X[60:61]).words(label=1))
        P(1) = 0.877, starting from 0.335. Raised by x3 = 1 (+0.321), x2 = 3.5 (+0.222).
        """
        k = self.class_number(label)
        moved = self.reasons(row, n, label=label)
        what = f"P({self.class_names[k]})" if self.output == "probability" else f"log-odds of {self.class_names[k]}"
        parts = [f"{what} = {self.answers[row, k]:.3f}, starting from {self.base_values[k]:.3f}."]
        for words, some in (
            ("Raised by", [reason for reason in moved if reason.contribution > 0]),
            ("Lowered by", [reason for reason in moved if reason.contribution < 0]),
        ):
            if some:
                parts.append(f"{words} {', '.join(map(str, some))}.")
        others = self.values[row, :, k].sum() - sum(reason.contribution for reason in moved)
        if abs(others) >= SMALLEST:
            parts.append(f"All other columns together: {others:+.3f}.")
        return " ".join(parts)

    def value_text(self, row: int, column: int) -> str:
        """A cell as text."""
        if self._read is not None:
            matrix, encoder = self._read
            return encoder.value_text(column, float(matrix[row, column]))
        value = self.data[row, column]
        if value is None or (isinstance(value, float) and np.isnan(value)):
            return "missing"
        return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)

    def to_shap(self) -> Any:
        """The same as a ``shap.Explanation``, for the plots of that package (``pip install shap``)."""
        try:
            import shap
        except ImportError as error:
            raise ImportError("to_shap needs the package shap: pip install shap") from error
        base = np.repeat(self.base_values[np.newaxis], len(self), axis=0)
        return shap.Explanation(
            values=self.values,
            base_values=base,
            data=self.data,
            feature_names=list(self.feature_names),
            output_names=[str(name) for name in self.class_names],
        )

    def plot_bar(self, *, label: Any = None, max_display: int = 10, ax: Axes | None = None) -> Any:
        """Draw the columns that matter most; see :class:`petiole.plotting.ContributionBarDisplay`."""
        from petiole.plotting import ContributionBarDisplay

        return ContributionBarDisplay(self, label=label, max_display=max_display).plot(ax)

    def plot_waterfall(self, row: int = 0, *, label: Any = None, max_display: int = 10, ax: Axes | None = None) -> Any:
        """Draw how the columns lead to the prediction for a row; see :class:`petiole.plotting.WaterfallDisplay`."""
        from petiole.plotting import WaterfallDisplay

        return WaterfallDisplay(self, row, label=label, max_display=max_display).plot(ax)

    def plot_beeswarm(self, *, label: Any = None, max_display: int = 10, ax: Axes | None = None) -> Any:
        """Draw a point for each row and column; see :class:`petiole.plotting.BeeswarmDisplay`."""
        from petiole.plotting import BeeswarmDisplay

        return BeeswarmDisplay(self, label=label, max_display=max_display).plot(ax)
