"""How much each training row moves the weights of a pool, and by them a prediction.

The weights are where the log-loss of the honest probabilities of training rows, plus the ridges, is least. One more row
i would move them by -H⁻¹ s_i, s_i being the slopes of its loss and H the second derivatives of the sum. Weights that
are 0 stay there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from petiole._forest.log_pool import LogPool, Ridges, log_floored
from petiole._table.rows import EncodedRows

Floats = npt.NDArray[np.float64]

# A smaller weight is 0.
LEAST_WEIGHT = 1e-9


@dataclass(frozen=True, eq=False)
class WeightInfluence:
    """How far the free weights and the intercepts of a pool may be from those of other rows.

    Attributes
    ----------
    pool : LogPool
    free : array of bool, shape (n_components, n_classes)
        The weights that are not 0.
    covariance : array of shape (n_unknowns, n_unknowns)
        The covariance of the unknowns.
    """

    pool: LogPool
    free: npt.NDArray[np.bool_]
    covariance: Floats

    @classmethod
    def of(cls, pool: LogPool, honest: Sequence[Floats], rows: EncodedRows, ridges: Ridges) -> WeightInfluence:
        """From each component's honest probabilities of rows, from which the pool was learned."""
        logs = np.stack([log_floored(proba, pool.floor) for proba in honest], axis=1)
        free, proba = pool.weights > LEAST_WEIGHT, pool.combine(honest)
        n_classes, weights = proba.shape[1], rows.weights_or_ones()
        inputs = _inputs(logs, free)
        owner = _classes_of(free)
        errors = proba - (rows.labels[:, np.newaxis] == np.arange(n_classes))
        slopes = weights[:, np.newaxis] * errors[:, owner] * inputs
        hessian = _ridge(free, ridges)
        for k in range(n_classes):
            for j in range(n_classes):
                curve = weights * proba[:, k] * ((k == j) - proba[:, j])
                of_k, of_j = np.flatnonzero(owner == k), np.flatnonzero(owner == j)
                hessian[np.ix_(of_k, of_j)] += (inputs[:, of_k] * curve[:, np.newaxis]).T @ inputs[:, of_j]
        moved = np.linalg.lstsq(hessian, slopes.T, rcond=None)[0]
        return cls(pool, free, moved @ moved.T)

    def variance(self, components: Sequence[Floats], proba: Floats) -> Floats:
        """The variance of predictions that is due to the weights."""
        inputs = _inputs(np.stack([log_floored(one, self.pool.floor) for one in components], axis=1), self.free)
        owner = _classes_of(self.free)
        found = np.empty(proba.shape)
        for k in range(proba.shape[1]):
            slopes = inputs * (proba[:, [k]] * ((owner == k) - proba[:, owner]))
            found[:, k] = np.einsum("qd,de,qe->q", slopes, self.covariance, slopes)
        return found


def _inputs(logs: Floats, free: npt.NDArray[np.bool_]) -> Floats:
    """What each unknown is multiplied by in the score of its class: a logarithm, or 1 for intercepts."""
    n_rows, _, n_classes = logs.shape
    return np.concatenate([logs[:, free], np.ones((n_rows, n_classes))], axis=1)


def _classes_of(free: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """The class of each unknown."""
    return np.concatenate([np.nonzero(free)[1], np.arange(free.shape[1])])


def _ridge(free: npt.NDArray[np.bool_], ridges: Ridges) -> Floats:
    """The second derivatives of the ridges by the free weights and the intercepts."""
    n_components, n_classes = free.shape
    of_component = ridges.classes * (np.eye(n_classes) - 1 / n_classes) + ridges.mean / n_classes**2
    whole = np.kron(np.eye(n_components), of_component)
    of_weights = whole[np.ix_(free.ravel(), free.ravel())]
    n_free = len(of_weights)
    found = np.zeros((n_free + n_classes, n_free + n_classes))
    found[:n_free, :n_free] = of_weights
    found[n_free:, n_free:] = ridges.intercepts * np.eye(n_classes)
    return found
