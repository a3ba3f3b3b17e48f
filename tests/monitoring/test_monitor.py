"""Monitoring as a whole: what is kept, drift, estimated scores, remedies, and every kind of model and table."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score

import naive_monitoring as naive
import petiole
from petiole import (
    BaggedPETClassifier,
    BinnedNaiveBayesClassifier,
    BoostedPETClassifier,
    MOBESPClassifier,
    OOBCalibratedClassifier,
    PETClassifier,
    ProbabilityForestClassifier,
)
from petiole.monitoring import estimate_scores, kept_reference, monitor, reference_of, remember
from petiole.monitoring._drift import distance, homogeneity, regions
from petiole.report import write_monitoring


def table(seed, n_rows=700, n_classes=2, shift=0.0, moved=0.0):
    """Numbers, names and missing values; ``shift`` moves the labels, ``moved`` the rows."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "size": rng.normal(moved, 1, n_rows),
            "town": rng.choice(["Bern", "Rome", "Oslo"], n_rows, p=[0.5 - moved / 4, 0.3 + moved / 4, 0.2]),
            "grade": rng.integers(1, 4, n_rows),
        }
    )
    score = X["size"] + (X["town"] == "Rome") + shift + rng.logistic(size=n_rows)
    y = np.array(["a", "b", "c"])[np.digitize(score, [0.0, 1.5][: n_classes - 1])]
    X.loc[rng.uniform(size=n_rows) < 0.1, "town"] = None
    X.loc[rng.uniform(size=n_rows) < 0.1, "size"] = np.nan
    return X, y


FORESTS = [
    BaggedPETClassifier.eb_pets(n_estimators=40, random_state=0),
    MOBESPClassifier(n_estimators=40, random_state=0),
    ProbabilityForestClassifier(n_estimators=40, members=("forest",), random_state=0),
    OOBCalibratedClassifier(BaggedPETClassifier(40, random_state=0), groups=["town"]),
    BoostedPETClassifier(max_iter=20, random_state=0),
]
OTHERS = [PETClassifier(max_depth=4), BinnedNaiveBayesClassifier()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [*FORESTS, *OTHERS], ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_model_keeps_its_rows_in_its_file(model, n_classes, tmp_path):
    X, y = table(0, 300, n_classes)
    weights = np.random.default_rng(0).integers(0, 3, 300)
    model = remember(clone(model).fit(X, y, sample_weight=weights), X, y, weights)
    model.save(tmp_path / "m.petiole")
    again = petiole.load(tmp_path / "m.petiole")
    new, y_new = table(1, 200, n_classes)
    one, other = (json.dumps(monitor(each, new, y_new, by=["town"]).to_dict()) for each in (model, again))
    assert one == other == json.dumps(monitor(pickle.loads(pickle.dumps(model)), new, y_new, by=["town"]).to_dict())
    kept = kept_reference(again)
    assert kept.n_rows == weights.sum() and (kept.n_honest > 0) == (type(model) not in map(type, OTHERS))
    clone(model).fit(X[:100], y[:100])
    assert kept_reference(model.fit(X[:100], y[:100])) is None  # nothing of other rows is left


def test_what_is_promised_is_the_out_of_bag_log_loss():
    X, y = table(2)
    model = BaggedPETClassifier.eb_pets(n_estimators=60, oob_score=True, random_state=0).fit(X, y)
    reference = reference_of(model, X, y)
    assert reference.scores["accuracy"].mean == pytest.approx(model.oob_score_)
    assert reference.scores["brier"].mean == pytest.approx(model.oob_brier_)
    assert reference.scores["log_loss"].mean == pytest.approx(model.oob_log_loss_, abs=0.01)
    low, high = reference.scores["log_loss"][1:3]
    assert low < reference.scores["log_loss"].mean < high
    assert reference.group_came[1].sum() == pytest.approx(700)
    assert reference.group_said[1].sum() == pytest.approx(700)


def test_the_same_rows_are_fine_and_others_are_not():
    X, y = table(3, 1500)
    model = remember(BaggedPETClassifier.eb_pets(n_estimators=60, random_state=0).fit(X, y), X, y)
    same = monitor(model, *table(4, 1500), by=["town"])
    assert not same.alarm and not same.drifted and same.verdict.startswith("FINE") and same.advice == "Nothing to do."
    wrong = monitor(model, *table(5, 1500, shift=1.0), by=["town"])
    assert wrong.alarm and wrong.calibration.alarm and not wrong.drifted
    assert wrong.calibration.first_row < 1000 and wrong.remedies[0].name != "as it is"
    moved = monitor(model, *table(6, 1500, moved=0.9))
    drifted = {column.name for column in moved.columns if column.drifted}
    assert "size" in drifted and "grade" not in drifted and moved.leaves.drifted
    assert monitor(model, table(6, 1500, moved=0.9)[0]).verdict.startswith("DRIFT")


def test_a_group_alone_is_found_and_the_advice_is_about_groups():
    X, y = table(7, 3000)
    model = remember(BaggedPETClassifier.eb_pets(n_estimators=60, random_state=0).fit(X, y), X, y)
    new, y_new = table(8, 3000)
    rng = np.random.default_rng(0)
    oslo = (new["town"] == "Oslo").to_numpy()
    y_new = np.where(oslo & (rng.uniform(size=3000) < 0.5), "b", y_new)
    found = monitor(model, new, y_new, by=["town"], alpha=0.01)
    by_name = {one.name: one for one in found.groups}
    assert by_name["town: Oslo"].alarm and not by_name["town: Bern"].alarm
    assert oslo[by_name["town: Oslo"].first_row - 1]


def test_going_on_from_a_state_is_one_go():
    X, y = table(9)
    model = remember(BaggedPETClassifier(30, random_state=0).fit(X, y), X, y)
    new, y_new = table(10, 900, shift=0.4)
    whole = monitor(model, new, y_new, by=["town"])
    state = None
    for begin in (0, 450):
        part = slice(begin, begin + 450)
        found = monitor(model, new[part], y_new[part], by=["town"], state=state)
        state = json.loads(json.dumps(found.state))
    assert found.calibration.test.e_value == pytest.approx(whole.calibration.test.e_value)
    assert found.loss.test.e_value == pytest.approx(whole.loss.test.e_value)
    assert {one.name: one.test.n_rows for one in found.groups} == {one.name: one.test.n_rows for one in whole.groups}
    other = BaggedPETClassifier(5, random_state=0).fit(X[["size"]], y)
    with pytest.raises(ValueError, match="another model"):
        monitor(other, new[["size"]], y_new, state=state)


def test_rows_are_put_in_the_order_of_time():
    X, y = table(11)
    model = BaggedPETClassifier(30, random_state=0).fit(X, y)
    new, y_new = table(12, 400, shift=0.8)
    order = np.random.default_rng(0).permutation(400)
    one = monitor(model, new, y_new)
    other = monitor(model, new.iloc[order], y_new[order], time=order)
    np.testing.assert_allclose(one.calibration.evidence, other.calibration.evidence)


def test_arrays_weights_of_zero_and_other_libraries():
    rng = np.random.default_rng(13)
    X = rng.normal(size=(600, 3))
    y = (rng.uniform(size=600) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    forest = RandomForestClassifier(min_samples_leaf=20, oob_score=True, random_state=0).fit(X[:300], y[:300])
    reference = reference_of(forest, X[:300], y[:300])
    found = monitor(forest, X[300:], y[300:], reference=reference, by=[0])
    assert len(found.groups) == 5 and found.leaves is None and len(found.columns) == 3
    weights = np.r_[np.ones(200), np.zeros(100)]
    part = monitor(forest, X[300:], y[300:], reference=reference, sample_weight=weights)
    assert part.n_rows == 200
    assert part.calibration.test.e_value == pytest.approx(
        monitor(forest, X[300:500], y[300:500], reference=reference).calibration.test.e_value
    )
    plain = monitor(forest, X[300:])
    assert not plain.columns and not plain.promised and plain.calibration is None
    new = reference_of(forest, X[300:], y[300:], rows="new")
    assert new.n_honest == 300


def test_errors_say_what_to_do():
    X, y = table(14, 200)
    model = BaggedPETClassifier(5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="no column 'twon'"):
        monitor(model, X, y, by=["twon"])
    with pytest.raises(ValueError, match="other columns"):
        other = BaggedPETClassifier(5, random_state=0).fit(X[["size"]], y)
        monitor(model, X, y, reference=reference_of(other, X[["size"]], y))
    with pytest.raises(ValueError, match="alpha="):
        monitor(model, X, y, alpha=0)
    with pytest.raises(ValueError, match="does not store its columns"):
        remember(RandomForestClassifier().fit(X[["grade"]], y), X[["grade"]], y)


# Scores without labels.


def test_estimated_scores_are_the_expectations():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 2, 40).round(1)
    found = estimate_scores(np.column_stack([1 - p, p]))
    drawn = rng.uniform(size=(4000, 40)) < p
    inside = np.clip(p, 1e-12, 1 - 1e-12)
    losses = -np.where(drawn, np.log2(inside), np.log2(1 - inside)).mean(axis=1)
    assert found["log_loss"] == pytest.approx(losses.mean(), abs=0.01)
    assert found["accuracy"] == pytest.approx((drawn == (p > 0.5)).mean(), abs=0.01)
    assert found["brier"] == pytest.approx(2 * ((drawn - p) ** 2).mean(), abs=0.01)
    assert found["roc_auc"] == pytest.approx(naive.expected_area(p.tolist()), abs=1e-9)
    called = p > 0.5
    assert found["precision"] == pytest.approx(p[called].mean())
    assert found["recall"] == pytest.approx(p[called].sum() / p.sum())
    many = rng.beta(1, 2, 2000)
    y = rng.uniform(size=2000) < many
    assert estimate_scores(np.column_stack([1 - many, many]))["roc_auc"] == pytest.approx(
        roc_auc_score(y, many), abs=0.03
    )


def test_estimated_scores_are_those_of_expected_confusion_matrices():
    """As NannyML computes them: sums of probabilities in each cell, at 0.5 and at every threshold."""
    rng = np.random.default_rng(4)
    for digits in (1, 6):
        p = rng.beta(2, 3, 60).round(digits).tolist()
        found = estimate_scores(np.column_stack([1 - np.array(p), p]))
        hits, false, missed, refused = naive.expected_matrix(p, 0.5)
        assert found["accuracy"] == pytest.approx((hits + refused) / 60)
        assert found["precision"] == pytest.approx(hits / (hits + false))
        assert found["recall"] == pytest.approx(hits / (hits + missed))
        assert found["roc_auc"] == pytest.approx(naive.area_of_matrices(p))


def test_estimated_scores_are_those_of_nannyml():
    """The numbers of NannyML 0.13.1 (``performance_estimation.confidence_based.metrics``), which rounds the area."""
    p = ((np.arange(200) * 37 % 200 + 0.5) / 200) ** 1.5
    found = estimate_scores(np.column_stack([1 - p, p]))
    theirs = {"accuracy": 0.7779772018822934, "precision": 0.740507660142777, "recall": 0.6849722114330361}
    for name, value in theirs.items():
        assert found[name] == pytest.approx(value, abs=1e-14), name
    assert found["roc_auc"] == pytest.approx(0.8571356941163467, abs=1e-7)


def test_weights_of_estimated_scores_count_rows():
    rng = np.random.default_rng(1)
    proba, weights = rng.dirichlet(np.ones(2), 30), rng.integers(0, 4, 30)
    one = estimate_scores(proba, sample_weight=weights)
    other = estimate_scores(np.repeat(proba, weights, axis=0))
    assert one == pytest.approx(other)


# Drift.


def test_distances_are_the_naive_ones():
    rng = np.random.default_rng(2)
    for _ in range(20):
        one, other = rng.dirichlet(np.full(5, 0.3), 2)
        assert distance(one, other) == pytest.approx(naive.distance(one, other), abs=1e-7)


def test_p_values_of_drift_are_uniform_without_drift():
    rng = np.random.default_rng(3)
    shares = rng.dirichlet(np.ones(8))
    p_values = [homogeneity(rng.multinomial(800, shares) * 1.0, rng.multinomial(500, shares) * 1.0) for _ in range(400)]
    assert abs(np.mean(np.array(p_values) < 0.1) - 0.1) < 0.05
    assert homogeneity(np.array([500.0, 500]), np.array([300.0, 100])) < 1e-6


def test_regions_are_connected_and_large():
    X, y = table(15)
    tree = PETClassifier().fit(X, y).tree_
    region, shares, total = regions(tree)
    assert total == pytest.approx(700) and shares.sum() == pytest.approx(1) and len(shares) > 3
    counts = tree.inbag_class_counts.sum(axis=1)
    for number, share in enumerate(shares):
        leaves = [leaf for leaf in tree.leaves if region[leaf] == number]
        assert share == pytest.approx(counts[leaves].sum() / 700)


# The page.


def test_the_page_tells_what_was_found(tmp_path):
    X, y = table(16)
    X["<b>odd</b>"] = 1.0
    model = remember(BaggedPETClassifier(30, random_state=0).fit(X, y), X, y)
    new, y_new = table(17, 600, shift=0.8)
    new["<b>odd</b>"] = 1.0
    found = monitor(model, new, y_new, by=["town", "<b>odd</b>"])
    text = write_monitoring(found, tmp_path / "page.html", command="petiole monitor").read_text(encoding="utf-8")
    assert "<b>odd" not in text and found.advice.split(":")[0] in text and text.count("<svg") >= 3
    assert "://" not in text
    unlabelled = write_monitoring(monitor(model, new), tmp_path / "other.html").read_text(encoding="utf-8")
    assert "without labels" in unlabelled
