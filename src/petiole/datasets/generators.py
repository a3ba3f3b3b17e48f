"""Rows drawn from a formula, with the true probability of every class at every row.

Classes are equally likely unless stated otherwise. The probabilities follow from Bayes' rule, in closed form from
logarithms of densities, so they stay exact far from the decision border.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_ndtr, logsumexp, softmax
from sklearn.utils import check_random_state

from petiole._validation import check_number, check_whole

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
N_WAVE_FEATURES = 21
N_NOISE_FEATURES = 19


class Drawn(NamedTuple):
    """Rows, their labels 0, 1, ..., and the true probability of every class at every row."""

    X: Floats
    y: Codes
    proba: Floats


def make_two_norm(n: int = 300, random_state: Any = None, *, n_features: int = 20) -> Drawn:
    """Draw from Breiman's two-norm: two spherical normal distributions of unit variance.

    Class 0 has its mean at (a, ..., a) and class 1 at (-a, ..., -a), with a = 2 / sqrt(``n_features``), so that the
    best possible error is 2.3 % for any number of features.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int, RandomState or None
    n_features : int, default=20

    Returns
    -------
    X : array of shape (n, n_features)
    y : array of 0 and 1
    proba : array of shape (n, 2)
        P(y | x), exactly.

    References
    ----------
    Breiman (1996), Bias, variance, and arcing classifiers.

    Examples
    --------
    >>> X, y, proba = make_two_norm(20_000, random_state=0)
    >>> round(float((proba.argmax(axis=1) != y).mean()), 3)
    0.023
    """
    rng, a = _start(n, random_state, n_features), 2 / math.sqrt(n_features)
    y = _draw_labels(rng, n, 2)
    X = rng.standard_normal((n, n_features)) + np.where(y == 0, a, -a)[:, None]
    return Drawn(X, y, _two_classes(-2 * a * X.sum(axis=1)))


def make_three_norm(n: int = 300, random_state: Any = None, *, n_features: int = 20) -> Drawn:
    """Draw from Breiman's three-norm: one class of two normal clouds, and one class of a single cloud between them.

    Class 0 has its mean at (a, ..., a) or at (-a, ..., -a), with equal chances, and class 1 at (a, -a, a, -a, ...),
    with a = 2 / sqrt(``n_features``) and unit variances. Parameters, result and reference are those of
    :func:`make_two_norm`; the best possible error is about 10.5 %.

    Examples
    --------
    >>> X, y, proba = make_three_norm(3, random_state=0)
    >>> proba.round(3)
    array([[0.278, 0.722],
           [0.004, 0.996],
           [0.025, 0.975]])
    """
    rng, a = _start(n, random_state, n_features), 2 / math.sqrt(n_features)
    signs = np.where(np.arange(n_features) % 2 == 0, 1.0, -1.0)
    y = _draw_labels(rng, n, 2)
    flips = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    means = np.where((y == 0)[:, None], a * flips[:, None], a * signs)
    X = rng.standard_normal((n, n_features)) + means
    # all means have the same norm, so only the products with x differ
    corners = a * X.sum(axis=1)
    return Drawn(X, y, _two_classes(a * (X @ signs) - (np.logaddexp(corners, -corners) - math.log(2))))


def make_ring_norm(n: int = 300, random_state: Any = None, *, n_features: int = 20) -> Drawn:
    """Draw from Breiman's ring-norm: a wide normal cloud around a narrow one.

    Class 0 has its mean at 0 and variances of 4, class 1 has its mean at (a, ..., a) and unit variances, with
    a = 2 / sqrt(``n_features``). Parameters, result and reference are those of :func:`make_two_norm`; the best possible
    error is about 1.2 %. Other libraries have a = 1 / sqrt(``n_features``), where it is 1.5 %.

    Examples
    --------
    >>> X, y, proba = make_ring_norm(3, random_state=0)
    >>> proba.round(3)
    array([[1.   , 0.   ],
           [0.001, 0.999],
           [0.005, 0.995]])
    """
    rng, a = _start(n, random_state, n_features), 2 / math.sqrt(n_features)
    y = _draw_labels(rng, n, 2)
    noise = rng.standard_normal((n, n_features))
    X = np.where((y == 0)[:, None], 2 * noise, noise + a)
    wide = -0.125 * np.square(X).sum(axis=1) - n_features * math.log(2)
    narrow = -0.5 * np.square(X - a).sum(axis=1)
    return Drawn(X, y, _two_classes(narrow - wide))


def make_waveform(n: int = 300, random_state: Any = None, *, noise_attributes: bool = False) -> Drawn:
    """Draw from the waveforms of Breiman, Friedman, Olshen and Stone: 21 features, or 40 with noise; three classes.

    There are three triangular waves. A row of a class is a random mixture of two of them, u and 1 - u with u uniform
    in [0, 1], plus normal noise of unit variance at each of 21 points. The probabilities integrate over u exactly. The
    best possible error is 13.3 %.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int, RandomState or None
    noise_attributes : bool, default=False
        Whether to add 19 features that are noise only, as in the UCI data set "waveform40".

    Returns
    -------
    X : array of shape (n, 21) or (n, 40)
    y : array of 0, 1 and 2
    proba : array of shape (n, 3)

    References
    ----------
    Breiman, Friedman, Olshen & Stone (1984), Classification and regression trees, section 2.6.2.

    Examples
    --------
    >>> X, y, proba = make_waveform(20_000, random_state=0)
    >>> X.shape, round(float((proba.argmax(axis=1) != y).mean()), 2)
    ((20000, 21), 0.13)
    """
    rng = _start(n, random_state, 1)
    starts, ends = _wave_pairs()
    y = _draw_labels(rng, n, 3)
    share = rng.random(n)[:, None]
    waves = share * starts[y] + (1 - share) * ends[y] + rng.standard_normal((n, N_WAVE_FEATURES))
    log_density = np.column_stack([_log_mixture(waves, starts[k], ends[k]) for k in range(3)])
    noise = rng.standard_normal((n, N_NOISE_FEATURES if noise_attributes else 0))
    return Drawn(np.hstack([waves, noise]), y, softmax(log_density, axis=1))


def make_two_gaussians(
    n: int = 1000, random_state: Any = None, *, separation: float = 2.0, prior: float = 0.5
) -> Drawn:
    """Draw from two normal distributions on a line, as in Experiment 1 of Margineantu & Dietterich (2002).

    Both have unit variance; class 0 has its mean at -``separation`` / 2 and class 1 at ``separation`` / 2. The paper
    draws 1000 rows with equal priors, but shows its two distributions only in a picture (Figure 1.2), so that means and
    variances are ours.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int, RandomState or None
    separation : float, default=2.0
        Distance of the two means.
    prior : float, default=0.5
        Probability of class 1.

    Returns
    -------
    X : array of shape (n, 1)
    y : array of 0 and 1
    proba : array of shape (n, 2)

    Examples
    --------
    >>> X, y, proba = make_two_gaussians(3, random_state=0)
    >>> X.ravel().round(2), proba[:, 1].round(2)
    (array([-3.27,  0.33, -1.84]), array([0.  , 0.66, 0.02]))
    """
    rng = _start(n, random_state, 1)
    check_number("separation", separation, 0)
    check_number("prior", prior, 0, 1)
    y = (rng.random(n) < prior).astype(np.int64)
    x = rng.standard_normal(n) + separation * (y - 0.5)
    with np.errstate(divide="ignore"):  # a prior of 0 or 1 is certain
        log_odds = separation * x + np.log(prior) - np.log1p(-prior)
    return Drawn(x[:, None], y, _two_classes(log_odds))


def make_logistic(
    n: int = 300, random_state: Any = None, *, weights: Any = (2.0, -1.0, 0.5), bias: float = 0.0
) -> Drawn:
    """Draw features from a standard normal distribution, and labels from a logistic regression.

    P(y = 1 | x) = 1 / (1 + exp(-(``bias`` + x · ``weights``))).

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int, RandomState or None
    weights : sequence of floats
        One per feature; a feature with weight 0 is irrelevant.
    bias : float, default=0.0

    Returns
    -------
    X : array of shape (n, len(weights))
    y : array of 0 and 1
    proba : array of shape (n, 2)

    Examples
    --------
    >>> X, y, proba = make_logistic(3, random_state=0)
    >>> proba[:, 1].round(2)
    array([0.97, 0.89, 0.88])
    """
    slopes = np.asarray(weights, dtype=np.float64)
    if slopes.ndim != 1 or not len(slopes) or not np.isfinite(slopes).all():
        raise ValueError(f"weights={weights!r}: must be a sequence of finite numbers, one per feature")
    rng = _start(n, random_state, len(slopes))
    check_number("bias", bias, -math.inf)
    X = rng.standard_normal((n, len(slopes)))
    proba = _two_classes(bias + X @ slopes)
    return Drawn(X, (rng.random(n) < proba[:, 1]).astype(np.int64), proba)


def make_checkerboard(
    n: int = 300, random_state: Any = None, *, cells: int = 4, noise: float = 0.1, n_irrelevant: int = 0
) -> Drawn:
    """Draw points from the unit square, labelled by the colour of their field on a checkerboard; some labels are wrong.

    P(y = 1 | x) = 1 - ``noise`` on fields whose row and column number add up to an odd number, and ``noise`` on others.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int, RandomState or None
    cells : int, default=4
        Fields along each side.
    noise : float, default=0.1
        Probability of the other label.
    n_irrelevant : int, default=0
        Number of irrelevant features to add, uniform in [0, 1].

    Returns
    -------
    X : array of shape (n, 2 + n_irrelevant)
    y : array of 0 and 1
    proba : array of shape (n, 2)

    Examples
    --------
    >>> X, y, proba = make_checkerboard(3, random_state=0)
    >>> X.round(2)
    array([[0.55, 0.72],
           [0.6 , 0.54],
           [0.42, 0.65]])
    >>> proba[:, 1]
    array([0.1, 0.1, 0.9])
    """
    rng = _start(n, random_state, 2)
    check_whole("cells", cells, 2)
    check_number("noise", noise, 0, 1)
    check_whole("n_irrelevant", n_irrelevant, 0)
    X = rng.random_sample((n, 2 + n_irrelevant))
    odd = np.floor(cells * X[:, :2]).sum(axis=1) % 2 == 1
    positive = np.where(odd, 1 - noise, noise)
    y = (rng.random(n) < positive).astype(np.int64)
    return Drawn(X, y, np.column_stack([1 - positive, positive]))


def make_noisy_xor(n: int = 300, random_state: Any = None, *, noise: float = 0.1, n_irrelevant: int = 0) -> Drawn:
    """Draw from the exclusive or of two features: the board of :func:`make_checkerboard` with two fields per side.

    No single feature is informative about the class, so a tree must make a first split that gains nothing.

    Examples
    --------
    >>> X, y, proba = make_noisy_xor(1000, random_state=0, noise=0.2)
    >>> odd = (X[:, 0] >= 0.5) != (X[:, 1] >= 0.5)
    >>> sorted(set(proba[odd, 1].tolist()))
    [0.8]
    """
    return make_checkerboard(n, random_state, cells=2, noise=noise, n_irrelevant=n_irrelevant)


def _start(n: Any, random_state: Any, n_features: Any) -> np.random.RandomState:
    check_whole("n", n, 1)
    check_whole("n_features", n_features, 1)
    rng: np.random.RandomState = check_random_state(random_state)
    return rng


def _draw_labels(rng: np.random.RandomState, n: int, n_classes: int) -> Codes:
    return rng.randint(n_classes, size=n).astype(np.int64)


def _two_classes(log_odds: Floats) -> Floats:
    """Turn the log odds of class 1 into two columns, each exact where it is small."""
    return np.column_stack([expit(-log_odds), expit(log_odds)])


def _wave_pairs() -> tuple[Floats, Floats]:
    """Return the two waves that each class mixes: the first with share u, the second with 1 - u."""
    points = np.arange(1, N_WAVE_FEATURES + 1)
    first, second, third = (np.maximum(6.0 - np.abs(points - peak), 0) for peak in (11, 15, 7))
    return np.stack([first, first, second]), np.stack([second, third, third])


def _log_mixture(X: Floats, start: Floats, end: Floats) -> Floats:
    """Return the logarithm of the density of u·start + (1 - u)·end plus unit normal noise, up to a common constant.

    Along the way from ``end`` to ``start`` the noise integrates to a difference of normal distribution functions.
    """
    way = start - end
    length = math.sqrt(float(way @ way))
    from_end = X - end
    along = from_end @ way / length
    across = np.square(from_end).sum(axis=1) - np.square(along)
    # Φ(length - along) - Φ(-along); if both are near 1 they would cancel, so the other tail is used
    flip = along < length / 2
    low, high = np.where(flip, along - length, -along), np.where(flip, along, length - along)
    return -0.5 * across + _log_difference(log_ndtr(high), log_ndtr(low)) - math.log(length)


def _log_difference(larger: Floats, smaller: Floats) -> Floats:
    signs = np.broadcast_to([1.0, -1.0], (*larger.shape, 2))
    result: Floats = logsumexp(np.stack([larger, smaller], axis=-1), b=signs, axis=-1)
    return result
