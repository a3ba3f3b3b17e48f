"""How petiole's classifiers answer perturbed queries: each as it always does, with soft weights over leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._classifiers.bagging import BaggedPETClassifier
from petiole._classifiers.ensemble import Floats, ForestClassifier, counts_with_pseudo, frequency_tables
from petiole._classifiers.mob_esp import MOBESPClassifier, n_voters_of
from petiole._classifiers.pet import PETClassifier
from petiole._classifiers.probability_forest import Part, ProbabilityForestClassifier, _filled
from petiole._dual.noise import Perturbation
from petiole._forest.forest import Forest
from petiole._forest.plan import part_seed, sample_copies
from petiole._tree.growing import TrainingSet
from petiole.smoothing import Laplace, Raw

# Rows asked at a time where their leaves are kept in memory until all trees have voted, and where not.
ROWS_WITH_LEAVES, ROWS_WITHOUT = 256, 65_536


@dataclass(frozen=True)
class Unseen:
    """Training rows beside the trees of a forest, each to be asked only in trees that have not seen it.

    ``counted`` says where the rows are without noise, which is where the leaves have counted them.
    """

    matrix: npt.NDArray[Any]
    labels: npt.NDArray[np.int32]
    weights: Floats | None
    counted: Any


def unseen_rows(
    forest: Forest, training: TrainingSet, rows: npt.NDArray[np.intp], bootstrap: str | bool, seed: int, at_a_time: int
) -> list[Unseen]:
    """Training rows in parts of some rows each, with the samples that the trees were grown on."""
    copies = [sample_copies(training, bootstrap, seed, index) for index in range(len(forest))]
    parts = []
    for begin in range(0, len(rows), at_a_time):
        selected = rows[begin : begin + at_a_time]
        matrix = np.ascontiguousarray(training.matrix[selected])
        counted = forest.router.members(matrix, 1)
        for index, times in enumerate(copies):
            counted.set_copies(index, np.ascontiguousarray(times[selected]))
        weights = None if training.weights is None else np.ascontiguousarray(training.weights[selected])
        parts.append(Unseen(matrix, np.ascontiguousarray(training.labels[selected]), weights, counted))
    return parts


class SoftModel:
    """Base: a fitted classifier whose trees are walked with perturbed queries."""

    rows_at_a_time = ROWS_WITH_LEAVES

    def answer(self, matrix: npt.NDArray[Any], perturbation: Perturbation, n_threads: int) -> Floats:
        """Class probabilities of encoded rows."""
        raise NotImplementedError

    @property
    def keeps_leaves(self) -> bool:
        """Whether out-of-bag answers need the leaves of every row in all trees, which takes room and time."""
        return True

    def unseen_answer(
        self, training: TrainingSet, rows: npt.NDArray[np.intp], n_threads: int
    ) -> Callable[[Perturbation], Floats]:
        """A function for the out-of-bag probabilities of training rows, NaN where all trees have seen one."""
        raise NotImplementedError

    def means(self) -> list[tuple[Any, Any]]:
        """Routers and tables whose mean over trees is the answer, or near it: they teach noise per attribute."""
        raise NotImplementedError


class SoftTree(SoftModel):
    """One tree; with ``vote`` leaves say their most probable class."""

    rows_at_a_time = ROWS_WITHOUT

    def __init__(self, model: PETClassifier, vote: bool) -> None:
        table = model.node_probabilities_[model.tree_.leaves]
        if vote:
            table = np.eye(table.shape[1])[table.argmax(axis=1)]
        self.router = _core.SoftRouter.of_tree(model.tree_.arrays)
        self.tables = _core.LeafTables([np.ascontiguousarray(table)], table.shape[1])

    def answer(self, matrix: npt.NDArray[Any], perturbation: Perturbation, n_threads: int) -> Floats:
        return np.asarray(self.router.average(matrix, self.tables, perturbation.core, None, n_threads))

    def means(self) -> list[tuple[Any, Any]]:
        return [(self.router, self.tables)]


class SoftBag(SoftModel):
    """The mean of the trees' leaves, or of their votes."""

    rows_at_a_time = ROWS_WITHOUT

    def __init__(self, model: BaggedPETClassifier) -> None:
        self.model = model
        self.router = _core.SoftRouter.of_forest(model.trees_.core, 1)

    def answer(self, matrix: npt.NDArray[Any], perturbation: Perturbation, n_threads: int) -> Floats:
        proba = np.asarray(self.router.average(matrix, self.model._tables, perturbation.core, None, n_threads))
        return self.model._smoothed_votes(proba, len(self.model.trees_))

    def unseen_answer(
        self, training: TrainingSet, rows: npt.NDArray[np.intp], n_threads: int
    ) -> Callable[[Perturbation], Floats]:
        model = self.model
        weight, prior = float(model.oob_weight), training.class_weights()
        at_a_time = ROWS_WITH_LEAVES if self.keeps_leaves else ROWS_WITHOUT
        parts = unseen_rows(model.trees_, training, rows, model.bootstrap, model.seed_, at_a_time)
        if self.keeps_leaves:
            counts, _ = counts_with_pseudo(model.trees_, model.smoothing_, weight)

            def ask(part: Unseen, asked: Any) -> list[Floats]:
                return [_frequencies_of(part, asked, counts, weight, n_threads)]

            return lambda noise: _ask_parts(self.router, parts, noise, ask, n_threads)[0]
        tables = self._own_tables(prior)

        def answer(noise: Perturbation) -> Floats:
            averages: list[Any] = [
                self.router.average(p.matrix, tables, noise.core, p.counted, n_threads) for p in parts
            ]
            return model._smoothed_votes(np.concatenate(averages), len(model.trees_))

        return answer

    @property
    def keeps_leaves(self) -> bool:
        model = self.model
        is_frequency = model.smoothing_.pseudo_counts(model.class_weights_) is not None
        return bool(model.oob_weight > 0 and is_frequency and not model.voting)

    def _own_tables(self, prior: Floats) -> Any:
        """What the leaves say of the rows in the trees' samples alone."""
        model = self.model
        if not model.oob_weight:
            return model._tables
        return model._leaf_tables(model.smoothing_, model.settled_, model.trees_, prior, oob_weight=0.0)

    def means(self) -> list[tuple[Any, Any]]:
        return [(self.router, self._own_tables(self.model.class_weights_))]


class SoftVotes(SoftModel):
    """MOB-ESP: the soft ensemble votes, and the rows of its winner are averaged with soft weights."""

    def __init__(self, model: MOBESPClassifier) -> None:
        self.model = model
        self.router = _core.SoftRouter.of_forest(model.trees_.core, 1)

    def answer(self, matrix: npt.NDArray[Any], perturbation: Perturbation, n_threads: int) -> Floats:
        model = self.model
        found = self.router.members(matrix, perturbation.core, None, n_threads)
        n_voters, which = n_voters_of(model.voters, len(model.trees_)), getattr(_core.VoteRows, model.rows)
        _, _, proba = model.vote_tables_.look_up_members(found, model._ballot, n_voters, which, n_threads)
        return _filled(proba, np.asarray(_core.out_of_bag_average(found, model._fallback, None, n_threads)))

    def unseen_answer(
        self, training: TrainingSet, rows: npt.NDArray[np.intp], n_threads: int
    ) -> Callable[[Perturbation], Floats]:
        model = self.model
        parts = unseen_rows(model.trees_, training, rows, model.bootstrap, model.seed_, ROWS_WITH_LEAVES)
        weight = float(model.oob_weight_)
        counts = model.trees_.core.leaf_counts(1.0, weight)
        raw = frequency_tables(model.trees_, Raw(), 0.0)

        def ask(part: Unseen, asked: Any) -> list[Floats]:
            filed = FiledRows(model.vote_tables_, model._ballot, model.rows, weight)
            if weight > 0:
                instead = _frequencies_of(part, asked, counts, weight, n_threads)
            else:
                instead = np.asarray(_core.out_of_bag_average(asked, raw, None, n_threads))
            return [_filled(filed.ask(part, asked, n_threads), instead)]

        return lambda noise: _ask_parts(self.router, parts, noise, ask, n_threads)[0]

    def means(self) -> list[tuple[Any, Any]]:
        return [(self.router, frequency_tables(self.model.trees_, Laplace(), 0.0))]


class SoftPool(SoftModel):
    """The probability forest: every component answers with soft weights, then the pool."""

    def __init__(self, model: ProbabilityForestClassifier) -> None:
        self.model = model
        self.routers = [_core.SoftRouter.of_forest(part.forest.core, 1) for part in model.parts_]

    def answer(self, matrix: npt.NDArray[Any], perturbation: Perturbation, n_threads: int) -> Floats:
        model = self.model
        found = []
        for router, part in zip(self.routers, model.parts_, strict=True):
            found += self._ask(router, part, matrix, perturbation, n_threads)
        return model.pool_.combine([*found, np.tile(model.prior_, (len(matrix), 1))])

    def _ask(
        self, router: Any, part: Part, matrix: npt.NDArray[Any], perturbation: Perturbation, n_threads: int
    ) -> list[Floats]:
        if "votes" not in self.model.components:
            averages = router.average(matrix, part.tables, perturbation.core, None, n_threads)
            return self.model._by_component(None, np.asarray(averages))
        found = router.members(matrix, perturbation.core, None, n_threads)
        shared = _core.VoteRows.shared
        _, _, votes = part.vote_tables.look_up_members(found, part.ballot, len(part.forest), shared, n_threads)
        return self.model._by_component(
            votes, np.asarray(_core.out_of_bag_average(found, part.tables, None, n_threads))
        )

    def unseen_answer(
        self, training: TrainingSet, rows: npt.NDArray[np.intp], n_threads: int
    ) -> Callable[[Perturbation], Floats]:
        model = self.model
        unseen = [
            unseen_rows(part.forest, training, rows, model.bootstrap, part_seed(model.seed_, kind), ROWS_WITH_LEAVES)
            for kind, part in enumerate(model.parts_)
        ]
        asks = [self._asker(part, n_threads) for part in model.parts_]

        def answer(noise: Perturbation) -> Floats:
            found: list[Floats] = []
            for router, parts, ask in zip(self.routers, unseen, asks, strict=True):
                found += _ask_parts(router, parts, noise, ask, n_threads)
            return model.pool_.combine([*found, np.tile(model.prior_, (len(rows), 1))])

        return answer

    def _asker(self, part: Part, n_threads: int) -> Callable[[Unseen, Any], list[Floats]]:
        """What asks all components of a part, rows left out of what they are looked up in."""
        model, core = self.model, part.forest.core
        raw_tables = frequency_tables(part.forest, Raw(), 0.0)
        counts = {
            "eb": core.leaf_counts(1.0, 1.0),
            "oob": core.leaf_counts(0.0, 1.0),
            "coarse": model._coarse_counts(part.forest),
        }
        filed = FiledRows(part.vote_tables, part.ballot, "shared", 1.0)

        def ask(unseen: Unseen, asked: Any) -> list[Floats]:
            raw = np.asarray(_core.out_of_bag_average(asked, raw_tables, None, n_threads))
            found = []
            for name in model.components:
                if name == "raw":
                    found.append(raw)
                elif name == "votes":
                    found.append(_filled(filed.ask(unseen, asked, n_threads), raw))
                else:
                    found.append(_filled(_frequencies_of(unseen, asked, counts[name], 1.0, n_threads), raw))
            return found

        return ask

    def means(self) -> list[tuple[Any, Any]]:
        tables = (frequency_tables(part.forest, Laplace(), 0.0) for part in self.model.parts_)
        return list(zip(self.routers, tables, strict=True))


@dataclass(frozen=True)
class FiledRows:
    """MOB-ESP's leaf matrices, asked about perturbed training rows."""

    tables: Any
    ballot: Any
    which: str
    oob_weight: float

    def ask(self, unseen: Unseen, asked: Any, n_threads: int) -> Floats:
        filed, _ = _core.out_of_bag_votes(unseen.counted, self.ballot, n_threads)
        winners, votes = _core.out_of_bag_votes(asked, self.ballot, n_threads)
        which = getattr(_core.VoteRows, self.which)
        return np.asarray(
            _core.soft_out_of_bag_rows(
                asked,
                unseen.counted,
                self.tables,
                filed,
                winners,
                votes,
                which,
                self.oob_weight,
                unseen.labels,
                unseen.weights,
                n_threads,
            )
        )


def _frequencies_of(unseen: Unseen, asked: Any, counts: Any, oob_weight: float, n_threads: int) -> Floats:
    return np.asarray(
        _core.soft_out_of_bag_frequencies(
            asked, unseen.counted, counts, oob_weight, unseen.labels, unseen.weights, n_threads
        )
    )


def _ask_parts(
    router: Any, parts: list[Unseen], noise: Perturbation, ask: Callable[[Unseen, Any], list[Floats]], n_threads: int
) -> list[Floats]:
    """Ask a few rows at a time: the leaves that they reach in all trees take room."""
    answers = [ask(part, router.members(part.matrix, noise.core, part.counted, n_threads)) for part in parts]
    return [np.concatenate(of_component) for of_component in zip(*answers, strict=True)]


KINDS: dict[type, Callable[..., SoftModel]] = {
    BaggedPETClassifier: SoftBag,
    MOBESPClassifier: SoftVotes,
    ProbabilityForestClassifier: SoftPool,
}
CLASSES = (PETClassifier, *KINDS)


def is_soft(model: Any) -> bool:
    """Whether a classifier, fitted or not, is one whose trees can be walked softly."""
    return isinstance(model, CLASSES)


def soft_model(model: Any, *, vote: bool = False) -> SoftModel:
    """The soft version of a fitted classifier; with ``vote`` a tree gives the share of votes, not of probabilities."""
    if isinstance(model, PETClassifier):
        return SoftTree(model, vote)
    return next(make for kind, make in KINDS.items() if isinstance(model, kind))(model)


def has_unseen_rows(model: Any) -> bool:
    """Whether a classifier is a forest with rows outside its samples."""
    return isinstance(model, ForestClassifier) and model.bootstrap is not False
