"""What must hold after every fit, whatever the problem and the parameters."""

from __future__ import annotations

import os
import pickle
import re
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

import petiole
from petiole._tree import traversal
from petiole.files import ModelFileError

from .models import Converted, Subject
from .problems import Problem, in_layout, other_layouts

# Rows of probabilities sum to 1 within this.
SUM_TOLERANCE = 1e-9
# Words by which an error names what is wrong with the data.
DATA_WORDS = ("X", "y", "sample_weight", "scores", "n_samples", "n_features", "labels", "amount")


class Broken(AssertionError):
    """A law does not hold."""


class TooSlow(BaseException):
    """A step has taken longer than it may; not an Exception, so that nothing on the way catches it."""


@dataclass
class Case:
    """A subject, its problem, and what the first fit left."""

    subject: Subject
    problem: Problem
    rng: np.random.Generator
    model: Any = None
    proba: Any = None
    n_fits: int = 0
    step: str = "fit"

    def fit(self, model: Any, X: Any, y: Any, weights: Any) -> Any:
        self.n_fits += 1
        return self.subject.fit(model, X, y, weights)

    def fit_again(self, model: Any = None, **changed: Any) -> Any:
        """The same fit with some of its arguments exchanged."""
        given = {"X": self.problem.X, "y": self.problem.y, "weights": self.problem.weights, **changed}
        return self.fit(clone(self.subject.model) if model is None else model, **given)

    def describe(self) -> str:
        return f"{self.problem.describe()}; {' '.join(repr(self.subject.model).split())}"

    def ask(self, model: Any, queries: Any = None) -> np.ndarray:
        return self.subject.ask(model, self.problem.queries if queries is None else queries)


def is_refusal(error: Exception, subject: Subject) -> bool:
    """Whether an error is a word to the user: of the right type, naming a parameter."""
    if not isinstance(error, (ValueError, TypeError)):
        return False
    if subject.foreign and "sklearn" in traceback.extract_tb(error.__traceback__)[-1].filename:
        return True
    names = {name.split("__")[-1] for name in subject.model.get_params(deep=True)}
    options = getattr(subject.model, "options", None)
    names |= set(options) if isinstance(options, dict) else set()
    return any(re.search(rf"\b{re.escape(name)}\b", str(error)) for name in (*names, *DATA_WORDS))


def fits_or_refuses(case: Case) -> bool:
    """Fit; False if the fit was refused in good words."""
    model = clone(case.subject.model)
    before = dict(vars(model))
    try:
        case.model = case.fit(model, case.problem.X, case.problem.y, case.problem.weights)
    except Exception as error:
        if not is_refusal(error, case.subject):
            raise
        case.step = "a refused fit changes nothing"
        if dict(vars(model)).keys() != before.keys():
            raise Broken(f"left {sorted(vars(model).keys() - before.keys())} behind") from error
        return False
    return True


# Laws of one fitted model.


def probabilities(case: Case) -> None:
    case.proba = case.ask(case.model)
    _check_probabilities(case.proba, len(case.problem.queries))
    if hasattr(case.model, "classes_"):
        _require(case.proba.shape[1] == len(case.model.classes_), "a column per class")


def one_row_is_batch(case: Case) -> None:
    if case.subject.name == "calibrators":
        return
    for row in case.rng.integers(0, len(case.problem.queries), 4):
        alone = case.ask(case.model, case.problem.queries[row : row + 1])
        _same(alone[0], case.proba[row], "a row alone", exactly=False)
    backwards = case.ask(case.model, case.problem.queries[::-1])[::-1]
    _same(backwards, case.proba, "the batch in another order", exactly=False)


def pickles(case: Case) -> None:
    _same(case.ask(pickle.loads(pickle.dumps(case.model))), case.proba, "after pickle")


def model_files(case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.petiole")
        try:
            case.model.save(path)
        except ModelFileError as error:
            if "cannot hold" in str(error):  # a part that is not petiole's
                return
            raise
        loaded = petiole.load(path)
    _same(case.ask(loaded), case.proba, "after a file")
    for name, value in vars(case.model).items():
        if name.startswith("oob_") and name.endswith("_"):
            again = getattr(loaded, name)
            _require(_equal(again, value), f"{name} after a file")


def out_of_bag(case: Case) -> None:
    proba = getattr(case.model, "oob_predict_proba_", None)
    if proba is None:
        return
    _require(proba.shape == (case.problem.n_rows, len(case.model.classes_)), "oob_predict_proba_ has a row per row")
    known = ~np.isnan(proba).all(axis=1)
    _check_probabilities(proba[known], int(known.sum()), "oob_predict_proba_")
    if case.problem.weights is not None:
        known &= case.problem.weights > 0
    for name in ("oob_log_loss_", "oob_brier_", "oob_score_"):
        value = getattr(case.model, name)
        _require(value >= 0 if known.any() else np.isnan(value), f"{name} is a number if a row is out of bag")


def training_rows_are_counted(case: Case) -> None:
    """Training rows reach the leaves that counted them."""
    model, problem = case.model, case.problem
    if isinstance(case.subject.model, Converted):
        return
    if isinstance(model, petiole.PETClassifier) and model.pruning != "pruning_set":
        _check_counts(model, model.tree_, model.tree_.inbag_class_counts, problem)
    elif isinstance(model, petiole.BaggedPETClassifier | petiole.MOBESPClassifier) and model.count == "distinct":
        tree = model.trees_[int(case.rng.integers(len(model.trees_)))]
        _check_counts(model, tree, tree.inbag_class_counts + tree.oob_class_counts, problem)


def _check_counts(model: Any, tree: Any, counts: np.ndarray, problem: Problem) -> None:
    matrix = model.encoder_.transform(problem.X)
    classes = model.classes_.tolist()
    weights = np.ones(problem.n_rows) if problem.weights is None else problem.weights / problem.weights.max()
    kept = np.flatnonzero(weights)
    labels = np.array([classes.index(label) for label in np.asarray(problem.y)[kept].tolist()], dtype=np.int32)
    found = traversal.class_counts(tree, np.ascontiguousarray(matrix[kept]), labels, weights[kept])
    # Which unit the weights have is the model's affair: shares are compared.
    found, counts = (table[tree.is_leaf] / table[0].sum() for table in (found, counts))
    # Growth no longer divides what is left of less than a thousandth of a row, a walk does.
    divided = 1e-3 * weights.max() / weights.sum() if np.isnan(matrix).any() else 0.0
    worst = float(np.abs(found - counts).max(initial=0.0))
    _require(worst <= 1e-9 + divided, f"counts differ by {worst:.2g}")


def other_answers(case: Case) -> None:
    """Every other question has a finite answer, too."""
    model, queries = case.model, case.problem.queries
    if case.subject.name == "calibrators":
        return
    if getattr(model, "cost_", "given") is not None:  # actions without costs have none that is best
        labels = set(np.asarray(getattr(model, "actions_", model.classes_)).tolist())
        _require(set(np.asarray(model.predict(queries)).tolist()) <= labels, "predict gives classes")
    if hasattr(model, "feature_importances_"):
        shares = model.feature_importances_
        total = shares.sum()
        good = np.isfinite(shares).all() and (shares >= -1e-9).all() and (abs(total - 1) < 1e-6 or total < 1 + 1e-6)
        _require(good, f"feature_importances_ are shares: {shares}")
    if hasattr(model, "predict_proba_std"):
        _require(np.isfinite(model.predict_proba_std(queries)).all(), "predict_proba_std is finite")
    if isinstance(model, petiole.CostSensitiveClassifier) and model.cost_ is not None:
        _require(np.isfinite(model.expected_cost(queries)).all(), "expected_cost is finite")
    if hasattr(model, "predict_set"):
        smaller, larger = (model.predict_set(queries, coverage).contains for coverage in (0.5, 0.9))
        _require((smaller <= larger).all(), "sets grow with the coverage")
    if hasattr(model, "component_proba"):
        for name, proba in model.component_proba(queries).items():
            _check_probabilities(proba, len(queries), name)
    if hasattr(model, "apply"):
        model.apply(queries)
    if hasattr(model, "leaf_weights") and isinstance(model, petiole.PETClassifier):
        sums = np.asarray(model.leaf_weights(queries).sum(axis=1)).ravel()
        _require(np.allclose(sums, 1, atol=1e-9), "leaf_weights sum to 1")
    if isinstance(model, petiole.LazyOptionTreesClassifier):
        try:
            explained = model.explain(queries[:1]).probabilities
        except ValueError as error:
            if not str(error).startswith("paths: there are"):  # too many to be shown
                raise
        else:
            _same_values(explained, case.proba[0], "explain says the same", 1e-9)


def refitted_smoothing(case: Case) -> None:
    """Other leaf estimators on the same trees."""
    if not hasattr(case.model, "with_smoothing"):
        return
    name = str(case.rng.choice(["raw", "laplace", "m_estimate", "curtailment", "m_branch", "hgs"]))
    other = case.model.with_smoothing(name)
    _check_probabilities(case.ask(other), len(case.problem.queries), f"with_smoothing({name!r})")


def updated(case: Case) -> None:
    """A model that has counted its training rows once more still gives probabilities."""
    if not hasattr(case.model, "update") or case.problem.weights is not None:
        return
    model = pickle.loads(pickle.dumps(case.model))
    decay = float(case.rng.choice([1.0, 0.5, 0.0]))
    try:
        model.update(case.problem.X, case.problem.y, decay=decay)
    except ValueError as error:
        if "later rows would change nothing" in str(error):
            return
        raise
    _check_probabilities(case.ask(model), len(case.problem.queries), "after update")


# Laws of another fit.


def threads(case: Case) -> None:
    fits = [case.fit_again(case.subject.with_threads(n)) for n in (1, 2)]
    _same(case.ask(fits[0]), case.proba, "n_jobs=1")
    exactly = not case.subject.foreign  # scikit-learn adds up in another order
    _same(case.ask(fits[1]), case.proba, "n_jobs=2", exactly=exactly)


def layouts(case: Case) -> None:
    problem = case.problem
    if case.subject.name == "calibrators":
        return
    variants = other_layouts(problem.X)
    name = str(case.rng.choice(list(variants)))
    if name == "frame" and case.subject.name in ("from_sklearn", "from_ensemble"):
        return
    model = case.fit_again(X=variants[name])
    _same(case.ask(model, in_layout(problem.queries, name)), case.proba, f"fitted on X as {name}")
    if not isinstance(problem.X, pd.DataFrame) and name != "frame":
        _same(case.ask(case.model, in_layout(problem.queries, name)), case.proba, f"asked of X as {name}")


def weights_are_relative(case: Case) -> None:
    """A constant factor in the weights changes nothing. Powers of two leave no rounding."""
    weights = case.problem.weights
    asked = [value for name, value in case.subject.model.get_params().items() if name.split("__")[-1] == "weights"]
    if weights is None or "counts" in asked or case.subject.foreign:
        return
    factor = 2.0 ** case.rng.integers(-20, 20)
    scaled = weights * factor
    if not np.isfinite(scaled.sum()) or (scaled / factor != weights).any():
        return
    _same(case.ask(case.fit_again(weights=scaled)), case.proba, f"weights times {factor:g}")


def zero_weights_are_absent(case: Case) -> None:
    problem, weights = case.problem, case.problem.weights
    if weights is None or weights.all() or case.subject.name == "calibrators":
        return
    if case.subject.foreign:
        return  # scikit-learn draws rows whatever their weight
    kept = np.flatnonzero(weights)
    X = problem.X.iloc[kept] if isinstance(problem.X, pd.DataFrame) else problem.X[kept]
    model = case.fit_again(X=X, y=problem.y[kept], weights=weights[kept])
    _same(case.ask(model), case.proba, "without the rows of weight 0")


CHEAP: tuple[Callable[[Case], None], ...] = (
    probabilities,
    one_row_is_batch,
    pickles,
    model_files,
    out_of_bag,
    training_rows_are_counted,
    other_answers,
)
# One of these for each case, since they take a fit or two.
COSTLY: tuple[Callable[[Case], None], ...] = (
    threads,
    layouts,
    layouts,
    weights_are_relative,
    zero_weights_are_absent,
    refitted_smoothing,
    updated,
)


# What "the same" means.


def _require(holds: Any, message: str) -> None:
    if not holds:
        raise Broken(message)


def _check_probabilities(proba: np.ndarray, n_rows: int, what: str = "predict_proba") -> None:
    _require(proba.ndim == 2 and len(proba) == n_rows, f"{what}: shape {proba.shape} for {n_rows} rows")
    _require(np.isfinite(proba).all(), f"{what}: not finite")
    _require((proba >= 0).all(), f"{what}: negative")
    sums = proba.sum(axis=1)
    worst = np.abs(sums - 1).max(initial=0)
    _require(worst <= SUM_TOLERANCE, f"{what}: a row sums to {sums[np.abs(sums - 1).argmax()] if len(sums) else 1:.6g}")


def _same(found: np.ndarray, wanted: np.ndarray, what: str, exactly: bool = True) -> None:
    _same_values(found, wanted, what, 0.0 if exactly else 1e-12)


def _same_values(found: Any, wanted: Any, what: str, tolerance: float = 0.0) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    _require(found.shape == wanted.shape, f"{what}: shape {found.shape} instead of {wanted.shape}")
    if not np.array_equal(found, wanted, equal_nan=True):
        worst = float(np.abs(found - wanted).max())
        _require(worst <= tolerance, f"{what}: differs by {worst:.2g}" + (" (rounding)" if worst < 1e-9 else ""))


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    one, other = np.asarray(one), np.asarray(other)
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))


def blame(error: BaseException) -> str:
    """Where in petiole an error comes from: the innermost function, without the line."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/petiole/" in frame.filename]
    if not frames:
        return ""
    return f" in {os.path.basename(frames[-1].filename)}:{frames[-1].name}"


class ArithmeticWarning(Exception):
    """NumPy has warned of an overflow or the like in code of petiole."""


@contextmanager
def arithmetic_warnings_are_errors() -> Iterator[None]:
    """Raise where petiole's own arithmetic makes NumPy or SciPy warn; other warnings, and others' warnings, pass."""

    def show(message: Any, category: type, *_: Any) -> None:
        frame = sys._getframe(1)
        while frame is not None and re.search(r"/(numpy|scipy)/|/warnings.py|contextlib", frame.f_code.co_filename):
            frame = frame.f_back
        if frame is not None and "/petiole/" in frame.f_code.co_filename:
            raise ArithmeticWarning(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", RuntimeWarning)
        warnings.showwarning = show
        yield


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise TooSlow after so many seconds of work, where Python or the core looks for signals."""

    def stop(*_: Any) -> None:
        raise TooSlow

    # The time of the processor, so that it does not matter what else the machine has to do.
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
