"""Rows in leaves: what is looked up together is what is looked up piece by piece."""

import numpy as np
import pytest

from petiole import ProbabilityForestClassifier, _core
from petiole._estimates.asking import PlainQueries, PooledTables


def _forest(rng, n_classes, missing, weighted):
    X = np.round(rng.normal(size=(150, 4)), 1)
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.integers(n_classes, size=len(X))
    weights = rng.exponential(size=len(X)) + 0.1 if weighted else None
    model = ProbabilityForestClassifier(12, members=("forest",), missing="fractional", random_state=0, n_jobs=1).fit(
        X, y, sample_weight=weights
    )
    return model, X


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", [1, 3, 150])
def test_together_is_piece_by_piece(n_classes, missing, weighted, n_rows):
    model, X = _forest(np.random.default_rng(n_classes), n_classes, missing, weighted)
    for part in model._estimate.parts:
        queries = PlainQueries(part.forest, X[:n_rows], 1)
        pooled = PooledTables(part.filed, part.tables)
        assert pooled.leaves is not None
        together = queries.look_up_together(pooled)
        apart = queries.look_up(part.filed, part.n_trees, _core.VoteRows.shared, part.tables)
        for found, expected in zip(together, apart, strict=True):
            if missing:
                np.testing.assert_allclose(found, expected, rtol=1e-12)
            else:
                np.testing.assert_array_equal(found, expected)


def test_leaves_with_too_many_numbers_are_looked_up_piece_by_piece(monkeypatch):
    model, X = _forest(np.random.default_rng(0), 3, False, True)
    expected = model.predict_proba(X)
    monkeypatch.setattr(PooledTables, "leaves", None)
    np.testing.assert_array_equal(model.predict_proba(X), expected)


def test_leaves_of_another_forest_are_refused():
    model, _ = _forest(np.random.default_rng(0), 3, False, False)
    one, other = model._estimate.parts
    with pytest.raises(ValueError, match="another forest"):
        _core.PooledLeaves.of(one.filed.tables, other.tables, one.filed.ballot)
