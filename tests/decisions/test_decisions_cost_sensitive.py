"""CostSensitiveClassifier: what it predicts, how costs are named and routed, and how rows are relabelled."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_predict, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

import naive_decisions as naive
from petiole import BaggedPETClassifier, CostSensitiveClassifier, PETClassifier, ProbabilityForestClassifier
from petiole.decisions import decide, expected_cost

COST3 = np.array([[0, 9, 1], [2, 0, 30], [4, 1, 0]])
NAMED = {
    "setosa": {"versicolor": 9, "virginica": 1},
    "versicolor": {"setosa": 2, "virginica": 30},
    "virginica": {"setosa": 4, "versicolor": 1},
}


@pytest.fixture(scope="module")
def iris():
    data = load_iris()
    X = data.data + np.random.default_rng(0).normal(size=data.data.shape)  # so that classes overlap
    return X, data.target_names[data.target]


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


ESTIMATORS = [
    PETClassifier(),
    BaggedPETClassifier(n_estimators=5, random_state=0),
    ProbabilityForestClassifier(n_estimators=10, random_state=0),
    GaussianNB(),
    RandomForestClassifier(n_estimators=5, random_state=0),
    make_pipeline(StandardScaler(), LogisticRegression()),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_predicts_the_cheapest_class(estimator, iris):
    X, y = iris
    model = CostSensitiveClassifier(estimator, COST3).fit(X, y)
    proba = clone(estimator).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), proba)
    np.testing.assert_allclose(model.expected_cost(X), expected_cost(proba, COST3))
    assert (model.predict(X) == model.classes_[naive.decide(proba, COST3.tolist())]).all()
    assert (model.predict(X) != model.estimator_.predict(X)).any()
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(model.predict_log_proba(X), np.log(proba))


def test_without_costs_it_is_the_estimator(iris):
    X, y = iris
    plain = PETClassifier().fit(X, y)
    for method in ("decide", "relabel"):
        model = CostSensitiveClassifier(PETClassifier(), method=method).fit(X, y)
        assert (model.predict(X) == plain.predict(X)).all()
    assert model.cost_.tolist() == (1 - np.eye(3)).tolist()


def test_labels_of_any_type(iris):
    X, _ = iris
    codes = load_iris().target
    expected = decide(PETClassifier().fit(X, codes).predict_proba(X), COST3)
    for names in (np.array([-5, 0, 7]), np.array([0.0, 1.0, 2.0]), np.array(["a", "b", "c"], dtype=object)):
        model = CostSensitiveClassifier(PETClassifier(), COST3).fit(X, names[codes])
        assert model.predict(X).tolist() == names[expected].tolist()
    truth = CostSensitiveClassifier(PETClassifier(), [[0, 50], [1, 0]]).fit(X, codes == 2)
    assert truth.predict(X).dtype == bool


def test_names_and_labels_say_the_order(iris):
    X, y = iris
    expected = CostSensitiveClassifier(PETClassifier(), COST3).fit(X, y)
    order = [2, 0, 1]
    labels = expected.classes_[order].tolist()
    frame = pd.DataFrame(NAMED).T.fillna(0)
    for model in (
        CostSensitiveClassifier(PETClassifier(), NAMED),
        CostSensitiveClassifier(PETClassifier(), frame.loc[labels, labels[::-1]]),
        CostSensitiveClassifier(PETClassifier(), COST3[np.ix_(order, order)], labels=labels),
        CostSensitiveClassifier(PETClassifier(), COST3[np.ix_(order, order)].tolist(), labels=np.array(labels)),
        CostSensitiveClassifier(PETClassifier(), pl.DataFrame(COST3)),
    ):
        assert (model.fit(X, y).cost_ == COST3).all()
        assert (model.predict(X) == expected.predict(X)).all()
    model = CostSensitiveClassifier(PETClassifier(), labels=labels).fit(X, y)
    assert (model.predict(X, cost=COST3[np.ix_(order, order)]) == expected.predict(X)).all()
    assert (model.predict(X, cost=NAMED) == expected.predict(X)).all()


def test_labels_may_name_classes_that_are_not_there(iris):
    X, y = iris
    rows = y != "virginica"
    model = CostSensitiveClassifier(GaussianNB(), COST3, labels=["setosa", "versicolor", "virginica"])
    assert model.fit(X[rows], y[rows]).cost_.tolist() == [[0, 9], [2, 0]]
    named = CostSensitiveClassifier(GaussianNB(), NAMED, labels=["setosa", "versicolor", "virginica"])
    assert named.fit(X[rows], y[rows]).cost_.tolist() == [[0, 9], [2, 0]]


def test_actions_need_not_be_classes(iris):
    X, y = iris
    actions = ["nothing", "water", "spray", "ask"]
    cost = np.vstack([COST3, [1.5, 1.5, 1.5]])
    model = CostSensitiveClassifier(PETClassifier(), cost, actions=actions).fit(X, y)
    assert model.actions_.tolist() == actions
    assert model.expected_cost(X).shape == (150, 4)
    assert model.predict(X).tolist() == decide(model.predict_proba(X), cost, actions=actions).tolist()
    assert "ask" in model.predict(X)
    by_name = {action: dict(zip(model.classes_, row, strict=True)) for action, row in zip(actions, cost, strict=True)}
    assert (CostSensitiveClassifier(PETClassifier(), by_name, actions=actions).fit(X, y).cost_ == cost).all()


def test_costs_of_each_example(iris):
    X, y = iris
    cost = np.random.default_rng(1).uniform(size=(len(X), 3, 3))
    model = CostSensitiveClassifier(PETClassifier()).fit(X, y)
    chosen = model.classes_[naive.decide(model.predict_proba(X), cost.tolist())]
    assert (model.predict(X, cost=cost) == chosen).all()
    np.testing.assert_allclose(model.expected_cost(X, cost=cost), expected_cost(model.predict_proba(X), cost))
    later = CostSensitiveClassifier(PETClassifier(), actions=["do", "leave", "ask"]).fit(X, y)
    assert later.cost_ is None
    assert (later.predict(X, cost=cost) == np.array(["do", "leave", "ask"])[decide(later.predict_proba(X), cost)]).all()
    with pytest.raises(ValueError, match="give cost to the classifier"):
        later.predict(X)


def test_pipelines_pass_costs_on(iris):
    X, y = iris
    cost = np.random.default_rng(1).uniform(size=(len(X), 3, 3))
    inner = CostSensitiveClassifier(GaussianNB())
    outer = make_pipeline(StandardScaler(), inner).fit(X, y)
    assert (outer.predict(X, cost=cost) == outer[-1].predict(outer[:-1].transform(X), cost=cost)).all()


def test_costs_are_routed_on_request(iris, routing):
    X, y = iris
    cost = np.random.default_rng(1).uniform(size=(len(X), 3, 3))
    asking = CostSensitiveClassifier(GaussianNB()).set_predict_request(cost=True)
    model = make_pipeline(StandardScaler(), asking).fit(X, y)
    assert (model.predict(X, cost=cost) == model[-1].predict(model[:-1].transform(X), cost=cost)).all()
    silent = make_pipeline(StandardScaler(), CostSensitiveClassifier(GaussianNB())).fit(X, y)
    with pytest.raises(ValueError, match="not explicitly set as requested"):
        silent.predict(X, cost=cost)


def test_weights_are_routed_to_the_estimator(iris, routing):
    X, y = iris
    weights = np.random.default_rng(2).uniform(size=len(X))
    inner = GaussianNB().set_fit_request(sample_weight=True)
    for method in ("decide", "relabel"):
        model = CostSensitiveClassifier(inner, COST3, method=method).fit(X, y, sample_weight=weights)
        expected = GaussianNB().fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X))
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
        CostSensitiveClassifier(GaussianNB(), COST3).fit(X, y, sample_weight=weights)
    model = CostSensitiveClassifier(inner, COST3).set_score_request(sample_weight=False)
    scores = cross_validate(model, X, y, params={"sample_weight": weights}, cv=3)
    assert np.isfinite(scores["test_score"]).all()


def test_weights_reach_the_estimator_without_routing(iris):
    X, y = iris
    weights = np.random.default_rng(2).integers(0, 3, size=len(X))
    expected = GaussianNB().fit(X, y, sample_weight=weights).predict_proba(X)
    for estimator in (GaussianNB(), make_pipeline(FunctionTransformer(), GaussianNB())):
        model = CostSensitiveClassifier(estimator, COST3).fit(X, y, sample_weight=weights)
        np.testing.assert_allclose(model.predict_proba(X), expected)
    named = CostSensitiveClassifier(make_pipeline(GaussianNB()), COST3).fit(X, y, gaussiannb__sample_weight=weights)
    np.testing.assert_allclose(named.predict_proba(X), expected)
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no weights"):
        CostSensitiveClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=weights)


def test_frozen_estimators_are_not_fitted_again(iris):
    X, y = iris
    inner = PETClassifier().fit(X, y)
    tree = inner.tree_
    model = CostSensitiveClassifier(FrozenEstimator(inner), COST3).fit(X[:9], y[:9], sample_weight=np.ones(9))
    assert model.estimator_.tree_ is tree
    assert model.classes_.tolist() == inner.classes_.tolist()
    assert model.n_features_in_ == 4
    assert (model.predict(X) == inner.classes_[decide(inner.predict_proba(X), COST3)]).all()
    assert (clone(model).fit(X, y).predict(X) == model.predict(X)).all()
    with pytest.raises(ValueError, match="FrozenEstimator"):
        CostSensitiveClassifier(FrozenEstimator(inner), COST3, method="relabel").fit(X, y)


def test_scikit_learn_skips_frozen_estimators_as_it_skips_the_frozen_one(iris):
    from sklearn.utils.estimator_checks import check_estimator

    frozen = CostSensitiveClassifier(FrozenEstimator(GaussianNB().fit(*iris)))
    with pytest.warns(sklearn.exceptions.SkipTestWarning):
        check_estimator(frozen)


def mean_cost(y_true, y_pred):
    names = sorted(set(NAMED))
    return COST3[[names.index(label) for label in y_pred], [names.index(label) for label in y_true]].mean()


def test_searches_and_pickles(iris):
    X, y = iris
    scorer = make_scorer(mean_cost, greater_is_better=False)
    search = GridSearchCV(
        CostSensitiveClassifier(PETClassifier(), COST3),
        {"estimator__min_samples_leaf": [2, 20], "method": ["decide", "relabel"]},
        scoring=scorer,
        cv=3,
    ).fit(X, y)
    assert set(search.best_params_) == {"estimator__min_samples_leaf", "method"}
    for method in ("decide", "relabel"):
        model = CostSensitiveClassifier(PETClassifier(), NAMED, method=method).fit(X, y)
        assert (pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)).all()
    assert cross_val_predict(CostSensitiveClassifier(GaussianNB(), COST3), X, y, cv=3).shape == (150,)


def test_decisions_pay(iris):
    """On rows that the model has not seen, the cheapest class costs less than the most probable one."""
    X, y = make_classification(1200, n_informative=6, flip_y=0.1, random_state=0)
    cost = np.array([[0, 20], [1, 0]])
    forest = ProbabilityForestClassifier(n_estimators=40, random_state=0)
    model = CostSensitiveClassifier(forest, cost).fit(X[:600], y[:600])
    chosen, probable = model.predict(X[600:]), model.estimator_.predict(X[600:])
    assert cost[chosen, y[600:]].mean() < 0.8 * cost[probable, y[600:]].mean()


# Relabelling.


def test_rows_are_relabelled_by_folds_that_have_not_seen_them(iris):
    X, y = iris
    cv = KFold(4, shuffle=True, random_state=0)
    model = CostSensitiveClassifier(GaussianNB(), COST3, method="relabel", cv=cv).fit(X, y)
    folds = [test.tolist() for _, test in cv.split(X)]
    proba = naive.held_out_probabilities(GaussianNB, X, y, folds, model.classes_)
    expected = GaussianNB().fit(X, model.classes_[naive.decide(proba, COST3.tolist())])
    assert (model.predict(X) == expected.predict(X)).all()
    np.testing.assert_allclose(model.predict_proba(X), GaussianNB().fit(X, y).predict_proba(X))
    np.testing.assert_allclose(model.expected_cost(X), expected_cost(model.predict_proba(X), COST3))


def test_numbers_of_folds_are_stratified(iris):
    X, y = iris
    number = CostSensitiveClassifier(PETClassifier(), COST3, method="relabel", cv=3).fit(X, y)
    splitter = CostSensitiveClassifier(PETClassifier(), COST3, method="relabel", cv=StratifiedKFold(3)).fit(X, y)
    assert (number.predict(X) == splitter.predict(X)).all()


@pytest.mark.parametrize("in_pipeline", [False, True])
@pytest.mark.parametrize(
    ("ensemble", "attribute"),
    [
        (BaggedPETClassifier(n_estimators=20, oob_score=True, random_state=0), "oob_predict_proba_"),
        (RandomForestClassifier(n_estimators=60, oob_score=True, random_state=0), "oob_decision_function_"),
    ],
)
def test_rows_are_relabelled_out_of_bag(iris, ensemble, attribute, in_pipeline):
    X, y = iris
    estimator = make_pipeline(ensemble) if in_pipeline else ensemble
    model = CostSensitiveClassifier(estimator, COST3, method="relabel", cv="not needed").fit(X, y)
    out_of_bag = getattr(clone(ensemble).fit(X, y), attribute)
    expected = clone(ensemble).fit(X, model.classes_[decide(out_of_bag, COST3)])
    assert (model.predict(X) == expected.predict(X)).all()


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("forest", [BaggedPETClassifier, RandomForestClassifier])
def test_rows_that_all_trees_have_seen_get_the_whole_forest(iris, forest):
    X, y = iris
    model = CostSensitiveClassifier(forest(n_estimators=2, oob_score=True, random_state=0), COST3, method="relabel")
    assert set(model.fit(X, y).predict(X)) <= set(y)


def test_relabelled_rows_may_be_actions(iris):
    X, y = iris
    cost = np.vstack([COST3, [1.5, 1.5, 1.5]])
    actions = ["nothing", "water", "spray", "ask"]
    model = CostSensitiveClassifier(PETClassifier(), cost, method="relabel", actions=actions).fit(X, y)
    assert set(model.predict(X)) <= set(actions) and "ask" in model.predict(X)
    assert set(model.relabelled_estimator_.classes_) <= set(actions)
    with pytest.raises(ValueError, match="name them all with strings"):
        CostSensitiveClassifier(PETClassifier(), cost, method="relabel", actions=[0, 1, 2, "ask"]).fit(X, y)


def test_one_action_for_all_rows(iris):
    X, y = iris
    cost = np.array([[0, 0, 0], [9, 9, 9], [9, 9, 9]])
    model = CostSensitiveClassifier(LogisticRegression(), cost, method="relabel").fit(X, y)
    assert (model.predict(X) == "setosa").all()
    assert isinstance(model.relabelled_estimator_, DummyClassifier)
    assert model.predict_proba(X).shape == (150, 3)


def test_relabelling_with_rare_classes(iris):
    X, y = iris
    y = y.astype(object).copy()
    y[0] = "alba"
    cost = 1 - np.eye(4)
    model = CostSensitiveClassifier(PETClassifier(), cost, method="relabel").fit(X, y)
    assert model.classes_.tolist() == ["alba", "setosa", "versicolor", "virginica"]
    with pytest.raises(ValueError, match="no class twice"):
        CostSensitiveClassifier(PETClassifier(), cost, method="relabel").fit(X[:4], ["a", "b", "c", "d"])
    one = CostSensitiveClassifier(PETClassifier(), [[0]], method="relabel").fit(X[:4], ["a"] * 4)
    assert one.predict(X[:2]).tolist() == ["a", "a"]


def test_relabelling_takes_frames_weights_and_missing_values():
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame({"number": rng.normal(size=n), "kind": rng.choice(["p", "q", None], size=n)})
    frame.loc[::7, "number"] = np.nan
    y = np.where((frame["kind"] == "p") ^ (rng.uniform(size=n) < 0.2), "yes", "no")
    weights = rng.integers(0, 3, size=n)
    for X in (frame, pl.from_pandas(frame)):
        model = CostSensitiveClassifier(PETClassifier(), [[0, 2], [1, 0]], method="relabel")
        model.fit(X, y, sample_weight=weights)
        assert model.feature_names_in_.tolist() == ["number", "kind"]
        assert set(model.predict(X)) == {"no", "yes"}


def test_relabelling_takes_no_costs_at_predict(iris):
    X, y = iris
    model = CostSensitiveClassifier(GaussianNB(), COST3, method="relabel").fit(X, y)
    with pytest.raises(ValueError, match="use method='decide'"):
        model.predict(X, cost=COST3)
    assert model.expected_cost(X, cost=2 * COST3).shape == (150, 3)


# What is refused.


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"cost": COST3, "method": "vote"}, "method='vote': must be one of 'decide', 'relabel'"),
        ({"cost": np.eye(2)}, r"shape \(2, 2\), but there are 3 classes"),
        ({"cost": np.zeros((4, 3))}, "name what they do with actions="),
        ({"cost": COST3, "actions": ["a", "b"]}, r"3 rows, but the actions are \['a', 'b'\]: give one row per action"),
        ({"cost": np.zeros((150, 3, 3))}, r"go with the rows, to predict\(X, cost=...\)"),
        ({"cost": np.full((3, 3), np.nan)}, r"cost\[0, 0\]=nan"),
        ({"cost": COST3, "labels": ["setosa", "versicolor"]}, "lacks 'virginica'"),
        ({"cost": COST3, "labels": ["setosa", "setosa", "virginica"]}, "each name must occur once"),
        ({"cost": {"setosa": {}}}, r"no entry \['setosa'\]\['versicolor'\]"),
        ({"cost": {**NAMED, "rosa": {}}}, "names an action 'rosa', but the actions are"),
        ({"cost": {**NAMED, "setosa": {"rosa": 1}}}, r"in cost\['setosa'\] a true class 'rosa'"),
        ({"cost": {**NAMED, "setosa": 3}}, r"cost\['setosa'\]=3: must be a dict"),
        ({"cost": {**NAMED, "setosa": {"versicolor": np.inf, "virginica": 1}}}, r"cost\[0, 1\]=inf"),
        ({"cost": pd.DataFrame(COST3)}, "names an action 0"),
        ({"method": "relabel", "actions": ["a", "b"]}, "needs the costs of the actions at fit"),
        ({"cost": COST3, "method": "relabel", "cv": [(range(100), range(100, 150))]}, "hold every row out once"),
        ({"cost": "dear"}, r"cost has shape \(\)"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(iris, arguments, words):
    X, y = iris
    model = CostSensitiveClassifier(GaussianNB(), COST3).fit(X, y)
    before = dict(vars(model))
    model.set_params(**{"cost": None, **arguments})
    with pytest.raises(ValueError, match=words):
        model.fit(X[:, :2], y)
    fitted = [name for name in before if name.endswith("_")]
    assert all(vars(model)[name] is before[name] for name in fitted)
    assert set(vars(model)) == set(before)


@pytest.mark.parametrize("estimator", [LinearSVC(), GaussianNB, "forest", StandardScaler()])
def test_estimators_without_probabilities_are_refused(iris, estimator):
    with pytest.raises(TypeError, match="estimator="):
        CostSensitiveClassifier(estimator, COST3).fit(*iris)


def test_predict_checks_its_costs(iris):
    X, y = iris
    model = CostSensitiveClassifier(GaussianNB()).fit(X, y)
    with pytest.raises(ValueError, match=r"\(9, 3, 3\), but there are 150 rows"):
        model.predict(X, cost=np.zeros((9, 3, 3)))
    with pytest.raises(ValueError, match="4 rows, but the actions are"):
        model.predict(X, cost=np.zeros((150, 4, 3)))
    with pytest.raises(NotFittedError):
        CostSensitiveClassifier(GaussianNB()).predict(X)
    with pytest.raises(NotFittedError):
        CostSensitiveClassifier(GaussianNB()).expected_cost(X)


def test_a_second_fit_forgets_the_first(iris):
    X, y = iris
    model = CostSensitiveClassifier(GaussianNB(), COST3, method="relabel").fit(pd.DataFrame(X, columns=list("abcd")), y)
    model.set_params(method="decide").fit(X, y)
    assert not hasattr(model, "relabelled_estimator_")
    assert not hasattr(model, "feature_names_in_")


def test_several_outputs_are_refused(iris):
    X, y = iris
    with pytest.raises(ValueError, match="several columns"):
        CostSensitiveClassifier(RandomForestClassifier(n_estimators=2)).fit(X, np.column_stack([y, y]))


@pytest.mark.parametrize("nothing", [(), [], np.empty(0, dtype=object)])
def test_there_is_something_to_do(iris, nothing):
    X, y = iris
    with pytest.raises(ValueError, match=r"^actions=.*: must have at least one name$"):
        CostSensitiveClassifier(PETClassifier(), actions=nothing).fit(X, y)
