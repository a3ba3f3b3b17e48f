"""Runs cases in a child process, so that a crash or a hang is a finding like any other."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import laws
from .models import CHANCES, MAKERS, random_subject
from .problems import random_problem


@dataclass(frozen=True)
class Finding:
    """A law that does not hold in a case."""

    case: int
    subject: str
    law: str
    message: str
    details: str = ""

    @property
    def kind(self) -> tuple[str, str, str]:
        """Equal for findings that are likely to have one cause."""
        return self.subject, self.law, re.sub(r"[-+]?\d[\d.,]*(e[-+]?\d+)?|'[^']*'|\"[^\"]*\"", "#", self.message)[:160]


@dataclass
class Outcome:
    """What came of one case."""

    case: int
    findings: list[Finding] = field(default_factory=list)
    refusal: str | None = None
    n_fits: int = 0


def check_case(number: int, only: str | None = None, seconds: float = 20, laws_of: Any = None) -> Outcome:
    """Make the case of that number and try the laws on it."""
    rng = np.random.default_rng([number, 0])
    name = only or _random_name(rng)
    problem = random_problem(np.random.default_rng([number, 1]))
    subject = random_subject(name, np.random.default_rng([number, 2]), problem)
    if subject.foreign:
        problem.queries = np.nan_to_num(problem.queries).clip(-1e30, 1e30)
    case = laws.Case(subject, problem, rng)
    outcome = Outcome(number)
    chosen = [*laws.ALWAYS, laws.SOMETIMES[int(rng.integers(len(laws.SOMETIMES)))]] if laws_of is None else laws_of
    with laws.warnings_are_errors():
        fitted = _attempt(case, laws.check_fit, "fit", seconds, outcome)
        for law in chosen if fitted else ():
            done = _attempt(case, law, law.__name__, seconds, outcome)
            if not done and law is laws.probabilities:
                break  # the others compare with these
    outcome.n_fits = case.n_fits
    return outcome


def _attempt(case: laws.Case, law: Callable[[laws.Case], Any], step: str, seconds: float, outcome: Outcome) -> bool:
    """Whether a step went well; what did not is put down."""
    case.step = step
    try:
        with laws.within(seconds):
            if law(case) is False:
                outcome.refusal = case.subject.name
                return False
        return True
    except laws.TooSlow:
        message = f"takes more than {seconds:g} s"
    except laws.Broken as broken:
        message = str(broken)
    except Exception as error:
        message = f"{type(error).__name__}: {error}{laws.blame(error)}"
    extreme = " [extreme weights]" if case.problem.has_extreme_weights else ""
    outcome.findings.append(Finding(outcome.case, case.subject.name, case.step + extreme, message, case.describe()))
    return False


def _random_name(rng: np.random.Generator) -> str:
    names = list(MAKERS)
    chances = np.array([CHANCES.get(name, 1.0) for name in names])
    return names[int(rng.choice(len(names), p=chances / chances.sum()))]


# The child, and the parent that watches it.


@dataclass
class Report:
    """What came of a run."""

    findings: list[Finding] = field(default_factory=list)
    n_cases: int = 0
    n_fits: int = 0
    refused: Counter = field(default_factory=Counter)
    seconds: float = 0.0

    def kinds(self) -> dict[tuple[str, str, str], list[Finding]]:
        found: dict[tuple[str, str, str], list[Finding]] = {}
        for finding in self.findings:
            found.setdefault(finding.kind, []).append(finding)
        return found


Check = Callable[[int], Outcome]


def run(
    check: Check, cases: Sequence[int], *, seconds: float | None = None, limit: float = 20, tell: Callable | None = None
) -> Report:
    """Check cases one after the other, for so many seconds at most; a step may take ``limit`` seconds."""
    report, started = Report(), time.monotonic()
    waiting = list(cases)[::-1]
    while waiting and (seconds is None or time.monotonic() - started < seconds):
        _run_child(check, waiting, report, limit, tell, None if seconds is None else started + seconds)
    report.seconds = time.monotonic() - started
    return report


def _run_child(
    check: Check, waiting: list[int], report: Report, limit: float, tell: Callable | None, until: float | None
) -> None:
    """Start a child and take what it finds, until it is done, dies or hangs."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    with tempfile.TemporaryFile("w+") as errors:
        child = context.Process(target=_work, args=(check, waiting[::-1], theirs, errors.fileno()))
        child.start()
        theirs.close()
        try:
            while waiting and (until is None or time.monotonic() < until):
                message = f"hangs: no answer after {20 * limit:g} s"
                outcome = None
                try:
                    if ours.poll(20 * limit):
                        outcome = ours.recv()
                except EOFError:
                    child.join()
                    message = _cause_of_death(child.exitcode, errors)
                number = waiting.pop()
                if outcome is None:
                    outcome = Outcome(number, [Finding(number, "the process", "survives", message)])
                report.n_cases += 1
                report.n_fits += outcome.n_fits
                report.findings += outcome.findings
                if outcome.refusal:
                    report.refused[outcome.refusal] += 1
                if tell is not None:
                    tell(report, outcome)
                if any(finding.law == "survives" for finding in outcome.findings):
                    return
        finally:
            child.kill()
            child.join()
            ours.close()


def _work(check: Check, cases: list[int], to_parent: Any, errors: int) -> None:
    os.dup2(errors, sys.stderr.fileno() if hasattr(sys.stderr, "fileno") else 2)
    os.dup2(errors, 2)
    faulthandler.enable(open(2, "w", closefd=False))  # noqa: SIM115
    for case in cases:
        to_parent.send(check(case))
    to_parent.close()


def _cause_of_death(exit_code: int | None, errors: Any) -> str:
    errors.seek(0)
    text = errors.read()
    for pattern in (r"runtime error: .*", r"SUMMARY: .*", r"ERROR: AddressSanitizer.*", r"Fatal Python error: .*"):
        found = re.search(pattern, text)
        if found:
            return f"{found.group()} (exit code {exit_code})"
    return f"died with exit code {exit_code}"
