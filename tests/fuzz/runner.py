"""Runs cases in a child process, so that a crash or a hang is a finding like any other."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import re
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .cases import Finding, Outcome

Check = Callable[[int], Outcome]


@dataclass
class Report:
    """What came of a run."""

    findings: list[Finding] = field(default_factory=list)
    n_cases: int = 0
    n_fits: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def add(self, outcome: Outcome) -> None:
        self.n_cases += 1
        self.n_fits += outcome.n_fits
        self.findings += outcome.findings
        if outcome.refused is not None:
            self.refused[outcome.refused] += 1

    def kinds(self) -> dict[tuple[str, str, str], list[Finding]]:
        found: dict[tuple[str, str, str], list[Finding]] = {}
        for finding in self.findings:
            found.setdefault(finding.kind, []).append(finding)
        return found


@dataclass
class Runner:
    """Checks cases one after the other.

    Attributes
    ----------
    check : from the number of a case to its outcome
    describe : what to say of a case that no outcome came of
    patience : seconds to wait for an outcome
    memory : bytes that a child may have; None: as many as it likes
    tell : called with the report so far and each outcome
    """

    check: Check
    describe: Callable[[int], str] = str
    patience: float = 400
    memory: int | None = None
    tell: Callable[[Report, Outcome], None] = lambda report, outcome: None

    def run(self, cases: Sequence[int], seconds: float = float("inf")) -> Report:
        """Check the cases, or as many of them as fit into so many seconds."""
        report, started = Report(), time.monotonic()
        waiting = list(reversed(cases))
        while waiting and time.monotonic() - started < seconds:
            self._run_child(waiting, report, started + seconds)
        report.seconds = time.monotonic() - started
        return report

    def _run_child(self, waiting: list[int], report: Report, until: float) -> None:
        """Take cases from the end of the list, until all are done, time is up, or the child dies or hangs."""
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        with tempfile.TemporaryFile("w+") as errors:
            child = context.Process(target=self._work, args=(waiting[::-1], theirs, errors.fileno()))
            child.start()
            theirs.close()
            try:
                while waiting and time.monotonic() < until:
                    outcome, cause = self._receive(ours, child, errors)
                    number = waiting.pop()
                    if outcome is None:
                        lost = Finding(number, "the process", "survives", cause, self.describe(number))
                    report.add(outcome or Outcome(number, [lost]))
                    self.tell(report, outcome or Outcome(number, [lost]))
                    if outcome is None:
                        return
            finally:
                child.kill()
                child.join()
                ours.close()

    def _receive(self, ours: Any, child: Any, errors: Any) -> tuple[Outcome | None, str]:
        """The next outcome, or what has become of the child."""
        try:
            if ours.poll(self.patience):
                return ours.recv(), ""
            return None, f"hangs: no answer after {self.patience:g} s"
        except EOFError:
            child.join()
            return None, _cause_of_death(child.exitcode, errors)

    def _work(self, cases: list[int], to_parent: Any, errors: int) -> None:
        os.dup2(errors, 2)  # where sanitizers write
        sys.stderr = os.fdopen(2, "w", closefd=False)
        faulthandler.enable(2)
        if self.memory is not None and sys.platform == "linux":  # elsewhere there is no such limit
            resource.setrlimit(resource.RLIMIT_AS, (self.memory, self.memory))
        for case in cases:
            to_parent.send(self.check(case))


def _cause_of_death(exit_code: int | None, errors: Any) -> str:
    errors.seek(0)
    text = errors.read()
    for pattern in (r"runtime error: .*", r"SUMMARY: .*", r"ERROR: AddressSanitizer.*", r"Fatal Python error: .*"):
        found = re.search(pattern, text)
        if found:
            return f"{found.group()} (exit code {exit_code})"
    last = text.strip().splitlines()[-1:] or [""]
    return f"died with exit code {exit_code}: {last[0]}"
