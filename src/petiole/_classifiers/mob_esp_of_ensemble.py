"""MOB-ESP's estimation step on ensembles that are not petiole's."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from petiole import _core
from petiole._classifiers.describing import Described
from petiole._classifiers.ensemble import MOST_OOB_WEIGHT, Floats
from petiole._estimates.asking import OutOfBagRows
from petiole._estimates.vote_look_up import best_oob_weight, file_rows, n_voters_of, vote_rows
from petiole._table.labels import check_same_length, check_weights, label_codes
from petiole._table.rows import EncodedRows
from petiole._table.weights import weights_in_rows
from petiole._validation import WithoutClassWeight, check_choice, check_number
from petiole.files.savable import SavableModel


class MOBESPOfEnsemble(WithoutClassWeight, Described, SavableModel, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """MOB-ESP's estimation step on any fitted ensemble that associates a query with training rows.

    As the paper remarks at its end, the method only needs to know which training rows share a leaf with a query, and
    which rows each member of the ensemble has not seen. Usually made by :meth:`MOBESPClassifier.from_ensemble`.

    Parameters
    ----------
    ensemble : fitted ensemble
        With ``classes_``, with ``estimators_samples_``, and with ``apply(X)`` of shape (n_rows, n_members), or with
        members in ``estimators_`` that have ``apply(X)``: scikit-learn's forests and bagged trees, for example.
    oob_weight, count, voters, rows
        As in :class:`MOBESPClassifier`.
    """

    def __init__(
        self,
        ensemble: Any,
        *,
        oob_weight: float | str = 1.0,
        count: str = "distinct",
        voters: str = "all",
        rows: str = "winner",
    ) -> None:
        self.ensemble = ensemble
        self.oob_weight = oob_weight
        self.count = count
        self.voters = voters
        self.rows = rows

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MOBESPOfEnsemble:
        """Assign the rows that the ensemble was fitted on to its leaves; the ensemble itself does not change."""
        check_is_fitted(self.ensemble)
        check_choice("count", self.count, ("distinct", "copies"))
        check_choices(self)
        classes = np.asarray(self.ensemble.classes_)
        labels = label_codes(y, classes, "y")
        found = _leaf_ids(self.ensemble, X)
        check_same_length(len(found), len(labels))
        weights, _ = weights_in_rows(check_weights(sample_weight, len(labels)))
        copies = _copies(self.ensemble, *found.shape)
        if (copies > 0).all():
            raise ValueError(
                "every member of the ensemble has seen all rows, so there are no out-of-bag rows, which MOB-ESP "
                "needs: fit it with bootstrap=True"
            )
        self.known_ = [np.unique(ids) for ids in found.T]
        leaves = self._leaf_index(found)
        rows = EncodedRows(np.empty((len(labels), 0)), labels, weights, np.empty(0, dtype=np.int32), classes)
        self.tables_ = _leaf_matrices(self, leaves, copies, [len(ids) + 1 for ids in self.known_], rows)
        self.classes_ = classes
        self.oob_weight_ = self.tables_.oob_weight
        if hasattr(self.ensemble, "n_features_in_"):
            self.n_features_in_ = self.ensemble.n_features_in_
        return self

    @property
    def estimator_(self) -> Any:
        """The fitted ensemble."""
        return self.ensemble

    def save(self, path: str | os.PathLike[str]) -> None:
        """Not possible: the ensemble is not petiole's. Use skops or joblib."""
        from petiole.files.writing import cannot_hold

        raise cannot_hold(self.ensemble, "MOBESPOfEnsemble.ensemble")

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities of the rows of X, in the order of ``classes_``; each row sums to 1."""
        check_is_fitted(self)
        return self.tables_.look_up(self._leaf_index(_leaf_ids(self.ensemble, X)), self.voters, self.rows)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row; in a tie, the first."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _leaf_index(self, ids: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
        """Leaves numbered within each member; those without training rows share the number after the last."""
        columns = []
        for known, column in zip(self.known_, ids.T, strict=True):
            at = np.minimum(np.searchsorted(known, column), len(known) - 1)
            columns.append(np.where(known[at] == column, at, len(known)))
        return np.ascontiguousarray(np.column_stack(columns), dtype=np.int32)


class LeafMatrices:
    """Leaf matrices for leaves that are given as numbers, with everything that a look-up needs."""

    def __init__(self, n_leaves: list[int], prior: Floats, votes: list[Any], frequencies: list[Floats]) -> None:
        self.n_leaves = n_leaves
        self.prior = prior
        self.leaf_votes = votes
        self.frequencies = frequencies
        self.oob_weight = 1.0
        self.core: _core.VoteTables
        self.fallback: list[Floats] = []

    @property
    def ballot(self) -> _core.Ballot:
        return _core.Ballot.of_leaves(
            self.leaf_votes, _core.LeafTables(self.frequencies, len(self.prior)), np.ascontiguousarray(self.prior)
        )

    def look_up(self, leaves: npt.NDArray[np.int32], voters: str, rows: str) -> Floats:
        """Probabilities of rows that are in these leaves."""
        n_trees = leaves.shape[1]
        found = _core.Members(leaves, None, self.n_leaves)
        n_voters = n_voters_of(voters, n_trees)
        _, _, proba = self.core.look_up_members(found, self.ballot, n_voters, vote_rows(rows), 1)
        lost = np.isnan(proba[:, 0])
        if lost.any():
            tables = zip(self.fallback, leaves[lost].T, strict=True)
            proba[lost] = np.mean([table[index] for table, index in tables], axis=0)
        return proba

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "core": self.core.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.core = _core.VoteTables.from_state(state["core"])
        self.core.mix(self.oob_weight)


def _leaf_matrices(
    model: Any,
    leaves: npt.NDArray[np.int32],
    copies: npt.NDArray[np.uint16],
    n_leaves: list[int],
    rows: EncodedRows,
) -> LeafMatrices:
    prior, n_classes = rows.class_weights(), len(rows.classes)
    weights = rows.weights_or_ones()

    def counted(tree: int, of_rows: Floats) -> Floats:
        cells = leaves[:, tree] * n_classes + rows.labels
        return np.bincount(cells, of_rows, n_leaves[tree] * n_classes).reshape(-1, n_classes).astype(np.float64)

    distinct = model.count == "distinct"
    # Rounded, so that sums of weights that differ only by rounding are ties.
    order = np.argsort(-np.round(prior, 9), kind="stable")
    votes, frequencies, in_bag, out_of_bag = [], [], [], []
    for tree, times in enumerate(copies.T):
        with_copies = counted(tree, weights * times)
        votes.append(order[np.round(with_copies, 9)[:, order].argmax(axis=1)].astype(np.int32))
        in_bag.append(counted(tree, weights * (times > 0)) if distinct else with_copies)
        out_of_bag.append(counted(tree, weights * (times == 0)))
        frequencies.append(_shares(in_bag[-1], prior))
    filed = LeafMatrices(n_leaves, prior, votes, frequencies)
    unseen = OutOfBagRows(_core.Members(leaves, copies, n_leaves), rows, 1)
    auto = model.oob_weight == "auto"
    filed.oob_weight = 1.0 if auto else float(model.oob_weight)
    voted = file_rows(unseen, filed.ballot, distinct=distinct, oob_weight=filed.oob_weight, n_threads=1)
    filed.core = voted.tables
    if auto:
        filed.oob_weight = best_oob_weight(voted, unseen, model.rows)
    filed.fallback = [
        _shares(inside + filed.oob_weight * outside, prior) for inside, outside in zip(in_bag, out_of_bag, strict=True)
    ]
    return filed


def _shares(counts: Floats, prior: Floats) -> Floats:
    """Rows divided by their sums; the prior's shares where the sum is 0."""
    sums = counts.sum(axis=1, keepdims=True)
    return np.where(sums > 0, counts / np.where(sums > 0, sums, 1.0), prior / prior.sum())


def _leaf_ids(ensemble: Any, X: Any) -> npt.NDArray[Any]:
    """The leaf of each row in each member of an ensemble."""
    if hasattr(ensemble, "apply"):
        ids = np.asarray(ensemble.apply(X))
    elif hasattr(ensemble, "estimators_") and all(hasattr(member, "apply") for member in ensemble.estimators_):
        columns = getattr(ensemble, "estimators_features_", [slice(None)] * len(ensemble.estimators_))
        pairs = zip(ensemble.estimators_, columns, strict=True)
        X = np.asarray(X)
        ids = np.column_stack([member.apply(X[:, features]) for member, features in pairs])
    else:
        raise TypeError(
            f"ensemble is a {type(ensemble).__name__}, which does not provide the leaves of rows: it needs apply(X), "
            "or estimators_ that have it, as scikit-learn's forests and bagged trees do"
        )
    if ids.ndim != 2:
        raise TypeError(f"ensemble.apply(X) has shape {ids.shape}: it must be (n_rows, n_members)")
    return ids


def _copies(ensemble: Any, n_rows: int, n_members: int) -> npt.NDArray[np.uint16]:
    """How often each row is in the sample of each member."""
    samples = getattr(ensemble, "estimators_samples_", None)
    if samples is None or len(samples) != n_members:
        raise TypeError(
            f"ensemble is a {type(ensemble).__name__} without estimators_samples_, which tells which rows its members "
            "have seen: use a forest with bootstrap=True, or bagging"
        )
    drawn = [np.bincount(np.asarray(rows, dtype=np.intp), minlength=n_rows) for rows in samples]
    if any(len(times) != n_rows for times in drawn):
        raise ValueError(f"X has {n_rows} rows, fewer than the ensemble was fitted on: give the data of its fit")
    return np.ascontiguousarray(np.minimum(np.column_stack(drawn), 65_535), dtype=np.uint16)


def check_choices(model: Any) -> None:
    """Raise an error if a parameter of the estimation step is invalid."""
    check_choice("voters", model.voters, ("all", "as_out_of_bag"))
    check_choice("rows", model.rows, ("winner", "shared"))
    if isinstance(model.oob_weight, str):
        check_choice("oob_weight", model.oob_weight, ("auto",), otherwise=f"a number between 0 and {MOST_OOB_WEIGHT:g}")
    else:
        check_number("oob_weight", model.oob_weight, 0, MOST_OOB_WEIGHT)
