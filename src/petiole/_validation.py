"""Checks of parameters: an error names the parameter, its value and what to do."""

from __future__ import annotations

import difflib
import functools
import math
from collections.abc import Collection, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np

# The largest factor of a class in the choice of splits; with more, nothing would be left of the other classes.
MOST_FACTOR = 1e9
# Numbers without other limits are 0 or between these, so that products and quotients of them stay finite.
SMALLEST, LARGEST = 1e-100, 1e100
# On any machine; see thread_count.
MOST_THREADS = 16


def check_choice(name: str, value: Any, choices: tuple[Any, ...], *, otherwise: str = "") -> None:
    """Check that ``value`` is one of ``choices``; ``otherwise`` names in the error what else is allowed."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        named = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name}={value!r}: must be one of {named}{f', or {otherwise}' if otherwise else ''}")


def close_names(name: str, known: Collection[str], most: int = 1) -> list[str]:
    """The known names that are similar to a misspelt one, best first.

    >>> close_names("prune", ["predict", "probe"])
    ['probe']
    """
    return difflib.get_close_matches(name, known, n=most)


def did_you_mean(name: str, known: Collection[str], otherwise: str = "") -> str:
    """The end of an error about an unknown name: a question if a known name is close, else ``otherwise``.

    >>> did_you_mean("colour", ["size", "color"], "the columns are 'size', 'color'")
    "did you mean 'color'?"
    """
    close = close_names(name, known)
    return f"did you mean {close[0]!r}?" if close else otherwise


def check_whole(name: str, value: Any, least: int, *, optional: bool = False) -> None:
    """Check that ``value`` is a whole number at least ``least``, or None where that is allowed."""
    if optional and value is None:
        return
    if not _is_whole(value) or value < least:
        none = " or None" if optional else ""
        raise ValueError(f"{name}={value!r}: must be a whole number at least {least}{none}")


def check_number(name: str, value: Any, least: float, most: float = LARGEST) -> None:
    """Check that ``value`` is a number between ``least`` and ``most``."""
    is_number = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    # Compared as Python's numbers: a whole number may be too large for a double, and the limits for a float32.
    plain: Any = value.item() if isinstance(value, np.generic) else value
    if is_number and least <= plain <= most:
        if 0 < plain < SMALLEST:
            raise ValueError(f"{name}={value!r}: must be 0, or at least {SMALLEST:g}")
        return
    unlimited = most == LARGEST and not (is_number and plain > most)
    bound = f"at least {least:g}" if unlimited else f"between {least:g} and {most:g}"
    raise ValueError(f"{name}={value!r}: must be a number {bound}")


def as_row_numbers(name: str, value: Any, remedy: str) -> np.ndarray:
    """Return ``value``, one number or a list of them, each 0 or from SMALLEST to LARGEST, as an array."""
    try:
        numbers = np.asarray(value)
    except ValueError:  # lists of different lengths
        numbers = np.empty(0, dtype=object)
    if numbers.dtype.kind not in "iuf" or numbers.ndim > 1 or not ((numbers >= 0) & (numbers <= LARGEST)).all():
        raise ValueError(f"{name}={value!r}: {remedy}")
    if ((numbers > 0) & (numbers < SMALLEST)).any():
        raise ValueError(f"{name}={value!r}: must be 0, or at least {SMALLEST:g}")
    return numbers.astype(np.float64)


def check_fraction(name: str, value: Any) -> None:
    """Check that ``value`` lies strictly between 0 and 1."""
    if not isinstance(value, Real) or isinstance(value, (bool, np.bool_)) or not 0 < float(value) < 1:
        raise ValueError(f"{name}={value!r}: must be a number strictly between 0 and 1")


def draw_seed(random_state: Any) -> int:
    """A seed for the core, from the user's ``random_state``."""
    if random_state is None or random_state is np.random:
        generator: Any = np.random
    elif isinstance(random_state, np.random.RandomState):
        generator = random_state
    elif _is_whole(random_state) and 0 <= random_state < 2**32:
        generator = np.random.RandomState(int(random_state))
    else:
        raise ValueError(
            f"random_state={random_state!r}: must be None, a whole number from 0 to {2**32 - 1} or a RandomState"
        )
    return int(generator.randint(np.iinfo(np.int32).max))


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))


def thread_count(n_jobs: int | None) -> int:
    """The number of threads for ``n_jobs``, as in joblib; results do not depend on it.

    More than a few threads per processor would only take time to start, so their number is limited.
    """
    if n_jobs is None or n_jobs == 1:
        return 1
    import joblib  # imported late, so that importing petiole is fast

    return min(int(joblib.effective_n_jobs(n_jobs)), max(MOST_THREADS, 4 * processor_count()))


@functools.cache
def processor_count() -> int:
    """How many processors this process may use. Asking takes longer than predicting a row, so it is asked once."""
    import joblib

    return int(joblib.cpu_count())


def resolve_max_features(value: Any, n_features: int) -> int:
    """The number of features that are drawn at each node."""
    if value is None:
        return n_features
    if value == "sqrt":
        return math.ceil(math.sqrt(n_features))
    if value == "log2":
        return max(1, math.ceil(math.log2(n_features)))
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1:
        return min(int(value), n_features)
    if isinstance(value, Real) and not isinstance(value, (bool, Integral)) and 0 < float(value) <= 1:
        return max(1, int(float(value) * n_features))
    raise ValueError(
        f"max_features={value!r}: must be None, 'sqrt', 'log2', a whole number at least 1 or a fraction in (0, 1]"
    )


def resolve_class_scale(value: Any, classes: np.ndarray, class_weights: np.ndarray) -> list[float]:
    """One factor per class for the choice of splits; an empty list for none."""
    if value is None:
        return []
    if isinstance(value, str):
        if value != "balanced":
            raise ValueError(f"split_class_weight={value!r}: must be None, 'balanced', or a dict from class to number")
        # A class without rows, as in a fold of a rare class, is not balanced.
        present = class_weights > 0
        balanced = class_weights.sum() / (len(classes) * np.where(present, class_weights, 1.0))
        return list(np.where(present, balanced, 1.0))
    if not isinstance(value, Mapping):
        raise ValueError(f"split_class_weight={value!r}: must be None, 'balanced', or a dict from class to number")
    labels = classes.tolist()
    unknown = [label for label in value if label not in labels]
    if unknown:
        raise ValueError(
            f"split_class_weight names the class {unknown[0]!r}, but the classes are {labels}: remove or rename it"
        )
    for label, weight in value.items():
        if not isinstance(weight, Real) or not 1 / MOST_FACTOR <= float(weight) <= MOST_FACTOR:
            bounds = f"between {1 / MOST_FACTOR:g} and {MOST_FACTOR:g}"
            raise ValueError(f"split_class_weight[{label!r}]={weight!r}: must be a number {bounds}")
    return [float(value.get(label, 1.0)) for label in labels]


class WithoutClassWeight:
    """Rejects scikit-learn's parameter ``class_weight`` with an error that says what to use instead."""

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        if "class_weight" in parameters:
            raise TypeError(no_class_weight(cls.__name__))
        return super().__new__(cls)

    def set_params(self, **parameters: Any) -> Self:
        if "class_weight" in parameters:
            raise ValueError(no_class_weight(type(self).__name__))
        changed: Self = super().set_params(**parameters)  # type: ignore[misc]
        return changed


def no_class_weight(name: str) -> str:
    """The error about ``class_weight`` of the class ``name``."""
    return (
        f"class_weight: {name} has no such parameter, because with weights of classes its probabilities would no "
        "longer be those of the data. If some mistakes cost more than others, decide by costs: "
        "petiole.decisions.decide(model.predict_proba(X), cost), or CostSensitiveClassifier. If a class was sampled "
        "less than the others, weight its rows: fit(X, y, sample_weight=...)"
    )


class WithoutConstraints:
    """Answers the parameters of constraints, which other classifiers have, by why they are not possible here."""

    # Why no constraint can be kept to, and what to do.
    no_constraints: ClassVar[str]

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        for name in ("monotonic_cst", "interaction_cst", "monotonic_class"):
            if name in parameters:
                raise TypeError(f"{name}: {cls.__name__} has no such parameter, because {cls.no_constraints}")
        return super().__new__(cls, *args, **parameters)
