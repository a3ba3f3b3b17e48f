"""Where the probabilities come from on which thresholds are calibrated: rows that the model has not seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from petiole._table.columns import Floats
from petiole._table.frames import Array
from petiole._table.labels import check_same_length
from petiole._validation import check_whole
from petiole.conformal.honest import asked_to_keep, gives_honest_answers, honest_probabilities
from petiole.decisions.wrapping import held_out_probabilities, is_frozen

# A way that is decided: "oob", "rows", a number of folds, or a share of the rows.
Way = str | int | float
WAYS = ("auto", "oob", "rows")
SOURCES = ("oob", "rows", "folds", "share")
FOLDS = 5


def check_calibration(way: Any) -> None:
    """Raise ValueError unless this is a value of the parameter ``calibration``."""
    if (isinstance(way, str) and way in WAYS) or (isinstance(way, float) and 0 < way < 1):
        return
    if isinstance(way, (int, np.integer)) and not isinstance(way, bool):
        check_whole("calibration", way, 2)
        return
    raise ValueError(
        f"calibration={way!r}: must be one of {', '.join(map(repr, WAYS))}, a number of folds, or a share of the "
        "rows between 0 and 1"
    )


def name_of(way: Way) -> str:
    """What kind of way it is."""
    return way if isinstance(way, str) else "folds" if isinstance(way, int) else "share"


def decided(way: Any, estimator: Any, n_rows: int) -> Way:
    """The way to go, "auto" being decided by what the estimator can do."""
    frozen = is_frozen(estimator)
    if way == "auto" and frozen and len(getattr(estimator.estimator, "oob_predict_proba_", ())) == n_rows:
        raise ValueError(
            "calibration='auto': the frozen estimator has out-of-bag probabilities of as many rows as X has; say "
            "calibration='oob' if these are its training rows, or 'rows' if it has not seen them"
        )
    if way == "auto":
        way = "rows" if frozen else "oob" if gives_honest_answers(estimator) else FOLDS
    if way == "rows" and not frozen:
        raise ValueError(
            "calibration='rows' is for a fitted estimator that has not seen the rows: wrap it in FrozenEstimator, "
            "or use from_rows"
        )
    if frozen and not isinstance(way, str):
        raise ValueError(
            f"calibration={way!r} fits the estimator, which a FrozenEstimator cannot be: use 'rows' or 'oob'"
        )
    return way if isinstance(way, (str, float)) else int(way)


def calibrating_answers(
    given: Any,
    way: Way,
    X: Any,
    y: Any,
    weights: Floats | None,
    seed: int,
    fit_arguments: Callable[[Floats | None], dict[str, Any]],
) -> tuple[Any, Array, Floats]:
    """The fitted estimator, the positions of rows that it has not seen, and its probabilities of them.

    NaN stands for rows without an answer. ``fit_arguments`` makes the arguments of the estimator's fit from weights.
    """
    everyone = np.arange(_num_samples(X))
    if way == "rows":
        return given, everyone, _asked(given, X)
    if way == "oob":
        fitted = given if is_frozen(given) else asked_to_keep(clone(given)).fit(X, y, **fit_arguments(weights))
        return fitted, everyone, _out_of_bag(fitted, X, y, weights)
    if isinstance(way, int):
        arguments = fit_arguments(weights)
        fitted = clone(given).fit(X, y, **arguments)
        return fitted, everyone, held_out_probabilities(given, _Classes(fitted.classes_), X, y, way, arguments)
    assert isinstance(way, float)
    seen, unseen = _divided(len(everyone), way, seed)
    arguments = fit_arguments(None if weights is None else weights[seen])
    fitted = clone(given).fit(_safe_indexing(X, seen), _safe_indexing(y, seen), **arguments)
    return fitted, unseen, _asked(fitted, _safe_indexing(X, unseen))


def _asked(estimator: Any, X: Any) -> Floats:
    return np.asarray(estimator.predict_proba(X), dtype=np.float64)


def _out_of_bag(fitted: Any, X: Any, y: Any, weights: Floats | None) -> Floats:
    proba = honest_probabilities(fitted, X, y, weights)
    if proba is None:
        model = getattr(fitted, "estimator", fitted) if is_frozen(fitted) else fitted
        raise ValueError(
            f"calibration='oob': {type(model).__name__} has no out-of-bag or held-out probabilities of its training "
            "rows; give a number of folds, a share of the rows, or rows that it has not seen to from_rows"
        )
    check_same_length(_num_samples(X), len(proba))
    return proba


class _Classes:
    """Classes alone, so that folds are fitted whatever else is known of the training rows."""

    def __init__(self, classes: Array) -> None:
        self.classes_ = classes


def _divided(n_rows: int, share: float, seed: int) -> tuple[Array, Array]:
    """The positions of rows to fit and of rows to calibrate on, drawn at random."""
    if n_rows < 2:
        raise ValueError(f"calibration={share}: keeps rows from the estimator, and there is only {n_rows}; give more")
    n_held_out = min(max(round(share * n_rows), 1), n_rows - 1)
    seen, unseen = train_test_split(np.arange(n_rows), test_size=n_held_out, random_state=seed)
    return np.sort(seen), np.sort(unseen)
