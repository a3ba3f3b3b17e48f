"""Every member of the probability forest's pool says in onnxruntime what it says in petiole."""

import dataclasses

import numpy as np
import pytest

from petiole import ProbabilityForestClassifier
from petiole._estimates.members import FOREST, MEMBERS, fit_members
from petiole._forest.log_pool import LogPool
from petiole._table.encoder import FeatureEncoder
from petiole._table.rows import EncodedRows
from petiole.export import to_onnx
from petiole.export.onnx_columns import add_inputs
from petiole.export.onnx_graph import Graph
from petiole.export.onnx_members import add_member

pandas = pytest.importorskip("pandas")
onnxruntime = pytest.importorskip("onnxruntime")

# Linear models are all in double precision; sums over trees come back in single precision.
TOLERANCES = {name: 1e-6 if name == "boosted" else 1e-12 for name in MEMBERS}
KINDS = ("numbers", "categories", "numbers and categories")


def problem(seed, kind, n_rows=300, n_classes=3):
    """Numbers with ties and far outliers, common and rare categories, missing values everywhere."""
    random = np.random.default_rng(seed)
    numbers = {
        "smooth": random.normal(0, 1, n_rows),
        "tied": random.integers(0, 4, n_rows).astype(float),
        "far": random.standard_cauchy(n_rows) * 1e6,
        "constant": np.full(n_rows, 7.0),
        "unknown": np.full(n_rows, np.nan),
    }
    colours = np.array([f"colour {i}" for i in range(12)], dtype=object)
    shares = 0.6 ** np.arange(12)
    categories = {
        "colour": random.choice(colours, n_rows, p=shares / shares.sum()),
        "code": random.integers(0, 5, n_rows).astype(float) * 10,
    }
    score = random.normal(0, 0.3, n_rows)
    if "numbers" in kind:
        score += numbers["smooth"] * numbers["tied"]
    if "categories" in kind:
        score += (categories["code"] == 20) + 2 * (categories["colour"] == "colour 1") * (categories["code"] > 20)
    labels = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    for values in (numbers["smooth"], numbers["far"], categories["colour"], categories["code"]):
        values[random.random(n_rows) < 0.1] = None if values.dtype == object else np.nan
    columns = {}
    if "numbers" in kind:
        columns |= numbers
    if "categories" in kind:
        code = pandas.Categorical(categories["code"]).rename_categories(lambda code: int(code))
        columns |= {"colour": pandas.Categorical(categories["colour"], colours), "code": code}
    return pandas.DataFrame(columns), labels


def fitted(name, kind, n_classes, corrects=False):
    """An encoder, a member fitted on its rows, and the scores that boosted trees begin with."""
    frame, labels = problem(1, kind, n_classes=n_classes)
    encoder, matrix = FeatureEncoder.fit(frame)
    rows = encoded(encoder, matrix, labels, n_classes)
    starts = scores(len(rows), n_classes) if corrects else None
    return encoder, fit_members([name], rows, 0, starts, 1).members.models.get(name)


def encoded(encoder, matrix, labels, n_classes):
    return EncodedRows(matrix, labels.astype(np.int32), None, encoder.n_categories, np.arange(n_classes))


def scores(n_rows, n_classes):
    return np.log(np.random.default_rng(3).dirichlet(np.ones(n_classes), n_rows))


def ask(encoder, member, frame, starts=None):
    """What the graph of the member alone answers."""
    graph = Graph()
    matrix = add_inputs(graph, encoder)
    name = "" if starts is None else graph.input("starts", np.float64, member.n_classes)
    proba = add_member(graph, matrix, member, name)
    graph.output(proba, "probabilities", np.float64, ["rows", member.n_classes])
    session = onnxruntime.InferenceSession(graph.finish("member", "", {}).SerializeToString())
    given = inputs_of(session, frame) | ({} if starts is None else {"starts": starts})
    return session.run(None, given)[0]


def inputs_of(session, frame):
    """The columns of a frame as the session wants them; a text or code that is missing is one never seen."""
    wanted = [one for one in session.get_inputs() if one.name != "starts"]
    if [one.name for one in wanted] == ["X"]:
        return {"X": frame.to_numpy(dtype=float)}
    return {one.name: _column(frame[one.name], one.type) for one in wanted}


def _column(column, kind):
    if kind == "tensor(string)":
        return column.astype(object).where(column.notna(), "never seen").to_numpy(dtype=object).reshape(-1, 1)
    if kind == "tensor(int64)":
        return column.astype(object).where(column.notna(), -99).to_numpy(dtype=np.int64).reshape(-1, 1)
    return column.to_numpy(dtype=float).reshape(-1, 1)


@pytest.mark.parametrize("n_classes", [2, 7])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MEMBERS)
def test_a_member_alone_answers_as_in_petiole(name, kind, n_classes):
    encoder, member = fitted(name, kind, n_classes)
    if member is None:
        assert (name, kind) == ("curved", "categories")
        return
    queries = problem(2, kind)[0]
    expected = member.answer(encoder.transform(queries))
    assert np.ptp(expected, axis=0).min() > 1e-3
    found = ask(encoder, member, queries)
    np.testing.assert_allclose(found, expected, atol=TOLERANCES[name], rtol=0)


@pytest.mark.parametrize("n_classes", [2, 7])
def test_boosted_trees_that_correct_another_model(n_classes):
    encoder, member = fitted("boosted", KINDS[2], n_classes, corrects=True)
    queries = problem(2, KINDS[2])[0]
    starts = scores(len(queries), n_classes)
    expected = member.answer(encoder.transform(queries), starts=starts)
    np.testing.assert_allclose(ask(encoder, member, queries, starts), expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", MEMBERS)
def test_the_ends_of_what_numbers_can_be(name):
    encoder, member = fitted(name, "numbers", 3)
    most, least = np.finfo(float).max, np.finfo(float).tiny
    queries = pandas.DataFrame({column: [most, -most, least, 0.0, np.nan] for column in encoder.feature_names})
    expected = member.answer(encoder.transform(queries))
    np.testing.assert_allclose(ask(encoder, member, queries), expected, atol=TOLERANCES[name], rtol=0)


@pytest.mark.parametrize("name", MEMBERS)
def test_models_of_several_fits_are_averaged(name):
    encoder, one = fitted(name, "numbers", 3)
    frame, labels = problem(5, "numbers")
    rows = encoded(encoder, encoder.transform(frame), labels, 3)
    member = one.joined([fit_members([name], rows, 1, None, 1).members.models[name]])
    expected = member.answer(encoder.transform(frame))
    np.testing.assert_allclose(ask(encoder, member, frame), expected, atol=TOLERANCES[name], rtol=0)


@pytest.mark.parametrize("name", ["linear", "kernel"])
def test_rows_without_features_are_answered_by_the_base_rates(name):
    frame = pandas.DataFrame({"constant": [1.0] * 40})
    encoder, matrix = FeatureEncoder.fit(frame)
    rows = encoded(encoder, matrix, np.arange(40) % 3, 3)
    member = fit_members([name], rows, 0, None, 1).members.models[name]
    expected = member.answer(matrix[:1])
    np.testing.assert_allclose(ask(encoder, member, frame), expected, atol=1e-12, rtol=0)


def test_values_of_a_column_that_was_empty_in_training_are_missing():
    frame, labels = problem(1, KINDS[2])
    frame["note"] = np.full(len(frame), None, dtype=object)
    encoder, matrix = FeatureEncoder.fit(frame)
    rows = encoded(encoder, matrix, labels, 3)
    member = fit_members(["kernel"], rows, 0, None, 1).members.models["kernel"]
    expected = member.answer(matrix)
    np.testing.assert_allclose(ask(encoder, member, frame.assign(note=5.0)), expected, atol=1e-12, rtol=0)


def with_equal_weights(model):
    """The same classifier with every component of its pool weighed alike."""
    estimate = model._estimate
    pool = LogPool(np.full(estimate.pool.weights.shape, 0.3), estimate.pool.intercepts, estimate.pool.floor)
    model._keep_estimate(dataclasses.replace(estimate, pool=pool))
    return model


@pytest.mark.parametrize("kind", KINDS)
def test_the_pool_with_all_members(kind, monkeypatch):
    monkeypatch.setattr("petiole._estimates.pool.LEAST_WEIGHT", 0.0)
    frame, labels = problem(1, kind, n_classes=4)
    model = ProbabilityForestClassifier(n_estimators=12, missing="separate", random_state=0).fit(frame, labels)
    model = with_equal_weights(model)
    assert {"linear", "kernel"} <= set(model.members_.names)
    if kind == KINDS[2]:
        assert model.members_.names == list(MEMBERS)
        assert model.members_.needs_starts
    check_answered_rows(model, problem(2, kind)[0])


def test_merged_forests_with_members():
    frames = [problem(seed, "numbers") for seed in (1, 2)]
    members = (FOREST, "linear", "boosted")
    models = [
        ProbabilityForestClassifier(n_estimators=8, members=members, missing="separate", random_state=seed).fit(X, y)
        for seed, (X, y) in enumerate(frames)
    ]
    check_answered_rows(models[0].merged(models[1]), frames[0][0])


def check_answered_rows(model, frame):
    """Rows that no tree divides are answered, others are NaN in all classes."""
    session = onnxruntime.InferenceSession(to_onnx(model))
    label, proba = session.run(["label", "probabilities"], inputs_of(session, frame))
    lost = np.isnan(proba)
    assert (lost.any(axis=1) == lost.all(axis=1)).all()
    answered = ~lost[:, 0]
    assert answered.mean() > 0.3
    expected = model.predict_proba(frame)[answered]
    np.testing.assert_allclose(proba[answered], expected, atol=1e-6, rtol=0)
    top = np.sort(expected, axis=1)
    sure = top[:, -1] - top[:, -2] > 1e-6
    assert (np.asarray(label)[answered][sure] == model.classes_[expected.argmax(axis=1)][sure]).all()
