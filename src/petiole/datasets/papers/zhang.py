"""The UCI data sets of Zhang, Petitjean & Buntine (2020), hierarchical gradient smoothing."""

from __future__ import annotations

import math

import numpy as np

from petiole.datasets.columns import Categorical, Values
from petiole.datasets.description import Loaded
from petiole.datasets.loading import describe, list_datasets, load
from petiole.datasets.papers.variants import columns_of, marked, rebuild

MARK = "HGS (Zhang, Petitjean & Buntine 2020)"
MISSING_NAME = "(missing)"


def zhang_names(least_rows: int = 0, most_rows: int | None = None) -> list[str]:
    """Name the sets of the data folder that are probably among the paper's 143.

    The paper lists none of them in its text ("20 have more than 10,000 instances, 52 have between 1,000 and 10,000, and
    71 have less than 1,000", section 4.1); each mark in the manifest is a guess.

    Examples
    --------
    >>> all(describe(name).rows > 10_000 for name in zhang_names(least_rows=10_001))
    True
    """
    most = math.inf if most_rows is None else most_rows
    described = {name: describe(name) for name in list_datasets()}
    return [name for name, about in described.items() if marked(about, MARK) and least_rows <= about.rows <= most]


def zhang(name: str) -> Loaded:
    """Load a data set as the paper used it: "A missing value is treated as a separate attribute value" (section 4.1).

    A categorical feature with missing values gets the category "(missing)". The paper does not mention missing
    numbers; they stay missing, and ``missing="separate"`` of the classifiers gives them a branch of their own.

    Parameters
    ----------
    name : str
        Any data set; :func:`zhang_names` names those that the paper probably had.

    Returns
    -------
    X, y, description : as of :func:`petiole.datasets.load`

    Examples
    --------
    >>> zhang("sklearn-iris").X.shape
    (150, 4)
    """
    loaded = load(name)
    columns = {key: _missing_as_value(column) for key, column in columns_of(loaded).items()}
    rows = np.arange(len(loaded.y))
    return rebuild(loaded, columns, rows, name, "Missing names are a value of their own.")


def _missing_as_value(column: Values) -> Values:
    if not isinstance(column, Categorical) or not column.is_missing.any():
        return column
    codes = column.codes.copy()
    codes[codes < 0] = len(column.categories)
    return Categorical(codes, (*column.categories, MISSING_NAME)).sorted()
