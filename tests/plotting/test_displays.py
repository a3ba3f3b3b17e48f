"""Displays draw the numbers of the metrics, for one model or several, and leave nothing behind."""

from __future__ import annotations

import builtins
import re
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from metric_problems import make_problem
from petiole import PETClassifier, comparison, metrics, plotting
from petiole.plotting import (
    CostCurveDisplay,
    GainsDisplay,
    GroupCalibrationDisplay,
    LiftDisplay,
    ProfitDisplay,
    ReliabilityDisplay,
    ScoreScatterDisplay,
    TruthScatterDisplay,
)
from versions import text_slack

JUDGES = [ReliabilityDisplay, LiftDisplay, GainsDisplay, ProfitDisplay, CostCurveDisplay, ScoreScatterDisplay]
ALL = [*JUDGES, TruthScatterDisplay]
GAINS = {"amounts": 10, "cost": 2}


@pytest.fixture(autouse=True)
def no_figures_are_left():
    yield
    plt.close("all")


def table(scores):
    return np.column_stack([1 - np.asarray(scores), scores])


def problem(seed=0, n_rows=60, n_classes=2):
    """Rows of every class, weights among which are zeros, and two models."""
    made = make_problem(seed, n_rows=n_rows, n_classes=n_classes)
    other = make_problem(seed, n_rows=n_rows, n_classes=n_classes, smooth=True).proba
    return made, {"trees": made.proba, "forests": other}


def extra(Display, made):
    """What a display must be given beyond labels and probabilities."""
    if Display is ProfitDisplay:
        return GAINS
    return {"reference": made.proba[::-1]} if Display is ScoreScatterDisplay else {}


def draw(Display, made, proba, **parameters):
    y = made.proba if Display is TruthScatterDisplay else made.y
    given = {"target": made.labels[1], "labels": made.labels} | extra(Display, made) | parameters
    return Display.from_predictions(y, proba, **given)


def with_gid(ax, gid):
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


def points(ax):
    return [line.get_xydata() for line in ax.lines if line.get_gid() == "points"]


def legend_texts(ax):
    return [text.get_text().replace("\u00a0", " ").replace("\n", " ") for text in ax.get_legend().get_texts()]


def histogram_axes(display):
    (bars,) = [ax for ax in display.figure_.axes if ax.get_gid() == "histogram of scores"]
    return bars


# What is drawn


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize(("n_classes", "target"), [(2, None), (2, "b"), (4, None), (4, "d"), (4, "top")])
def test_reliability_is_that_of_the_metric(n_classes, target, strategy):
    made, proba = problem(3, n_classes=n_classes)
    bins = {"target": target, "n_bins": 4, "strategy": strategy, "confidence": 0.8}
    display = ReliabilityDisplay.from_predictions(made.y, proba, **bins, **made.arguments)
    lines, bands = with_gid(display.ax_, "model"), with_gid(display.ax_, "band")
    for name, line, band in zip(proba, lines, bands, strict=True):
        curve = metrics.reliability_curve(made.y, proba[name], **bins, **made.arguments)
        np.testing.assert_array_equal(line.get_xydata(), np.column_stack([curve.mean_score, curve.frequency]))
        corners = band.get_paths()[0].vertices
        for score, *limits in zip(curve.mean_score, curve.lower, curve.upper, strict=True):
            for limit in limits:
                assert np.abs(corners - [score, limit]).sum(axis=1).min() < 1e-12
        del bins["confidence"]
        wanted = "top" if target in (None, "top") and n_classes > 2 else target or made.labels[1]
        error = metrics.expected_calibration_error(made.y, proba[name], **bins | {"target": wanted}, **made.arguments)
        bins["confidence"] = 0.8
        assert display.errors[name] == error


def test_histogram_beneath_holds_all_weight():
    made, proba = problem(1)
    display = ReliabilityDisplay.from_predictions(made.y, proba, **made.arguments)
    steps = with_gid(histogram_axes(display), "histogram")
    for name, step in zip(proba, steps, strict=True):
        shares = step.get_data().values
        inside = (proba[name][:, 1] >= 0.25) & (proba[name][:, 1] < 0.3)
        assert shares.sum() == pytest.approx(1)
        assert shares[5] == pytest.approx(made.weights[inside].sum() / made.weights.sum())


@pytest.mark.parametrize("n_classes", [2, 4])
def test_lift_and_gains_are_those_of_the_metric(n_classes):
    made, proba = problem(5, n_classes=n_classes)
    for name, p in proba.items():
        curve = metrics.lift_curve(made.y, p, target="a", **made.arguments)
        gains = draw(GainsDisplay, made, p, target="a", **made.arguments)
        np.testing.assert_array_equal(with_gid(gains.ax_, "model")[0].get_xdata(), [0, *curve.shares])
        np.testing.assert_array_equal(with_gid(gains.ax_, "model")[0].get_ydata(), [0, *curve.gains])
        lift = draw(LiftDisplay, made, p, target="a", name=name, **made.arguments)
        x, y = with_gid(lift.ax_, "model")[0].get_data()
        np.testing.assert_allclose(np.interp(curve.shares, x, y), curve.lift)
        np.testing.assert_allclose(y, [curve.lift_at(share) for share in x])
        area = metrics.area_under_lift_curve(made.y, p, target="a", **made.arguments)
        assert legend_texts(lift.ax_)[0] == f"{name} (area {area:.3f})"


def test_perfect_order_bounds_lift_and_gains():
    made, proba = problem(6)
    for Display in (LiftDisplay, GainsDisplay):
        display = draw(Display, made, proba, **made.arguments)
        perfect = with_gid(display.ax_, "reference")[0]
        for line in with_gid(display.ax_, "model"):
            x, y = line.get_data()
            assert (y <= np.interp(x, *perfect.get_data()) + 0.02).all()


@pytest.mark.parametrize(
    "money",
    [
        {"amounts": 10, "cost": 2},
        {"amounts": np.arange(60.0), "cost": 2, "average": True},
        {"amounts": np.arange(60.0), "cost": np.linspace(0, 3, 60), "expected_amounts": np.arange(60)[::-1]},
        {"gain": [[0, 1], [-1, 5]]},
    ],
)
def test_profit_is_that_of_the_metric(money):
    made, proba = problem(2)
    display = ProfitDisplay.from_predictions(made.y, proba, **money, **made.arguments)
    decide = {key: value for key, value in money.items() if key != "gain"} | {"actions": [0, 1]}
    for (_, p), line, best in zip(
        proba.items(), with_gid(display.ax_, "model"), with_gid(display.ax_, "best"), strict=True
    ):
        score = p[:, 1] * money.get("expected_amounts", 1.0)
        thresholds, profits = line.get_data()
        for threshold, profit in zip(thresholds[1:-1], profits[1:-1], strict=True):
            decisions = (score > threshold).astype(int)
            said = metrics.profit(made.y, p, money.get("gain"), decisions=decisions, **decide, **made.arguments)
            assert profit == pytest.approx(said, abs=1e-9)
        assert best.get_ydata()[0] == profits.max()
        x = best.get_xdata()[0]
        assert profits[np.searchsorted(thresholds, x, side="right") - 1] == pytest.approx(profits.max())


def test_profit_over_shares_and_what_the_legend_says():
    y, proba = [0, 1, 0, 1], table([0.1, 0.4, 0.6, 0.8])
    display = ProfitDisplay.from_predictions(y, proba, amounts=10, cost=4, name="tree")
    assert legend_texts(display.ax_) == ["tree (best 8 at 0.25)", "break-even 0.4: best for true probabilities"]
    over = ProfitDisplay.from_predictions(y, proba, amounts=10, cost=4, over="shares")
    np.testing.assert_array_equal(with_gid(over.ax_, "model")[0].get_data(), [[1, 0.75, 0.5, 0.25, 0], [4, 8, 2, 6, 0]])
    everybody = ProfitDisplay.from_predictions(y, proba, [[0, 0], [1, 1]], name="tree")
    assert legend_texts(everybody.ax_) == ["tree (best 4, acting on all rows)"]
    nobody = ProfitDisplay.from_predictions(y, proba, amounts=1, cost=4, name="tree")
    assert legend_texts(nobody.ax_) == ["tree (best 0, acting on no row)"]


def test_a_great_loss_does_not_flatten_the_profit():
    scores = np.append(np.full(1000, 0.01), np.linspace(0.1, 0.9, 9))
    y = np.append(np.zeros(1000), np.ones(9)).astype(int)
    display = ProfitDisplay.from_predictions(y, table(scores), amounts=2, cost=1)
    assert display.ax_.get_ylim()[0] > -10


@pytest.mark.parametrize("n_classes", [2, 4])
def test_cost_curve_is_that_of_the_metric(n_classes):
    made, proba = problem(4, n_classes=n_classes)
    display = draw(CostCurveDisplay, made, proba, **made.arguments)
    lines, decided = with_gid(display.ax_, "model"), with_gid(display.ax_, "decisions")
    for name, line, own in zip(proba, lines, decided, strict=True):
        curve = metrics.cost_curve(made.y, proba[name], target=made.labels[1], **made.arguments)
        np.testing.assert_array_equal(line.get_data(), [curve.probability_cost, curve.cost])
        x, y = own.get_data()
        np.testing.assert_array_equal(y, curve.cost_of_decisions(x))
    trivial = {line.get_label(): line.get_data() for line in with_gid(display.ax_, "reference")}
    np.testing.assert_array_equal(trivial["always a"], [[0, 1], [1, 0]])
    np.testing.assert_array_equal(trivial["never a"], [[0, 1], [0, 1]])
    assert not with_gid(draw(CostCurveDisplay, made, proba, decisions=False).ax_, "decisions")


def test_scores_against_scores():
    made, proba = problem(7)
    reference = proba.pop("forests")
    kept = made.weights > 0
    parameters = {"reference": {"forests": reference}, **made.arguments}
    display = ScoreScatterDisplay.from_predictions(made.y, proba, **parameters)
    expected = np.column_stack([reference[kept, 1], proba["trees"][kept, 1]])
    np.testing.assert_array_equal(points(display.ax_)[0], expected)
    change = np.average(np.abs(expected[:, 0] - expected[:, 1]), weights=made.weights[kept])
    rate = np.average((made.y == made.labels[1])[kept], weights=made.weights[kept])
    assert legend_texts(display.ax_) == [f"trees (mean change {change:.3f})", "no change", f"base rate {rate:.3g}"]
    assert "by forests" in display.ax_.get_xlabel()


def test_sorted_scores_as_in_the_paper():
    raw, smoothed = [0.5, 0.0, 1.0, 0.25], [0.4, 0.1, 0.7, 0.3]
    parameters = {"reference": {"raw": table(raw)}, "kind": "sorted"}
    display = ScoreScatterDisplay.from_predictions(None, {"smoothed": table(smoothed)}, **parameters)
    np.testing.assert_array_equal(points(display.ax_)[0], [[1, 0.1], [2, 0.3], [3, 0.4], [4, 0.7]])
    (line,) = with_gid(display.ax_, "reference")
    assert line.get_label() == "raw"
    np.testing.assert_array_equal(line.get_data(), [[1, 2, 3, 4], [0, 0.25, 0.5, 1]])


@pytest.mark.parametrize("target", [None, "c"])
def test_truth_of_many_classes(target):
    rng = np.random.default_rng(0)
    truth, said = rng.dirichlet(np.ones(3), 20), rng.dirichlet(np.ones(3), 20)
    weights = rng.integers(0, 3, 20)
    parameters = {"labels": ["a", "b", "c"], "target": target, "sample_weight": weights}
    display = TruthScatterDisplay.from_predictions(truth, said, name="tree", **parameters)
    columns = slice(None) if target is None else slice(2, 3)
    twice = np.repeat(np.arange(20), weights)  # weight 2 is a row twice
    error = np.sqrt(np.mean((truth[twice, columns] - said[twice, columns]) ** 2))
    assert display.errors["tree"] == pytest.approx(error)
    kept = weights > 0
    expected = np.column_stack([truth[kept, columns].ravel(), said[kept, columns].ravel()])
    np.testing.assert_array_equal(points(display.ax_)[0], expected)
    assert legend_texts(display.ax_)[0] == f"tree (RMSE {error:.3f})"


def test_error_of_labels_taken_as_truth_is_the_rmse_of_the_metrics():
    made, proba = problem(8, n_classes=3)
    truth = (made.y[:, None] == made.labels).astype(float)
    display = TruthScatterDisplay.from_predictions(truth, proba, labels=made.labels, sample_weight=made.weights)
    for name, p in proba.items():
        assert display.errors[name] == pytest.approx(metrics.rmse(made.y, p, **made.arguments))


# Weights


@pytest.mark.parametrize("Display", ALL)
def test_weight_two_is_a_row_twice(Display):
    made, proba = problem(9)
    weights = np.random.default_rng(0).integers(0, 3, len(made.y))
    twice = np.repeat(np.arange(len(made.y)), weights)

    def drawn(rows, sample_weight):
        more = {"reference": made.proba[::-1][rows]} if Display is ScoreScatterDisplay else {}
        y = made.proba if Display is TruthScatterDisplay else made.y
        p = {name: each[rows] for name, each in proba.items()}
        parameters = extra(Display, made) | more | {"labels": made.labels, "sample_weight": sample_weight}
        return Display.from_predictions(y[rows], p, **parameters).ax_

    weighted, repeated = drawn(slice(None), weights), drawn(twice, None)
    if Display is LiftDisplay:  # areas by ranks are those of whole rows, and the same
        assert legend_texts(weighted) == legend_texts(repeated)
    if Display in (ScoreScatterDisplay, TruthScatterDisplay):
        assert legend_texts(weighted) == legend_texts(repeated)
        return
    for one, other in zip(with_gid(weighted, "model"), with_gid(repeated, "model"), strict=True):
        np.testing.assert_allclose(one.get_xydata(), other.get_xydata(), atol=1e-9)


# Estimators


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    return X, names[y]


@pytest.fixture(scope="module")
def models(iris):
    X, y = iris
    return {
        "petiole": PETClassifier.c44().fit(X[::2], y[::2]),
        "a pipeline": make_pipeline(StandardScaler(), LogisticRegression()).fit(X[::2], y[::2]),
        "sklearn": DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[::2], y[::2]),
    }


@pytest.mark.parametrize("Display", ALL)
def test_estimators_and_predictions_draw_the_same(Display, iris, models):
    X, y = iris[0][1::2], iris[1][1::2]
    proba = {name: model.predict_proba(X) for name, model in models.items()}
    truth = proba["a pipeline"] if Display is TruthScatterDisplay else y
    parameters = {"target": "virginica"} | (GAINS if Display is ProfitDisplay else {})
    reference = Display is ScoreScatterDisplay
    of_models = parameters | ({"reference": {"base": models["sklearn"]}} if reference else {})
    of_tables = parameters | ({"reference": {"base": proba["sklearn"]}} if reference else {})
    one = Display.from_estimator(models, X, truth, **of_models)
    other = Display.from_predictions(truth, proba, labels=["setosa", "versicolor", "virginica"], **of_tables)
    assert legend_texts_anywhere(one) == legend_texts_anywhere(other)
    for line, same in zip(one.ax_.lines, other.ax_.lines, strict=True):
        np.testing.assert_array_equal(line.get_xydata(), same.get_xydata())
    assert one.ax_.get_xlabel() == other.ax_.get_xlabel()


def legend_texts_anywhere(display):
    return next(legend_texts(ax) for ax in display.figure_.axes if ax.get_legend())


def test_a_single_estimator_is_called_by_its_class(iris, models):
    X, y = iris
    first = LiftDisplay.from_estimator(models["petiole"], X, y, target="setosa")
    assert list(first.curves) == ["PETClassifier"]
    assert list(LiftDisplay.from_estimator(models["petiole"], X, y, target="setosa", name="C4.4").curves) == ["C4.4"]


def test_rows_of_some_classes_and_models_that_know_others(iris, models):
    X, y = iris
    seen = y != "setosa"
    two = LogisticRegression().fit(X[seen], y[seen])
    display = GainsDisplay.from_estimator({"two": two, "three": models["petiole"]}, X, y, target="virginica")
    both = [line.get_ydata()[-1] for line in with_gid(display.ax_, "model")]
    assert both == [1, 1]
    some = LiftDisplay.from_estimator(models["petiole"], X[seen], y[seen], target="virginica")
    assert some.prior == 0.5


def test_estimators_get_their_weights_and_labels(iris, models):
    X, y = iris
    weights = np.where(y == "setosa", 0, 1)
    display = GainsDisplay.from_estimator(models["petiole"], X, y, target="virginica", sample_weight=weights)
    assert display.prior == 0.5


@pytest.mark.parametrize("labels", [[0, 1], [False, True], ["no", "yes"], [1.0, 2.0]])
@pytest.mark.parametrize("Display", JUDGES)
def test_labels_of_any_type(Display, labels):
    y = np.array(labels)[[0, 1, 1, 0]]
    more = {"reference": table([0.5] * 4)} if Display is ScoreScatterDisplay else {}
    more |= GAINS if Display is ProfitDisplay else {}
    display = Display.from_predictions(y, table([0.2, 0.7, 0.4, 0.4]), **more)
    words = labels[1] if isinstance(labels[1], str) else f"class {labels[1]}"
    assert display.target == words
    named = [*display.figure_.axes[-1].get_xlabel().split("\n"), display.ax_.get_ylabel()]
    assert any(words in text for text in named)


# Axes, figures, legends


@pytest.mark.parametrize("Display", ALL)
def test_one_figure_and_no_other(Display):
    made, proba = problem()
    display = draw(Display, made, proba)
    assert plt.get_fignums() == [display.figure_.number]
    assert display.ax_.figure is display.figure_
    assert display.plot(display.ax_) is display
    assert plt.get_fignums() == [display.figure_.number]


@pytest.mark.parametrize("Display", ALL)
def test_a_second_model_finds_its_place(Display):
    made, proba = problem()
    together = draw(Display, made, proba)
    first = draw(Display, made, proba["trees"], name="trees")
    second = draw(Display, made, proba["forests"], name="forests", ax=first.ax_)
    assert second.ax_ is first.ax_
    assert len(plt.get_fignums()) == 2
    assert legend_texts_anywhere(first) == legend_texts_anywhere(together)
    for one, other in zip(with_gid(first.ax_, "model"), with_gid(together.ax_, "model"), strict=True):
        assert one.get_color() == other.get_color()
        np.testing.assert_array_equal(one.get_xydata(), other.get_xydata())
    assert len(with_gid(first.ax_, "reference")) == len(with_gid(together.ax_, "reference"))
    assert first.figure_.get_figheight() == together.figure_.get_figheight()
    assert len(first.figure_.axes) == len(together.figure_.axes)


@pytest.mark.parametrize("Display", ALL)
def test_on_axes_that_are_given(Display):
    made, proba = problem()
    figure, axes = plt.subplots(1, 2)
    display = draw(Display, made, proba, ax=axes[1])
    assert display.ax_ is axes[1] and display.figure_ is figure
    assert axes[1].get_legend() is not None  # within, as this figure makes no room
    assert not axes[0].lines
    figure.canvas.draw()
    placed = plt.figure().add_axes((0.1, 0.1, 0.8, 0.8))
    assert draw(Display, made, proba, ax=placed).ax_ is placed


@pytest.mark.parametrize("Display", [ReliabilityDisplay, LiftDisplay])
def test_in_a_part_of_a_figure(Display):
    made, proba = problem()
    figure = plt.figure(layout="constrained")
    part = figure.subfigures(1, 2)[1]
    assert draw(Display, made, proba, ax=part.add_subplot()).figure_ is part
    figure.canvas.draw()


@pytest.mark.parametrize("Display", ALL)
def test_style_and_legend(Display):
    made, proba = problem()
    display = draw(Display, made, proba, color="black", legend="none")
    assert all(ax.get_legend() is None for ax in display.figure_.axes)
    assert {line.get_color() for line in with_gid(display.ax_, "model")} == {"black"}
    inside = draw(Display, made, proba, legend="inside")
    assert inside.ax_.get_legend() is not None


@pytest.mark.parametrize("Display", ALL)
def test_texts_lie_inside_the_figure_and_apart(Display):
    made, proba = problem()
    names = ["RandomForestClassifier(n_estimators=500, max_features='sqrt', min_samples_leaf=3, random_state=0)"]
    names += ["_$begins_with$ an underscore", "M" * 60]
    y = made.proba if Display is TruthScatterDisplay else made.y
    labels = np.array(["a class with a name of many, many words", "another class with a name that is long"])
    y = y if Display is TruthScatterDisplay else labels[(y == made.labels[1]).astype(int)]
    tables = dict(zip(names, [made.proba, proba["forests"], made.proba], strict=True))
    display = Display.from_predictions(y, tables, labels=labels, **extra(Display, made))
    display.figure_.canvas.draw()
    frame = display.figure_.bbox
    boxes = []
    for ax in display.figure_.axes:
        texts = [ax.xaxis.label, ax.yaxis.label, ax._left_title]
        texts += ax.get_legend().get_texts() if ax.get_legend() else []
        boxes += [text.get_window_extent() for text in texts if text.get_text()]
    for place, box in enumerate(boxes):
        assert box.x0 >= frame.x0 - text_slack and box.x1 <= frame.x1 + text_slack
        assert box.y0 >= frame.y0 - 1 and box.y1 <= frame.y1 + 1
        assert not any(box.overlaps(other) for other in boxes[:place])
    assert len(legend_texts_anywhere(display)) >= 3
    assert "_$begins_with$ an underscore" in legend_texts_anywhere(display)[1]


@pytest.mark.parametrize("Display", ALL)
@pytest.mark.parametrize("scores", [[0.0, 1.0], [1.0, 0.0], [0.5, 0.5], [1e-9, 1 - 1e-9]])
def test_few_rows_and_extreme_probabilities(Display, scores):
    more = {"reference": table([0.2, 0.9])} if Display is ScoreScatterDisplay else {}
    more |= GAINS if Display is ProfitDisplay else {}
    y = table([0.0, 1.0]) if Display is TruthScatterDisplay else [0, 1]
    display = Display.from_predictions(y, table(scores), **more)
    display.figure_.canvas.draw()
    for limits in (display.ax_.get_xlim(), display.ax_.get_ylim()):
        assert np.isfinite(limits).all() and limits[0] < limits[1]


def test_more_models_than_colours():
    made, proba = problem()
    display = GainsDisplay.from_predictions(made.y, {f"model {i}": proba["trees"] for i in range(12)})
    looks = {(line.get_color(), str(line.get_linestyle())) for line in with_gid(display.ax_, "model")}
    assert len(with_gid(display.ax_, "model")) == 12 and len(looks) >= 9


def test_displays_made_by_hand_and_drawn_again():
    curve = metrics.lift_curve([0, 1], table([0.2, 0.6]))
    display = LiftDisplay({"by hand": curve}, {"by hand": 2.0}, prior=0.5, target="fraud")
    assert not plt.get_fignums()
    assert "fraud" in display.plot().ax_.get_ylabel()
    first = display.ax_
    assert display.plot().ax_ is not first


def test_data_frames_of_probabilities():
    proba = pd.DataFrame(table([0.2, 0.6, 0.4]), columns=["no", "yes"])
    assert list(LiftDisplay.from_predictions(pd.Series(["no", "yes", "yes"]), proba).curves) == ["model"]


# Errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"proba": {}}, "proba={}: must hold at least one model"),
        ({"proba": {"a": [[0.5, 0.6]]}}, r"proba\['a'\]\[0\] sums to 1.1"),
        ({"proba": [0.2, 0.6]}, r"column_stack"),
        ({"name": "x"}, "name='x': is for a single model"),
        ({"target": "z"}, "target='z': must be one of the classes"),
        ({"labels": ["a"]}, "labels="),
        ({"sample_weight": [-1, 1]}, r"sample_weight\[0\]=-1.0"),
        ({"legend": "top"}, "legend='top': must be one of"),
        ({"proba": {1: table([0.2, 0.6]), "1": table([0.2, 0.6])}}, "read the same; rename one"),
    ],
)
@pytest.mark.parametrize("Display", ALL)
def test_errors_say_what_to_do_and_leave_no_figure(Display, arguments, message):
    more = {"reference": table([0.2, 0.9])} if Display is ScoreScatterDisplay else {}
    more |= GAINS if Display is ProfitDisplay else {}
    y = table([0.3, 0.9]) if Display is TruthScatterDisplay else ["b", "a"]
    given = {"proba": {"m": table([0.2, 0.6])}, **more, **arguments}
    with pytest.raises(ValueError, match=message):
        Display.from_predictions(y, given.pop("proba"), **given)
    assert not plt.get_fignums()


@pytest.mark.parametrize("Display", ALL)
def test_a_style_that_matplotlib_refuses_leaves_no_figure(Display):
    made, proba = problem()
    with pytest.raises(AttributeError):
        draw(Display, made, proba, colour="black")
    assert not plt.get_fignums()


@pytest.mark.parametrize(
    ("Display", "arguments", "message"),
    [
        (ReliabilityDisplay, {"n_bins": 0}, "n_bins=0: must be a whole number at least 1"),
        (ReliabilityDisplay, {"confidence": 1}, "confidence=1: must be"),
        (ProfitDisplay, {"amounts": 1, "over": "rows"}, "over='rows': must be one of 'thresholds', 'shares'"),
        (ProfitDisplay, {}, "gain and amounts: must pass one of the two"),
        (CostCurveDisplay, {"decisions": "no"}, "decisions='no': must be True or False"),
        (ScoreScatterDisplay, {"reference": table([0.5]), "name": None}, "must have the same rows and classes"),
        (ScoreScatterDisplay, {"reference": {"a": 1, "b": 2}}, "reference: has 2 models, must have one"),
        (ScoreScatterDisplay, {"reference": table([0.5, 0.5]), "kind": "line"}, "kind='line': must be one of"),
    ],
)
def test_errors_of_single_displays(Display, arguments, message):
    with pytest.raises(ValueError, match=message):
        Display.from_predictions(["b", "a"], table([0.2, 0.6]), **arguments)
    assert not plt.get_fignums()


def test_labels_are_no_true_probabilities():
    with pytest.raises(ValueError, match="y_true has shape"):
        TruthScatterDisplay.from_predictions([0, 1], table([0.2, 0.6]))
    with pytest.raises(ValueError, match="y_true has"):
        TruthScatterDisplay.from_predictions(np.eye(3), table([0.2, 0.6, 0.1]))


@pytest.mark.parametrize("Display", [LiftDisplay, GainsDisplay, CostCurveDisplay, ScoreScatterDisplay, ProfitDisplay])
def test_of_many_classes_one_must_be_chosen(Display):
    more = {"reference": np.eye(3)} if Display is ScoreScatterDisplay else {}
    more |= GAINS if Display is ProfitDisplay else {}
    with pytest.raises(ValueError, match=r"target=None: must be one of the classes \[0, 1, 2\]"):
        Display.from_predictions([0, 1, 2], np.eye(3), **more)


@pytest.mark.parametrize("Display", ALL)
def test_estimators_that_cannot_answer(Display, iris):
    X, y = iris
    parameters = {"target": "virginica"} | ({"reference": 1} if Display is ScoreScatterDisplay else {})
    truth = np.full((len(y), 3), 1 / 3) if Display is TruthScatterDisplay else y
    if Display is ScoreScatterDisplay:
        parameters["reference"] = PETClassifier().fit(X, y)
    with pytest.raises(NotFittedError):
        Display.from_estimator(PETClassifier(), X, truth, **parameters)
    with pytest.raises(TypeError, match="must be a classifier with predict_proba"):
        Display.from_estimator(LinearSVC().fit(X, y), X, truth, **parameters)
    with pytest.raises(TypeError, match=r"estimator 'b' is (?s:.*)must be a fitted classifier; use from_predictions"):
        Display.from_estimator({"b": np.eye(3)}, X, truth, **parameters)
    with pytest.raises(ValueError, match="lacks the class"):
        Display.from_estimator(PETClassifier().fit(X, y), X, truth, labels=["setosa", "virginica"], **parameters)
    assert not plt.get_fignums()


def test_calibrated_models_are_models(iris):
    X, y = iris
    model = CalibratedClassifierCV(LinearSVC(), cv=2).fit(X, y)
    assert ReliabilityDisplay.from_estimator(model, X, y).target is None


@pytest.mark.parametrize("Display", ALL)
def test_without_matplotlib_the_error_names_the_extra(Display, monkeypatch):
    made, proba = problem()
    real_import = builtins.__import__

    def without_matplotlib(name, *arguments, **keywords):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real_import(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(ImportError, match=r"needs matplotlib: pip install matplotlib"):
        draw(Display, made, proba)


def test_importing_does_not_import_matplotlib():
    import subprocess

    script = "import petiole.plotting, sys; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_everything_is_reachable_from_one_place():
    assert plotting.critical_difference_diagram is comparison.critical_difference_diagram
    assert plotting.smoothing_paths.__module__.startswith("petiole.plotting")
    assert all(hasattr(plotting, name) for name in plotting.__all__)


def test_the_code_of_the_page_runs():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(80, 3))
    label = np.where(Z[:, 0] + rng.normal(size=80) > 0, "yes", "no")
    tree = PETClassifier(smoothing="raw").fit(Z, label)
    laplace = tree.with_smoothing("laplace")
    names = {
        **{"model": tree, "tree": tree, "smoothed": {"Laplace": laplace}, "learners": {"Laplace": laplace}},
        **{"X_new": Z, "y_new": label, "Z_new": Z, "label_new": label, "y": label},
        "proba": {"random forest": laplace.predict_proba(Z)},
        "truth_new": laplace.predict_proba(Z),
        "scores": rng.random((6, 3)),
    }
    page = (Path(__file__).parents[2] / "docs" / "pictures.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 9
    for block in blocks:
        exec(re.sub(r".*savefig.*", "", block), names)
    for picture in re.findall(r"\]\((images/.*?)\)", page):
        assert (Path(__file__).parents[2] / "docs" / picture).exists()


# By group.


def test_groups_are_drawn_where_the_metric_says():
    made, tables = problem(n_rows=400)
    groups = pd.DataFrame({"a": np.arange(400) % 3, "b": np.where(np.arange(400) % 2, "x", None)})
    display = GroupCalibrationDisplay.from_predictions(made.y, tables, groups, **made.arguments)
    for line, (name, table) in zip(frame_lines(display), tables.items(), strict=True):
        found = metrics.calibration_by_group(made.y, table, groups, **made.arguments)
        assert display.tables[name].group.tolist() == ["a: 0", "a: 1", "a: 2", "b: x", "b: missing"]
        np.testing.assert_allclose(line.get_xdata(), found.frequency - found.mean_score)
        assert name in line.get_label() and f"{found.error.max():.3f}" in line.get_label().replace("\u00a0", " ")
    again = GroupCalibrationDisplay.from_predictions(made.y, tables["trees"], groups, ax=display.ax_, **made.arguments)
    assert len(frame_lines(again)) == 3


def frame_lines(display):
    return [line for line in display.ax_.lines if line.get_gid() == "model"]


def test_groups_of_an_estimator_and_many_classes():
    X, y = load_iris(return_X_y=True)
    model = PETClassifier(max_depth=2).fit(X, y)
    display = GroupCalibrationDisplay.from_estimator(model, X, y, groups=X[:, 0] > 6)
    assert "probable class" in display.ax_.get_xlabel()
    with pytest.raises(ValueError, match="groups=None"):
        GroupCalibrationDisplay.from_estimator(model, X, y)
    many = GroupCalibrationDisplay.from_estimator(model, X, y, groups=np.arange(150).astype(str), target=1)
    assert len(many.shown) == 30
