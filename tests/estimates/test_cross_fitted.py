"""Models of folds, asked together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from linear_problems import problem
from petiole._estimates.cross_fitted import CrossFitted
from petiole._linear.cross_fitting import fit_linear_folds
from petiole._linear.model import LinearModel
from petiole._linear.plan import LinearPlan


class Saying:
    """A model that gives every row the same probabilities."""

    n_columns = 2

    def __init__(self, proba):
        self.proba = np.array(proba)
        self.n_classes = len(proba)

    def answer(self, matrix, n_threads=1):
        return np.tile(self.proba, (len(matrix), 1))

    @classmethod
    def fused(cls, models):
        return models


def test_new_rows_get_the_geometric_mean():
    both = CrossFitted([Saying([0.1, 0.9]), Saying([0.4, 0.6])])
    odds = np.sqrt(0.1 / 0.9 * 0.4 / 0.6)
    np.testing.assert_allclose(both.answer(np.zeros((3, 2))), np.tile([odds / (1 + odds), 1 / (1 + odds)], (3, 1)))


def test_one_model_says_what_it_says():
    np.testing.assert_allclose(CrossFitted([Saying([0.2, 0.5, 0.3])]).answer(np.zeros((1, 2))), [[0.2, 0.5, 0.3]])


def test_a_zero_of_every_model_stays_a_probability():
    proba = CrossFitted([Saying([0.0, 1.0]), Saying([1.0, 0.0])]).answer(np.zeros((1, 2)))
    np.testing.assert_allclose(proba, [[0.5, 0.5]])


def test_training_rows_are_answered_by_the_model_of_their_fold():
    models = CrossFitted([Saying([0.1, 0.9]), Saying([0.4, 0.6])])
    said = models.held_out_answer(np.zeros((3, 2)), np.array([1, 0, 1]))
    np.testing.assert_array_equal(said, [[0.4, 0.6], [0.1, 0.9], [0.4, 0.6]])


def test_joined_models_count_alike():
    one, two, three = Saying([0.1, 0.9]), Saying([0.4, 0.6]), Saying([0.7, 0.3])
    joined = CrossFitted([one]).joined([CrossFitted([two]), CrossFitted([three])])
    assert joined.models == [one, two, three]
    with pytest.raises(ValueError, match="join models with the same ones"):
        CrossFitted([one]).joined([CrossFitted([Saying([0.2, 0.3, 0.5])])])


@pytest.mark.parametrize("n_rows", [1, 80])
def test_linear_models_have_a_short_cut(n_rows):
    rows, fold_of = problem(2)
    models = fit_linear_folds(LinearPlan(), rows, fold_of).models
    together = CrossFitted(models).answer(rows.matrix[:n_rows])
    np.testing.assert_allclose(together, LinearModel.fused(models)[0].answer(rows.matrix[:n_rows]), rtol=1e-9)


def test_the_answers_are_honest():
    """Labels that are drawn cannot be known: the held-out loss is no better than that of the base rates."""
    rows, fold_of = problem(4, n_rows=300, n_classes=2, weighted=False)
    labels = np.random.default_rng(0).integers(0, 2, 300).astype(np.int32)
    drawn = replace(rows, labels=labels)
    models = fit_linear_folds(LinearPlan(degree=2, strengths=(1e-3,)), drawn, fold_of).models
    own = np.arange(300), labels
    held_out = -np.log(CrossFitted(models).held_out_answer(drawn.matrix, fold_of)[own]).mean()
    seen = -np.log(CrossFitted(models).held_out_answer(drawn.matrix, (fold_of + 1) % 3)[own]).mean()
    assert seen < np.log(2) - 0.05 and held_out > np.log(2)
