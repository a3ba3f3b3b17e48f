"""Trees as text, tables and pictures."""

import builtins
import textwrap

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.tree import DecisionTreeClassifier

from petiole._tree.drawing import OKABE_ITO
from petiole._tree.text import export_text
from petiole._tree.tree import Tree

NAN = np.nan
COLOURS = ["red", "blue", "green", "grey", "pink"]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def golden(**changes):
    arrays = {
        "feature": [0, -1, 1, -1, -1],
        "threshold": [2, NAN, 1, NAN, NAN],
        "left": [1, -1, 3, -1, -1],
        "right": [2, -1, 4, -1, -1],
        "inbag_class_counts": [[11, 9], [8, 2], [3, 7], [1, 5], [2, 2]],
    }
    return Tree.from_arrays(**arrays | changes)


def nominal():
    """Colour: red -> 1, {blue, green} -> 2, missing -> 5, grey -> empty leaf 6. Node 2: size known?"""
    return Tree(
        feature=[0, -1, 1, -1, -1, -1, -1],
        threshold=[NAN, NAN, np.inf, NAN, NAN, NAN, NAN],
        child_start=[0, 4, 4, 6, 6, 6, 6, 6],
        child_nodes=[1, 2, 5, 6, 3, 4],
        missing_branch=[2, -1, 1, -1, -1, -1, -1],
        category_start=[0, 5, 5, 5, 5, 5, 5, 5],
        category_branch=[0, 1, 1, 3, -1],
        inbag_class_counts=[[9, 10], [4, 1], [4, 6], [3, 1], [1, 5], [1, 2], [0, 0]],
    )


def one_split(category_branch=(), missing_branch=-1, threshold=NAN, counts=((5, 3), (4, 1), (1, 2))):
    """A root and a leaf per branch."""
    n = len(counts) - 1
    return Tree(
        feature=[0] + [-1] * n,
        threshold=[threshold] + [NAN] * n,
        child_start=[0] + [n] * (n + 1),
        child_nodes=np.arange(n) + 1,
        missing_branch=[missing_branch] + [-1] * n,
        category_start=[0] + [len(category_branch)] * (n + 1),
        category_branch=list(category_branch),
        inbag_class_counts=counts,
    )


def chain(thresholds):
    """Each split has a leaf on the left and the next split on the right."""
    node = np.arange(2 * len(thresholds) + 1)
    is_split = (node % 2 == 0) & (node < node[-1])
    feature, left, right = (np.where(is_split, value, -1) for value in (0, node + 1, node + 2))
    threshold = np.append(np.repeat(thresholds, 2), NAN)
    counts = np.ones((node.size, 2))
    return golden(feature=feature, left=left, right=right, threshold=threshold, inbag_class_counts=counts)


def from_sklearn(model):
    tree = model.tree_
    return Tree.from_arrays(
        feature=np.where(tree.children_left < 0, -1, tree.feature),
        threshold=tree.threshold,
        left=tree.children_left,
        right=tree.children_right,
        inbag_class_counts=tree.value[:, 0, :] * tree.weighted_n_node_samples[:, None],
        n_features=tree.n_features,
    )


def iris(max_depth=4):
    data = load_iris()
    model = DecisionTreeClassifier(max_depth=max_depth, random_state=0).fit(data.data, data.target)
    return from_sklearn(model), {"feature_names": data.feature_names, "class_names": data.target_names}


def text(expected):
    return textwrap.dedent(expected).strip("\n")


def rules(tree, **names):
    return tree.to_frame(**names)["rule"].tolist()[1:]


def test_golden_text():
    expected = text("""
        x0 <= 2: class 0 (10.0)
        x0 > 2
        |   x1 <= 1: class 1 (6.0)
        |   x1 > 1: class 0 (4.0)
    """)
    assert golden().export_text() == expected == export_text(golden())


def test_names_and_probabilities():
    counts = golden().inbag_class_counts
    laplace = (counts + 1) / (counts + 1).sum(axis=1, keepdims=True)
    names = {"feature_names": ["petal\nwidth", "y"], "class_names": np.array(["no", "yes"])}
    assert golden().export_text(probabilities=laplace, decimals=3, **names) == text("""
        petal width <= 2: no (10.0)  [0.750 0.250]
        petal width > 2
        |   y <= 1: yes (6.0)  [0.250 0.750]
        |   y > 1: no (4.0)  [0.500 0.500]
    """)
    assert "x0 <= 2: class 1 (10.0)  [0.25 0.75]" in golden().export_text(probabilities=laplace[:, ::-1])


def test_nominal_text():
    names = {"feature_names": ["colour", "size"], "categories": [COLOURS, None]}
    assert nominal().export_text(**names) == text("""
        colour = red: class 0 (5.0)
        colour in {blue, green}
        |   size is known: class 0 (4.0)
        |   size is missing: class 1 (6.0)
        colour is missing: class 1 (3.0)
        colour in {grey} (no training rows): class 1 (0.0)
    """)
    assert "x0 in {1, 2}" in nominal().export_text()


def test_max_depth():
    assert golden().export_text(max_depth=0) == "class 0 (20.0)  ... (4 more nodes)"
    assert golden().export_text(max_depth=1) == text("""
        x0 <= 2: class 0 (10.0)
        x0 > 2: class 1 (10.0)  ... (2 more nodes)
    """)
    assert golden().export_text(max_depth=2) == golden().export_text()
    assert golden().pruned_at(0).export_text() == "class 0 (20.0)"
    tree, _ = iris(max_depth=None)
    hidden = [line.split("(")[-1].split()[0] for line in tree.export_text(max_depth=2).splitlines() if "..." in line]
    assert sum(map(int, hidden)) == (tree.node_depth > 2).sum()


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        ({"threshold": 0.5}, ["x0 <= 0.5", "x0 > 0.5"]),
        ({"threshold": 0.5, "missing_branch": 0}, ["x0 <= 0.5 or missing", "x0 > 0.5"]),
        ({"threshold": 0.5, "missing_branch": 1}, ["x0 <= 0.5", "x0 > 0.5 or missing"]),
        ({"threshold": np.inf, "missing_branch": 1}, ["x0 is known", "x0 is missing"]),
        ({"threshold": np.inf}, ["x0 is known", "x0 > inf"]),
        ({"category_branch": [1, 0, 1]}, ["x0 = 1", "x0 in {0, 2}"]),
        ({"category_branch": [1, 0, 1], "missing_branch": 0}, ["x0 = 1 or missing", "x0 in {0, 2}"]),
        ({"category_branch": [0, -1], "missing_branch": 1}, ["x0 = 0", "x0 is missing"]),
        ({"category_branch": [0, 0]}, ["x0 in {0, 1}", "x0 in {}"]),
        ({"category_branch": [0] * 9 + [1]}, ["x0 in {0, 1, 2, 3, 4, 5, 6, ... 2 more}", "x0 = 9"]),
        ({"category_branch": [0] * 8 + [1]}, ["x0 in {0, 1, 2, 3, 4, 5, 6, 7}", "x0 = 8"]),
        (
            {"category_branch": [0, 1], "missing_branch": 1, "counts": ((4, 1), (4, 1), (0, 0))},
            ["x0 = 0", "x0 in {1} or missing (no training rows)"],
        ),
        (
            {"threshold": 3, "missing_branch": 2, "counts": ((3, 3), (1, 1), (1, 1), (1, 1))},
            ["x0 <= 3", "x0 > 3", "x0 is missing"],
        ),
    ],
)
def test_rules(split, expected):
    assert rules(one_split(**split)) == expected


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        (0.8000000000000003, "0.8"),
        (1 / 3, "0.333333"),
        (1_600_000_000.5, "1600000000.5"),
        (-123456.5, "-123456.5"),
        (1e-12, "1e-12"),
        (2.5e200, "2.5e+200"),
        (0.0, "0"),
    ],
)
def test_threshold_digits(threshold, expected):
    assert rules(one_split(threshold=threshold))[0] == f"x0 <= {expected}"
    assert chain([threshold, threshold]).export_text().count(f"x0 <= {expected}:") == 2


@pytest.mark.parametrize("seed", range(20))
def test_different_thresholds_of_a_feature_look_different(seed):
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-8, 8)
    pool = rng.normal() * scale * (1 + 10.0 ** -rng.uniform(3, 14, size=6) * rng.choice([-1, 1], 6))
    tree = chain(rng.choice(pool, 12))
    shown = {line.split("<= ")[1].split(":")[0] for line in tree.export_text().splitlines() if "<=" in line}
    assert len(shown) == len(set(tree.threshold[~tree.is_leaf]))


def test_weights_and_trees_without_rows():
    assert one_split(threshold=1, counts=((1, 2), (0.001, 0), (2.25, 1))).export_text() == text("""
        x0 <= 1: class 0 (0.001)
        x0 > 1: class 0 (3.2)
    """)
    empty = golden(inbag_class_counts=np.zeros((5, 2)))
    assert empty.export_text(max_depth=1).splitlines()[0] == "x0 <= 2 (no training rows): ? (0.0)"


@pytest.mark.parametrize("show", ["export_text", "plot"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feature_names": ["a"]}, "feature_names: has 1 entries; the tree needs 2"),
        ({"class_names": ["a", "b", "c"]}, "class_names: has 3 entries; the tree needs 2"),
        ({"categories": [COLOURS]}, "categories: has 1 entries; the tree needs 2, one per feature"),
        ({"categories": [["red"], None]}, r"categories\[0\]: has 1 names; the tree needs 5"),
        ({"probabilities": np.ones((2, 2))}, r"probabilities: has shape \(2, 2\), must be \(7, 2\)"),
        ({"probabilities": np.full((7, 2), NAN)}, "probabilities: must be finite"),
        ({"max_depth": -1}, "max_depth=-1: must be 0 or more"),
    ],
)
def test_display_refuses(show, options, message):
    with pytest.raises(ValueError, match=message):
        getattr(nominal(), show)(**options)


def test_deep_tree_needs_no_recursion():
    tree = chain(np.arange(3000))
    assert tree.export_text().count("\n") == 5999
    assert tree.export_text(max_depth=1).endswith("... (5998 more nodes)")
    assert tree.plot().get_legend() is not None


def test_to_frame():
    frame = golden().to_frame(feature_names=["a", "b"], class_names=["no", "yes"])
    assert frame.columns.tolist() == (
        ["node", "parent", "depth", "kind", "feature", "threshold", "rule", "n_inbag", "n_no", "n_yes"]
    )
    assert frame["rule"].tolist() == ["", "a <= 2", "a > 2", "b <= 1", "b > 1"]
    assert frame["kind"].tolist() == ["numeric", "leaf", "numeric", "leaf", "leaf"]
    assert frame["feature"].fillna("").tolist() == ["a", "", "b", "", ""]
    assert frame["n_inbag"].tolist() == [20, 10, 10, 6, 4]
    assert frame["n_yes"].tolist() == [9, 2, 7, 5, 2]
    assert golden().to_frame().columns[-2:].tolist() == ["n_0", "n_1"]
    assert golden().to_frame(class_names=["inbag", "inbag"]).shape == (5, 10)


@pytest.mark.parametrize(
    ("module", "method", "message"),
    [
        ("pandas", "to_frame", r"pip install pandas"),
        ("matplotlib.pyplot", "plot", r"pip install matplotlib"),
    ],
)
def test_missing_extra(monkeypatch, module, method, message):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == module:
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=message):
        getattr(golden(), method)()


def drawn_boxes(ax):
    """Bounding boxes in pixels, by node."""
    ax.figure.canvas.draw()
    patches = [patch for patch in ax.patches if (patch.get_gid() or "").startswith("node-")]
    return {int(patch.get_gid()[5:]): patch.get_window_extent() for patch in patches}


def drawn_text(ax):
    return [item.get_text().replace("\u00a0", " ") for item in ax.texts]


def assert_tidy(ax):
    """No two boxes overlap, all text is inside the axes, and each line of a box is inside that box."""
    boxes = list(drawn_boxes(ax).values())
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
    labels = [item.get_window_extent() for item in ax.texts]
    assert max(label.width for label in labels) <= boxes[0].width
    labels += [item.get_window_extent() for item in ax.get_legend().get_texts()]
    for i, label in enumerate(labels):
        assert not any(label.overlaps(other) for other in labels[:i])
        crossed = [box for box in boxes if box.overlaps(label)]
        assert all(box.x0 <= label.x0 and label.x1 <= box.x1 and box.y0 <= label.y0 for box in crossed)
    whole = ax.get_window_extent()
    for part in (*boxes, *labels):
        assert whole.x0 <= part.x0 and part.x1 <= whole.x1 and whole.y0 <= part.y0 and part.y1 <= whole.y1


def test_plot_golden():
    ax = golden().plot()
    assert set(drawn_boxes(ax)) == {0, 1, 2, 3, 4}
    assert_tidy(ax)
    assert {"x0 ≤ 2", "x1 ≤ 1", "n = 20", "n = 6   p = 0.83", "yes", "no"} <= set(drawn_text(ax))
    assert [item.get_text() for item in ax.get_legend().get_texts()] == ["class 0", "class 1"]


@pytest.mark.parametrize("max_depth", [0, 1, 2, 3, 4, None])
def test_plot_iris(max_depth):
    tree, names = iris(max_depth=None)
    ax = tree.plot(max_depth=max_depth, **names)
    shown = np.flatnonzero(tree.node_depth <= (tree.depth if max_depth is None else max_depth))
    assert set(drawn_boxes(ax)) == set(shown)
    assert_tidy(ax)
    hidden = [int(line.split("(")[1].split()[0]) for line in drawn_text(ax) if line.startswith("…")]
    assert sum(hidden) == tree.n_nodes - shown.size


def test_plot_nominal():
    ax = nominal().plot(feature_names=["colour", "size"], categories=[COLOURS, None])
    assert len(drawn_boxes(ax)) == 7
    assert_tidy(ax)
    assert {"colour", "size is known", "red", "blue, green", "grey", "missing"} <= set(drawn_text(ax))


def test_plot_long_and_odd_names():
    names = {
        "feature_names": ["the $x_1$ of a feature with far too many words in its name", "s" * 80],
        "class_names": ["a class that needs more than one line of text", "$\\frac{$"],
        "categories": [[f"category number {i}" for i in range(5)], None],
    }
    ax = nominal().plot(**names)
    assert_tidy(ax)
    assert any(line.endswith("…") for line in drawn_text(ax))
    del names["categories"]
    ax = golden(inbag_class_counts=np.full((5, 2), 1e12 / 7)).plot(**names)
    assert_tidy(ax)
    assert {"≤ 2", "≤ 1"} <= set(drawn_text(ax))


@pytest.mark.parametrize("n_classes", [1, 2, 8, 9, 20, 21, 60])
def test_plot_any_number_of_classes(n_classes):
    tree = golden(inbag_class_counts=np.ones((5, n_classes)))
    ax = tree.plot()
    assert_tidy(ax)
    colors = [handle.get_facecolor() for handle in ax.get_legend().legend_handles]
    assert len(set(colors)) == n_classes
    if n_classes <= 8:
        assert [matplotlib.colors.to_hex(color).upper() for color in colors] == OKABE_ITO[:n_classes]


def test_plot_draws_the_probabilities():
    table = np.tile([0.25, 0.75], (5, 1))
    ax = golden().plot(probabilities=table, colors=["red", "blue"])
    bars = [patch for patch in ax.patches if isinstance(patch, matplotlib.patches.Rectangle)]
    assert len(bars) == 10
    widths = np.array([bar.get_width() for bar in bars]).reshape(5, 2)
    np.testing.assert_allclose(widths / widths.sum(axis=1, keepdims=True), table)
    assert bars[1].get_x() == pytest.approx(bars[0].get_x() + bars[0].get_width())
    assert drawn_text(ax).count("class 1") == 3
    with pytest.raises(ValueError, match="colors: has 1 entries, must have 2"):
        golden().plot(colors=["red"])


def test_edges_are_as_thick_as_the_share_of_rows():
    ax = nominal().plot()
    edges = [patch for patch in ax.patches if isinstance(patch, matplotlib.patches.PathPatch)]
    width = {round(edge.get_linewidth(), 6) for edge in edges}
    assert len(edges) == 6
    assert max(width) == pytest.approx(0.8 + 6.2 * 10 / 19) and min(width) == pytest.approx(0.8)
    assert [edge.get_linestyle() for edge in edges].count(":") == 1


def test_plot_into_given_axes_scales_everything():
    _, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
    tree, _ = iris()
    for ax, shown in ((left, golden()), (right, tree.pruned_at([4, 5]))):
        assert shown.plot(ax=ax) is ax
        assert_tidy(ax)
    assert len(plt.get_fignums()) == 1


def test_too_many_leaves_to_draw():
    data = load_digits()
    tree = from_sklearn(DecisionTreeClassifier(random_state=0, criterion="log_loss").fit(data.data, data.target))
    assert_tidy(tree.plot())
    many = one_split(category_branch=range(300), counts=np.ones((301, 2)))
    with pytest.raises(ValueError, match="more than 200 leaves to draw; lower max_depth"):
        many.plot()
