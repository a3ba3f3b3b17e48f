"""Random encoded rows for the logistic regression."""

from __future__ import annotations

import numpy as np

from petiole._table.rows import EncodedRows


def problem(seed, n_rows=80, n_classes=3, weighted=True, dtype=np.float64):
    """Rows with numbers, ties, heavy tails, constants, categories (some rare), missing values; and their folds."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n_rows, 3))
    matrix = np.column_stack(
        [
            numbers[:, 0],
            np.exp(3 * numbers[:, 1]),
            numbers[:, 2].round(0),
            np.full(n_rows, 7.0),
            rng.choice(4, n_rows, p=[0.5, 0.3, 0.17, 0.03]).astype(float),
            rng.integers(0, 30, n_rows).astype(float),
            np.where(rng.random(n_rows) < 0.95, 0.0, rng.normal(size=n_rows)),
        ]
    )
    score = numbers @ rng.normal(size=(3, n_classes)) + (matrix[:, [4]] == 1) + rng.gumbel(size=(n_rows, n_classes))
    labels = score.argmax(axis=1).astype(np.int32)
    labels[:n_classes] = np.arange(n_classes)
    matrix[rng.random(matrix.shape) < [0.15, 0.02, 0.0, 0.1, 0.1, 0.01, 0.0]] = np.nan
    n_categories = np.array([0, 0, 0, 0, 5, 30, 0], dtype=np.int32)
    weights = rng.integers(1, 4, n_rows).astype(float) if weighted else None
    rows = EncodedRows(matrix.astype(dtype), labels, weights, n_categories, np.arange(n_classes))
    return rows, rng.permutation(n_rows) % 3
