"""The pool's scores as sums over columns.

The pool adds up weighted logarithms of its components' probabilities. The Shapley values of what the components add up
themselves - means over leaves, scores of boosted trees, of linear models and of kernels - are exact. They are carried
through the quotients, logarithms and floors between there and the scores as :mod:`petiole.explanations.additive` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._estimates.asking import PlainQueries
from petiole._estimates.pool import Part, PooledComponents
from petiole._forest.log_pool import LogPool, log_floored
from petiole.explanations.additive import Additive, logs_of_probabilities, logs_of_scores, matched
from petiole.explanations.member_scores import explain_member
from petiole.explanations.tree_sums import Asked, explain_forest
from petiole.explanations.votes import NOTHING, Votes, explain_votes, quotient, vote_tables

Floats = npt.NDArray[np.float64]


class PartTables(NamedTuple):
    """What is added up over the leaves of one kind of trees: the tables of votes, if any, and those of the part."""

    tables: _core.LeafTables
    n_of_votes: int

    @classmethod
    def of(cls, part: Part) -> PartTables:
        if not part.looks_up_votes:
            return cls(part.tables, 0)
        votes = vote_tables(part.forest, part.filed, 1.0, part.n_trees, part.n_classes)
        return cls(_core.LeafTables.side_by_side([votes, part.tables]), votes.n_columns)


def explain_pool(estimate: PooledComponents, tables: Sequence[PartTables], asked: Asked) -> Additive:
    """The scores of a pool, whose softmax its probabilities are."""
    floor = estimate.pool.floor
    logs = [
        logs_of_probabilities(proba, floor)
        for part, of_part in zip(estimate.parts, tables, strict=True)
        for proba in _components(part, of_part, asked)
    ]
    prior = _constant(estimate.base_rates, floor)
    starts = None
    if estimate.members.needs_starts:
        assert estimate.forest_pool is not None
        # They are logarithms of probabilities, but for a number that is the same for all classes.
        starts = _weighted([*logs, prior], estimate.forest_pool)
    for name, model in estimate.members.models.items():
        scores = explain_member(model, asked, starts if name == "boosted" else None)
        logs.append(logs_of_scores(scores, floor))
    return _weighted([*logs, prior], estimate.pool)


def _weighted(logs: Sequence[Additive], pool: LogPool) -> Additive:
    values, base = np.zeros(logs[0].values.shape), pool.intercepts.copy()
    for term, weights in zip(logs, pool.weights, strict=True):
        base += weights * term.base
        if term.values.size:
            values += weights * term.values
    return Additive(values, base)


def _constant(proba: Floats, floor: float) -> Additive:
    return Additive(np.zeros((0, 0, len(proba))), log_floored(proba, floor))


def _components(part: Part, of_part: PartTables, asked: Asked) -> list[Additive]:
    """The probabilities of each component of one kind of trees."""
    n_classes, at = part.n_classes, of_part.n_of_votes
    sums = explain_forest(part.forest, of_part.tables, asked)
    own = sums.outputs(slice(at, None))
    raw = own.outputs(slice(0, n_classes))
    found = []
    for component, columns in zip(part.components, part.columns, strict=True):
        if component.is_own_rows:
            found.append(raw)
        elif component.looks_up_votes:
            votes = _votes(part, asked)
            by_votes = explain_votes(sums.outputs(slice(0, at)), votes, winner_only=False)
            found.append(_raw_where_lost(by_votes, raw, np.isnan(votes.proba[:, 0])))
        elif columns.stop - columns.start > n_classes:
            share = own.outputs(slice(columns.stop - 1, columns.stop))
            means = quotient(own.outputs(slice(columns.start, columns.start + n_classes)), share)
            found.append(_raw_where_lost(means, raw, share.totals[:, 0] <= NOTHING))
        else:
            found.append(own.outputs(columns))
    return found


def _votes(part: Part, asked: Asked) -> Votes:
    queries = PlainQueries(part.forest, asked.matrix, asked.n_threads)
    winners, votes, proba, _ = part.filed.tables.look_up(
        queries.router, asked.matrix, part.filed.ballot, part.n_trees, _core.VoteRows.shared, None, asked.n_threads
    )
    return Votes(winners, votes / votes.sum(axis=1, keepdims=True), proba)


def _raw_where_lost(found: Additive, raw: Additive, lost: npt.NDArray[np.bool_]) -> Additive:
    """Rows of which a component knows nothing have the values of "raw", which lead from another base."""
    if not found.base.any():  # it knows nothing of the base, and so of no row
        return raw
    if not lost.any():
        return found
    values = found.values.copy()
    values[lost] = matched(raw.values[lost], raw.totals[lost] - found.base)
    return Additive(values, found.base)
