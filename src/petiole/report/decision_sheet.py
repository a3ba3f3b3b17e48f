"""What to do, from which probability on, and what it saves per 1,000 rows: the sheet at the top of the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from petiole._table.columns import Floats
from petiole.decisions.choice import cheapest
from petiole.decisions.costs import idle_action
from petiole.report.curves import judged_of, rarest_class
from petiole.report.markup import Markup, element, joined, table
from petiole.study import Study
from petiole.study.figures import decimals, number
from petiole.study.results import SCORE_TITLES

PER = 1000  # rows, the unit of the sheet
MOST_DECISIONS = 12


@dataclass(frozen=True)
class TwoWays:
    """Two classes and two decisions: to act or not, for the rows that are probably of one class.

    Acting pays where the probability of ``positive`` is at least ``threshold``, which is the cheapest threshold for
    calibrated probabilities (Elkan 2001).
    """

    act: int
    idle: int
    positive: int
    threshold: float


def decision_costs(study: Study) -> Floats:
    """The user's costs, or 1 for every mistake."""
    return 1.0 - np.eye(len(study.classes)) if study.cost is None else study.cost


def two_ways(study: Study) -> TwoWays | None:
    """The two decisions of a study of two classes; None if there are more, or if one of them is never better.

    Doing nothing is the decision that costs nothing, or predicting the more frequent class.
    """
    cost = decision_costs(study)
    if cost.shape != (2, 2):
        return None
    are_classes = study.decisions == study.classes
    idle = idle_action(cost) if study.cost is not None else None
    if idle is None:
        idle = 1 - rarest_class(study) if are_classes else 0
    saved = cost[idle] - cost[1 - idle]  # what acting saves, by class
    positive = int(saved.argmax())
    if not saved[1 - positive] < 0 < saved[positive]:
        return None
    return TwoWays(1 - idle, idle, positive, float(-saved[1 - positive] / (saved[positive] - saved[1 - positive])))


def same_for_all(study: Study) -> Floats:
    """The cost per row of each decision if it is chosen for all rows."""
    shares = np.bincount(study.judged.labels, study.judged.weights_or_ones(), minlength=len(study.classes))
    return decision_costs(study) @ (shares / shares.sum())


def cost_of(study: Study, method: str) -> tuple[float, Floats]:
    """The cost per row of a method's cheapest decisions, and how often it makes each of them."""
    cost, judged = decision_costs(study), judged_of(study, method)
    taken = cheapest(judged.proba, cost)
    found = judged.mean(cost[taken, judged.codes])
    if study.cost is not None:  # over all repetitions
        found = study.result(method).scores["cost"].mean
    return found, np.bincount(taken, judged.weights, minlength=len(cost)) / judged.weights.sum()


def decision_sheet(study: Study, commands: list[str]) -> Markup:
    """The sheet: one sentence, the figures behind it, and the commands that come next."""
    method = study.recommended
    per_row, shares = cost_of(study, method)
    constant = same_for_all(study)
    saved = float(constant.min() - per_row)
    digits = decimals([PER * value for value in (per_row, saved, *constant)])
    return joined([
        element("p", *_sentence(study), class_="todo", id="todo"),
        element("dl", *_figures(study, per_row, constant, saved, digits), class_="cards"),
        element("p", _reading(study, saved, constant, digits), class_="note"),
        _decisions_table(study, shares, constant) if len(constant) > 2 else "",
        _commands(study, commands),
    ])  # fmt: skip


def _sentence(study: Study) -> list[Any]:
    """What to do, and from which probability on."""
    ways, title = two_ways(study), study.result(study.recommended).title
    by = f", by the probabilities of {title}."
    if ways is None:
        what = "Predict the class" if study.decisions == study.classes else "Make the decision"
        return [f"{what} that is cheapest for each row in expectation{by}"]
    at = element("b", number(ways.threshold, 3))
    act, idle, positive = (
        _strong(name) for name in (study.decisions[ways.act], study.decisions[ways.idle], study.classes[ways.positive])
    )
    if study.decisions == study.classes:
        return ["Predict ", act, " where its probability is at least ", at, ", and ", idle, " elsewhere", by]
    return ["Decide for ", act, " where the probability of ", positive, " is at least ", at, ", else ", idle, by]


def _strong(name: Any) -> Markup:
    return element("b", f"\u201c{name}\u201d")


def _figures(study: Study, per_row: float, constant: Floats, saved: float, digits: int) -> list[Markup]:
    """The costs per 1,000 rows, all with the same number of decimals."""
    what = "Mistakes" if study.cost is None else "Cost"
    ways = two_ways(study)
    cards = [
        (f"{what} per 1,000 rows", PER * per_row, "by this rule", "main"),
        ("It saves", PER * saved, f"per 1,000 rows, against {_best_constant(study, constant)}", "main"),
    ]
    if ways is not None:
        idle, act = ("Doing nothing", "Always acting") if study.cost is not None else ("Never acting", "Always acting")
        order = [(ways.idle, idle), (ways.act, act)]
        cards += [
            (title, PER * constant[k], f"\u201c{study.decisions[k]}\u201d for all rows", "") for k, title in order
        ]
    return [
        element("div", element("dt", title), element("dd", number(value, digits), element("small", words)),
                class_=f"card {looks}".strip())
        for title, value, words, looks in cards
    ]  # fmt: skip


def _best_constant(study: Study, constant: Floats) -> str:
    return f"\u201c{study.decisions[int(constant.argmin())]}\u201d for all"


def _reading(study: Study, saved: float, constant: Floats, digits: int) -> str:
    parts = []
    if study.cost is None:
        parts.append(
            "No costs were given, so every mistake counts the same. With costs of decisions, the threshold changes."
        )
    else:
        low, high = study.result(study.recommended).scores["cost"][1:]
        parts.append(
            f"The cost per 1,000 rows has the 95% interval {number(PER * low, digits)} to {number(PER * high, digits)}."
        )
    if saved <= 0:
        parts.append(f"This saves nothing: {_best_constant(study, constant)} costs no more.")
    parts.append("Every row was scored by a model that was not fitted to it.")
    return " ".join(parts)


def _decisions_table(study: Study, shares: Floats, constant: Floats) -> Markup:
    """For more than two decisions: how often each is chosen, and its cost if chosen for all rows."""
    digits = decimals([PER * value for value in constant])
    listed = np.argsort(-shares, kind="stable")[:MOST_DECISIONS].tolist()
    rows = [[str(study.decisions[k]), f"{PER * shares[k]:.0f}", number(PER * constant[k], digits)] for k in listed]
    header = ["Decision", "Chosen for, of 1,000 rows", "Cost per 1,000 if chosen for all"]
    return table(header, rows, label="How often each decision is made", numeric=[1, 2])


def _commands(study: Study, commands: list[str]) -> Markup:
    """The commands to run next; with the best of petiole's own methods if one of another library is recommended."""
    if not commands:
        return Markup("")
    recommended, own = study.result(study.recommended), study.petiole_winner
    words = "To use it:"
    if recommended.is_peer and own is not None:
        what, result = study.design.decides, study.result(own)
        of_own, of_other = (one.scores[what].mean for one in (result, recommended))
        digits = 3 if what == "log_loss" else decimals([of_own, of_other])
        words = (
            f"Next, with the best of petiole's own methods, {result.title} ({SCORE_TITLES[what]} "
            f"{number(of_own, digits)}, against {number(of_other, digits)} for {recommended.title}):"
        )
    code = element("pre", element("code", "\n".join(commands), id="next-commands"), tabindex="0")
    button = element("button", "Copy", type="button", id="copy", class_="copy")
    return joined([element("p", words, class_="note"), element("div", code, button, class_="command")])
