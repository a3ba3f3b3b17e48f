"""New rows: they are counted at the leaves of a fitted model, whose structure stays."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from petiole._classifiers.base import TreeBasedClassifier, encode_labelled
from petiole._estimates.base import Estimate
from petiole._validation import check_number

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ModelCounts:
    """The counts that a batch of rows adds to a fitted model; ``a + b`` are the counts of both batches.

    It holds sums over rows, not the rows themselves: the weight of each class at every leaf of every tree. It can be
    pickled and sent to the place where the model is.

    Attributes
    ----------
    structure : str
        Identifies the trees and classes; models with others refuse the counts.
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


class Updatable(TreeBasedClassifier):
    """Base of classifiers whose counts can be brought up to date.

    The estimate counts rows; a subclass defines in ``_take_counts`` which attributes change with the counts.
    """

    # Fitted attributes about the training rows alone, which an update removes.
    FIT_ONLY_ATTRIBUTES: ClassVar[tuple[str, ...]] = ()

    def update(self, X: Any, y: Any, sample_weight: Any = None, decay: float = 1.0) -> Self:
        """Add rows to the counts of the fitted model; splits, votes of leaves and learned parameters stay.

        With ``decay=1`` the same rows give the same model in whatever batches they come. There is no ``partial_fit``,
        because the trees have to be grown by ``fit`` first.

        Parameters
        ----------
        X, y : rows that no tree has seen, in the columns of the fit
            A category that did not occur in the fit counts as missing; a label that did not occur is an error.
        sample_weight : array of shape (n_rows,), optional
        decay : float, default=1.0
            From 0 to 1: the factor by which earlier counts are multiplied before the new rows are added. 0 removes all
            earlier rows; a leaf that then has no rows takes the counts of its nearest ancestor that has some.

        Returns
        -------
        The model itself. It does not change if an error is raised.

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
        # Everything is computed first: an update that fails or is stopped leaves the model as it was.
        self.__dict__.update(vars(self.updated(self.counts_of(X, y, sample_weight), decay=decay)))
        for name in self.FIT_ONLY_ATTRIBUTES:
            self.__dict__.pop(name, None)
        return self

    def counts_of(self, X: Any, y: Any, sample_weight: Any = None) -> ModelCounts:
        """The counts that these rows would add to the model; they can be added up and passed to :meth:`updated`.

        Use it for rows that must stay where they are: the model is sent there, and only counts come back.
        """
        check_is_fitted(self)
        self._estimate.check_updatable()
        rows = encode_labelled(self, X, y, sample_weight)
        return ModelCounts(self._structure(), rows.class_weights(), self._estimate.counts_of(rows, self._n_threads()))

    def updated(self, *counts: ModelCounts, decay: float = 1.0) -> Self:
        """A fitted model with the structure of this one and more counts; this one does not change.

        ``model.updated(model.counts_of(X, y))`` gives the same probabilities as ``model.update(X, y)``.

        Parameters
        ----------
        *counts : ModelCounts
            Made by :meth:`counts_of` of this model or of copies of it, at one or several places.
        decay : float, default=1.0
            The factor for earlier counts, as in :meth:`update`.
        """
        check_is_fitted(self)
        self._estimate.check_updatable()
        check_number("decay", decay, 0, 1)
        total = _sum_of(counts, self._structure())
        other = type(self).__new__(type(self))
        kept = {name: value for name, value in vars(self).items() if name not in self.FIT_ONLY_ATTRIBUTES}
        other.__dict__.update(kept)
        other._take_counts(total, float(decay))
        return other

    def held_counts(self) -> ModelCounts:
        """All counts of this model, those of its fit included, in the form for :meth:`updated`.

        This allows sending counts in a model file, which is safe to read, instead of a pickle: ``model.updated(counts,
        decay=0).save(path)`` there, ``model.updated(petiole.load(path).held_counts())`` here.
        """
        check_is_fitted(self)
        self._estimate.check_updatable()
        return ModelCounts(self._structure(), self._counted_weights(), self._estimate.held_counts())

    # What a subclass provides.

    _estimate: Any

    @abstractmethod
    def _counted_weights(self) -> Floats:
        """The weight of each class among all rows counted."""

    @abstractmethod
    def _take_counts(self, counts: ModelCounts, decay: float) -> None:
        """Change the fitted attributes to those of the model with more counts."""

    def _structure(self) -> str:
        digest = hashlib.blake2b(repr(self.classes_.tolist()).encode(), digest_size=16)
        for structure in self._estimate.structure:
            digest.update(structure)
        return digest.hexdigest()


def estimate_of(model: Updatable) -> Estimate:
    """The estimate of a fitted classifier."""
    estimate: Estimate = model._estimate
    return estimate


def _sum_of(counts: Sequence[ModelCounts], structure: str) -> ModelCounts:
    if not counts:
        raise ValueError("updated() got no counts: give it at least one result of counts_of")
    for one in counts:
        if not isinstance(one, ModelCounts):
            raise TypeError(f"counts: got a {type(one).__name__}, must be what counts_of returns")
        if one.structure != structure:
            raise ValueError("the counts belong to another model: make them with counts_of of this one, or of a copy")
    return reduce(add, counts)
