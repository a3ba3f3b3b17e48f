"""A fitted model as an ONNX graph: sums over leaves, and what the model makes of them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._classifiers.bagging import BaggedPETClassifier
from petiole._classifiers.mob_esp import MOBESPClassifier
from petiole._classifiers.pet import PETClassifier
from petiole._classifiers.probability_forest import ProbabilityForestClassifier
from petiole._classifiers.updating import estimate_of
from petiole._estimates.components import UnseenRowsAlone
from petiole._estimates.leaf_mean import LeafMean
from petiole._estimates.leaf_tables import frequency_tables
from petiole._estimates.pool import Part, PooledComponents
from petiole._estimates.single_tree import SingleTree
from petiole._estimates.vote_look_up import VoteLookUp
from petiole._forest.forest import Forest
from petiole._forest.log_pool import LogPool
from petiole.export.leaf_sums import Entries, LeafSums, vote_rows
from petiole.export.onnx_columns import add_inputs, add_label
from petiole.export.onnx_graph import Graph
from petiole.export.onnx_members import add_member
from petiole.export.onnx_trees import sum_leaves
from petiole.export.refusal import check_exportable
from petiole.files.atomic import write_atomically
from petiole.smoothing import Raw

Floats = npt.NDArray[np.float64]
Answer = Callable[[Graph, str], str]  # from the graph and the matrix of columns to probabilities

# Sums come back in single precision: means that are this close may be equal.
TIE = 1e-6
LOST_ROWS = "rows_without_answer"  # the property of graphs in which some rows get NaN


def to_onnx(model: Any, path: str | os.PathLike[str] | None = None) -> bytes:
    """Convert a fitted classifier to an ONNX model, for onnxruntime and other runtimes.

    It has the outputs ``label`` and ``probabilities``. Its input is one matrix ``X`` of double precision if all columns
    are numbers, otherwise one input per column, of shape (rows, 1), with the column's name: numbers in double
    precision, categories as texts or whole numbers. Only averages over *single* leaves can be written: where petiole
    would divide a row over several branches (a missing value, unless ``missing="separate"``, or a category that a node
    has not seen) the probabilities are NaN.

    Parameters
    ----------
    model : fitted PETClassifier, BaggedPETClassifier, MOBESPClassifier or ProbabilityForestClassifier
    path : where to write it, optional

    Returns
    -------
    bytes
        The serialised model.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from petiole import BaggedPETClassifier
    >>> from petiole.export import to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BaggedPETClassifier(n_estimators=8, random_state=0).fit(X, y)
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(to_onnx(model))
    >>> label, proba = session.run(None, {"X": X[:1]})
    >>> bool(abs(proba - model.predict_proba(X[:1])).max() < 1e-6)
    True
    """
    why_not = "ONNX has operators for trees, and none for what this model does with a query."
    check_exportable(model, CLASSIFIERS, "ONNX", why_not)
    graph = Graph()
    matrix = add_inputs(graph, model.encoder_)
    estimate = estimate_of(model)
    proba = _ANSWERS[type(estimate)](estimate)(graph, matrix)
    label, label_type = add_label(graph, proba, model.classes_)
    graph.output(label, "label", label_type, ["rows"])
    graph.output(proba, "probabilities", np.float64, ["rows", len(model.classes_)])
    properties = {"classes": repr(model.classes_.tolist()), "petiole_class": type(model).__name__}
    if graph.loses_rows:
        properties[LOST_ROWS] = "NaN where a value is missing, or a category is new to a node of a tree"
    written: bytes = graph.finish(
        type(model).__name__, "Class probabilities by petiole", properties
    ).SerializeToString()
    if path is not None:
        write_atomically(path, [written])
    return written


def _mean_of_tables(trees: Any, tables: list[Floats]) -> LeafSums:
    share = 1.0 / len(tables)
    entries = [Entries.of_table(np.asarray(table)).scaled(share) for table in tables]
    return LeafSums(list(trees), entries, np.shape(tables[0])[1])


def _answer_of_tree(estimate: SingleTree) -> Answer:
    sums = _mean_of_tables([estimate.tree], [np.asarray(estimate.tables.of_tree(0))])
    return lambda graph, matrix: sum_leaves(graph, matrix, sums)


def _answer_of_leaf_mean(estimate: LeafMean) -> Answer:
    sums, n_trees = _mean_of_tables(estimate.forest, estimate.tables_by_tree()), len(estimate.forest)

    def answer(graph: Graph, matrix: str) -> str:
        proba = sum_leaves(graph, matrix, sums)
        if estimate.voting != "laplace":
            return proba
        votes = graph.add("Mul", proba, graph.constant(float(n_trees)))
        more = graph.add("Add", votes, graph.constant(1.0))
        return graph.add("Div", more, graph.constant(float(n_trees + sums.n_columns)))

    return answer


class VotedSums:
    """The columns of a forest's sums that MOB-ESP needs: votes, what decides ties, leaf matrices, and further tables.

    Votes come first, K columns; then K with the frequencies that decide ties; then those of :func:`vote_rows`; then
    ``tables``, as means.
    """

    def __init__(
        self,
        forest: Forest,
        vote_tables: _core.VoteTables,
        oob_weight: float,
        tables: _core.LeafTables,
        n_classes: int,
        n_voting: int,
    ) -> None:
        self.n_classes, n_trees = n_classes, len(forest)
        self.rows_at = 2 * n_classes
        self.tables_at = self.rows_at + n_classes + n_classes**2
        ties = frequency_tables(forest, Raw(), 0.0)
        entries = []
        for index, rows in enumerate(vote_rows(vote_tables.state(), oob_weight)):
            parts = [
                rows._replace(column=rows.column + self.rows_at),
                Entries.of_table(np.asarray(tables.of_tree(index)), self.tables_at).scaled(1.0 / n_trees),
            ]
            if index < n_voting:
                parts.append(Entries.of_table(np.eye(n_classes)[forest.core.leaf_votes(index)]))
                parts.append(Entries.of_table(np.asarray(ties.of_tree(index)), n_classes).scaled(1.0 / n_voting))
            entries.append(Entries.together(parts))
        self.leaf_sums = LeafSums(list(forest), entries, self.tables_at + tables.n_columns)

    def votes(self, graph: Graph, sums: str) -> str:
        return graph.columns(sums, 0, self.n_classes)

    def means(self, graph: Graph, sums: str) -> str:
        """The means of ``tables``."""
        return graph.columns(sums, self.tables_at, self.leaf_sums.n_columns)

    def winner(self, graph: Graph, sums: str, prior: Floats) -> str:
        """1 for the class with the most votes, 0 for others; ties as petiole decides them."""
        votes = self.votes(graph, sums)
        frequencies = graph.columns(sums, self.n_classes, 2 * self.n_classes)
        best = _largest_of(graph, votes, None, 0.5)
        best = _largest_of(graph, frequencies, best, TIE)
        weights = graph.add("Add", graph.add("Mul", votes, graph.constant(0.0)), graph.constant(prior / prior.sum()))
        best = _largest_of(graph, weights, best, 1e-12)
        first = graph.add("ArgMax", best, axis=1, keepdims=1)
        is_winner = graph.add("Equal", first, graph.constant(np.arange(self.n_classes)[np.newaxis]))
        return graph.cast(is_winner, np.float64)

    def answer(self, graph: Graph, sums: str, weights: str, instead: str) -> str:
        """The mean of what leaves keep for votes, in proportion to ``weights``; ``instead`` where that is nothing."""
        k = self.n_classes
        shares = graph.columns(sums, self.rows_at, self.rows_at + k)
        counts = graph.add("Where", graph.add("Greater", shares, graph.constant(0.5)), weights, graph.constant(0.0))
        per_leaf = graph.add("Div", counts, graph.add("Max", shares, graph.constant(1.0)))
        vote_sums = graph.columns(sums, self.rows_at + k, self.tables_at)
        shape = graph.constant(np.array([-1, k, k], dtype=np.int64))
        by_vote = graph.add("Mul", graph.add("Reshape", vote_sums, shape), graph.unsqueezed(per_leaf))
        total = graph.add("ReduceSum", by_vote, graph.constant(np.array([1], dtype=np.int64)), keepdims=0)
        answered = graph.total(counts)
        mean = graph.add("Div", total, graph.add("Max", answered, graph.constant(1e-12)))
        return graph.add("Where", graph.add("Greater", answered, graph.constant(0.0)), mean, instead)


class PlainSums:
    """The columns of the sums of a forest whose components need no votes: its tables alone, as means."""

    def __init__(self, part: Part) -> None:
        self.n_classes = part.n_classes
        self.leaf_sums = _mean_of_tables(part.forest, [np.asarray(part.tables.of_tree(t)) for t in range(part.n_trees)])

    def means(self, graph: Graph, sums: str) -> str:
        return sums


def _largest_of(graph: Graph, values: str, among: str | None, slack: float) -> str:
    """1 for the values of each row that are within ``slack`` of the largest, among those marked."""
    if among is not None:
        marked = graph.add("Greater", among, graph.constant(0.5))
        values = graph.add("Where", marked, values, graph.constant(-1.0))
    bound = graph.add("Sub", graph.largest(values), graph.constant(slack))
    return graph.cast(graph.add("GreaterOrEqual", values, bound), np.float64)


def _answer_of_look_up(estimate: VoteLookUp) -> Answer:
    tables, n_classes = estimate.filed.tables, len(estimate.prior)
    voted = VotedSums(estimate.forest, tables, estimate.oob_weight, estimate.fallback, n_classes, estimate.n_voters)

    def answer(graph: Graph, matrix: str) -> str:
        sums = sum_leaves(graph, matrix, voted.leaf_sums)
        winner_only = estimate.rows == "winner"
        weights = voted.winner(graph, sums, estimate.prior) if winner_only else voted.votes(graph, sums)
        return _lost_as_nan(graph, sums, voted.answer(graph, sums, weights, voted.means(graph, sums)))

    return answer


def _lost_as_nan(graph: Graph, sums: str, proba: str) -> str:
    """NaN where the sums are NaN, which comparisons have hidden."""
    zero = graph.add("Mul", graph.columns(sums, 0, 1), graph.constant(0.0))
    return graph.add("Add", proba, zero)


def _answer_of_pool(estimate: PooledComponents) -> Answer:
    voted = [_sums_of(part) for part in estimate.parts]
    named = None if estimate.named is None else _answer_of_pool(estimate.named.pool)

    def answer(graph: Graph, matrix: str) -> str:
        components: list[str] = []
        sums = []
        for part, of_part in zip(estimate.parts, voted, strict=True):
            sums.append(sum_leaves(graph, matrix, of_part.leaf_sums))
            components += _components(graph, sums[-1], of_part, part)
        base_rates = graph.constant(estimate.base_rates[np.newaxis])
        starts = ""
        if estimate.members.needs_starts:
            assert estimate.forest_pool is not None
            starts = graph.add("Log", _pooled(graph, [*components, base_rates], estimate.forest_pool))
        for name, model in estimate.members.models.items():
            components.append(add_member(graph, matrix, model, starts if name == "boosted" else ""))
        proba = _pooled(graph, [*components, base_rates], estimate.pool)
        if named is not None and estimate.named is not None:
            share = graph.columns(named(graph, matrix), 1, 2)
            proba = _with_share(graph, proba, estimate.named.target, share, len(estimate.prior))
        return functools.reduce(lambda found, of_part: _lost_as_nan(graph, of_part, found), sums, proba)

    return answer


def _sums_of(part: Part) -> VotedSums | PlainSums:
    if not part.looks_up_votes:
        return PlainSums(part)
    return VotedSums(part.forest, part.filed.tables, 1.0, part.tables, part.n_classes, len(part.forest))


def _with_share(graph: Graph, proba: str, target: int, share: str, n_classes: int) -> str:
    """Probabilities with another one for a class; the rest is divided among the other classes as before."""
    own = np.eye(n_classes)[target]
    rest = graph.add("Mul", proba, graph.constant(1.0 - own))
    total = graph.total(rest)
    equal = graph.constant((1.0 - own)[np.newaxis] / (n_classes - 1))
    divided = graph.add("Div", rest, graph.add("Max", total, graph.constant(1e-300)))
    parts = graph.add("Where", graph.add("Greater", total, graph.constant(0.0)), divided, equal)
    left = graph.add("Sub", graph.constant(1.0), share)
    return graph.add("Add", graph.add("Mul", parts, left), graph.add("Mul", share, graph.constant(own)))


def _components(graph: Graph, sums: str, voted: VotedSums | PlainSums, part: Part) -> list[str]:
    """The probabilities of each component of one part, by its own tables."""
    k, means = voted.n_classes, voted.means(graph, sums)
    raw = graph.columns(means, 0, k)
    found = []
    for component, columns in zip(part.components, part.columns, strict=True):
        if component.is_own_rows:
            found.append(raw)
        elif isinstance(voted, VotedSums) and component.looks_up_votes:
            found.append(voted.answer(graph, sums, voted.votes(graph, sums), raw))
        elif isinstance(component, UnseenRowsAlone):
            share = graph.columns(means, columns.stop - 1, columns.stop)
            own = graph.columns(means, columns.start, columns.start + k)
            scaled = graph.add("Div", own, graph.add("Max", share, graph.constant(1e-300)))
            has_some = graph.add("Greater", share, graph.constant(0.0))
            found.append(graph.add("Where", has_some, scaled, raw))
        else:
            found.append(graph.columns(means, columns.start, columns.stop))
    return found


def _pooled(graph: Graph, components: list[str], pool: LogPool) -> str:
    """The logarithmic opinion pool."""
    scores = []
    for proba, weights in zip(components, pool.weights, strict=True):
        raised = graph.add("Max", proba, graph.constant(float(pool.floor)))
        logs = graph.add("Log", graph.add("Div", raised, graph.total(raised)))
        scores.append(graph.add("Mul", logs, graph.constant(weights)))
    return graph.add("Softmax", graph.sum_of([*scores, graph.constant(pool.intercepts)]), axis=1)


CLASSIFIERS = (PETClassifier, BaggedPETClassifier, MOBESPClassifier, ProbabilityForestClassifier)
_ANSWERS: dict[type, Callable[[Any], Answer]] = {
    SingleTree: _answer_of_tree,
    LeafMean: _answer_of_leaf_mean,
    VoteLookUp: _answer_of_look_up,
    PooledComponents: _answer_of_pool,
}
