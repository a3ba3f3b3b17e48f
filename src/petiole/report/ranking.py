"""How well rows are ranked (AUC, Gini, KS), and which classes are confused with which."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from petiole._table.columns import Floats
from petiole._table.judged import Judged
from petiole.decisions.choice import cheapest
from petiole.metrics.rows import group_sums, tie_groups
from petiole.report.curves import judged_of, shown_classes, shown_methods
from petiole.report.decision_sheet import decision_costs, two_ways
from petiole.report.markup import Markup, element, joined, table
from petiole.study import Study

MOST_CONFUSED = 12  # classes up to which the table of confusions is shown


class Ranking(NamedTuple):
    """AUC: the probability that a row of the class is ranked above another; Gini: 2 AUC - 1; KS: the largest distance
    between the distributions of scores."""

    auc: float
    gini: float
    ks: float


def ranking(judged: Judged, k: int) -> Ranking:
    """How well the probability of a class ranks the rows; ties count half.

    >>> proba = np.array([[0.9, 0.1], [0.6, 0.4], [0.6, 0.4], [0.2, 0.8]])
    >>> ranking(Judged(np.array([0, 0, 1, 1]), proba, np.arange(2), np.ones(4)), 1)
    Ranking(auc=0.875, gini=0.75, ks=0.5)
    """
    groups = tie_groups(judged.proba[:, k])
    hits = group_sums(groups, judged.weights * (judged.codes == k))
    others = group_sums(groups, judged.weights * (judged.codes != k))
    hits, others = hits / hits.sum(), others / others.sum()
    below = np.cumsum(others) - others / 2
    auc = float(hits @ below)
    ks = float(np.abs(np.cumsum(others) - np.cumsum(hits)).max())
    return Ranking(auc, 2 * auc - 1, ks)


def ranking_table(study: Study) -> Markup:
    """AUC, Gini and KS: for two classes, of every method shown; for more, of the recommended method for every class."""
    weights = np.bincount(study.judged.labels, study.judged.weights_or_ones(), minlength=len(study.classes))
    if np.count_nonzero(weights) < 2:
        return element("p", "All test rows are of one class, so there is nothing to rank.", class_="note")
    if len(study.classes) == 2:
        ways = two_ways(study)
        k = 1 if ways is None else ways.positive
        found = {study.result(name).title: ranking(judged_of(study, name), k) for name in shown_methods(study)}
        about = element(
            "p", f"How well the probability of \u201c{study.classes[k]}\u201d ranks the rows:", class_="note"
        )
    else:
        judged = judged_of(study, study.recommended)
        found = {str(study.classes[k]): ranking(judged, k) for k in shown_classes(study)}
        title = study.result(study.recommended).title
        about = element("p", f"How well {title} ranks the rows of each class above all others:", class_="note")
    rows = [[name, *(f"{value:.3f}" for value in values)] for name, values in found.items()]
    head = "Method" if len(study.classes) == 2 else "Class"
    return joined([about, table([head, "AUC", "Gini", "KS"], rows, label="AUC, Gini and KS", numeric=[1, 2, 3])])


def confusion(study: Study, method: str) -> Floats:
    """The weight of the rows by decision and true class."""
    cost, judged = decision_costs(study), judged_of(study, method)
    taken = cheapest(judged.proba, cost)
    found: Floats = np.zeros(cost.shape)
    np.add.at(found, (taken, judged.codes), judged.weights)
    return found


def confusion_table(study: Study) -> Markup:
    """The decisions of the recommended method by true class."""
    if max(decision_costs(study).shape) > MOST_CONFUSED:
        return Markup("")
    found = confusion(study, study.recommended)
    header = ["Decision", *(f"truly {name}" for name in study.classes), "All"]
    rows: list[list[Any]] = []
    for k, name in enumerate(study.decisions):
        right = k if study.decisions == study.classes else None
        rows.append([str(name), *(_count(v, j == right) for j, v in enumerate(found[k])), _plain(found[k].sum())])
    title = study.result(study.recommended).title
    words = element("p", f"Decisions by {title} at the threshold or costs above, and what was true:", class_="note")
    return joined([words, table(header, rows, label="Confusion matrix", numeric=range(1, len(header)))])


def _count(value: float, right: bool) -> Any:
    return element("b", _plain(value)) if right else _plain(value)


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def margins(study: Study, method: str) -> npt.NDArray[np.float64]:
    """How much more the second cheapest decision would cost, in expectation; small margins are doubtful."""
    judged = judged_of(study, method)
    expected = np.sort(judged.proba @ decision_costs(study).T, axis=1)
    found: npt.NDArray[np.float64] = expected[:, 1] - expected[:, 0] if expected.shape[1] > 1 else expected[:, 0] * 0
    return found
