"""The workloads that all benchmarks share, and how they are described in the tables."""

from __future__ import annotations

import os

import numpy as np
from sklearn.datasets import make_classification

DESCRIPTIONS = {
    "W1": "100,000 x 20, 2 classes",
    "W2": "letter: 20,000 x 16, 26 classes",
    "W3": "1,000,000 x 10, 2 classes",
}


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A workload as (X, y): X float32 and C-ordered, y whole numbers from 0."""
    if name == "W1":
        X, y = make_classification(100_000, 20, n_informative=10, n_redundant=4, flip_y=0.05, random_state=1)
    elif name == "W3":
        X, y = make_classification(1_000_000, 10, n_informative=6, n_redundant=2, flip_y=0.05, random_state=3)
    elif name == "W2":
        X, y = _letter()
    else:
        raise ValueError(f"workload {name!r}: must be one of {', '.join(DESCRIPTIONS)}")
    return np.ascontiguousarray(X, dtype=np.float32), y.astype(np.int32)


def _letter() -> tuple[np.ndarray, np.ndarray]:
    if not os.environ.get("PETIOLE_DATA"):
        from sklearn.datasets import fetch_openml

        X, y = fetch_openml(data_id=6, as_frame=False, return_X_y=True)
        return X.astype(float), np.unique(y, return_inverse=True)[1]
    from petiole.datasets import load as load_data_set

    X, y, _ = load_data_set("letter")
    return X.to_numpy(), np.unique(y, return_inverse=True)[1]
