"""Prediction sets by their definition, row by row and class by class, with weights as copies of rows."""

from __future__ import annotations

import math


def score(proba, k, method, u, penalty=0.1, free_ranks=1):
    """How badly class k fits a row of probabilities."""
    larger = [p for p in proba if p > proba[k]]
    equal = [p for p in proba if p == proba[k]]
    if method == "lac":
        return 1 - proba[k]
    found = sum(larger) + u * sum(equal)
    if method == "raps":
        found += penalty * max(len(larger) + 1 - free_ranks, 0)
    return found


def is_inside(calibrating, query, coverage, number):
    """Whether the pair (score, tie-breaker) of a query is inside, by its rank among the calibrating pairs.

    Among n calibrating rows and the query all n + 1 ranks are equally likely. The first ⌊t⌋ ranks are inside, with
    t = (n + 1)·coverage; the next one is if the query's number is below t − ⌊t⌋. Where t > n everything is inside.
    """
    n = len(calibrating)
    t = coverage * (n + 1)
    if abs(t - round(t)) < 1e-9 * (n + 1):
        t = float(round(t))
    if t > n:
        return True
    rank = sum(pair < query for pair in calibrating)
    return rank < math.floor(t) or (rank == math.floor(t) and number < t - math.floor(t))


def prediction_sets(calibrating, labels, queries, coverage, method, numbers, per_class=False, groups=None):
    """A truth value for each class of each query.

    ``calibrating`` and ``queries`` are lists of (probabilities, u, tie-breaker); ``numbers`` has one for each query,
    and ``groups`` is the pair of the lists of groups.
    """
    of_rows, of_queries = groups or ([0] * len(calibrating), [0] * len(queries))
    answer = []
    for (proba, u, tie), number, group in zip(queries, numbers, of_queries, strict=True):
        row = []
        for k in range(len(proba)):
            alike = [
                (round(score(p, label, method, v), 12), other)
                for (p, v, other), label, theirs in zip(calibrating, labels, of_rows, strict=True)
                if theirs == group and (not per_class or label == k)
            ]
            row.append(is_inside(alike, (round(score(proba, k, method, u), 12), tie), coverage, number))
        answer.append(row)
    return answer
