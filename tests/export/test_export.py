"""Models for other runtimes say what petiole says: ONNX graphs in onnxruntime, C compiled by the system's compiler."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from petiole import (
    BaggedPETClassifier,
    BinnedNaiveBayesClassifier,
    LazyOptionTreesClassifier,
    MOBESPClassifier,
    PETClassifier,
    ProbabilityForestClassifier,
)
from petiole.export import ExportError, to_c, to_onnx

TOLERANCE = 1e-6
COMPILER = shutil.which("cc") or shutil.which("gcc")

MODELS = {
    "tree": PETClassifier.c44(),
    "pruned": PETClassifier.c45(),
    "tree, binary nominal": PETClassifier(nominal_splits="binary"),
    "tree, missing apart": PETClassifier(missing="separate"),
    "forest": BaggedPETClassifier.eb_pets(n_estimators=9, random_state=0),
    "HGS forest": BaggedPETClassifier(n_estimators=6, smoothing="hgs", nominal_splits="binary", random_state=0),
    "votes": BaggedPETClassifier(n_estimators=6, voting=True, random_state=0),
    "smoothed votes": BaggedPETClassifier(n_estimators=6, voting="laplace", random_state=0),
}
VOTED = {
    "MOB-ESP": MOBESPClassifier(n_estimators=12, random_state=0),
    "MOB-ESP, few voters": MOBESPClassifier(n_estimators=12, voters="as_out_of_bag", random_state=0),
    "MOB-ESP, shared": MOBESPClassifier(n_estimators=12, rows="shared", oob_weight="auto", random_state=0),
    "pool": ProbabilityForestClassifier(n_estimators=16, random_state=0),
    "pool of one kind": ProbabilityForestClassifier(
        n_estimators=8, max_features="sqrt", components=("eb", "oob"), missing="separate", random_state=0
    ),
    "pool of votes": ProbabilityForestClassifier(n_estimators=8, components=("votes",), random_state=0),
}


def numeric_problem(seed, n_rows=120, n_classes=3):
    """Few values, hence ties in splits and votes; in single precision, which C reads."""
    random = np.random.default_rng(seed)
    X = (random.integers(0, 12, (n_rows, 5)) / 3).astype(np.float32)
    y = ((X[:, 0] + X[:, 1] + random.normal(0, 0.7, n_rows)).astype(int)) % n_classes
    return X.astype(float), np.array(["no", "yes", "perhaps", "never"])[y]


def mixed_problem(seed, missing, n_rows=150):
    """Texts, whole-number categories and numbers as a pandas frame."""
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(seed)
    size = (random.integers(0, 9, n_rows) / 2).astype(np.float32).astype(float)
    colour = random.choice(["red", "green", "blue", "grün", "a,b"], n_rows).astype(object)
    code = random.choice([10, 20, 30], n_rows)
    y = (size > 2).astype(int) + (colour == "red") + (code == 20) * random.integers(0, 2, n_rows)
    if missing:
        size[random.random(n_rows) < 0.15] = np.nan
        colour[random.random(n_rows) < 0.15] = None
    return pandas.DataFrame({"size": size, "colour": pandas.Categorical(colour), "code": pandas.Categorical(code)}), y


def ask_onnx(source, X):
    session = pytest.importorskip("onnxruntime").InferenceSession(source)
    inputs = session.get_inputs()
    if [one.name for one in inputs] == ["X"]:
        given = {"X": np.asarray(X, dtype=float)}
    else:
        given = {one.name: _column(X[one.name], one.type) for one in inputs}
    return session.run(["label", "probabilities"], given)


def _column(column, kind):
    if kind == "tensor(string)":
        return np.array([["" if value is None or value != value else value] for value in column.astype(object)])
    return column.to_numpy(dtype=np.int64 if kind == "tensor(int64)" else float).reshape(-1, 1)


@pytest.mark.parametrize("name", [*MODELS, *VOTED])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_onnx_equals_predict_proba_on_numbers(name, n_classes):
    X, y = numeric_problem(1, n_classes=n_classes)
    model = (MODELS | VOTED)[name].fit(X, y)
    queries = numeric_problem(2)[0]
    label, proba = ask_onnx(to_onnx(model), queries)
    np.testing.assert_allclose(proba, model.predict_proba(queries), atol=TOLERANCE, rtol=0)
    sure = np.sort(proba, axis=1)[:, -1] - np.sort(proba, axis=1)[:, -2] > TOLERANCE
    assert sure.sum() > 50
    assert np.array_equal(np.asarray(label)[sure], model.predict(queries)[sure])


@pytest.mark.parametrize("name", [*MODELS, *VOTED])
def test_onnx_equals_predict_proba_on_categories(name):
    X, y = mixed_problem(1, missing=False)
    model = (MODELS | VOTED)[name].fit(X, y)
    queries = mixed_problem(2, missing=False)[0]
    label, proba = ask_onnx(to_onnx(model), queries)
    answered = ~np.isnan(proba[:, 0])
    assert answered.mean() > 0.5
    np.testing.assert_allclose(proba[answered], model.predict_proba(queries)[answered], atol=TOLERANCE, rtol=0)
    assert label.dtype == np.int64


@pytest.mark.parametrize("name", [*MODELS, *VOTED])
def test_onnx_gives_no_answer_where_rows_are_divided(name):
    X, y = mixed_problem(1, missing=True)
    model = (MODELS | VOTED)[name].fit(X, y)
    proba = ask_onnx(to_onnx(model), X)[1]
    expected = model.predict_proba(X)
    answered = ~np.isnan(proba[:, 0])
    assert answered.any()
    np.testing.assert_allclose(proba[answered], expected[answered], atol=TOLERANCE, rtol=0)
    # Nobody who lacks a number that all trees begin with is answered, unless that has a branch of its own.
    if getattr(model, "missing", "fractional") == "fractional" and name == "tree":
        assert not answered[np.isnan(X["size"])].any()


def test_missing_values_with_a_branch_of_their_own_are_answered():
    X, y = numeric_problem(3)
    X[::7, 0], X[::5, 1] = np.nan, np.nan
    model = PETClassifier(missing="separate").fit(X, np.isnan(X[:, 0]) ^ (y == "no"))
    proba = ask_onnx(to_onnx(model), X)[1]
    known = ~np.isnan(proba[:, 0])
    assert known[np.isnan(X[:, 0])].any()
    np.testing.assert_allclose(proba[known], model.predict_proba(X)[known], atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("labels", [[True, False], [1.0, 2.0], [7, -7], ["a", "b"]])
def test_onnx_labels_have_their_type(labels):
    X, y = numeric_problem(4, n_classes=2)
    y = np.array(labels)[(y == "yes").astype(int)]
    model = PETClassifier().fit(X, y)
    assert (ask_onnx(to_onnx(model), X)[0] == model.predict(X)).all()


def test_onnx_of_real_data(load_real, tmp_path):
    X, y = load_real("segment")[:2]
    model = ProbabilityForestClassifier(n_estimators=32, random_state=0).fit(X[::2], y[::2])
    path = tmp_path / "segment.onnx"
    assert to_onnx(model, path) == path.read_bytes()
    proba = ask_onnx(path.read_bytes(), X[1::2])[1]
    np.testing.assert_allclose(proba, model.predict_proba(X[1::2]), atol=TOLERANCE, rtol=0)


def test_categories_that_onnx_cannot_look_up_are_refused():
    X = np.array([[0.5], [1.5], [0.5], [1.5]] * 5)
    model = PETClassifier(categorical_features=[0]).fit(X, X[:, 0] > 1)
    with pytest.raises(ExportError, match=r"'x0' has categories such as 0\.5"):
        to_onnx(model)


@pytest.mark.parametrize("write", [to_onnx, to_c])
@pytest.mark.parametrize("model", [LazyOptionTreesClassifier(2), BinnedNaiveBayesClassifier()])
def test_models_that_cannot_be_written_are_refused_with_the_reason(write, model):
    X, y = numeric_problem(5)
    with pytest.raises(ExportError, match=rf"a {type(model).__name__} cannot be written as .*: .* Export one of"):
        write(model.fit(X, y))


@pytest.mark.parametrize("write", [to_onnx, to_c])
def test_models_that_are_not_fitted_are_refused(write):
    with pytest.raises(ValueError, match="not fitted"):
        write(PETClassifier())


# C


class Compiled:
    """A C file as a function from rows to probabilities."""

    def __init__(self, source, n_classes, folder, name="petiole_model"):
        (folder / "model.c").write_text(source, encoding="utf-8")
        flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
        subprocess.run([COMPILER, *flags, "model.c", "-o", "model.so"], cwd=folder, check=True)
        self.predict = getattr(ctypes.CDLL(str(folder / "model.so")), f"{name}_predict")
        self.n_classes = n_classes

    def __call__(self, rows):
        rows = np.ascontiguousarray(rows, dtype=np.float32)
        proba = np.full((len(rows), self.n_classes), np.nan, dtype=np.float32)
        for row, out in zip(rows, proba, strict=True):
            self.predict(row.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p))
        return proba


needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler (cc or gcc) is on the path")


@needs_compiler
@pytest.mark.parametrize("name", MODELS)
def test_c_equals_predict_proba_with_categories_and_missing_values(name, tmp_path):
    X, y = mixed_problem(1, missing=True)
    model = MODELS[name].fit(X, y)
    queries = mixed_problem(2, missing=True)[0]
    compiled = Compiled(to_c(model), len(model.classes_), tmp_path)
    proba = compiled(model.encoder_.transform(queries))
    np.testing.assert_allclose(proba, model.predict_proba(queries), atol=TOLERANCE, rtol=0)


@needs_compiler
@pytest.mark.parametrize("name", ["tree", "forest"])
def test_c_sends_every_single_precision_value_where_petiole_sends_it(name, tmp_path):
    """Thresholds between neighbours of single precision: rounded up they would be on the wrong side."""
    random = np.random.default_rng(6)
    X = np.float32(1) + random.integers(0, 200, (300, 3)).astype(np.float32) * np.finfo(np.float32).eps
    y = random.integers(0, 3, 300)
    model = MODELS[name].fit(X, y)
    proba = Compiled(to_c(model, name="m"), 3, tmp_path, "m")(X)
    np.testing.assert_allclose(proba, model.predict_proba(X), atol=TOLERANCE, rtol=0)


@needs_compiler
def test_c_of_real_data(load_real, tmp_path):
    X, y = load_real("vote")[:2]
    model = PETClassifier.c44(smoothing="hgs").fit(X, y)
    proba = Compiled(to_c(model, path=tmp_path / "again.c"), 2, tmp_path)(model.encoder_.transform(X))
    np.testing.assert_allclose(proba, model.predict_proba(X), atol=TOLERANCE, rtol=0)
    assert (tmp_path / "again.c").read_text(encoding="utf-8") == (tmp_path / "model.c").read_text(encoding="utf-8")


@needs_compiler
def test_a_tree_that_is_one_leaf_and_names_that_end_comments(tmp_path):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"*/ int x; /*": [1.0, 2.0], "line\nbreak ??/": ["a */", "b"]})
    model = PETClassifier().fit(X, ["one", "one"])
    compiled = Compiled(to_c(model), 1, tmp_path)
    assert compiled(np.zeros((1, 2))).tolist() == [[1.0]]


def test_c_says_its_size_and_allocates_nothing():
    X, y = numeric_problem(7)
    source = to_c(PETClassifier(max_depth=3).fit(X, y), name="small")
    assert "malloc" not in source
    size = int(source.split("Tables: ")[1].split(" bytes")[0])
    assert 0 < size < 400


@pytest.mark.parametrize("name", ["1st", "a-b", "größe", ""])
def test_a_name_must_be_one_in_c(name):
    X, y = numeric_problem(8)
    with pytest.raises(ExportError, match="must be a name in C"):
        to_c(PETClassifier().fit(X, y), name=name)
