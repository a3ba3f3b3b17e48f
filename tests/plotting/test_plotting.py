"""What the picture of smoothing paths shows."""

import builtins

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from petiole import PETClassifier, Tree
from petiole.plotting import ONE_OF_EACH, smoothing_paths
from petiole.smoothing import HDP, HGS, Curtailment, Laplace, MBranch, MEstimate, Raw

LEAF_B = [3.0, 0.5]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def tree():
    return Tree.from_arrays(
        feature=[0, -1, 1, -1, -1],
        threshold=[2, np.nan, 1, np.nan, np.nan],
        left=[1, -1, 3, -1, -1],
        right=[2, -1, 4, -1, -1],
        inbag_class_counts=[[11, 9], [8, 2], [3, 7], [1, 5], [2, 2]],
    )


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y.map({0: "setosa", 1: "versicolor", 2: "virginica"})


@pytest.fixture(scope="module")
def iris_model(iris):
    return PETClassifier.c44().fit(*iris)


@pytest.fixture(scope="module")
def goods():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"colour": rng.choice(["red", "green", "blue"], 90), "size": rng.normal(size=90)})
    return frame, np.where((frame["colour"] == "red") | (frame["size"] > 1), "sold", "kept")


def curves(ax):
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def labels(ax):
    return [text.get_text() for text in ax.get_xticklabels()]


def answers(ax):
    return [float(line.get_ydata()[0]) for line in ax.lines if line.get_gid() == "answer"]


def numbers_written(ax):
    return [text.get_text() for text in ax.texts if text.get_text().startswith("0.")]


def overlaps(texts):
    boxes = [text.get_window_extent() for text in texts]
    return any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_every_estimator_shows_its_probabilities_at_the_nodes_of_the_path(tree):
    drawn = curves(smoothing_paths(tree, LEAF_B, target_class=1))
    assert len(drawn) == len(ONE_OF_EACH) == 7
    for line, estimator in zip(drawn.values(), ONE_OF_EACH, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), estimator.node_probabilities(tree)[[0, 2, 3], 1])


def test_answers_at_the_leaf_are_drawn_and_written(tree):
    chosen = [Laplace(), MEstimate(m=4), Curtailment(v=7), MBranch(M=4), HGS()]
    ax = smoothing_paths(tree, LEAF_B, target_class=0, estimators=chosen)
    np.testing.assert_allclose(answers(ax), [0.25, 0.32, 0.3, 0.271414, 0.23125], atol=1e-6)
    assert numbers_written(ax) == ["0.25", "0.32", "0.30", "0.27", "0.23"]
    assert labels(ax)[3:] == ["Laplace", "MEstimate", "Curtailment", "MBranch", "HGS"]


def test_the_legend_names_parameters(tree):
    ax = smoothing_paths(tree, LEAF_B, estimators=["laplace", MEstimate(m=4)])
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["raw frequency\n(area of the marker: n)", "Laplace", "MEstimate(m=4)"]


def test_raw_frequencies_are_drawn_once_whatever_is_asked_for(tree):
    for chosen in ([], ["raw"], [Raw()]):
        ax = smoothing_paths(tree, LEAF_B, estimators=chosen, target_class=0)
        assert list(curves(ax)) == ["Raw"]
        assert answers(ax) == []


def test_areas_of_markers_are_in_proportion_to_weights(tree):
    (marks,) = smoothing_paths(tree, LEAF_B).collections
    np.testing.assert_allclose(marks.get_sizes() / marks.get_sizes()[0], [1, 10 / 20, 6 / 20])


def test_nodes_are_labelled_with_rule_and_weight(tree):
    drawn = labels(smoothing_paths(tree, LEAF_B))
    assert drawn[:3] == ["all rows\nn = 20", "x0 >\u00a02\nn = 10", "x1 ≤\u00a01\nn = 6"]
    named = smoothing_paths(tree, [3, 2], feature_names=["age", "dose"], class_names=["ill", "well"], target_class=1)
    assert labels(named)[1:3] == ["age >\u00a02\nn = 10", "dose >\u00a01\nn = 4"]
    assert named.get_ylabel() == "probability of well"


def test_weights_that_are_not_whole_keep_a_decimal(tree):
    light = tree.with_counts(tree.inbag_class_counts * 0.25)
    assert labels(smoothing_paths(light, LEAF_B))[1:3] == ["x0 >\u00a02\nn = 2.5", "x1 ≤\u00a01\nn = 1.5"]


def test_a_tree_of_one_leaf(tree):
    ax = smoothing_paths(tree.pruned_at([0]), LEAF_B, estimators=["laplace"], target_class=0)
    assert labels(ax) == ["all rows\nn = 20", "Laplace"]
    assert answers(ax) == [12 / 22]


def test_the_default_class_is_the_most_probable(tree, iris, iris_model):
    assert smoothing_paths(tree, LEAF_B).get_ylabel() == "probability of class 1"
    row = iris[0].iloc[[120]]
    assert smoothing_paths(iris_model, row).get_ylabel() == f"probability of {iris_model.predict(row)[0]}"


def test_a_classifier_gives_names_and_probabilities(iris, iris_model):
    row = iris[0].iloc[[70]]
    ax = smoothing_paths(iris_model, row, target_class="virginica")
    path = iris_model.tree_.path(iris_model.apply(row)[0])
    np.testing.assert_array_equal(curves(ax)["Laplace"].get_ydata(), iris_model.node_probabilities_[path, 2])
    assert labels(ax)[1].replace("\n", " ") == "petal width (cm) >\u00a00.6 n = 100"
    assert ax.get_title(loc="left") == "From raw frequency to probability of virginica, for one query"


@pytest.mark.filterwarnings("error")
def test_all_forms_of_a_row_are_the_same(goods):
    frame, y = goods
    model = PETClassifier().fit(frame, y)
    forms = [frame.iloc[[3]], frame.iloc[3], frame.iloc[3].tolist(), frame.iloc[3].to_numpy(), frame.to_numpy()[3:4]]
    drawn = [smoothing_paths(model, form, estimators=["hgs"]) for form in forms]
    assert len({(*labels(ax), *answers(ax)) for ax in drawn}) == 1
    assert "colour = " in labels(drawn[0])[1].replace("\u00a0", " ")


def test_a_series_for_a_classifier_without_names(iris):
    X, y = iris
    model = PETClassifier().fit(X.to_numpy(), y)
    assert labels(smoothing_paths(model, X.iloc[70])) == labels(smoothing_paths(model, X.to_numpy()[70]))


def test_the_classifiers_own_estimator_is_added_unless_it_is_there(goods):
    frame, y = goods
    model = PETClassifier(smoothing=HGS(alpha="honest"), random_state=0).fit(frame, y)
    assert not model.smoothing_.needs_held_out
    drawn = curves(smoothing_paths(model, frame.iloc[[0]], target_class="sold"))
    assert len(drawn) == 8
    path = model.tree_.path(model.apply(frame.iloc[[0]])[0])
    np.testing.assert_array_equal(list(drawn.values())[-1].get_ydata(), model.node_probabilities_[path, 1])
    assert list(drawn)[-1].startswith("classifier's HGS(alpha=PerLevel(")
    assert len(curves(smoothing_paths(model.with_smoothing("laplace"), frame.iloc[[0]]))) == 7
    assert len(curves(smoothing_paths(model, frame.iloc[[0]], estimators=[model.smoothing_]))) == 2


def test_a_missing_value_follows_the_heaviest_branch_and_the_title_says_so(tree, goods):
    ax = smoothing_paths(tree, [3, np.nan], target_class=0)
    assert labels(ax)[2] == "x1 ≤\u00a01\nn = 6"
    assert "over 2 leaves" in ax.get_title(loc="left") and "60% of its weight" in ax.get_title(loc="left")
    frame, y = goods
    model = PETClassifier().fit(frame, y)
    assert "Missing values" in smoothing_paths(model, [None, None]).get_title(loc="left")


def test_a_leaf_without_training_rows_shows_its_parents_frequency(tree):
    emptied = tree.with_counts([[10, 9], [8, 2], [2, 7], [0, 0], [2, 7]])
    ax = smoothing_paths(emptied, LEAF_B, target_class=0)
    assert labels(ax)[2] == "x1 ≤\u00a01\nn = 0"
    np.testing.assert_allclose(curves(ax)["Raw"].get_ydata(), [10 / 19, 2 / 9, 2 / 9])


def test_given_axes_are_used(tree):
    figure, (left, right) = plt.subplots(1, 2, layout="constrained")
    assert smoothing_paths(tree, LEAF_B, ax=right) is right
    assert not left.lines and plt.get_fignums() == [figure.number]


def test_labels_and_legend_do_not_overlap(tree, goods):
    frame, y = goods
    model = PETClassifier().fit(frame, y)
    for ax in (smoothing_paths(tree, LEAF_B), smoothing_paths(model, frame.iloc[[0]])):
        ax.figure.draw_without_rendering()
        n_nodes = len(curves(ax)["Raw"].get_xdata())
        assert not overlaps(ax.get_xticklabels()[:n_nodes])
        assert not overlaps([text for text in ax.texts if text.get_text() in numbers_written(ax)])
        assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1
        assert ax.get_legend().get_window_extent().x1 <= ax.figure.bbox.x1


@pytest.mark.parametrize(("depth", "rotation"), [(4, 0), (12, 45), (40, 90)])
def test_long_paths_turn_their_labels(depth, rotation):
    n = 2 * depth + 1
    is_split = np.arange(n) % 2 == 0
    is_split[-1] = False
    left = np.where(is_split, np.arange(n) + 1, -1)
    counts = np.column_stack([n - np.arange(n), np.ones(n)])
    chain = Tree.from_arrays(
        feature=np.where(is_split, 0, -1),
        threshold=np.where(is_split, np.arange(n), np.nan),
        left=left,
        right=np.where(is_split, left + 1, -1),
        inbag_class_counts=counts,
    )
    ax = smoothing_paths(chain, [1e9], feature_names=["a name of some length"])
    node_labels = ax.get_xticklabels()[: depth + 1]
    assert {text.get_rotation() for text in node_labels} == {rotation}
    if rotation != 45:  # boxes of slanted texts overlap even where the texts do not
        ax.figure.draw_without_rendering()
        assert not overlaps(node_labels)


def test_names_with_dollars_are_not_formulas(tree):
    ax = smoothing_paths(tree, LEAF_B, feature_names=["$a_", "b$^"], class_names=["$<1$k", "$_{"])
    ax.figure.draw_without_rendering()
    assert "b$^" in labels(ax)[2]


@pytest.mark.parametrize("unlearned", [HGS(alpha="honest"), MBranch(M="honest"), Curtailment(v="cv")])
def test_estimators_that_were_not_learned_are_refused(tree, unlearned):
    with pytest.raises(ValueError, match=r"estimators\[1\]=.*has to be learned.*smoothing_"):
        smoothing_paths(tree, LEAF_B, estimators=["laplace", unlearned])


def test_errors_say_what_to_do(tree, iris, iris_model):
    X, _ = iris
    with pytest.raises(ValueError, match=r"target_class='rose': must be one of \['setosa', 'versicolor'"):
        smoothing_paths(iris_model, X.iloc[[0]], target_class="rose")
    with pytest.raises(ValueError, match=r"target_class=2: must be one of \[0, 1\]"):
        smoothing_paths(tree, LEAF_B, target_class=2)
    with pytest.raises(ValueError, match=r"x_row: has shape \(3, 4\), must be one row"):
        smoothing_paths(iris_model, X.iloc[:3])
    with pytest.raises(ValueError, match=r"x_row: has shape \(3,\), must be \(2,\)"):
        smoothing_paths(tree, [1, 2, 3])
    with pytest.raises(TypeError, match="must be a fitted PETClassifier or a Tree"):
        smoothing_paths("tree", LEAF_B)
    with pytest.raises(NotFittedError):
        smoothing_paths(PETClassifier(), LEAF_B)
    with pytest.raises(ValueError, match="smoothing='lapalce': must be one of"):
        smoothing_paths(tree, LEAF_B, estimators=["lapalce"])


def test_without_matplotlib_the_error_says_what_to_install(tree, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install matplotlib"):
        smoothing_paths(tree, LEAF_B)


def test_the_same_call_draws_the_same_picture(tree):
    first, second = (answers(smoothing_paths(tree, LEAF_B)) for _ in range(2))
    assert first == second
    assert HDP(n_iter=500, random_state=0).node_probabilities(tree)[3, 1] in first
