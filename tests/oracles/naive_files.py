"""A reader of model files that knows no more than docs/model_files.md: no petiole, no NumPy, one row at a time."""

from __future__ import annotations

import hashlib
import json
import math
import struct
from pathlib import Path

NAMES = ("F64", "F32", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL")
LETTERS = dict(zip(NAMES, "dfqihbQIHB?", strict=True))


def read(path):
    """The metadata, and the model as dicts and lists."""
    whole = Path(path).read_bytes()
    (length,) = struct.unpack("<Q", whole[:8])
    header = json.loads(whole[8 : 8 + length])
    metadata = header.pop("__metadata__")
    assert metadata["format"] == "petiole-model" and metadata["format_version"] == "1"
    blank = whole.replace(metadata["checksum"].encode(), b"0" * 64)
    assert hashlib.sha256(blank).hexdigest() == metadata["checksum"]
    arrays = {name: _array(entry, whole[8 + length :]) for name, entry in header.items()}
    made = []
    for described in json.loads(metadata["model"])["objects"]:
        made.append({name: _value(value, arrays, made) for name, value in described.items()})
    return metadata, made[-1]


def _array(entry, data):
    begin, end = entry["data_offsets"]
    n = math.prod(entry["shape"])
    flat = list(struct.unpack(f"<{n}{LETTERS[entry['dtype']]}", data[begin:end]))
    if len(entry["shape"]) < 2:
        return flat
    width = entry["shape"][1]
    return [flat[i * width : (i + 1) * width] for i in range(entry["shape"][0])]


def _value(value, arrays, made):
    if isinstance(value, list):
        return [_value(item, arrays, made) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("$")
    if kind is None:
        return {name: _value(entry, arrays, made) for name, entry in value.items()}
    if kind == "array":
        found = arrays[value["tensor"]]
        return [list(row) for row in zip(*found, strict=True)] if value.get("order") == "F" else found
    if kind == "object":
        return made[value["index"]]
    if kind == "dict":
        return {key: _value(entry, arrays, made) for key, entry in value["items"]}
    if kind in ("tuple", "texts", "objects"):
        return _value(value["items"], arrays, made)
    return float(value["value"]) if kind == "float" else value["value"]


def encode(encoder, row):
    """The row as numbers, NaN for missing."""
    numbers = []
    for column, value in zip(encoder["state"]["columns"], row, strict=True):
        if column["kind"] == "numeric" and value is not None:
            numbers.append(float(value))
        elif column["kind"] == "nominal" and value in column["categories"]:
            numbers.append(float(column["categories"].index(value)))
        else:
            numbers.append(math.nan)
    return numbers


def leaves(tree, x, node=0, weight=1.0):
    """The leaves that a row reaches, with weights."""
    if tree["feature"][node] < 0:
        return [(node, weight)]
    children = tree["child_nodes"][tree["child_start"][node] : tree["child_start"][node + 1]]
    branch = _branch(tree, node, _tested_value(tree, node, x))
    if branch >= 0:
        return leaves(tree, x, children[branch], weight)
    shares = [tree["spread_weights"][child] for child in children]
    total = sum(shares)
    shares = [share / total if total > 0 else 1 / len(children) for share in shares]
    return [
        found
        for child, share in zip(children, shares, strict=True)
        if share > 0
        for found in leaves(tree, x, child, weight * share)
    ]


def _tested_value(tree, node, x):
    begin, end = tree["projection_start"][node : node + 2] if "projection_start" in tree else (0, 0)
    if begin == end:
        return x[tree["feature"][node]]
    return sum(tree["projection_weight"][term] * x[tree["projection_feature"][term]] for term in range(begin, end))


def _branch(tree, node, value):
    begin, end = tree["category_start"][node : node + 2]
    if not math.isnan(value):
        if begin == end:
            return 0 if value <= tree["threshold"][node] else 1
        if value < end - begin and tree["category_branch"][begin + int(value)] >= 0:
            return tree["category_branch"][begin + int(value)]
    return tree["missing_branch"][node]


def predict_pet(model, row):
    """Class probabilities by a PETClassifier."""
    state = model["state"]
    return _mean(state["tree_"]["state"], state["node_probabilities_"], encode(state["encoder_"], row))


def predict_bagged(model, row):
    """Class probabilities by a BaggedPETClassifier with Laplace's correction of in-bag counts."""
    state = model["state"]
    assert state["smoothing_"]["class"] == "Laplace" and state["smoothing_"]["parameters"]["prior"] == 1.0
    x, n_classes = encode(state["encoder_"], row), len(state["classes_"])
    trees = unpack(state["trees_"]["state"]["forest"])
    answers = [_mean(tree, laplace(tree, n_classes), x) for tree in trees]
    return [sum(column) / len(trees) for column in zip(*answers, strict=True)]


def _mean(tree, table, x):
    reached = leaves(tree, x)
    return [sum(weight * table[node][k] for node, weight in reached) for k in range(len(table[0]))]


def laplace(tree, n_classes):
    """A row per node; nodes without rows say what their parents say."""
    table = [None] * len(tree["feature"])
    pending = [(0, None)]
    while pending:
        node, instead = pending.pop()
        counts = tree["inbag_class_counts"][node]
        total = sum(counts)
        table[node] = [(count + 1) / (total + n_classes) for count in counts] if total > 0 else instead
        children = tree["child_nodes"][tree["child_start"][node] : tree["child_start"][node + 1]]
        pending += [(child, table[node]) for child in children]
    return table


def unpack(forest):
    """The trees of a packed forest, with the fields of a Tree that a walk needs."""
    fields = [name for name in forest if f"{name}_size" in forest]
    at = dict.fromkeys(fields, 0)
    trees = []
    for t in range(forest["n_trees"]):
        part = {}
        for name in fields:
            size = forest[f"{name}_size"][t]
            part[name] = forest[name][at[name] : at[name] + size]
            at[name] += size
        trees.append(_unpack_tree(part, forest["n_classes"]))
    return trees


def _unpack_tree(part, n_classes):
    tree = {"feature": [], "threshold": [], "missing_branch": [], "child_start": [0], "category_start": [0]}
    split = 0
    for n in part["n_children"]:
        tree["child_start"].append(tree["child_start"][-1] + n)
        tree["feature"].append(part["feature"][split] if n else -1)
        tree["threshold"].append(part["threshold"][split] if n else math.nan)
        tree["missing_branch"].append(part["missing_branch"][split] - 1 if n and part["missing_branch"] else -1)
        n_categories = part["n_categories"][split] if n and part["n_categories"] else 0
        tree["category_start"].append(tree["category_start"][-1] + n_categories)
        split += n > 0
    if part.get("n_terms"):
        of_splits = iter(part["n_terms"])
        tree["projection_start"] = [0]
        for n in part["n_children"]:
            tree["projection_start"].append(tree["projection_start"][-1] + (next(of_splits) if n else 0))
        tree |= {name: part[name] for name in ("projection_feature", "projection_weight")}
    tree["category_branch"] = [branch - 1 for branch in part["category_branch"]]
    tree["child_nodes"] = part["child_nodes"] or _walk_order(part["n_children"])
    tree["inbag_class_counts"] = _node_counts(tree, _leaf_counts(part, "in_bag", n_classes))
    own = _leaf_counts(part, "spread_weights", 1) or [[sum(row)] for row in _leaf_counts(part, "in_bag", n_classes)]
    tree["spread_weights"] = [row[0] for row in _node_counts(tree, own)]
    return tree


def _walk_order(n_children):
    first, following, stack = [0] * len(n_children), 1, [0]
    while stack:
        node = stack.pop()
        first[node] = following
        stack += reversed(range(following, following + n_children[node]))
        following += n_children[node]
    return [first[node] + branch for node, n in enumerate(n_children) for branch in range(n)]


def _leaf_counts(part, name, n_classes):
    weights, entry, table = part[f"{name}_real"] or part[f"{name}_whole"], 0, []
    for n in part[f"{name}_entries"]:
        table.append([0.0] * n_classes)
        for _ in range(n):
            table[-1][part[f"{name}_class"][entry]] += weights[entry]
            entry += 1
    return table


def _node_counts(tree, of_leaves):
    given = iter(of_leaves)
    table = [next(given) if feature < 0 else None for feature in tree["feature"]]

    def total(node):
        if table[node] is None:
            children = tree["child_nodes"][tree["child_start"][node] : tree["child_start"][node + 1]]
            table[node] = [sum(column) for column in zip(*(total(child) for child in children), strict=True)]
        return table[node]

    total(0)
    return table
