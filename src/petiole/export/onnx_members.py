"""The members of a pool that are not statistics of leaves, as ONNX graphs: linear models, kernels and boosted trees."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from petiole._boosting.trees import BoostedTrees
from petiole._estimates.cross_fitted import LEAST_PROBABILITY, CrossFitted, FoldModel
from petiole._linear.encoding import PRESENT, LinearEncoding
from petiole._linear.kernel import KernelEncoding
from petiole._linear.model import LinearModel
from petiole._linear.numeric import FARTHEST, WIDEST, NumericFeatures
from petiole._linear.ordered_products import OrderedProducts
from petiole.export.leaf_sums import Entries, LeafSums, ScoreTree
from petiole.export.onnx_graph import Graph
from petiole.export.onnx_trees import sum_leaves

Ints = npt.NDArray[np.int64]


def add_member(graph: Graph, matrix: str, member: CrossFitted, starts: str = "") -> str:
    """The probabilities by a member; ``starts`` are its initial scores, if it corrects another model."""
    found = [_add_model(graph, matrix, model, starts) for model in member.asked]
    if len(found) == 1:
        return found[0]
    least = graph.constant(LEAST_PROBABILITY)
    logs = graph.sum_of([graph.add("Log", graph.add("Max", proba, least)) for proba in found])
    return graph.add("Softmax", graph.add("Div", logs, graph.constant(float(len(found)))), axis=1)


def _add_model(graph: Graph, matrix: str, model: FoldModel, starts: str) -> str:
    if isinstance(model, BoostedTrees):
        return _boosted(graph, matrix, model, starts)
    assert isinstance(model, LinearModel)
    return _linear(graph, matrix, model)


# Linear models.


def _linear(graph: Graph, matrix: str, model: LinearModel) -> str:
    encoding = model.encoding
    base = encoding.base if isinstance(encoding, KernelEncoding) else encoding
    if not base.n_features:  # all rows have the same prediction
        return graph.constant(model.answer(np.full((1, base.n_columns), np.nan)))
    features = _features(graph, matrix, base)
    if isinstance(encoding, KernelEncoding):
        features = _kernels(graph, features, encoding)
    scores = graph.add("MatMul", features, graph.constant(model.coefficients))
    return graph.add("Softmax", graph.add("Add", scores, graph.constant(model.intercepts)), axis=1)


def _kernels(graph: Graph, points: str, encoding: KernelEncoding) -> str:
    """Gaussian kernels, by d² = |x|² - 2 x·l + |l|²."""
    lengths = graph.total(graph.add("Mul", points, points))
    products = graph.add("MatMul", points, graph.constant(-2.0 * encoding.landmarks))
    of_landmarks = graph.constant((encoding.landmarks**2).sum(axis=0))
    squares = graph.sum_of([lengths, products, of_landmarks])
    return graph.add("Exp", graph.add("Mul", squares, graph.constant(-encoding.gamma)))


def _features(graph: Graph, matrix: str, encoding: LinearEncoding) -> str:
    """The features as the encoding makes them, in double precision."""
    indicators = encoding.indicators
    parts = [_numeric(graph, matrix, encoding)] if len(encoding.numeric) else []
    for column, chosen in zip(indicators.columns.tolist(), indicators.chosen, strict=True):
        parts.append(_indicators(graph, matrix, encoding, column, chosen))
    return graph.add("Concat", *parts, axis=1)


def _indicators(graph: Graph, matrix: str, encoding: LinearEncoding, column: int, chosen: Ints) -> str:
    """The indicators of one column, looked up in what the encoding makes of each category and of a missing value."""
    rows = np.full((len(chosen), encoding.n_columns), np.nan)
    rows[:-1, column] = np.arange(len(chosen) - 1)
    own = len(encoding.numeric) + np.unique(chosen[chosen >= 0])
    value = graph.columns(matrix, column, column + 1)
    if chosen[0] == PRESENT:
        # A number has the code 0. As of categories, the code of what is missing is -1: the last row of the table.
        codes = graph.add("Neg", graph.cast(graph.is_missing(value), np.int64))
    else:
        codes = graph.cast(value, np.int64)
    return graph.look_up(encoding.features(rows)[:, own], codes)


def _numeric(graph: Graph, matrix: str, encoding: LinearEncoding) -> str:
    """Squashed values, ranks and products, less their means, in their units; 0 where a value is missing."""
    numeric, n_numeric = encoding.numeric, len(encoding.numeric)
    values = graph.take_columns(matrix, numeric.columns)
    missing = graph.is_missing(values)
    known = graph.cast(graph.add("Not", missing), np.float64)
    halves = graph.add("Mul", graph.add("Where", missing, graph.constant(numeric.centers), values), graph.constant(0.5))
    squashed = _squashed(graph, halves, numeric)
    found, all_known = [squashed], [known]
    if len(numeric.deciles):
        found.append(_ranks(graph, halves, numeric))
        all_known.append(known)
    if len(numeric.first):
        found.append(_products(graph, squashed, numeric))
        all_known.append(_products(graph, known, numeric))
    if numeric.ordered is not None and len(numeric.ordered):
        found.append(_ordered_products(graph, graph.add("Concat", *found[:2], axis=1), numeric.ordered))
        both = graph.add("Concat", known, known, axis=1)
        of_factors = (graph.take_columns(both, inputs) for inputs in (numeric.ordered.left, numeric.ordered.right))
        all_known.append(graph.add("Mul", *of_factors))
    raw = graph.add("Concat", *found, axis=1)
    deviations = graph.add("Sub", raw, graph.constant(encoding.means[:n_numeric]))
    in_units = graph.add("Div", deviations, graph.constant(encoding.units[:n_numeric]))
    return graph.add("Mul", in_units, graph.add("Concat", *all_known, axis=1))


def _squashed(graph: Graph, halves: str, numeric: NumericFeatures) -> str:
    """z / √(1 + (z/3)²); halves cannot overflow."""
    ahead = graph.add("Sub", halves, graph.constant(numeric.centers / 2))
    deviations = graph.clip(graph.add("Div", ahead, graph.constant(numeric.scales / 2)), -FARTHEST, FARTHEST)
    share = graph.add("Div", deviations, graph.constant(WIDEST))
    root = graph.add("Sqrt", graph.add("Add", graph.add("Mul", share, share), graph.constant(1.0)))
    return graph.add("Div", deviations, root)


def _ranks(graph: Graph, halves: str, numeric: NumericFeatures) -> str:
    """The sums over the intervals between deciles of how far a value is in each."""
    low, width = numeric.deciles[:, :-1] / 2, np.diff(numeric.deciles / 2, axis=1)
    is_wide = width > 0
    ahead = graph.add("Sub", graph.unsqueezed(halves), graph.constant(low))
    inside = graph.clip(graph.add("Div", ahead, graph.constant(np.where(is_wide, width, 1.0))), 0.0, 1.0)
    side = graph.add("Add", graph.add("Mul", graph.add("Sign", ahead), graph.constant(0.5)), graph.constant(0.5))
    places = graph.add("Where", graph.constant(is_wide), inside, side)
    total = graph.add("ReduceSum", places, graph.constant(np.array([2], dtype=np.int64)), keepdims=0)
    return graph.add("Div", total, graph.constant(float(width.shape[1])))


def _products(graph: Graph, values: str, numeric: NumericFeatures) -> str:
    return graph.add("Mul", graph.take_columns(values, numeric.first), graph.take_columns(values, numeric.second))


def _ordered_products(graph: Graph, inputs: str, products: OrderedProducts) -> str:
    factors = []
    for place, of_factor in enumerate((products.left, products.right)):
        scaled = graph.add("Mul", graph.take_columns(inputs, of_factor), graph.constant(products.slopes[:, place]))
        factors.append(graph.add("Add", scaled, graph.constant(products.constants[:, place])))
    return graph.add("Mul", *factors)


# Boosted trees.


def _boosted(graph: Graph, matrix: str, trees: BoostedTrees, starts: str) -> str:
    scores = sum_leaves(graph, matrix, _boosted_sums(trees))
    if trees.n_classes == 2:
        scores = graph.add("Mul", scores, graph.constant(np.array([[0.0, 1.0]])))
    first = starts or graph.constant(trees.base)
    return graph.add("Softmax", graph.add("Add", scores, first), axis=1)


def _boosted_sums(trees: BoostedTrees) -> LeafSums:
    """Tree t adds to the column t modulo the number of scores."""
    splits, entries = [], []
    for number, (first, end) in enumerate(zip(trees.node_start[:-1], trees.node_start[1:], strict=True)):
        tree = ScoreTree.of(trees, first, end)
        n_leaves = len(tree.leaves)
        splits.append(tree)
        column = np.full(n_leaves, number % trees.n_scores)
        entries.append(Entries(np.arange(n_leaves), column, trees.value[first:end][tree.leaves]))
    return LeafSums(splits, entries, trees.n_scores)
