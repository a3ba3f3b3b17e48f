"""Sections of a model card about how good the probabilities are: scores, reliability, groups of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from petiole._table.columns import Floats
from petiole._table.encoder import FeatureEncoder
from petiole._table.groups import find_inputs
from petiole.monitoring import Reference, Score
from petiole.report.card_known import Known, commonest, parts_of, share_limits
from petiole.report.card_parts import (
    Cell,
    Curve,
    Grid,
    Limits,
    NotKnown,
    Part,
    Reliability,
    Section,
    Words,
    counted,
    readable,
)

SCORE_TITLES = {"log_loss": "Log-loss (bits)", "brier": "Brier score", "accuracy": "Accuracy"}
KEPT_SCORES = {"oob_log_loss_": "log_loss", "oob_brier_": "brier", "oob_score_": "accuracy"}
MOST_CURVES = 4
MOST_CLASSES = 60
MOST_GROUPS = 15
LEAST_IN_GROUP = 50.0  # rows
SURELY_OFF = 0.05  # the chance that any group is called off although all are right


def scores_section(known: Known) -> Section:
    """Honest scores with intervals, beside those of no model."""
    title = "How good are its probabilities?"
    if not known.has_honest:
        return Section("scores", title, [NotKnown("honest scores", known.why_no_scores), *_scores_without_rows(known)])
    reference = known.reference
    assert reference is not None
    base = _scores_of_shares(reference.class_shares)
    rows: list[Sequence[Cell]] = [
        [SCORE_TITLES[name], _with_limits(score), f"{base[name]:.3f}"] for name, score in reference.scores.items()
    ]
    lead = Words(
        f"Measured on {known.honest_rows()}. Intervals have a level of 95%. The last column has the scores of "
        "predicting the class shares for every row. Less is better for log-loss and Brier score.",
        "lead",
    )
    grid = Grid("Scores", ["Score", "Mean", "Class shares alone"], rows, numeric=[1, 2])
    return Section("scores", title, [lead, grid, *_large_scale(reference)])


def _with_limits(score: Score) -> Limits:
    return Limits(f"{score.mean:.3f}", f"{score.low:.3f} to {score.high:.3f}")


def _scores_of_shares(shares: Floats) -> dict[str, float]:
    """What the shares of the classes score if they are predicted for every row."""
    positive = shares[shares > 0]
    loss = float(-(positive * np.log2(positive)).sum())
    return {"log_loss": abs(loss), "brier": float(1 - (shares**2).sum()), "accuracy": float(shares.max())}


def _scores_without_rows(known: Known) -> list[Part]:
    """Out-of-bag scores that the model has kept by itself, which have no intervals."""
    rows: list[Sequence[Cell]] = []
    for part in parts_of(known.model):
        for name, score in KEPT_SCORES.items():
            value = getattr(part, name, None)
            if isinstance(value, float) and math.isfinite(value):
                rows.append([SCORE_TITLES[score], f"{value:.3f}", type(part).__name__])
    if not rows:
        return []
    words = (
        "These out-of-bag scores are in the file. They have no intervals, because the scores of single rows are not "
        "stored. They are those of the class in the last column, before anything that is wrapped around it."
    )
    grid = Grid("Out-of-bag scores without intervals", ["Score", "Mean", "Of"], rows, numeric=[1])
    return [Words(words, "note"), grid]


def _large_scale(reference: Reference) -> list[Part]:
    """The mean probability of each class beside its observed share."""
    low, high = share_limits(reference.came, np.full(len(reference.came), reference.n_honest))
    rows: list[Sequence[Cell]] = []
    for k in commonest(reference.came, MOST_CLASSES):
        said, came = float(reference.said[k]), float(reference.came[k])
        observed = Limits(f"{came:.1%}", f"{low[k]:.1%} to {high[k]:.1%}")
        rows.append([readable(reference.classes[k]), f"{said:.1%}", observed])
    words = "The mean probability of each class and its observed share, on the same rows:"
    return [Words(words), Grid("Classes on average", ["Class", "Predicted", "Observed"], rows, numeric=[1, 2])]


def reliability_section(known: Known) -> Section:
    """Reliability diagrams of the commonest classes."""
    title = "Reliability"
    reference = known.reference
    if not known.has_honest or reference is None:
        return Section("reliability", title, [NotKnown("reliability", known.why_no_scores)])
    drawn = sorted({int(k) for k in reference.reliability[:, 0].tolist()})
    chosen = sorted(drawn, key=lambda k: -float(reference.came[k]))[:MOST_CURVES]
    curves = []
    for k in sorted(chosen):
        name = readable(reference.classes[k], 40)
        bins = reference.reliability[reference.reliability[:, 0] == k, 1:]
        curves.append(Curve(name, f"probability of \u201c{name}\u201d", bins[bins[:, 2] > 0]))
    more = f" The {len(chosen)} most frequent of {len(drawn)} classes are shown." if len(drawn) > len(chosen) else ""
    lead = Words(
        "The observed share of a class among rows with about the same predicted probability, on "
        f"{known.honest_rows()}. Points on the dashed line are right. Large points stand for many rows, and the lines "
        f"through them are 95% intervals of the observed share.{more}",
        "lead",
    )
    return Section("reliability", title, [lead, Reliability(curves)])


def groups_section(known: Known, wanted: Sequence[Any] | None) -> Section:
    """Predicted and observed shares in groups of rows."""
    title = "Calibration by group"
    reference, encoder = known.reference, known.encoder
    features = _features_of(encoder, wanted)
    if reference is None or encoder is None or not reference.fits(encoder) or not known.has_honest:
        return Section("by-group", title, [NotKnown("groups", known.why_no_scores)])
    if not reference.group_came:
        why = "the columns have too many categories and the target too many classes, so that no sums by group are kept"
        return Section("by-group", title, [NotKnown("groups", why)])
    found = [one for feature in features for one in _groups_of(reference, encoder, feature)]
    tested = [one for one in found if one.weight >= LEAST_IN_GROUP]
    shown = found if wanted else sorted(tested, key=lambda one: -abs(one.z))[:MOST_GROUPS]
    if not shown:
        words = f"No group has {LEAST_IN_GROUP:g} rows or more of those that the scores are of."
        return Section("by-group", title, [Words(words)])
    several = len(known.classes) != 2
    limit = _normal_limit(SURELY_OFF / max(len(tested) * (len(known.classes) if several else 1), 1))
    n_off = sum(abs(one.z) > limit for one in tested)
    header = ["Group", "Rows", *(["Class"] if several else []), "Predicted", "Observed"]
    numeric = [1, len(header) - 2, len(header) - 1]
    grid = Grid("Groups", header, [one.row(limit, several) for one in shown], numeric=numeric, minor=[1])
    advice = [Words("OOBCalibratedClassifier(groups=[...]) corrects the probabilities of groups.", "note")]
    lead = Words(_about_groups(known, len(tested), n_off, bool(wanted)), "lead")
    return Section("by-group", title, [lead, grid, *(advice if n_off else [])])


def _about_groups(known: Known, n_tested: int, n_off: int, were_wanted: bool) -> str:
    of = "the class with the largest difference"
    if len(known.classes) == 2:
        of = f"\u201c{readable(known.classes[1], 40)}\u201d"
    which = f"Of {counted(n_tested, 'group')} with {LEAST_IN_GROUP:g} rows or more, those with the largest differences."
    if were_wanted:
        which = "The groups of the requested columns."
    off = (
        f"{counted(n_off, 'group differs', 'groups differ')} by more than chance."
        if n_off
        else "No difference is more than chance."
    )
    return (
        f"Mean probability and observed share of {of} by categories and ranges of columns, on {known.honest_rows()}. "
        f"{which} {off} An observed share is bold if it differs from the predicted one by more than chance. The chance "
        "that any is bold by mistake is 5%."
    )


@dataclass(frozen=True)
class _Group:
    """The honest answers for the rows of a group: of the class that is furthest off."""

    name: str
    label: str
    weight: float
    said: float
    came: float
    z: float

    def row(self, limit: float, several: bool) -> list[Cell]:
        low, high = share_limits(np.array([self.came]), np.array([self.weight]))
        observed = f"{self.came:.1%}"
        surely = abs(self.z) > limit and self.weight >= LEAST_IN_GROUP
        cell = Limits(observed, f"{low[0]:.1%} to {high[0]:.1%}", surely)
        label = [self.label] if several else []
        return [self.name, f"{self.weight:,.6g}", *label, f"{self.said:.1%}", cell]


def _features_of(encoder: FeatureEncoder | None, wanted: Sequence[Any] | None) -> list[int]:
    if encoder is None:
        return []
    inputs = range(encoder.n_inputs) if not wanted else find_inputs(wanted, encoder, "groups")
    ends = np.cumsum(encoder.widths)
    return [f for i in inputs for f in range(int(ends[i]) - encoder.widths[i], int(ends[i]))]


def _groups_of(reference: Reference, encoder: FeatureEncoder, feature: int) -> list[_Group]:
    found = []
    for group in reference.groups(reference.columns(encoder), [feature]):
        said, came = (sums[feature][group.codes].sum(axis=0) for sums in (reference.group_said, reference.group_came))
        weight = float(came.sum())
        if weight <= 0:
            continue
        p, share = np.minimum(said, weight) / weight, came / weight
        # p (1 - p) is at least the mean variance of a row, so that z is not too large
        z = (share - p) / np.sqrt(np.maximum(p * (1 - p), 1e-12) / weight)
        k = 1 if len(z) == 2 else int(np.abs(z).argmax())
        label = readable(reference.classes[k], 40)
        found.append(_Group(readable(group.name), label, weight, float(p[k]), float(share[k]), float(z[k])))
    return found


def _normal_limit(chance: float) -> float:
    return float(-ndtri(chance / 2))
