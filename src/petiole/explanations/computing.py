"""From a fitted model and rows to an explanation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _num_samples

from petiole._classifiers.base import encode_queries
from petiole._classifiers.boosted import BoostedPETClassifier
from petiole._classifiers.ensemble import ForestClassifier
from petiole._classifiers.oob_calibrated import OOBCalibratedClassifier
from petiole._classifiers.pet import PETClassifier
from petiole._estimates.asking import PlainQueries
from petiole._estimates.leaf_mean import LeafMean
from petiole._estimates.pool import PooledComponents
from petiole._estimates.single_tree import SingleTree
from petiole._estimates.vote_look_up import VoteLookUp
from petiole._validation import check_choice, check_whole, draw_seed
from petiole.explanations.additive import Additive, log_odds_of_scores, matched, softmax_of_scores
from petiole.explanations.coalitions import by_all_sets, by_permutations
from petiole.explanations.explanation import Explanation
from petiole.explanations.pooled import PartTables, explain_pool
from petiole.explanations.tree_sums import Asked, explain_boosted, explain_forest, explain_tree
from petiole.explanations.votes import Votes, explain_votes, vote_tables

Floats = npt.NDArray[np.float64]
Explain = Callable[[Asked], Additive]

METHODS = ("auto", "path", "interventional", "exact", "sampled")
OUTPUTS = ("auto", "probability", "log_odds")
# Values and what they are made of take so many numbers at once.
NUMBERS_AT_ONCE = 2**24
# Recalibration makes values at most so many times as large.
MOST_FACTOR = 5.0


def explain(
    model: Any,
    X: Any,
    *,
    output: str = "auto",
    method: str = "auto",
    background: Any = None,
    n_permutations: int = 64,
    random_state: Any = 0,
) -> Explanation:
    """Divide a model's predictions among the columns by Shapley values.

    Parameters
    ----------
    model : fitted PETClassifier, BaggedPETClassifier, MOBESPClassifier, ProbabilityForestClassifier,
        BoostedPETClassifier or OOBCalibratedClassifier
        ``OOBCalibratedClassifier`` must wrap one of the others.
    X : rows in the columns of the fit
    output : {"auto", "probability", "log_odds"}, default="auto"
        What is explained. "auto" explains the log-odds of boosted trees and of the pool, which are closer to sums, and
        the probabilities of other models.
    method : {"auto", "path", "interventional", "exact", "sampled"}, default="auto"
        "path": at a split whose column is unknown, a row is divided over the branches as the training rows were.
        "interventional": unknown columns take the values of the background rows. Both are exact for sums over leaves,
        and approximate for functions of such sums. "exact" computes the values of the whole model from all sets of at
        most 14 columns. "sampled" estimates them from random orders of the columns, with standard errors. Both need
        background rows. "auto" is "interventional" if there are background rows, else "path".
    background : rows in the columns of the fit, optional
        Rows whose values replace those of unknown columns, such as a hundred rows of the training data.
    n_permutations : int, default=64
        The number of orders for method="sampled".
    random_state : int, RandomState or None, default=0
        Seed of these orders.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from petiole import ProbabilityForestClassifier
    >>> from petiole.explanations import explain
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = ProbabilityForestClassifier(20, random_state=0).fit(X, y)
    >>> found = explain(model, X[:2], output="probability")
    >>> bool(abs(found.answers - model.predict_proba(X[:2])).max() < 1e-9)
    True
    >>> [reason.column for reason in found.reasons(0, 2, label=0)]
    ['worst concave points', 'area error']
    """
    inner = _explainable(model)
    check_choice("output", output, OUTPUTS)
    check_choice("method", method, METHODS)
    check_whole("n_permutations", n_permutations, 2)
    matrix = encode_queries(inner, X)
    if background is not None and not _num_samples(background):
        raise ValueError("background: has no rows; pass some rows of the training data, or None")
    others = None if background is None else encode_queries(inner, background)
    method = ("path" if others is None else "interventional") if method == "auto" else method
    output = _output(model, inner, output, method)
    if method == "path" and others is not None:
        raise ValueError("background: method='path' takes none; leave it out, or use method='interventional'")
    if method != "path" and others is None:
        raise ValueError(f"method={method!r}: needs background rows; pass background=some rows of the training data")
    errors = None
    if method in ("exact", "sampled"):
        ask = _answer_of(model, inner, output)
        assert others is not None
        if method == "exact":
            values, base, _ = by_all_sets(ask, matrix, others)
        else:
            values, base, errors = by_permutations(ask, matrix, others, n_permutations, draw_seed(random_state))
    else:
        found = _additive(model, inner, Asked(matrix, others, inner._n_threads()), output)
        values, base = found.values, found.base
    encoder = inner.encoder_
    names = encoder.feature_names or [f"x{j}" for j in range(encoder.n_features)]
    data = _cells(matrix, encoder.categories)
    classes = np.asarray(model.classes_).tolist()
    texts = [str(name) for name in names]
    return Explanation(values, base, data, texts, classes, output, method, errors, (matrix, encoder))


def is_explainable(model: Any) -> bool:
    """Whether :func:`explain` takes a classifier."""
    return _inner(model) is not None


def _inner(model: Any) -> Any:
    if isinstance(model, OOBCalibratedClassifier):
        model = getattr(model, "estimator_", None)
    return model if isinstance(model, (PETClassifier, ForestClassifier, BoostedPETClassifier)) else None


def _explainable(model: Any) -> Any:
    inner = _inner(model)
    if inner is None:
        raise ValueError(
            f"model: a {type(model).__name__} cannot be explained; single trees, bagged trees, MOB-ESP, the "
            "probability forest, boosted trees and OOBCalibratedClassifier around one of these can"
        )
    return inner


def _output(model: Any, inner: Any, output: str, method: str) -> str:
    has_scores = inner is model and isinstance(_estimate_of(inner), (PooledComponents, BoostedPETClassifier))
    if output == "auto":
        return "log_odds" if has_scores else "probability"
    if output == "log_odds" and not has_scores:
        raise ValueError(
            f"output='log_odds': the probabilities of a {type(model).__name__} are means, which may be 0; use "
            "output='probability', or explain a boosted model or a ProbabilityForestClassifier"
        )
    return output


def _estimate_of(inner: Any) -> Any:
    return inner if isinstance(inner, BoostedPETClassifier) else inner._estimate


def encoded_answer(model: Any) -> Callable[[npt.NDArray[Any]], Floats]:
    """The probabilities of a model that :func:`explain` takes, as a function of encoded rows."""
    return _answer_of(model, _explainable(model), "probability")


def _answer_of(model: Any, inner: Any, output: str) -> Callable[[npt.NDArray[Any]], Floats]:
    """The model as a function of encoded rows."""

    def ask(matrix: npt.NDArray[Any]) -> Floats:
        proba: Floats = inner._average(matrix)
        if output == "probability":
            return proba if inner is model else np.asarray(model.calibrator_.predict(proba))
        scores = inner.trees_.scores(matrix, inner._n_threads()) if isinstance(inner, BoostedPETClassifier) else None
        return log_odds_of_scores(_without_columns(np.log(proba) if scores is None else scores)).totals

    return ask


def _without_columns(answers: Floats) -> Additive:
    """Answers as if one column made them."""
    return Additive(answers[:, np.newaxis], np.zeros(answers.shape[1]))


def _additive(model: Any, inner: Any, asked: Asked, output: str) -> Additive:
    """Values by methods that go through the trees, some rows at a time."""
    explain_some, width = _explainer(_estimate_of(inner))
    n_rows, n_columns = asked.matrix.shape
    step = max(16, NUMBERS_AT_ONCE // max(1, n_columns * width))
    parts = []
    for begin in range(0, max(n_rows, 1), step):
        some = asked._replace(matrix=asked.matrix[begin : begin + step])
        found = explain_some(some)
        if isinstance(_estimate_of(inner), (PooledComponents, BoostedPETClassifier)):
            found = log_odds_of_scores(found) if output == "log_odds" else softmax_of_scores(found)
        if inner is not model:
            found = _calibrated(model, found, inner._average(some.matrix))
        parts.append(found)
    return Additive(np.concatenate([part.values for part in parts]), parts[0].base)


def _explainer(estimate: Any) -> tuple[Explain, int]:
    """What explains rows by an estimate, and how many numbers it needs for each row and column."""
    if isinstance(estimate, BoostedPETClassifier):
        trees = estimate.trees_
        if hasattr(estimate, "named_trees_"):
            raise ValueError(_two_parts("BoostedPETClassifier"))
        return (lambda asked: explain_boosted(trees, asked)), 2 * trees.n_classes
    if isinstance(estimate, SingleTree):
        return (lambda asked: explain_tree(estimate.tree, estimate.tables, asked)), estimate.tables.n_columns
    if isinstance(estimate, LeafMean):
        return (lambda asked: _of_mean(estimate, asked)), estimate.tables.n_columns
    if isinstance(estimate, VoteLookUp):
        n_classes = len(estimate.prior)
        tables = vote_tables(estimate.forest, estimate.filed, estimate.oob_weight, estimate.n_voters, n_classes)
        return (lambda asked: _of_look_up(estimate, tables, asked)), tables.n_columns
    assert isinstance(estimate, PooledComponents)
    if estimate.named is not None:
        raise ValueError(_two_parts("ProbabilityForestClassifier"))
    of_parts = [PartTables.of(part) for part in estimate.parts]
    widest = max(part.tables.n_columns for part in of_parts)
    return (lambda asked: explain_pool(estimate, of_parts, asked)), 2 * widest


def _two_parts(name: str) -> str:
    return (
        f"explain: with monotonic_cst and more than two classes, a {name} is a model of the named class and one of how "
        "the others divide the rest, whose scores do not add up: use method='sampled' with output='probability'"
    )


def _of_mean(estimate: LeafMean, asked: Asked) -> Additive:
    found = explain_forest(estimate.forest, estimate.tables, asked)
    if estimate.voting != "laplace":
        return found
    n_trees, n_classes = len(estimate.forest), len(found.base)
    share = n_trees / (n_trees + n_classes)
    return Additive(found.values * share, (found.base * n_trees + 1) / (n_trees + n_classes))


def _of_look_up(estimate: VoteLookUp, tables: Any, asked: Asked) -> Additive:
    queries = PlainQueries(estimate.forest, asked.matrix, asked.n_threads)
    winners, votes, proba, _ = estimate.filed.tables.look_up(
        queries.router, asked.matrix, estimate.filed.ballot, estimate.n_voters, estimate.which, None, asked.n_threads
    )
    found = Votes(winners, votes / votes.sum(axis=1, keepdims=True), proba)
    sums = explain_forest(estimate.forest, tables, asked)
    by_votes = explain_votes(sums, found, winner_only=estimate.rows == "winner")
    lost = np.isnan(proba[:, 0])
    if not lost.any():
        return by_votes
    raw = explain_forest(estimate.forest, estimate.fallback, asked._replace(matrix=asked.matrix[lost]))
    values = by_votes.values.copy()
    values[lost] = matched(raw.values, raw.totals - by_votes.base)
    return Additive(values, by_votes.base)


def _calibrated(model: OOBCalibratedClassifier, found: Additive, proba: Floats) -> Additive:
    """The values of a row times one factor, which comes nearest to the change of its recalibrated probabilities.

    What is then lacking is divided by :func:`matched`: none with two classes, unless the factor is out of bounds.
    """
    base = np.asarray(model.calibrator_.predict(found.base[np.newaxis]))[0]
    change = np.asarray(model.calibrator_.predict(proba)) - base
    before = found.totals - found.base
    size = (before**2).sum(axis=1)
    factor = np.divide((change * before).sum(axis=1), size, out=np.ones(len(size)), where=size > 0)
    factor = np.clip(factor, 0.0, MOST_FACTOR)
    return Additive(matched(found.values * factor[:, np.newaxis, np.newaxis], change), base)


def _cells(matrix: npt.NDArray[Any], categories: list[Any]) -> npt.NDArray[Any]:
    """The rows as the model read them: categories by their names."""
    if all(names is None for names in categories):
        return matrix.astype(np.float64)
    cells = np.empty(matrix.shape, dtype=object)
    for j, names in enumerate(categories):
        numbers = matrix[:, j].astype(np.float64).tolist()
        cells[:, j] = numbers if names is None else [None if code != code else names[int(code)] for code in numbers]
    return cells
