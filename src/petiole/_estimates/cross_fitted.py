"""Models that are fitted to all folds of the rows but one, so that each row has an answer by a model that has not seen it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from petiole._tree.held_out import deal_into_folds
from petiole.files import checks
from petiole.files.checks import fields, require
from petiole.files.savable import Savable

Floats = npt.NDArray[np.float64]
FoldNumbers = npt.NDArray[np.int64]

# Below this a probability is as good as none: its logarithm must not decide a mean of logarithms alone.
LEAST_OF_MODEL = 1e-9


class Model(Protocol):
    """What has probabilities for encoded rows."""

    def answer(self, matrix: npt.NDArray[Any], n_threads: int) -> Floats:
        """Class probabilities of encoded rows, shape (n_rows, n_classes)."""


@dataclass(frozen=True)
class Folding(Savable):
    """How rows are dealt into folds: it depends on their labels, their order and the seed only."""

    n_folds: int
    seed: int

    _saved = fields(n_folds=checks.whole(2, 1000), seed=checks.whole(0, 2**62))

    def of(self, labels: npt.NDArray[np.int32]) -> FoldNumbers:
        """The fold of each row."""
        return deal_into_folds(labels, self.n_folds, np.random.default_rng(self.seed))


@dataclass(frozen=True, eq=False)
class CrossFitted(Savable):
    """Models of the same kind, number i of which has not seen the rows of fold i.

    Queries are answered by the geometric mean of all models, training rows by the one that has not seen them.
    """

    models: list[Any]

    _saved = fields(models=checks.list_of(checks.instance_of("LinearModel", "BoostedTrees")))

    def _check_state(self, state: dict[str, Any]) -> None:
        require(state["models"], "models: must be at least one")

    def check_fits(self, n_categories: npt.NDArray[np.int32], n_classes: int) -> None:
        """Raise ValueError unless the models have these columns and classes."""
        for model in self.models:
            require(np.array_equal(model.n_categories, n_categories), "models: must have the columns of the encoder")
            require(model.n_classes == n_classes, "models: must have the classes of the classifier")

    def answer(self, matrix: npt.NDArray[Any], n_threads: int) -> Floats:
        """The geometric mean of the models' probabilities, which sum to 1 again."""
        return geometric_mean(model.answer(matrix, n_threads) for model in self.models)

    def unseen(self, matrix: npt.NDArray[Any], fold_of: FoldNumbers, n_threads: int) -> Floats:
        """The probabilities of training rows, each by the model that has not seen it."""
        answers = [model.answer(matrix[fold_of == fold], n_threads) for fold, model in enumerate(self.models)]
        found = np.empty((len(matrix), answers[0].shape[1]))
        for fold, answer in enumerate(answers):
            found[fold_of == fold] = answer
        return found

    def joined(self, others: Sequence[CrossFitted]) -> CrossFitted:
        """The models of several, as one."""
        return CrossFitted([model for one in (self, *others) for model in one.models])


def geometric_mean(answers: Iterable[Floats]) -> Floats:
    """The mean of logarithms, as probabilities that sum to 1.

    >>> geometric_mean([np.array([[0.8, 0.2]]), np.array([[0.2, 0.8]])])
    array([[0.5, 0.5]])
    """
    logs = [np.log(np.maximum(answer, LEAST_OF_MODEL)) for answer in answers]
    scores = np.mean(logs, axis=0)
    np.exp(scores - scores.max(axis=1, keepdims=True), out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return np.asarray(scores)
