"""``model.explain``: sums, laws of Shapley values, and what an explanation says and refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from petiole import (
    BaggedPETClassifier,
    BinnedNaiveBayesClassifier,
    BoostedPETClassifier,
    MOBESPClassifier,
    OOBCalibratedClassifier,
    PETClassifier,
    ProbabilityForestClassifier,
)
from petiole.explanations import explain

EVERY = ("forest", "linear", "curved", "kernel", "boosted")
MODELS = {
    "tree": PETClassifier(),
    "mean": BaggedPETClassifier(6, random_state=0),
    "votes": BaggedPETClassifier(6, random_state=0, voting="laplace"),
    "oblique": BaggedPETClassifier(6, random_state=0, splits="oblique", smoothing="hgs"),
    "winner": MOBESPClassifier(6, random_state=0),
    "shared": MOBESPClassifier(6, random_state=0, rows="shared", voters="as_out_of_bag"),
    "boosted": BoostedPETClassifier(max_iter=20, random_state=0),
    "separate": ProbabilityForestClassifier(6, random_state=0, missing="separate", members=("forest",)),
    "pool": ProbabilityForestClassifier(6, random_state=0, members=EVERY),
    "eb": ProbabilityForestClassifier(6, random_state=0, components=("eb", "oob"), floor=0.1),
    "calibrated": OOBCalibratedClassifier(BaggedPETClassifier(12, random_state=0)),
}
# Of 14 columns all sets would be many: these have four.
N_COLUMNS = 4


def problem(seed, n_classes=2, n=120):
    """Numbers, categories and gaps; the last column tells nothing and is the same everywhere."""
    random = np.random.default_rng(seed)
    number = random.integers(0, 5, n).astype(float)
    X = pd.DataFrame({"number": number, "town": random.choice(["a", "b", "c"], n), "noise": random.normal(size=n)})
    X["same"] = 7.0
    y = (number + (X["town"] == "b") + random.normal(size=n) > 2.5).to_numpy().astype(int)
    if n_classes == 3:
        y = y + (random.random(n) < 0.2)
    X.loc[random.random(n) < 0.1, "number"] = np.nan
    X.loc[random.random(n) < 0.1, "town"] = None
    return X, y


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def fitted(request):
    X, y = problem(request.param, request.param)
    return X, {name: type(model)(**model.get_params(deep=False)).fit(X, y) for name, model in MODELS.items()}


def log_odds(proba):
    logs = np.log(proba)
    n_classes = logs.shape[1]
    return (n_classes * logs - logs.sum(axis=1, keepdims=True)) / (n_classes - 1)


@pytest.mark.parametrize("name", MODELS)
def test_values_add_up_to_the_answers(fitted, name):
    X, models = fitted
    model, queries = models[name], X[30:60]
    for background in (None, X[:15]):
        for output in ("probability", "log_odds"):
            if output == "log_odds" and name not in ("boosted", "separate", "pool", "eb"):
                continue
            found = model.explain(queries, output=output, background=background)
            proba = model.predict_proba(queries)
            expected = proba if output == "probability" else log_odds(proba)
            np.testing.assert_allclose(found.answers, expected, atol=1e-9)
            np.testing.assert_allclose(found.values.sum(axis=2), 0, atol=1e-9)  # what one class gains others lose
            np.testing.assert_allclose(found.values[:, 3], 0, atol=1e-12)  # a column that is never tested
            assert np.isfinite(found.values).all()


@pytest.mark.parametrize("name", MODELS)
def test_rows_do_not_depend_on_each_other(fitted, name):
    X, models = fitted
    whole = models[name].explain(X[:20])
    part = models[name].explain(X[5:9])
    np.testing.assert_allclose(whole[5:9].values, part.values, atol=1e-12)
    np.testing.assert_allclose(whole.base_values, part.base_values, atol=1e-12)


@pytest.mark.parametrize("name", ["tree", "mean", "votes", "boosted"])
def test_interventional_values_are_those_of_the_whole_model(fitted, name):
    """For sums over leaves they are exact: equal to those from all sets of columns."""
    X, models = fitted
    output = "log_odds" if name == "boosted" else "probability"
    by_trees = models[name].explain(X[:8], output=output, background=X[40:52])
    by_sets = models[name].explain(X[:8], output=output, background=X[40:52], method="exact")
    np.testing.assert_allclose(by_trees.values, by_sets.values, atol=1e-9)
    np.testing.assert_allclose(by_trees.base_values, by_sets.base_values, atol=1e-9)


@pytest.mark.parametrize("name", ["winner", "shared", "separate", "pool", "calibrated"])
def test_values_by_a_rule_are_near_those_of_the_whole_model(fitted, name):
    """They are no Shapley values of the whole model, but nearly so."""
    X, models = fitted
    output = "log_odds" if name in ("separate", "pool") else "probability"
    exact = models[name].explain(X[:20], output=output, background=X[40:60], method="exact").values.ravel()
    for background in (None, X[40:60]):
        found = models[name].explain(X[:20], output=output, background=background).values.ravel()
        assert np.corrcoef(found, exact)[0, 1] > 0.8


@pytest.mark.parametrize("name", ["mean", "pool"])
def test_sampled_values_come_near_the_exact_ones(fitted, name):
    X, models = fitted
    output = "log_odds" if name == "pool" else "probability"
    exact = models[name].explain(X[:6], output=output, background=X[40:50], method="exact")
    few, many = (
        models[name].explain(X[:6], output=output, background=X[40:50], method="sampled", n_permutations=n)
        for n in (20, 400)
    )
    assert many.standard_errors.mean() < few.standard_errors.mean() / 3
    off = np.abs(many.values - exact.values)[:, :3]
    assert (off <= 4 * many.standard_errors[:, :3] + 1e-9).mean() > 0.95
    np.testing.assert_allclose(many.answers, exact.answers, atol=1e-9)  # whatever is drawn
    np.testing.assert_allclose(few.answers, exact.answers, atol=1e-9)


def test_a_copy_of_a_column_takes_half_in_the_linear_members_and_symmetry_holds_in_trees():
    """Two columns with the same role get the same: the tree tests either of them in one half of the rows."""
    X = np.array([[a, b] for a in (0, 1) for b in (0, 1)] * 5, dtype=float)
    y = (X[:, 0] != X[:, 1]).astype(int)
    found = PETClassifier(smoothing="raw", min_samples_leaf=1).fit(X, y).explain(X[:4])
    np.testing.assert_allclose(found.values[:, 0], found.values[:, 1], atol=1e-12)
    np.testing.assert_allclose(np.abs(found.values), 0.25, atol=1e-12)


def test_a_missing_value_that_is_divided_adds_nothing_by_the_path():
    """It is divided as a row is whose column is not known."""
    X, y = problem(2)
    gaps = X["number"].isna().to_numpy()
    found = BaggedPETClassifier(6, random_state=0).fit(X, y).explain(X)
    np.testing.assert_allclose(found.values[gaps, 0], 0, atol=1e-12)
    assert np.abs(found.values[~gaps, 0]).min() > 0
    apart = BaggedPETClassifier(6, random_state=0, missing="separate").fit(X, y).explain(X[gaps])
    assert np.abs(apart.values[:, 0]).max() > 1e-3
    assert {
        reason.value for row in range(len(apart)) for reason in apart.reasons(row, None) if reason.column == "number"
    } == {"missing"}


def test_reasons_are_sorted_signed_and_said_in_words(fitted):
    X, models = fitted
    model = models["mean"]
    found = model.explain(X[:20])
    for row in range(20):
        moved = [abs(reason.contribution) for reason in found.reasons(row, label=1)]
        assert moved == sorted(moved, reverse=True)
        assert all(reason.contribution > 0 for reason in found.reasons(row, label=1, raising=True))
        assert all(reason.contribution < 0 for reason in found.reasons(row, label=1, raising=False))
        text = found.words(row, 2, label=1)
        assert text.startswith(f"P(1) = {model.predict_proba(X[row : row + 1])[0, 1]:.3f}")
        assert all(str(reason) in text for reason in found.reasons(row, 2, label=1))


def test_an_explanation_knows_its_columns_classes_and_cells(fitted):
    X, models = fitted
    found = models["pool"].explain(X[:3])
    assert found.feature_names == list(X.columns) and found.class_names == models["pool"].classes_.tolist()
    assert found.data.shape == (3, N_COLUMNS) and found.value_text(0, 1) in ("a", "b", "c", "missing")
    assert len(found) == 3 and found[1:].values.shape[0] == 2 and found.method == "path" and found.output == "log_odds"
    assert "3 rows, 4 columns" in repr(found)
    assert found.importances(1).shape == (N_COLUMNS,) and found.importances()[3] == 0
    with pytest.raises(TypeError, match=r"\[0\]: pass a slice"):
        found[0]
    with pytest.raises(ValueError, match="label='x': must be one of the classes 0, 1"):
        found.class_number("x")
    if len(found.class_names) > 2:
        with pytest.raises(ValueError, match="label=None: name one of the classes 0, 1, 2"):
            found.words()


def test_models_of_one_class_have_nothing_to_explain():
    X, _ = problem(0)
    for one in (PETClassifier(), BoostedPETClassifier(max_iter=3), ProbabilityForestClassifier(3, random_state=0)):
        found = one.fit(X, np.zeros(len(X))).explain(X[:2], output="probability")
        np.testing.assert_allclose(found.answers, 1, atol=1e-12)
        assert not found.values.any()


def test_what_cannot_be_explained_is_refused():
    X, y = problem(0)
    tree = PETClassifier().fit(X, y)
    with pytest.raises(ValueError, match="a BinnedNaiveBayesClassifier cannot be explained; single trees"):
        explain(BinnedNaiveBayesClassifier().fit(X, y), X)
    with pytest.raises(ValueError, match="output='log_odds': the probabilities of a PETClassifier are means"):
        tree.explain(X, output="log_odds")
    with pytest.raises(ValueError, match="method='exact': needs background rows"):
        tree.explain(X, method="exact")
    with pytest.raises(ValueError, match="background: method='path' takes none"):
        tree.explain(X, method="path", background=X)
    with pytest.raises(ValueError, match="background: has no rows"):
        tree.explain(X, background=X[:0])
    with pytest.raises(ValueError, match="method='exact': all sets of 20 columns are too many"):
        many = np.random.default_rng(0).normal(size=(40, 20))
        PETClassifier().fit(many, y[:40]).explain(many, method="exact", background=many)
    with pytest.raises(ValueError, match="method='x'"):
        tree.explain(X, method="x")


def test_boosted_trees_of_earlier_files_need_background_rows():
    X, y = problem(1)
    model = BoostedPETClassifier(max_iter=5, random_state=0).fit(X, y)
    state = model.trees_.__getstate__()
    del state["weight"]
    model.trees_ = type(model.trees_)(**state)
    with pytest.raises(ValueError, match="background=None: boosted trees from a file of an earlier version"):
        model.explain(X)
    found = model.explain(X[:5], background=X[:10])
    np.testing.assert_allclose(found.answers, log_odds(model.predict_proba(X[:5])), atol=1e-9)


def test_a_saved_model_explains_the_same(tmp_path):
    import petiole

    X, y = problem(3, 3)
    for number, model in enumerate(
        (BoostedPETClassifier(max_iter=5, random_state=0), ProbabilityForestClassifier(4, random_state=0))
    ):
        model.fit(X, y).save(tmp_path / f"{number}.petiole")
        again = petiole.load(tmp_path / f"{number}.petiole")
        np.testing.assert_array_equal(again.explain(X[:9]).values, model.explain(X[:9]).values)


def test_nodes_of_boosted_trees_know_the_weight_of_their_rows():
    X, y = problem(1)
    model = BoostedPETClassifier(max_iter=5, random_state=0, subsample=1.0, early_stopping=False).fit(X, y)
    trees = model.trees_
    for index in range(trees.n_trees):
        arrays = trees.tree_arrays(index)
        weight = arrays["inbag_class_counts"][:, 0]
        assert weight[0] == len(X)
        for node in np.flatnonzero(arrays["feature"] >= 0).tolist():
            children = arrays["child_nodes"][arrays["child_start"][node] : arrays["child_start"][node + 1]]
            assert weight[children].sum() == weight[node]
