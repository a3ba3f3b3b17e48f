"""Random cost matrices for studies: the eight models of Margineantu & Dietterich (2002), Table 1.2."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from petiole._table.columns import Floats
from petiole._table.labels import check_weights, encode_labels
from petiole._validation import check_choice, check_whole

# The upper ends of the uniform distributions: of mistakes, and of correct decisions.
UPPER_ENDS = {
    "M1": (10.0, 0.0),
    "M2": (100.0, 0.0),
    "M3": (1000.0, 0.0),
    "M4": (10000.0, 0.0),
    "M5": (1000.0, 0.0),  # times P(predicted) / P(true)
    "M6": (1000.0, 0.0),  # times P(true) / P(predicted)
    "M7": (10000.0, 1000.0),
    "M8": (100.0, 10.0),
}
COST_MODELS = tuple(UPPER_ENDS)
PRIOR_TOLERANCE = 1e-4  # shares are often printed figures


def random_costs(
    model: str,
    priors: Any = None,
    *,
    y: Any = None,
    sample_weight: Any = None,
    n_matrices: int = 25,
    random_state: Any = None,
) -> Floats:
    """Draw random cost matrices by one of the models M1 to M8 (Margineantu & Dietterich 2002, Table 1.2).

    With i predicted and j true, mistakes cost

    ====== ================================ ===================
    model  mistakes                         right answers
    ====== ================================ ===================
    M1–M4  U[0, 10], … 100, 1000, 10000     0
    M5     U[0, 1000 · P(i) / P(j)]         0
    M6     U[0, 1000 · P(j) / P(i)]         0
    M7     U[0, 10000]                      U[0, 1000]
    M8     U[0, 100]                        U[0, 10]
    ====== ================================ ===================

    In M5 it is expensive to miss a rare class, as in medicine and fraud detection; in M6 it is cheap. As in the paper,
    matrices are drawn without further conditions: with M7 and M8 a correct decision may cost more than a mistake.

    Parameters
    ----------
    model : {"M1", …, "M8"}
    priors : array of shape (n_classes,), optional
        The shares of the classes, in the order of rows and columns; they sum to 1.
    y : labels, optional
        Instead of ``priors``: the shares of the classes among these, in the order of the sorted labels.
    sample_weight : array, optional
        One weight per label of ``y``; a class of weight zero keeps its place.
    n_matrices : int, default=25
        25 as in the paper.
    random_state : int, RandomState instance or None
        With the same seed, M2 is ten times M1.

    Returns
    -------
    array of shape (n_matrices, n_classes, n_classes), indexed ``[matrix, predicted, true]``

    Examples
    --------
    >>> from petiole.decisions import random_costs
    >>> random_costs("M5", [0.9, 0.1], n_matrices=2, random_state=0).round(0)
    array([[[   0., 6437.],
            [  67.,    0.]],
    <BLANKLINE>
           [[   0., 5813.],
            [  49.,    0.]]])
    """
    check_choice("model", model, COST_MODELS)
    check_whole("n_matrices", n_matrices, 1)
    upper = upper_ends(model, _shares(priors, y, sample_weight))
    draws = check_random_state(random_state).uniform(size=(n_matrices, *upper.shape))
    return draws * upper


def upper_ends(model: str, shares: Floats) -> Floats:
    """The largest cost that a model can draw, for each pair of a predicted and a true class."""
    mistake, right = UPPER_ENDS[model]
    upper = np.full((len(shares), len(shares)), mistake)
    if model in ("M5", "M6"):
        if not shares.all():
            raise ValueError(
                f"priors[{int(shares.argmin())}]=0: model={model!r} divides by the shares of classes: drop the class"
            )
        ratio = shares[:, np.newaxis] / shares
        upper *= ratio if model == "M5" else ratio.T
    np.fill_diagonal(upper, right)
    return upper


def _shares(priors: Any, y: Any, sample_weight: Any) -> Floats:
    if (priors is None) == (y is None):
        raise ValueError("random_costs needs either priors, the shares of the classes, or y, from which to take them")
    if priors is not None:
        if sample_weight is not None:
            raise ValueError("sample_weight is for the labels of y: leave it out when priors are given")
        return _check_priors(priors)
    classes, codes = encode_labels(y)
    counts = np.bincount(codes, weights=check_weights(sample_weight, len(codes)), minlength=len(classes))
    return counts / counts.sum()


def _check_priors(priors: Any) -> Floats:
    shares = np.asarray(priors)
    if shares.ndim != 1 or not shares.size or shares.dtype.kind not in "fiub":
        raise ValueError(f"priors={priors!r}: must be a flat list of numbers, one share per class; labels go to y=")
    good = np.isfinite(shares).all() and (shares >= 0).all() and abs(shares.sum() - 1) <= PRIOR_TOLERANCE
    if not good:
        raise ValueError(
            f"priors={priors!r}: must be shares of at least 0 that sum to 1; divide counts by their sum, "
            "or pass the labels as y="
        )
    return shares.astype(np.float64)
