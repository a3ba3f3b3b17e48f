"""A case is a number: it stands for a class, its parameters, a problem, and the laws that are tried on them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import laws
from .models import CHANCES, MAKERS, random_subject
from .problems import random_problem

Law = Callable[[laws.Case], Any]


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
        without_values = re.sub(r"'[^']*'|\"[^\"]*\"|[-+]?\d[\d.,]*(e[-+]?\d+)?", "#", self.message)
        return self.subject, self.law, without_values[:160]


@dataclass
class Outcome:
    """What came of one case."""

    case: int
    findings: list[Finding] = field(default_factory=list)
    refused: str | None = None  # the class whose fit said no
    n_fits: int = 0


def make_case(number: int, only: str | None = None) -> laws.Case:
    """The case of that number, of one class if asked for. The problem does not depend on the class."""
    rng, of_problem, of_model = (np.random.default_rng([number, stream]) for stream in range(3))
    drawn = _random_name(rng)
    problem = random_problem(of_problem)
    subject = random_subject(only or drawn, of_model, problem)
    if subject.foreign:
        problem.make_ordinary()
    return laws.Case(subject, problem, rng)


def check_case(
    number: int, only: str | None = None, seconds: float = 20, always: Sequence[Law] | None = None
) -> Outcome:
    """Fit, and try the laws: those that are cheap and one of the others, or those given."""
    case, outcome = make_case(number, only), Outcome(number)
    costly = laws.COSTLY[int(case.rng.integers(len(laws.COSTLY)))]
    with laws.arithmetic_warnings_are_errors():
        fitted = attempt(case, laws.fits_or_refuses, seconds, outcome)
        for law in (always or (*laws.CHEAP, costly)) if fitted else ():
            if not attempt(case, law, seconds, outcome) and law is laws.probabilities:
                break  # the other laws compare with these
    outcome.n_fits = case.n_fits
    return outcome


def describe_case(number: int, only: str | None = None) -> str:
    return make_case(number, only).describe()


def attempt(case: laws.Case, law: Law, seconds: float, outcome: Outcome) -> bool:
    """Whether a law holds; a finding is put down if not."""
    case.step = law.__name__
    try:
        with laws.within(seconds):
            if law(case) is False:
                outcome.refused = case.subject.name
                return False
        return True
    except laws.TooSlow:
        message = f"takes more than {seconds:g} s"
    except laws.Broken as broken:
        message = str(broken)
    except Exception as error:
        message = f"{type(error).__name__}: {error}{laws.blame(error)}"
    outcome.findings.append(Finding(outcome.case, case.subject.name, case.step, message, case.describe()))
    return False


def _random_name(rng: np.random.Generator) -> str:
    names = list(MAKERS)
    chances = np.array([CHANCES.get(name, 1.0) for name in names])
    return names[int(rng.choice(len(names), p=chances / chances.sum()))]
