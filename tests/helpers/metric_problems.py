"""Random rows to judge: ties, zeros and ones, few rows, many classes, classes without rows, weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st


class Problem(NamedTuple):
    y: np.ndarray
    proba: np.ndarray
    weights: np.ndarray
    labels: np.ndarray

    @property
    def arguments(self):
        return {"labels": self.labels, "sample_weight": self.weights}

    @property
    def codes(self):
        return [self.labels.tolist().index(label) for label in self.y.tolist()]

    @property
    def plain(self):
        """The same as lists, for the naive versions."""
        return self.codes, self.proba.tolist(), self.weights.tolist()


def make_problem(seed, n_rows=None, n_classes=None, whole_weights=False, smooth=False):
    """Rows with tied probabilities, many of them 0 or 1, or (``smooth``) all different and inside (0, 1)."""
    rng = np.random.default_rng(seed)
    n_rows = n_rows or int(rng.integers(1, 25))
    n_classes = n_classes or int(rng.integers(1, 5))
    if smooth:
        proba = rng.dirichlet(np.ones(n_classes), size=n_rows)
    else:
        counts = rng.multinomial(int(rng.integers(1, 6)), rng.dirichlet(np.ones(n_classes)), size=n_rows)
        proba = counts / counts.sum(axis=1, keepdims=True)
    labels = np.array(["b", "a", "d", "c"])[:n_classes]
    sizes = [0, 1, 1, 2, 3] if whole_weights else [0, 0.5, 1, 1.7, 3]
    weights = rng.choice(sizes, size=n_rows).astype(float)
    if not weights.any():
        weights[0] = 1.0
    return Problem(labels[rng.integers(n_classes, size=n_rows)], proba, weights, labels)


problems = st.builds(make_problem, st.integers(0, 10**6))
whole_problems = st.builds(make_problem, st.integers(0, 10**6), whole_weights=st.just(True))
