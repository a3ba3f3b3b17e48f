"""The numbers behind the charts: reliability, histograms of probabilities, gains, and the methods shown."""

from __future__ import annotations

from typing import Any

import numpy as np

from petiole._table.columns import Floats
from petiole._table.judged import Judged
from petiole.metrics import ReliabilityCurve, lift_curve, reliability_curve
from petiole.metrics.calibration import wilson_limits
from petiole.metrics.rows import one_against_rest
from petiole.study import Study

MOST_METHODS = 5
OWN_FOREST = "probability-forest"
FEWEST_IN_BIN = 5  # rows, and of large tables this share:
LEAST_SHARE_IN_BIN = 0.01
MOST_CLASSES = 30  # classes that have curves of their own
N_BARS = 20
CONFIDENCE = 0.95
GRID = np.linspace(0, 1, 101)


def shown_methods(study: Study) -> list[str]:
    """The methods whose curves are drawn, best first.

    They are the recommended one, petiole's forest, the best of petiole's methods and of others, the single tree and
    the next best.
    """
    names = [result.name for result in study.table]
    peer = next((result.name for result in study.table if result.is_peer), None)
    wished = [study.recommended, OWN_FOREST, study.winner, study.petiole_winner, peer, "pet", *names]
    chosen = list(dict.fromkeys(name for name in wished if name in names))[:MOST_METHODS]
    return [name for name in names if name in chosen]


def judged_of(study: Study, method: str) -> Judged:
    """The probabilities of a method for the rows it was scored on, with the labels."""
    proba = study.probabilities[method].astype(np.float64)
    proba /= proba.sum(axis=1, keepdims=True)
    return Judged(study.judged.labels, proba, np.arange(len(study.classes)), study.judged.weights_or_ones())


def shown_classes(study: Study) -> list[int]:
    """The classes that have curves of their own: the most frequent, in their order; those never tested have none."""
    weights = np.bincount(study.judged.labels, study.judged.weights_or_ones(), minlength=len(study.classes))
    common = np.argsort(-weights, kind="stable")[:MOST_CLASSES]
    return sorted(int(k) for k in common if weights[k] > 0)


def rarest_class(study: Study) -> int:
    """The rarer of two classes, which is usually the one of interest; in a tie, the second."""
    weights = study.data_summary["class_weights"]
    return 0 if weights[0] < weights[1] else 1


def curve_data(study: Study) -> dict[str, Any]:
    """For each method shown and each class (or "top", the most probable one): reliability, bars and gains."""
    classes = shown_classes(study)
    found: dict[str, Any] = {}
    for method in shown_methods(study):
        judged = judged_of(study, method)
        targets: dict[str, Any] = {str(k): _of_class(judged, k) for k in classes}
        if judged.n_classes > 2:
            targets["top"] = _of_top(judged)
        found[method] = targets
    return found


def _of_class(judged: Judged, k: int) -> dict[str, Any]:
    pair = one_against_rest(judged, k)
    y, scores = pair.codes, pair.proba
    lift = lift_curve(y, scores, target=1, labels=[0, 1], sample_weight=pair.weights)
    gains = np.interp(GRID, np.append(0.0, lift.shares), np.append(0.0, lift.gains))
    base = float(np.average(y == 1, weights=pair.weights))
    return _reliability(y, scores, pair.weights) | {"gains": rounded(gains), "base": round(base, 5)}


def _of_top(judged: Judged) -> dict[str, Any]:
    best = judged.proba.max(axis=1)
    hits = (judged.proba.argmax(axis=1) == judged.codes).astype(np.int32)
    return _reliability(hits, np.column_stack([1 - best, best]), judged.weights)


def _reliability(y: Any, scores: Floats, weights: Floats) -> dict[str, Any]:
    # on small test parts, frequencies vary less in wider bins
    n_bins = 10 if len(y) >= 1000 else 7
    curve = pooled(reliability_curve(y, scores, target=1, n_bins=n_bins, labels=[0, 1], sample_weight=weights))
    bars, _ = np.histogram(scores[:, 1], bins=N_BARS, range=(0, 1), weights=weights)
    return {
        "said": rounded(curve.mean_score),
        "came": rounded(curve.frequency),
        "low": rounded(curve.lower),
        "high": rounded(curve.upper),
        "weight": rounded(curve.weight, 2),
        "bars": rounded(bars / weights.sum()),
    }


def pooled(curve: ReliabilityCurve) -> ReliabilityCurve:
    """Bins of very few rows put together with the neighbour whose scores are nearer: alone they are spikes.

    >>> import numpy as np
    >>> score, frequency, weight = np.array([0.1, 0.3, 0.9]), np.array([0.1, 1.0, 0.9]), np.array([50.0, 1, 60])
    >>> pooled(ReliabilityCurve(score, frequency, weight, score, score)).weight.tolist()
    [51.0, 60.0]
    """
    score, frequency, weight = (list(map(float, part)) for part in curve[:3])
    least = max(FEWEST_IN_BIN, LEAST_SHARE_IN_BIN * sum(weight))
    while len(weight) > 1 and min(weight) < least:
        i = weight.index(min(weight))
        below = i > 0 and (i + 1 == len(weight) or score[i] - score[i - 1] <= score[i + 1] - score[i])
        j = i - 1 if below else i
        total = weight[j] + weight[j + 1]
        for part in (score, frequency):
            part[j : j + 2] = [(part[j] * weight[j] + part[j + 1] * weight[j + 1]) / total]
        weight[j : j + 2] = [total]
    frequencies, weights = np.array(frequency), np.array(weight)
    return ReliabilityCurve(np.array(score), frequencies, weights, *wilson_limits(frequencies, weights, CONFIDENCE))


def rounded(values: Any, digits: int = 4) -> list[float]:
    """Numbers rounded for the page."""
    return np.round(np.asarray(values, dtype=np.float64), digits).tolist()
