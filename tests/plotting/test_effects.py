"""Effects along columns: equal to asking the model one row at a time, and to means over the rows near each value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("matplotlib")

from sklearn.linear_model import LogisticRegression

from petiole import BaggedPETClassifier, BinnedNaiveBayesClassifier, BoostedPETClassifier, OOBCalibratedClassifier
from petiole.plotting import effects


def problem(seed=0, n=90, n_classes=2):
    random = np.random.default_rng(seed)
    X = pd.DataFrame({"number": random.normal(size=n), "town": random.choice(["a", "b", "c"], n)})
    X["few"] = random.integers(0, 4, n).astype(float)
    y = (X["number"] + (X["town"] == "b") + random.normal(size=n) > 0.4).to_numpy().astype(int)
    if n_classes == 3:
        y = y + (random.random(n) < 0.3)
    X.loc[random.random(n) < 0.2, "number"] = np.nan
    X.loc[random.random(n) < 0.1, "town"] = None
    return X, y


def asked(model, X, column, value, k):
    """The predictions with one cell of each row replaced."""
    changed = X.copy()
    changed[column] = value
    return model.predict_proba(changed)[:, k]


@pytest.mark.parametrize(
    "model",
    [
        BaggedPETClassifier(5, random_state=0),
        BoostedPETClassifier(max_iter=5, random_state=0),
        BinnedNaiveBayesClassifier(),
        OOBCalibratedClassifier(BaggedPETClassifier(12, random_state=0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_effects_are_answers_for_replaced_cells(model):
    X, y = problem(n_classes=3)
    model.fit(X, y)
    display = effects(model, X, y, columns=["number", "town", 2], label=1)
    weights = np.ones(len(X))
    for effect, column in zip(display.effects, X.columns, strict=True):
        values = [None if np.isnan(v) else v for v in effect.values]
        if effect.categorical:
            values = [None if text == "missing" else text for text in effect.texts]
        else:
            values = [np.nan if value is None else value for value in values]
        for place, value in enumerate(values):
            expected = asked(model, X, column, value, 1)
            np.testing.assert_allclose(np.sort(effect.curves[place]), np.sort(expected), atol=1e-12)
            np.testing.assert_allclose(effect.mean[place], expected.mean(), atol=1e-12)
            assert effect.low[place] <= effect.mean[place] <= effect.high[place] or np.ptp(expected) > 0
        _check_near(effect, X[column], values, (model.predict_proba(X)[:, 1], y == 1, weights))


def _check_near(effect, cells, values, truth):
    """Each row counts at the value that is nearest."""
    predicted, observed, weights = truth
    place = np.full(len(cells), -1)
    for row, cell in enumerate(cells.tolist()):
        if cell is None or cell != cell:
            place[row] = len(values) - 1
        elif isinstance(cell, str):
            place[row] = values.index(cell)
        else:
            numbers = [abs(cell - value) if value == value else np.inf for value in values]
            place[row] = int(np.argmin(numbers))
    for number in range(len(values)):
        mine = place == number
        assert effect.shares[number] == pytest.approx(mine.mean())
        if mine.any():
            np.testing.assert_allclose(effect.predicted[number], np.average(predicted[mine], weights=weights[mine]))
            np.testing.assert_allclose(effect.observed[number], np.average(observed[mine], weights=weights[mine]))
        else:
            assert np.isnan(effect.predicted[number])


def test_missing_values_come_last_and_only_if_there_are_any():
    X, y = problem()
    model = BaggedPETClassifier(5, random_state=0).fit(X, y)
    number, town, few = effects(model, X, columns=["number", "town", "few"]).effects
    assert number.texts[-1] == town.texts[-1] == "missing" and few.texts == ["0", "1", "2", "3"]
    assert number.observed is None and number.shares.sum() == pytest.approx(1)


def test_weights_count_rows_and_the_largest_effects_come_first():
    X, y = problem(n=200)
    model = BaggedPETClassifier(10, random_state=0).fit(X, y)
    double = effects(model, pd.concat([X, X[:50]]), np.append(y, y[:50]), columns=["few"]).effects[0]
    weight = 1.0 + (np.arange(200) < 50)
    weighted = effects(model, X, y, columns=["few"], sample_weight=weight).effects[0]
    np.testing.assert_allclose(weighted.observed, double.observed)
    np.testing.assert_allclose(weighted.predicted, double.predicted)
    every = effects(model, X, columns=list(X.columns)).effects
    chosen = effects(model, X, n_columns=2).effects
    strengths = {effect.column: effect.strength() for effect in every}
    assert [effect.column for effect in chosen] == sorted(strengths, key=strengths.get)[::-1][:2]


def test_what_is_drawn_is_what_is_known():
    X, y = problem()
    model = BaggedPETClassifier(5, random_state=0).fit(X, y)
    display = effects(model, X, y, columns=["number", "town"])
    number, town = display.effects
    line, alone = (drawn for drawn in display.axes_[0].lines if drawn.get_gid() == "mean")
    np.testing.assert_array_equal(line.get_ydata(), number.mean[:-1])
    np.testing.assert_array_equal(alone.get_ydata(), number.mean[-1:])
    (dots,) = (drawn for drawn in display.axes_[1].lines if drawn.get_gid() == "observed")
    np.testing.assert_array_equal(dots.get_ydata(), town.observed)
    assert [text.get_text() for text in display.axes_[1].get_xticklabels()] == town.texts
    again = display.plot(display.axes_)
    assert again is display


def test_other_classifiers_take_tables_of_numbers():
    X, y = problem()
    numbers = X[["few"]].assign(more=np.arange(len(X)) % 7)
    for table in (numbers, numbers.to_numpy(dtype=float)):
        model = LogisticRegression().fit(table, y)
        (effect,) = effects(model, table, columns=[1]).effects
        changed = np.column_stack([numbers["few"], np.full(len(X), 3.0)])
        expected = model.predict_proba(pd.DataFrame(changed, columns=numbers.columns) if table is numbers else changed)
        np.testing.assert_allclose(effect.mean[3], expected[:, 1].mean())


def test_what_cannot_be_drawn_is_refused():
    X, y = problem(n_classes=3)
    model = BaggedPETClassifier(3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="label=None: name one of the classes 0, 1, 2"):
        effects(model, X)
    with pytest.raises(ValueError, match="label=9: must be one of the classes"):
        effects(model, X, label=9)
    with pytest.raises(ValueError, match="columns: there is no column 'x'; name some of number"):
        effects(model, X, label=1, columns=["x"])
    with pytest.raises(ValueError, match=r"columns=\[\]: name at least one"):
        effects(model, X, label=1, columns=[])
    other = LogisticRegression().fit(X[["few"]], y)
    with pytest.raises(ValueError, match="X: has columns of categories or dates"):
        effects(other, X[["town"]], label=1)
    display = effects(model, X, label=1, columns=["few"])
    with pytest.raises(ValueError, match="axes: 2 were given for 1 columns"):
        display.plot([display.axes_[0], display.axes_[0]])
