"""Random tables, labels and weights, odd ones above all, and the same table in several layouts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

# A model may take much longer for a query than for a training row.
MOST_QUERIES = 24


@dataclass
class Problem:
    """What a fit and the predictions after it are given.

    Attributes
    ----------
    X, queries : arrays or data frames
    nominal : what the parameter ``categorical_features`` must say of X
    """

    X: Any
    y: Any
    weights: Any
    queries: Any
    nominal: Any

    @property
    def n_rows(self) -> int:
        return len(self.X)

    @property
    def n_columns(self) -> int:
        return self.X.shape[1]

    @property
    def classes(self) -> list[Any]:
        return np.unique(np.asarray(self.y)).tolist()

    @property
    def is_plain(self) -> bool:
        """Whether X is an array of ordinary numbers without a gap, as any classifier takes it."""
        if not isinstance(self.X, np.ndarray) or self.X.dtype == object or self.nominal != "from_dtype":
            return False
        return bool(((np.abs(self.X) < 1e30) & ((np.abs(self.X) > 1e-30) | (self.X == 0))).all())

    def make_ordinary(self) -> None:
        """Leave nothing among queries and weights that scikit-learn would refuse or stumble over."""
        self.queries = np.nan_to_num(self.queries).clip(-1e30, 1e30)
        if self.weights is not None:
            self.weights = np.where(self.weights > 0, self.weights.clip(1e-6, 1e6), 0.0)

    def describe(self) -> str:
        table = type(self.X).__name__ if self.nominal == "from_dtype" else f"array with nominal {self.nominal}"
        weights = "no weights"
        if self.weights is not None:
            weights = f"weights {np.min(self.weights):.3g} to {np.max(self.weights):.3g}"
        return f"{table} {self.X.shape}, {len(self.classes)} classes, {weights}"


def random_problem(rng: np.random.Generator) -> Problem:
    """A problem, small more often than not."""
    n_rows = int(rng.integers(1, rng.choice([2, 4, 8, 16, 40, 201])))
    n_columns = int(rng.integers(1, rng.choice([2, 4, 9])))
    columns = [_random_column(rng, n_rows) for _ in range(n_columns)]
    y = _random_labels(rng, columns[0], n_rows)
    weights = _random_weights(rng, n_rows)
    if rng.uniform() < 0.3:
        return _mixed_problem(rng, columns, y, weights)
    X = np.column_stack(columns)
    if rng.uniform() < 0.3:
        X = X.clip(-1e30, 1e30).astype(np.float32).astype(np.float64)
    queries = _random_queries(rng, X)
    nominal: Any = "from_dtype"
    if rng.uniform() < 0.15:
        nominal = sorted(rng.choice(n_columns, rng.integers(1, n_columns + 1), replace=False).tolist())
    return Problem(X, y, weights, queries, nominal)


# Columns.


def _random_column(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    kinds = (_normal, _tied, _whole, _binary, _constant, _huge, _tiny, _magnitudes, _neighbours)
    chances = np.array([6, 6, 4, 3, 1, 1, 1, 1, 1])
    column = kinds[rng.choice(len(kinds), p=chances / chances.sum())](rng, n_rows)
    gaps = rng.choice([0, 0, 0, 0.1, 0.5, 0.95, 1], p=[0.25, 0.25, 0.2, 0.15, 0.08, 0.05, 0.02])
    column[rng.uniform(size=n_rows) < gaps] = np.nan
    return column


def _normal(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(size=n)


def _tied(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(size=n).round(1)


def _whole(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.integers(-3, rng.choice([0, 5, 300, 2**53]), n).astype(np.float64)


def _binary(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.integers(0, 2, n).astype(np.float64)


def _constant(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.full(n, rng.choice([0.0, -0.0, 1.0, 1e308, -1e-310]))


def _huge(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(size=n).clip(-1.7, 1.7) * 1e308


def _tiny(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(size=n) * 1e-309


def _magnitudes(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.choice([-1.0, 1.0], n) * 10.0 ** rng.integers(-300, 300, n)


def _neighbours(rng: np.random.Generator, n: int) -> np.ndarray:
    """Numbers that differ in the last bits."""
    return np.float64(rng.choice([1.0, 0.1, 1e16])) * (1 + rng.integers(0, 4, n) * 2.0**-52)


# Labels and weights.


def _random_labels(rng: np.random.Generator, column: np.ndarray, n_rows: int) -> np.ndarray:
    n_classes = int(rng.choice([1, 2, 2, 2, 3, 3, 4, 5, 8]))
    kind = rng.choice(["cut", "even", "skewed", "rare", "unique"], p=[0.45, 0.2, 0.15, 0.15, 0.05])
    if kind == "unique":
        codes = rng.permutation(n_rows)
    elif kind == "cut":
        order = np.argsort(np.nan_to_num(column), kind="stable").argsort(kind="stable")
        codes = (order * n_classes) // n_rows
        swapped = rng.uniform(size=n_rows) < rng.choice([0, 0.1, 0.4])
        codes = np.where(swapped, rng.integers(0, n_classes, n_rows), codes)
    elif kind == "even":
        codes = rng.integers(0, n_classes, n_rows)
    elif kind == "skewed":
        codes = np.minimum(rng.geometric(0.7, n_rows) - 1, n_classes - 1)
    else:  # all classes but the first have a row or two
        codes = np.zeros(n_rows, dtype=np.int64)
        few = rng.permutation(n_rows)[: (n_classes - 1) * int(rng.integers(1, 3))]
        codes[few] = rng.integers(0, n_classes, len(few))
    return _as_labels(rng, codes)


def _as_labels(rng: np.random.Generator, codes: np.ndarray) -> np.ndarray:
    kind = rng.choice(["int", "negative", "float", "text", "object", "bool"], p=[0.5, 0.1, 0.1, 0.15, 0.1, 0.05])
    if kind == "negative":
        return -7 * codes - 1
    if kind == "float":
        return codes.astype(np.float64)
    if kind == "text":
        return np.array([f"k{code}" for code in codes])
    if kind == "object":
        return np.array([f"k{code}" for code in codes], dtype=object)
    if kind == "bool" and codes.max() <= 1:
        return codes.astype(bool)
    return codes.astype(np.int64)


def _random_weights(rng: np.random.Generator, n_rows: int) -> np.ndarray | None:
    kind = rng.choice(
        ["none", "ones", "whole", "fractional", "zeros", "wide", "extreme", "tiny", "huge", "light", "giant", "least"],
        p=[0.4, 0.04, 0.12, 0.12, 0.12, 0.04, 0.03, 0.03, 0.03, 0.03, 0.02, 0.02],
    )
    if kind == "none":
        return None
    drawn = {
        "ones": lambda: np.ones(n_rows),
        "whole": lambda: rng.integers(1, 5, n_rows).astype(np.float64),
        "fractional": lambda: rng.exponential(size=n_rows),
        "zeros": lambda: rng.choice([0.0, 0.0, 1.0, 0.7, 3.0], n_rows),
        "wide": lambda: 10.0 ** rng.uniform(-6, 6, n_rows),
        "extreme": lambda: 10.0 ** rng.uniform(-300, 300, n_rows),
        "tiny": lambda: rng.uniform(0.5, 2, n_rows) * 1e-300,
        "huge": lambda: rng.uniform(0.5, 1.7, n_rows) * 10.0 ** rng.integers(290, 309),
        "light": lambda: np.full(n_rows, 1.0 / n_rows),
        "giant": lambda: np.where(np.arange(n_rows) == rng.integers(n_rows), 10.0 ** rng.integers(3, 300), 1.0),
        "least": lambda: rng.integers(1, 4, n_rows) * 5e-324,
    }[kind]()
    if rng.uniform() < 0.1:
        drawn[rng.uniform(size=n_rows) < 0.3] = 0.0
    return drawn if drawn.any() else np.ones(n_rows)


# Queries.


def _random_queries(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """Training rows, rows near them, and rows that are far from anything."""
    near = X[rng.integers(0, len(X), MOST_QUERIES)].copy()
    moved = rng.uniform(size=near.shape) < 0.3
    near = np.where(moved, near + rng.normal(size=near.shape), near)
    odd = rng.uniform(size=near.shape) < 0.1
    near = np.where(odd, rng.choice([np.nan, 0.0, -1.7e308, 1.7e308, 5e-324, -1.0], near.shape), near)
    n_own = min(len(X), MOST_QUERIES // 3)
    near[:n_own] = X[rng.permutation(len(X))[:n_own]]
    return near


# Tables with nominal columns.


def _mixed_problem(rng: np.random.Generator, columns: list, y: np.ndarray, weights: np.ndarray | None) -> Problem:
    n_rows = len(y)
    source = rng.integers(0, n_rows, MOST_QUERIES)
    table, asked = {}, {}
    for j, column in enumerate(columns):
        name = f"c{j}"
        if rng.uniform() < 0.5:
            table[name], asked[name] = column, _random_queries(rng, column[:, None])[:, 0]
        else:
            table[name] = _nominal_column(rng, n_rows)
            asked[name] = _nominal_queries(rng, table[name], source)
    frame, queries = pd.DataFrame(table), pd.DataFrame(asked)
    if rng.uniform() < 0.15:
        return Problem(_objects(frame), y, weights, _objects(queries), "from_dtype")
    return Problem(frame, y, weights, queries, "from_dtype")


def _nominal_column(rng: np.random.Generator, n_rows: int) -> Any:
    n_categories = int(rng.choice([1, 2, 3, 10, max(1, n_rows)]))
    codes = rng.integers(0, n_categories, n_rows)
    kind = rng.choice(["text", "category", "truth"])
    if kind == "truth":
        return codes % 2 == 0
    names = np.array([f"v{code}" for code in range(n_categories)], dtype=object)
    values = names[codes]
    values[rng.uniform(size=n_rows) < rng.choice([0, 0, 0.3])] = None
    if kind == "text":
        return values
    return pd.Categorical(values, categories=[*names, "unused"])


def _nominal_queries(rng: np.random.Generator, column: Any, source: np.ndarray) -> Any:
    if isinstance(column, np.ndarray) and column.dtype == bool:
        return column[source]
    values = np.asarray(column, dtype=object)[source]
    values[rng.uniform(size=len(values)) < 0.1] = None
    if isinstance(column, pd.Categorical):
        return pd.Categorical(values, categories=column.categories)
    values[rng.uniform(size=len(values)) < 0.1] = "never seen"
    return values


def _objects(frame: pd.DataFrame) -> np.ndarray:
    return frame.astype(object).where(frame.notna(), None).to_numpy()


# The same numbers in other places of memory.


def other_layouts(X: Any) -> dict[str, Any]:
    """The same table, laid out otherwise."""
    if isinstance(X, pd.DataFrame):
        return {"index": X.set_axis(np.arange(len(X))[::-1] * 3 + 5, axis=0), "copy": X.copy()}
    if X.dtype == object:
        return {"fortran": np.asfortranarray(X)}
    layouts = {
        "fortran": np.asfortranarray(X),
        "strided": _strided(X),
        "reversed": np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
        "read-only": _read_only(X),
        "frame": pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]),
    }
    if _fits_single(X):
        layouts["single"] = X.astype(np.float32)
        layouts["single fortran"] = np.asfortranarray(X.astype(np.float32))
    return layouts


def in_layout(X: Any, name: str) -> Any:
    """A table in a layout of that name; single precision is for training rows that it holds exactly."""
    return other_layouts(X).get(name.replace("single", "").strip() or "copy", X)


def _strided(X: np.ndarray) -> np.ndarray:
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), 123.0)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def _read_only(X: np.ndarray) -> np.ndarray:
    copy = X.copy()
    copy.flags.writeable = False
    return copy


def _fits_single(X: np.ndarray) -> bool:
    with np.errstate(over="ignore"):
        return bool(np.array_equal(X.astype(np.float32).astype(np.float64), X, equal_nan=True))
