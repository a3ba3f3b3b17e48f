"""A short run of the fuzzer, and proof that it would notice: each law is tried on a classifier that breaks it."""

from __future__ import annotations

import functools
import inspect
import os
import time
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import petiole
from petiole import BaggedPETClassifier, PETClassifier, calibrators, smoothing
from petiole.files import ModelFileError

from . import cases, laws
from .__main__ import main
from .cases import Finding, Outcome, attempt, check_case, describe_case, make_case
from .models import MAKERS, Draw, Subject, random_smoothing
from .problems import Problem, other_layouts, random_problem
from .runner import Runner


def test_no_law_breaks_on_random_problems():
    runner = Runner(functools.partial(check_case, seconds=20), describe_case)
    report = runner.run(range(400), seconds=40)
    assert not report.findings, "\n".join(f"{one.kind}: case {one.case}: {one.details}" for one in report.findings)
    assert report.n_cases > 20 and sum(report.refused.values()) < 0.5 * report.n_cases


def test_every_public_class_is_tried():
    public = {name for name in petiole.__all__ if inspect.isclass(getattr(petiole, name))}
    public = {name for name in public if hasattr(getattr(petiole, name), "fit")}
    assert public - {"BinningCalibrator"} <= set(MAKERS)
    problem, draw = random_problem(np.random.default_rng(0)), Draw(np.random.default_rng(1))
    found = {type(random_smoothing(draw, problem)).__name__ for _ in range(300)}
    estimators = {name for name in smoothing.__all__ if hasattr(getattr(smoothing, name), "node_probabilities")}
    assert estimators - {"LeafEstimator"} <= found
    tried = {type(make_case(number, "calibrators").subject.model).__name__ for number in range(100)}
    assert set(calibrators.__all__) <= tried


def test_a_case_is_its_number():
    for number in range(5):
        one, two = make_case(number), make_case(number)
        assert one.describe() == two.describe()
        assert np.array_equal(np.asarray(one.problem.y), np.asarray(two.problem.y))


def test_layouts_hold_the_same_numbers():
    X = np.array([[1.5, np.nan, 3.0], [4.0, 5.25, -0.0]])
    layouts = other_layouts(X)
    assert {"fortran", "strided", "reversed", "single", "frame"} <= set(layouts)
    for other in layouts.values():
        np.testing.assert_array_equal(np.asarray(other), X)
    assert not layouts["strided"].flags.c_contiguous and not layouts["strided"].flags.f_contiguous


# Laws that are broken on purpose.


class DoesNotSumToOne(PETClassifier):
    def predict_proba(self, X):
        return 1.001 * super().predict_proba(X)


class Negative(PETClassifier):
    def predict_proba(self, X):
        return super().predict_proba(X) * [-1.0, 1.0]


class NotFinite(PETClassifier):
    def predict_proba(self, X):
        return super().predict_proba(X) * np.nan


class LooksAround(PETClassifier):
    """What it says of a row depends on the number of rows."""

    def predict_proba(self, X):
        uniform = 0.01 * len(X)
        return (super().predict_proba(X) + uniform) / (1 + 2 * uniform)


class Forgets(PETClassifier):
    def __setstate__(self, state):
        super().__setstate__(state)
        self.node_probabilities_ = self.node_probabilities_[:, ::-1]


class CannotBeSaved(PETClassifier):
    def save(self, path):
        raise ModelFileError("losses: must be numbers")


class SavesSomethingElse(PETClassifier):
    def fit(self, X, y, sample_weight=None):
        self.other_ = PETClassifier(smoothing="raw").fit(X, y, sample_weight)
        return super().fit(X, y, sample_weight)

    def save(self, path):
        self.other_.save(path)


class CountsTwice(PETClassifier):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        counts = self.tree_.inbag_class_counts.copy()
        counts[-1] += 1
        self.tree_ = self.tree_.with_counts(inbag=counts)
        return self


class DependsOnThreads(PETClassifier):
    def predict_proba(self, X):
        uniform = 1e-9 * (self.n_jobs or 1)
        return (super().predict_proba(X) + uniform) / (1 + 2 * uniform)


class DependsOnLayout(PETClassifier):
    def predict_proba(self, X):
        uniform = 0.0 if type(X) is np.ndarray and X.flags.c_contiguous and X.flags.writeable else 1e-9
        return (super().predict_proba(X) + uniform) / (1 + 2 * uniform)


class DependsOnTheUnit(PETClassifier):
    def fit(self, X, y, sample_weight=None):
        self.max_depth = 1 if np.sum(sample_weight) < 10 else None
        return super().fit(X, y, sample_weight)


class SeesAbsentRows(PETClassifier):
    def fit(self, X, y, sample_weight=None):
        self.max_depth = 1 if np.all(sample_weight) else None
        return super().fit(X, y, sample_weight)


class LosesOutOfBag(BaggedPETClassifier):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.oob_predict_proba_ = 2 * self.oob_predict_proba_
        return self


class Raises(BaseEstimator):
    def __init__(self, error, depth=3):
        self.error = error
        self.depth = depth

    def fit(self, X, y, sample_weight=None):
        if isinstance(self.error, type):
            raise self.error("nothing to be done")
        raise ValueError(self.error)


class LeavesSomething(PETClassifier):
    def fit(self, X, y, sample_weight=None):
        self.tree_ = None
        raise ValueError("max_depth=7: must be something else")


class Sleeps(PETClassifier):
    def fit(self, X, y, sample_weight=None):
        while True:
            pass


def case_of(model, weights=None) -> laws.Case:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).round(1)
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    X[7, 2] = np.nan
    subject = Subject(type(model).__name__, model, lambda m, X, y, w: m.fit(X, y, sample_weight=w), ask)
    return laws.Case(subject, Problem(X, y, weights, X[:20], "from_dtype"), rng)


def ask(model, X):
    return model.predict_proba(X)


def broken(case, law, tries=1) -> str:
    """What the fuzzer says of a case if it tries one law, several times where that draws something; "" if nothing."""
    outcome = Outcome(0)
    with laws.arithmetic_warnings_are_errors():
        if attempt(case, laws.fits_or_refuses, 1.0, outcome):
            for each in (laws.probabilities, *([law] * tries)):
                attempt(case, each, 1.0, outcome)
    return "; ".join(finding.message for finding in outcome.findings)


UNEVEN = np.linspace(0.1, 2.0, 60)
SOME_ABSENT = np.where(np.arange(60) % 3, UNEVEN, 0.0)
BREAKERS = [
    (laws.probabilities, DoesNotSumToOne(), None, "sums to"),
    (laws.probabilities, Negative(), None, "negative"),
    (laws.probabilities, NotFinite(), None, "not finite"),
    (laws.one_row_is_batch, LooksAround(), None, "a row alone"),
    (laws.pickles, Forgets(), None, "after pickle"),
    (laws.model_files, CannotBeSaved(), None, "ModelFileError"),
    (laws.model_files, SavesSomethingElse(), None, "after a file"),
    (laws.training_rows_are_counted, CountsTwice(), None, "counts differ"),
    (laws.threads, DependsOnThreads(), None, "n_jobs=2"),
    (laws.layouts, DependsOnLayout(), None, "as"),
    (laws.weights_are_relative, DependsOnTheUnit(), UNEVEN, "weights times"),
    (laws.zero_weights_are_absent, SeesAbsentRows(), SOME_ABSENT, "without the rows"),
    (laws.out_of_bag, LosesOutOfBag(4, oob_score=True, random_state=0), None, "oob_predict_proba_"),
    (laws.probabilities, Raises(ZeroDivisionError), None, "ZeroDivisionError: nothing"),
    (laws.probabilities, Raises(KeyError), None, "KeyError"),
    (laws.probabilities, Raises("something is wrong"), None, "ValueError: something is wrong"),
    (laws.probabilities, LeavesSomething(), None, "left ['tree_'] behind"),
    (laws.probabilities, Sleeps(), None, "takes more than 1 s"),
]


@pytest.mark.parametrize(("law", "model", "weights", "message"), BREAKERS, ids=[repr(one[1]) for one in BREAKERS])
def test_a_broken_law_is_noticed(law, model, weights, message):
    assert message in broken(case_of(model, weights), law, tries=6)


@pytest.mark.parametrize("law", [*laws.CHEAP, *dict.fromkeys(laws.COSTLY)], ids=lambda law: law.__name__)
@pytest.mark.parametrize("weights", [None, UNEVEN, SOME_ABSENT], ids=["unweighted", "uneven", "absent"])
def test_an_honest_classifier_breaks_none(law, weights):
    # Model files hold petiole's own classes.
    assert broken(case_of(PETClassifier(smoothing="hgs"), weights), law, tries=4) == ""
    assert broken(case_of(BaggedPETClassifier(4, oob_score=True, random_state=0), weights), law, tries=4) == ""


def test_an_error_that_names_a_parameter_is_a_refusal():
    assert broken(case_of(Raises("depth=3: must be 4")), laws.probabilities) == ""
    assert broken(case_of(Raises("sample_weight[3]=inf: must be finite")), laws.probabilities) == ""


def test_warnings_of_arithmetic_in_petiole_are_errors():
    with laws.arithmetic_warnings_are_errors(), pytest.raises(laws.ArithmeticWarning, match="divide by zero"):
        _log_in("petiole/pretended.py")
    with laws.arithmetic_warnings_are_errors():
        _log_in("somewhere/else.py")
        warnings.warn("a word to the user", UserWarning, stacklevel=1)


def _log_in(file):
    exec(compile("np.log(np.zeros(1))", f"/{file}", "exec"), {"np": np})


# The process that is watched.


def outcome_of(number):
    if number == 2:
        os.abort()
    if number == 4:
        time.sleep(60)
    if number == 6:
        raise SystemExit(3)
    if number == 8:
        bytearray(1 << 34)
    return Outcome(number, refused="X" if number == 1 else None, n_fits=2)


def test_crashes_hangs_and_greed_are_findings():
    seen = []
    runner = Runner(outcome_of, lambda number: f"number {number}", patience=2, memory=4 << 30)
    runner.tell = lambda report, outcome: seen.append(outcome.case)
    report = runner.run(range(10))
    assert seen == list(range(10))
    assert [finding.case for finding in report.findings] == [2, 4, 6, 8]
    assert report.n_cases == 10 and report.n_fits == 12 and report.refused == {"X": 1}
    aborted, hung, left, greedy = report.findings
    assert "Aborted" in aborted.message and aborted.details == "number 2"
    assert "hangs" in hung.message and "exit code 3" in left.message and "MemoryError" in greedy.message


def test_a_run_ends_in_time():
    started = time.monotonic()
    report = Runner(lambda number: (time.sleep(0.05), Outcome(number))[1]).run(range(10_000), seconds=1)
    assert time.monotonic() - started < 10
    assert 0 < report.n_cases < 1000


def test_findings_of_one_kind_differ_in_numbers_and_names_only():
    one = Finding(1, "A", "law", "max_depth=3.5e+07: not one of 'a', 'b'", "details")
    assert one.kind == Finding(2, "A", "law", "max_depth=-12: not one of 'c', 'd'").kind
    assert one.kind != Finding(1, "A", "law", "max_bins=3: not one of 'a', 'b'").kind
    assert one.kind != Finding(1, "B", "law", one.message).kind


def test_the_command_says_how_to_repeat_a_finding(capsys, monkeypatch):
    def check(number, only=None, seconds=20):
        found = [Finding(number, "PETClassifier", "threads", f"differs by {number}", "a table")] * (number % 2)
        return Outcome(number, found, n_fits=1)

    monkeypatch.setattr(cases, "check_case", check)
    assert main(["--fits", "4", "--seed", "6", "--only", "PETClassifier"]) == 1
    said = capsys.readouterr().out
    assert "2 findings of 1 kinds" in said and "4 cases with 4 fits" in said
    assert "python -m tests.fuzz --fits 1 --seed 7 --only PETClassifier" in said
    assert main(["--fits", "1", "--seed", "6"]) == 0
    assert "no findings" in capsys.readouterr().out
