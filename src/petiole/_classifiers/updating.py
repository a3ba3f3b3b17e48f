"""Rows that come later: they are counted at the leaves of a fitted model, whose structure stays."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from petiole._forest.forest import Forest
from petiole._forest.leaf_counts import ForestCounts, Rows, Tally, VoteCounts, encoded_rows
from petiole._validation import check_number

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ModelCounts:
    """What a batch of rows adds to a fitted model; ``a + b`` is what both batches add.

    It holds sums over rows, no row: for every leaf of every tree how much weight of each class came there. It can be
    pickled and sent to where the model is.

    Attributes
    ----------
    structure : str
        Equal for models with the same trees and classes; others refuse the counts.
    class_weights : array of shape (n_classes,)
        The weight of each class in the batch.
    parts : tuple
        Counts of the leaves: an array for a single tree, else a ``Tally`` per kind of trees.
    """

    structure: str
    class_weights: Floats
    parts: tuple[Any, ...]

    def __add__(self, other: ModelCounts) -> ModelCounts:
        if not isinstance(other, ModelCounts):
            return NotImplemented
        if other.structure != self.structure:
            raise ValueError("the counts belong to different models: count all batches with copies of one model")
        parts = tuple(one + two for one, two in zip(self.parts, other.parts, strict=True))
        return ModelCounts(self.structure, self.class_weights + other.class_weights, parts)


class Updatable:
    """Base of classifiers whose counts can be brought up to date.

    A subclass says in ``_count_parts`` where it counts rows, and in ``_with_parts`` what it makes of the counts.
    """

    # Fitted attributes that say something of the training rows alone, gone after an update.
    _of_the_fit: ClassVar[tuple[str, ...]] = ()

    def update(self, X: Any, y: Any, sample_weight: Any = None, decay: float = 1.0) -> Self:
        """Add rows to the counts of the fitted model; splits, votes of leaves and learned parameters stay.

        With ``decay=1`` the same rows give the same model in whatever batches they come. There is no ``partial_fit``:
        it would promise a model that learns from nothing, and the trees need a ``fit`` to have leaves at all.

        Parameters
        ----------
        X, y : rows that no tree has seen, in the columns of the fit
            A category that the fit has not seen counts as missing, a label that it has not seen is an error.
        sample_weight : array of shape (n_rows,), optional
        decay : float, default=1.0
            From 0 to 1: what earlier counts are multiplied by before the new rows come in. 0 forgets all earlier rows;
            a leaf that then has none asks its ancestors.

        Returns
        -------
        The model itself. Nothing of it changes if an error is raised.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from petiole import PETClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = PETClassifier(max_depth=1).fit(X[::2], y[::2])
        >>> model.tree_.inbag_class_counts[0]
        array([25., 25., 25.])
        >>> model.update(X[1::2], y[1::2], decay=0.5).tree_.inbag_class_counts[0]
        array([37.5, 37.5, 37.5])
        """
        # Everything is worked out first: an update that fails or is stopped leaves the model as it was.
        vars(self).update(vars(self.updated(self.counts_of(X, y, sample_weight), decay=decay)))
        for name in self._of_the_fit:
            vars(self).pop(name, None)
        return self

    def counts_of(self, X: Any, y: Any, sample_weight: Any = None) -> ModelCounts:
        """What these rows would add to the model, to be summed with that of others and given to :meth:`updated`.

        For rows that may not leave the place where they are: the model goes there, only counts come back.
        """
        check_is_fitted(self)
        self._check_updatable()
        rows = encoded_rows(self, X, y, sample_weight)
        n_classes = len(self.classes_)  # type: ignore[attr-defined]
        class_weights = np.bincount(rows.labels, rows.weights, n_classes).astype(np.float64)
        return ModelCounts(self._structure(), class_weights, tuple(self._count_parts(rows)))

    def updated(self, *counts: ModelCounts, decay: float = 1.0) -> Self:
        """A fitted model with the structure of this one and with more counts; this one stays as it is.

        ``model.updated(model.counts_of(X, y))`` says what ``model.update(X, y)`` would.

        Parameters
        ----------
        *counts : ModelCounts
            Made by :meth:`counts_of` of this model or of copies of it, at one or several places.
        decay : float, default=1.0
            What earlier counts are multiplied by, as in :meth:`update`.
        """
        check_is_fitted(self)
        self._check_updatable()
        check_number("decay", decay, 0, 1)
        total = _sum_of(counts, self._structure())
        other = type(self).__new__(type(self))
        vars(other).update({name: value for name, value in vars(self).items() if name not in self._of_the_fit})
        vars(other).update(self._with_parts(total, float(decay)))
        return other

    def held_counts(self) -> ModelCounts:
        """All counts that this model holds, those of its fit included, as :meth:`updated` takes them.

        So counts can go by a model file, which is safe to read, instead of a pickle:
        ``model.updated(counts, decay=0).save(path)`` there, ``model.updated(petiole.load(path).held_counts())`` here.
        """
        check_is_fitted(self)
        self._check_updatable()
        return ModelCounts(self._structure(), self._counted_weights(), tuple(self._held_parts()))

    # What a subclass provides.

    def _held_parts(self) -> Iterable[Any]:
        """The counts of the model itself, for each of ``_counted``."""
        raise NotImplementedError

    def _counted_weights(self) -> Floats:
        """The weight of each class among all rows counted."""
        raise NotImplementedError

    def _check_updatable(self) -> None:
        """Raise ValueError where counts of new rows would change nothing that the model says."""

    def _counted(self) -> Iterable[Any]:
        """The tree or the forests whose leaves hold the counts."""
        raise NotImplementedError

    def _count_parts(self, rows: Rows) -> Iterable[Any]:
        """Counts of a batch, for each of ``_counted``."""
        raise NotImplementedError

    def _with_parts(self, counts: ModelCounts, decay: float) -> dict[str, Any]:
        """The attributes that change with the counts."""
        raise NotImplementedError

    def _structure(self) -> str:
        digest = hashlib.blake2b(repr(self.classes_.tolist()).encode(), digest_size=16)  # type: ignore[attr-defined]
        for one in self._counted():
            digest.update(one.structure)
        return digest.hexdigest()


def _sum_of(counts: Sequence[ModelCounts], structure: str) -> ModelCounts:
    if not counts:
        raise ValueError("updated() got no counts: give it at least one result of counts_of")
    for one in counts:
        if not isinstance(one, ModelCounts):
            raise TypeError(f"counts: got a {type(one).__name__}, must be what counts_of returns")
        if one.structure != structure:
            raise ValueError("the counts belong to another model: make them with counts_of of this one, or of a copy")
    return reduce(add, counts)


def recounted(
    forest: Forest, counts: ForestCounts, decay: float, n_threads: int, prior: Floats | None = None
) -> Forest:
    """The trees with their counts times ``decay`` plus others; with a prior leaves vote anew."""
    return ForestCounts.of(forest).decayed_plus(counts, decay).placed_in(forest, prior, n_threads)


def refiled(vote_tables: Any, tally: Tally, decay: float, oob_weight: float) -> Any:
    """MOB-ESP's leaf matrices times ``decay`` plus others."""
    assert tally.votes is not None
    return VoteCounts(vote_tables).decayed_plus(tally.votes, decay).tables(oob_weight)
