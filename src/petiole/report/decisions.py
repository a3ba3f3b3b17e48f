"""Data for the page to compute costs for thresholds and cost matrices that its reader enters."""

from __future__ import annotations

from typing import Any

import numpy as np

from petiole._table.columns import Floats
from petiole.decisions.choice import cheapest
from petiole.report.curves import judged_of, rounded, shown_methods
from petiole.report.decision_sheet import decision_costs, same_for_all, two_ways
from petiole.study import Study

N_STEPS = 1000  # thresholds are multiples of 1 / N_STEPS, for which the counts are exact
MOST_ROWS = 2000  # of which the page has all probabilities
MOST_EDITABLE = 8  # classes up to which the cost matrix has fields
MOST_LISTED = 30  # classes up to which it is shown at all


def decision_data(study: Study) -> dict[str, Any]:
    """For two classes and two decisions the counts above every threshold; for more the probabilities themselves."""
    cost, ways = decision_costs(study), two_ways(study)
    names = [str(name) for name in study.decisions]
    found: dict[str, Any] = {
        "given": study.cost is not None,
        "names": names,
        "areClasses": study.decisions == study.classes,
    }
    if ways is not None:
        found |= {"kind": "threshold", "act": ways.act, "idle": ways.idle, "positive": ways.positive}
        return found | {"threshold": ways.threshold, "cost": cost.tolist()} | _counts(study, ways.positive)
    largest = max(cost.shape)
    found |= {
        "kind": "matrix",
        "cost": cost.tolist() if largest <= MOST_LISTED else None,
        "editable": largest <= MOST_EDITABLE,
    }
    return found | _rules(study, cost) | (_probabilities(study) if found["editable"] else {})


def _counts(study: Study, positive: int) -> dict[str, Any]:
    """Per method: the weights of both classes by the thousandth that a row's score has reached."""
    steps = {}
    for method in shown_methods(study):
        judged = judged_of(study, method)
        # The nudge is for scores such as 0.29, whose thousandfold is just below 290.
        step = np.floor(judged.proba[:, positive] * N_STEPS + 1e-6).astype(np.int64)
        is_positive = judged.codes == positive
        found = [np.bincount(step[rows], judged.weights[rows], N_STEPS + 1) for rows in (~is_positive, is_positive)]
        used = np.flatnonzero(found[0] + found[1])
        steps[method] = [used.tolist(), rounded(found[0][used], 3), rounded(found[1][used], 3)]
    return {"steps": steps}


def _rules(study: Study, cost: Floats) -> dict[str, Any]:
    """Mean cost of two rules for every method shown, and of the best decision for all rows alike.

    The second rule, predicting the most probable class, exists only if decisions are classes.
    """
    rows = {}
    for method in shown_methods(study):
        judged = judged_of(study, method)
        decided = {"cheapest": cheapest(judged.proba, cost)}
        if study.decisions == study.classes:
            decided["probable"] = judged.proba.argmax(axis=1)
        rows[method] = {rule: judged.mean(cost[taken, judged.codes]) for rule, taken in decided.items()}
    constant = same_for_all(study)
    return {"rules": rows, "constant": {"class": int(constant.argmin()), "cost": float(constant.min())}}


def _probabilities(study: Study) -> dict[str, Any]:
    n, names = len(study.judged), shown_methods(study)
    chosen = np.sort(np.random.default_rng(0).permutation(n)[:MOST_ROWS])
    rows = {
        "truth": study.judged.labels[chosen].tolist(),
        "weight": rounded(study.judged.weights_or_ones()[chosen], 3),
        "proba": {method: [rounded(row) for row in study.probabilities[method][chosen]] for method in names},
        "of": n,
    }
    return {"rows": rows}
