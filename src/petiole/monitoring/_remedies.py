"""What to do after an alarm: remedies that are tried on the labelled rows, and advice in words."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

from petiole._table.columns import Floats
from petiole._table.judged import Judged
from petiole.calibrators import VectorScalingCalibrator
from petiole.monitoring._evidence import losses_in_bits

LEAST_ROWS = 200  # fewer do not tell remedies apart
LEAST_GAIN = 0.01  # of the log-loss: a remedy that helps less is not worth the trouble
AS_IT_IS = "as it is"
IN_WORDS = {
    "update": "count the new rows: model.update(X, y), or petiole update",
    "update, decay 0.5": "count the new rows and halve the old ones: model.update(X, y, decay=0.5), or petiole update "
    "--decay 0.5",
    "relearn_pool": "learn the pool anew and then count the rows: model.relearn_pool(X, y).update(X, y)",
    "recalibrate": "recalibrate on the new rows, with a calibrator of petiole.calibrators or OOBCalibratedClassifier",
}


class Remedy(NamedTuple):
    """A remedy and the log-loss on the later half of the labelled rows, after the earlier half was used for it."""

    name: str
    log_loss: float


def try_remedies(model: Any, X: Any, judged: Judged) -> list[Remedy]:
    """The log-loss on the later half of the rows after each remedy on the earlier half, the least first."""
    n = len(judged.codes)
    if n < LEAST_ROWS:
        return []
    early, late = np.arange(n // 2), np.arange(n // 2, n)
    before, after = _safe_indexing(X, early), _safe_indexing(X, late)
    y, weights = judged.labels[judged.codes], judged.weights
    given = (before, y[early], weights[early])
    ways: dict[str, Callable[[], Floats]] = {AS_IT_IS: lambda: judged.proba[late]}
    ways["recalibrate"] = lambda: _recalibrated(judged, early, late)
    if hasattr(model, "counts_of"):
        ways["update"] = lambda: _updated(model, given, 1.0).predict_proba(after)
        ways["update, decay 0.5"] = lambda: _updated(model, given, 0.5).predict_proba(after)
    if hasattr(model, "relearn_pool"):
        ways["relearn_pool"] = lambda: _relearned(model, given).predict_proba(after)
    found = []
    for name, ask in ways.items():
        try:
            proba = np.asarray(ask(), dtype=np.float64)
        except ValueError:  # such as classes without rows, or a model that cannot be updated
            continue
        inside = Judged(judged.codes[late], proba, judged.labels, weights[late])
        found.append(Remedy(name, inside.mean(losses_in_bits(inside))))
    return sorted(found, key=lambda remedy: remedy.log_loss)


def _recalibrated(judged: Judged, early: Any, late: Any) -> Floats:
    calibrator = VectorScalingCalibrator()
    calibrator._fit_checked(judged.proba[early], judged.codes[early], judged.weights[early], judged.labels)
    return np.asarray(calibrator.predict(judged.proba[late]))


def _updated(model: Any, given: tuple[Any, Any, Any], decay: float) -> Any:
    return model.updated(model.counts_of(*given), decay=decay)


def _relearned(model: Any, given: tuple[Any, Any, Any]) -> Any:
    other = copy.copy(model).relearn_pool(*given)
    return other.updated(other.counts_of(*given))


def advise(
    remedies: Sequence[Remedy], promised: float | None, alarms: Sequence[str], drifted: bool, only_groups: bool
) -> str:
    """What to do, in one or two sentences.

    ``promised`` is the largest log-loss that the training rows allow for, ``alarms`` are the tests that have found
    something, and ``only_groups`` says that these are groups alone.
    """
    if not alarms:
        if drifted:
            return (
                "Get labels for some of these rows, and run this again with --target. Drift alone does not make a "
                "model wrong. If the rows stay like this, fit the model again on rows that include them."
            )
        return "Nothing to do."
    if only_groups:
        return (
            "The model is calibrated on average, but not in every group: fit it again with corrections for groups, "
            "OOBCalibratedClassifier(model, groups=[...])."
        )
    known = {remedy.name: remedy.log_loss for remedy in remedies}
    if AS_IT_IS not in known:
        return (
            f"Get at least {LEAST_ROWS} labelled rows to find out which remedy helps, or fit the model again on old "
            "and new rows together."
        )
    best = remedies[0]
    if best.log_loss > known[AS_IT_IS] * (1 - LEAST_GAIN):
        return (
            "None of the quick remedies lowers the log-loss on the later half of the new rows. Fit the model again, on "
            "old and new rows together or on new rows alone."
        )
    what = f"{IN_WORDS[best.name][0].upper()}{IN_WORDS[best.name][1:]}"
    gain = f"the log-loss on the later half of the rows falls from {known[AS_IT_IS]:.3f} to {best.log_loss:.3f} bits"
    if promised is not None and best.log_loss > promised:
        return (
            f"{what} ({gain}). That is still more than expected ({promised:.3f}), so fit the model again as soon as "
            "there are enough new rows."
        )
    return f"{what} ({gain})."
