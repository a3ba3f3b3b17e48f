"""Whom to write to: the policy, what it earned, and the classifier that joins two models."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import naive_decisions as naive
from petiole import BaggedPETClassifier, PETClassifier
from petiole.decisions import ExpectedProfitClassifier, campaign_profit, decide, mail_policy


@pytest.fixture(scope="module")
def campaign():
    """Rows, whether they gave, and how much; NaN where nothing."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(600, 3))
    gave = rng.uniform(size=600) < 0.3 * X[:, 0]
    gift = np.where(gave, 1 + 4 * X[:, 1] + rng.normal(scale=0.1, size=600), np.nan)
    return X, gave, gift


def test_policy_and_profit_equal_the_loops():
    rng = np.random.default_rng(1)
    for _ in range(20):
        n = int(rng.integers(1, 30))
        p, amount, cost = rng.uniform(size=n), rng.integers(0, 4, size=n), float(rng.choice([0.0, 0.5, 0.68]))
        mailed = mail_policy(p, amount, cost)
        assert mailed.dtype == bool
        assert mailed.tolist() == naive.mail_policy(p, amount, cost)
        assert campaign_profit(mailed, amount, cost) == pytest.approx(naive.campaign_profit(mailed, amount, cost))


def test_policy_is_a_decision_with_costs_per_example():
    rng = np.random.default_rng(2)
    p, amount = rng.uniform(size=200), rng.uniform(0, 5, size=200)
    cost = np.zeros((200, 2, 2))  # not to write costs nothing, to write 0.68, less the gift if there is one
    cost[:, 1, 0], cost[:, 1, 1] = 0.68, 0.68 - amount
    assert (mail_policy(p, amount) == decide(np.column_stack([1 - p, p]), cost)).all()


def test_policy_takes_two_columns_numbers_and_arrays():
    table = np.array([[0.9, 0.1], [0.99, 0.01]])
    assert mail_policy(table, 10).tolist() == [True, False]
    assert mail_policy(table[:, 1], [10, 100]).tolist() == [True, True]
    assert mail_policy(table, 10, cost=[2, 0.05]).tolist() == [False, True]
    assert mail_policy([0.5], [2], cost=1).tolist() == [False]  # level: not worth a letter


def test_campaign_of_the_contest(load_real):
    """To write to all of the learning set earned $10,788.54; Zadrozny & Elkan round to $10,790 (Table 3, "all one")."""
    frame, y = load_real("kdd98-sample")
    gift = frame["TARGET_D"].fillna(0).to_numpy()
    people = np.where(y == "1", 1.0, 90569 / 14529)  # the sample holds all donors and some of the others
    profit = campaign_profit(np.full(len(y), True), gift, sample_weight=people)
    assert profit == pytest.approx(75668.70 - 0.68 * 95412, abs=0.01)


def test_both_models_are_what_they_would_be_alone(campaign):
    X, gave, gift = campaign
    model = ExpectedProfitClassifier(LogisticRegression(), cost=0.5).fit(X, gave, amount=gift)
    p = LogisticRegression().fit(X, gave).predict_proba(X)[:, 1]
    amount = LinearRegression().fit(X[gave], gift[gave]).predict(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], p)
    np.testing.assert_allclose(model.predict_amount(X), amount)
    np.testing.assert_allclose(model.expected_profit(X), p * amount - 0.5)
    assert (model.mail(X) == mail_policy(p, amount, 0.5)).all()
    assert (model.predict(X) == model.mail(X)).all()
    assert 0 < model.mail(X).sum() < 600
    assert model.n_amounts_ == gave.sum()


def test_the_policy_earns_more_than_writing_to_all(campaign):
    X, gave, gift = campaign
    model = ExpectedProfitClassifier(LogisticRegression()).fit(X[:300], gave[:300], amount=gift[:300])
    outcome = np.nan_to_num(gift[300:])
    assert campaign_profit(model.mail(X[300:]), outcome) > campaign_profit(np.full(300, True), outcome)


def test_labels_of_any_type_and_either_class_as_the_one_that_gives(campaign):
    X, gave, gift = campaign
    expected = ExpectedProfitClassifier(LogisticRegression()).fit(X, gave, amount=gift).mail(X)
    y = np.where(gave, "gave", "nothing")
    model = ExpectedProfitClassifier(LogisticRegression(), pos_label="gave").fit(X, y, amount=gift)
    assert (model.predict(X) == np.where(expected, "gave", "nothing")).all()
    assert (model.mail(X) == expected).all()
    assert model.pos_label_ == "gave"
    numbers = ExpectedProfitClassifier(LogisticRegression()).fit(X, gave.astype(int), amount=gift)
    assert set(numbers.predict(X)) == {0, 1}


def test_outliers_are_left_out_of_the_regression(campaign):
    X, gave, gift = campaign
    gift = gift.copy()
    gift[np.flatnonzero(gave)[0]] = 10_000
    model = ExpectedProfitClassifier(LogisticRegression(), max_amount=50).fit(X, gave, amount=gift)
    kept = gave & (gift <= 50)
    np.testing.assert_allclose(model.predict_amount(X), LinearRegression().fit(X[kept], gift[kept]).predict(X))
    assert model.n_amounts_ == gave.sum() - 1
    np.testing.assert_allclose(model.predict_proba(X), LogisticRegression().fit(X, gave).predict_proba(X))


def test_the_probability_may_be_a_regressor(campaign):
    X, gave, gift = campaign
    cv = StratifiedKFold(4)
    model = ExpectedProfitClassifier(LogisticRegression(), amount_columns=[1], add_probability=True, cv=cv)
    model.fit(X, gave, amount=gift)
    held_out = cross_val_predict(LogisticRegression(), X, gave, cv=cv, method="predict_proba")[:, 1]
    regression = LinearRegression().fit(np.column_stack([X[:, 1], held_out])[gave], gift[gave])
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(model.predict_amount(X), regression.predict(np.column_stack([X[:, 1], p])))


def test_out_of_bag_probabilities_are_taken_where_there_are_any(campaign):
    X, gave, gift = campaign
    forest = BaggedPETClassifier(n_estimators=20, oob_score=True, random_state=0)
    model = ExpectedProfitClassifier(forest, add_probability=True, cv="not needed").fit(X, gave, amount=gift)
    own = model.estimator_.oob_predict_proba_[:, 1]
    regression = LinearRegression().fit(np.column_stack([X, own])[gave], gift[gave])
    np.testing.assert_allclose(model.regressor_.coef_, regression.coef_)


@pytest.mark.parametrize("as_frame", [pd.DataFrame, pl.DataFrame, pa.table, lambda columns: pd.DataFrame(columns).T.T])
def test_frames_with_nominal_columns(campaign, as_frame):
    X, gave, gift = campaign
    columns = {"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 2] > 0.5, "x", "y")}
    expected = ExpectedProfitClassifier(
        PETClassifier(), make_pipeline(StandardScaler(), LinearRegression()), amount_columns=["a", "b"], cv=3
    )
    plain = clone(expected).fit(pd.DataFrame(columns), gave, amount=gift)
    model = clone(expected).fit(as_frame(columns), gave, amount=gift)
    np.testing.assert_allclose(model.predict_amount(as_frame(columns)), plain.predict_amount(pd.DataFrame(columns)))
    more = clone(expected).set_params(add_probability=True).fit(as_frame(columns), gave, amount=gift)
    assert more.regressor_[-1].n_features_in_ == 3
    assert np.isfinite(more.expected_profit(as_frame(columns))).all()


def test_columns_may_have_no_names_or_be_sparse(campaign):
    X, gave, gift = campaign
    expected = ExpectedProfitClassifier(LogisticRegression(), add_probability=True).fit(X, gave, amount=gift)
    for table in (pd.DataFrame(X), csr_array(X), X.tolist()):
        model = ExpectedProfitClassifier(LogisticRegression(), add_probability=True).fit(table, gave, amount=gift)
        np.testing.assert_allclose(model.predict_amount(table), expected.predict_amount(X), rtol=1e-3)


def test_weights_are_for_both_models(campaign):
    X, gave, gift = campaign
    copies = np.random.default_rng(3).integers(0, 3, size=600)
    rows = np.repeat(np.arange(600), copies)
    for estimator in (PETClassifier(), make_pipeline(PETClassifier())):
        weighted = ExpectedProfitClassifier(estimator).fit(X, gave, amount=gift, sample_weight=copies)
        copied = ExpectedProfitClassifier(estimator).fit(X[rows], gave[rows], amount=gift[rows])
        np.testing.assert_allclose(weighted.expected_profit(X), copied.expected_profit(X))
    with pytest.raises(ValueError, match="regressor=KNeighborsRegressor takes no weights"):
        ExpectedProfitClassifier(PETClassifier(), KNeighborsRegressor()).fit(X, gave, gift, sample_weight=copies)


def test_without_amounts_the_likely_are_written_to(campaign):
    X, gave, _ = campaign
    for cost in (0.1, 0.68, 3):
        model = ExpectedProfitClassifier(PETClassifier(), cost=cost).fit(X, gave)
        clear = model.predict_proba(X)[:, 1] != 0.5
        assert (model.predict(X) == model.estimator_.predict(X))[clear].all()
    assert ExpectedProfitClassifier(PETClassifier(), cost=0).fit(X, gave).mail(X).all()


def test_searches_pickles_and_routing(campaign):
    X, gave, gift = campaign
    with sklearn.config_context(enable_metadata_routing=True):
        model = ExpectedProfitClassifier(PETClassifier()).set_fit_request(amount=True)
        pipeline = make_pipeline(StandardScaler(), model).fit(X, gave, amount=gift)
        assert pipeline[-1].predict_amount(StandardScaler().fit_transform(X)).std() > 0.5
        search = GridSearchCV(model, {"estimator__min_samples_leaf": [2, 30]}, cv=3).fit(X, gave, amount=gift)
    assert (pickle.loads(pickle.dumps(search)).best_estimator_.mail(X) == search.best_estimator_.mail(X)).all()


@pytest.mark.parametrize(
    ("parameters", "change", "words"),
    [
        ({"cost": -1}, {}, "cost=-1: must be a number at least 0"),
        ({"max_amount": -1}, {}, "max_amount=-1: must be"),
        ({"max_amount": 0.01}, {}, "max_amount=0.01: all gifts are larger"),
        ({"add_probability": "yes"}, {}, "add_probability='yes'"),
        ({"pos_label": "maybe"}, {}, "pos_label='maybe': must be one of the classes"),
        ({}, {"amount": np.full(600, np.nan)}, r"amount\[\d+\]=nan: row \d+ gave"),
        ({}, {"amount": np.ones(5)}, "one number for each of the 600 rows"),
        ({}, {"amount": np.full(600, "much")}, "one number for each"),
        ({}, {"y": np.zeros(600)}, "y has one class, 0"),
        ({}, {"y": np.arange(600) % 3}, "Only binary classification"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(campaign, parameters, change, words):
    X, gave, gift = campaign
    model = ExpectedProfitClassifier(LogisticRegression()).fit(X, gave, amount=gift)
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    with pytest.raises(ValueError, match=words):
        model.set_params(**parameters).fit(X[:, :2], **{"y": gave, "amount": gift, **change})
    assert {name: value for name, value in vars(model).items() if name.endswith("_")} == before


def test_a_column_of_that_name_is_refused(campaign):
    X, gave, gift = campaign
    frame = pd.DataFrame(X, columns=["a", "b", "probability_of_a_gift"])
    with pytest.raises(ValueError, match="rename it"):
        ExpectedProfitClassifier(LogisticRegression(), add_probability=True).fit(frame, gave, amount=gift)


def test_frozen_estimators_are_not_fitted_again(campaign):
    X, gave, gift = campaign
    inner = LogisticRegression().fit(X[:300], gave[:300])
    model = ExpectedProfitClassifier(FrozenEstimator(inner)).fit(X, gave, amount=gift)
    np.testing.assert_allclose(model.predict_proba(X), inner.predict_proba(X))
    with pytest.raises(ValueError, match="but the estimator knows"):
        model.fit(X, np.where(gave, "yes", "no"), amount=gift)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.5, 1.2], 10), r"proba\[1\]=1.2"),
        (([0.5, np.nan], 10), r"proba\[1\]=nan"),
        ((np.ones((2, 3)), 10), r"proba has shape \(2, 3\)"),
        (([[0.5, 0.4]], 10), "sums to 0.9"),
        (([0.5, 0.5], [1, 2, 3]), "one for each of the 2 rows"),
        (([0.5, 0.5], [1, np.nan]), r"amount\[1\]=nan"),
        (([0.5, 0.5], 1, np.inf), r"cost\[0\]=inf"),
    ],
)
def test_the_policy_refuses_what_makes_no_sense(arguments, words):
    with pytest.raises(ValueError, match=words):
        mail_policy(*arguments)


def test_profit_needs_true_or_false():
    with pytest.raises(ValueError, match="True or False"):
        campaign_profit([1, 0], [10, 10])


@pytest.mark.parametrize("columns", [0.5, 1, "a", b"x"])
def test_columns_of_the_regression_are_a_list(campaign, columns):
    X, gave, gift = campaign
    with pytest.raises(
        ValueError, match=r"^amount_columns=.*: must be a list of names or of numbers of columns, or None"
    ):
        ExpectedProfitClassifier(LogisticRegression(), amount_columns=columns).fit(X, gave, amount=gift)
