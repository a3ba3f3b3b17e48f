"""Runs every method on every split: probabilities of the test rows, seconds, and failures."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from petiole._progress import Progress, TimeLeft, duration_text
from petiole._table.columns import Floats
from petiole._table.rows import EncodedRows
from petiole.study.data import Table
from petiole.study.methods import Method
from petiole.study.splits import Split

MOST_CELLS_OF_ONE_THREAD = 500_000
OWN_FAILURES = (ValueError, TypeError, FloatingPointError, MemoryError, np.linalg.LinAlgError)


@dataclass(frozen=True, eq=False)
class TrainAndTest:
    """Training and test rows of a method: a split of the rows, or all rows and a test set.

    Rows are copied on access, so that a large table is not in memory once per fold.
    """

    rows: EncodedRows
    split: Split | None
    test_set: EncodedRows | None = None

    @property
    def train(self) -> EncodedRows:
        return self.rows if self.split is None else self.rows.take(self.split.train)

    @property
    def test(self) -> EncodedRows:
        if self.split is not None:
            return self.rows.take(self.split.test)
        assert self.test_set is not None
        return self.test_set


@dataclass(eq=False)
class Run:
    """The outcome of one method: per split the probabilities and the seconds; or the reason why it failed."""

    method: Method
    probas: list[Floats] = field(default_factory=list)
    fit_seconds: list[float] = field(default_factory=list)
    predict_seconds: list[float] = field(default_factory=list)
    failure: str | None = None


def run_methods(
    table: Table, methods: Sequence[Method], parts: Sequence[TrainAndTest], seed: int, n_jobs: int, progress: Progress
) -> list[Run]:
    """Fit every method to every part; split by split, so that the time left can soon be estimated.

    A method that fails is left out and the others continue.
    """
    runs = [Run(method) for method in methods]
    left = TimeLeft((method.name,) for method in methods for _ in parts)
    progress.start(len(methods) * len(parts))
    try:
        for number, part in enumerate(parts):
            train, test = part.train, part.test
            for run in runs:
                if run.failure is None:
                    started = time.perf_counter()
                    _run_one(run, table, train, test, seed + number, n_jobs)
                    left.note((run.method.name,), time.perf_counter() - started)
                    if run.failure is not None:
                        left.drop((run.method.name,))
                progress.advance(_progress_text(run, number, len(parts), left))
    finally:
        progress.stop()
    return runs


FEW_OF_CLASS = 5  # rows, with which methods of other libraries may fail


def _progress_text(run: Run, number: int, n_parts: int, left: TimeLeft) -> str:
    outcome = f"fit {number + 1} of {n_parts}" if run.failure is None else "failed"
    return f"{run.method.title}, {outcome}, about {duration_text(left.seconds())} left"


def _run_one(run: Run, table: Table, train: EncodedRows, test: EncodedRows, seed: int, n_jobs: int) -> None:
    try:
        model, seconds = fit_on(run.method.make(seed, n_jobs), table, train, n_jobs)
        started = time.perf_counter()
        with threadpool_limits(_openmp_threads(n_jobs, test)):
            proba = model.predict_proba(test.matrix)
        run.predict_seconds.append(time.perf_counter() - started)
        run.fit_seconds.append(seconds)
        run.probas.append(_all_classes(proba, model.classes_, len(table.classes)))
    except Exception as error:
        if not run.method.is_peer and not isinstance(error, OWN_FAILURES):
            raise  # an error in petiole is raised; a method of another library is left out
        lines = str(error).strip().splitlines() or [type(error).__name__]
        run.failure = lines[0]
        rarest = int(np.bincount(train.labels, minlength=1)[np.unique(train.labels)].min())
        if rarest < FEW_OF_CLASS:
            run.failure += f" (a class had {rarest} row{'s' if rarest > 1 else ''} to learn from)"


def fit_on(model: Any, table: Table, rows: EncodedRows, n_jobs: int) -> tuple[Any, float]:
    """Fit an estimator to encoded rows; the estimator and the seconds it took.

    >>> from petiole import PETClassifier
    >>> from petiole.study.data import read_table_of_study
    >>> table = read_table_of_study([["red"], ["blue"], ["red"], ["blue"]], ["a", "b", "a", "b"], None)
    >>> fit_on(PETClassifier(), table, table.rows, 1)[0].predict(table.rows.matrix)
    array([0, 1, 0, 1], dtype=int32)
    """
    _set_categorical_features(model, table)
    given = {} if rows.weights is None else {"sample_weight": rows.weights}
    started = time.perf_counter()
    with warnings.catch_warnings(), threadpool_limits(_openmp_threads(n_jobs, rows)):
        warnings.simplefilter(
            "ignore", UserWarning
        )  # about rare classes and small weights; the study has its own warnings
        model.fit(rows.matrix, rows.labels, **given)
    return model, time.perf_counter() - started


def _openmp_threads(n_jobs: int, rows: EncodedRows) -> int:
    """One on small tables, where OpenMP's threads spend more time waiting for each other than working."""
    return n_jobs if rows.matrix.size > MOST_CELLS_OF_ONE_THREAD else 1


def _set_categorical_features(model: Any, table: Table) -> None:
    """Set every ``categorical_features`` of an estimator, also those of the estimators in it."""
    categorical = table.is_categorical.tolist() if table.is_categorical.any() else None
    names = [name for name in model.get_params() if name.split("__")[-1] == "categorical_features"]
    # a PeerClassifier sets it for the estimator inside, because it may have added columns
    own = [name for name in names if not (hasattr(model, "nominal") and "__" in name)]
    model.set_params(**dict.fromkeys(own, categorical))


def _all_classes(proba: Any, codes: Any, n_classes: int) -> Floats:
    """A column for every class of the study; 0 for one that was not in training."""
    table = np.zeros((len(proba), n_classes))
    table[:, np.asarray(codes)] = proba
    return table
