"""Forge model files by the hundred thousand and see what petiole makes of them.

    python tests/files/forge.py --mutants 100000 --seed 0

Each mutant is a file of one of the models of `file_models.py` with something changed on purpose and the checksum made
right (`file_mutations.forged`). It must be refused with petiole's own error, or be a model that gives probabilities.
Everything else is a finding: another error, a row that does not sum to 1, a model that cannot be saved again, a crash,
much memory, and a load or an answer that takes longer than the limit. Findings that are alike are reported once, with
the number of the first mutant; `--only NUMBER` makes that one again. The exit status is 1 if there are findings.
`--strange` puts every value of a list of strange ones at every place of a description, and changes every array in every
way, instead of doing so by chance.

Mutants are tried one after the other in a child process, so that a crash or an endless loop ends that process only.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import petiole
from file_models import MAKERS, answers, assert_same_answers, made
from file_mutations import ARRAY_CHANGES, STRANGE, arrays_of, forged, places_of, with_array, with_value
from petiole.calibrators import GroupCalibrator
from petiole.calibrators._base import ScoreCalibrator
from petiole.decisions import ExpectedProfitClassifier
from petiole.files import ModelFileError

N_QUERIES = 4
# Of each kind, to each array, with --strange.
N_CHANGES = 6
LONGEST_SECONDS = 20.0
# Enough for Python, NumPy and scikit-learn with room to spare, too little for what a forged number may ask for.
MOST_BYTES = 6 * 2**30
# What a model that was loaded may refuse to answer: the queries have other columns, or a parameter wants another fit.
MAY_REFUSE = (
    "feature names",
    "features, but",
    "was set after a fit",
    "cost=None",
    "scores has shape",
    "is not a number",
)


class Mutants:
    """Mutant number i, of model i modulo the number of models."""

    def __init__(self, seed: int, names: list[str], folder: Path) -> None:
        self.seed, self.names, self.folder = seed, names, folder
        self._whole: dict[str, bytes] = {}

    def name(self, number: int) -> str:
        return self.names[number % len(self.names)]

    def make(self, number: int) -> bytes:
        return forged(self._file(self.name(number)), np.random.default_rng([self.seed, number]))

    def _file(self, name: str) -> bytes:
        if name not in self._whole:
            path = self.folder / "original.petiole"
            made(name)[0].save(path)
            self._whole[name] = path.read_bytes()
        return self._whole[name]

    def try_one(self, number: int) -> str | None:
        """None if the mutant was refused, else "loaded"; raises if it is a finding."""
        path = self.folder / "mutant.petiole"
        path.write_bytes(self.make(number))
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            try:
                model = petiole.load(path)
            except ModelFileError:
                return None
            check_harmless(model, queries_of(self.name(number)), self.folder)
        return "loaded"


class StrangeValues(Mutants):
    """Every strange value at every place of a description, and every kind of change to every array, some times.

    Places and arrays of the same meaning are taken once.
    """

    def __init__(self, seed: int, names: list[str], folder: Path) -> None:
        super().__init__(seed, names, folder)
        places, arrays = {}, {}
        for name in names:
            for meaning, path in places_of(self._file(name)):
                places.setdefault(meaning, (name, path))
            for meaning, array in arrays_of(self._file(name)):
                arrays.setdefault(meaning, (name, array))
        changes = [change for change in dict.fromkeys(ARRAY_CHANGES) for _ in range(N_CHANGES)]
        self._made = [(name, path, value) for name, path in places.values() for value in STRANGE]
        self._made += [(name, array, change) for name, array in arrays.values() for change in changes]

    def __len__(self) -> int:
        return len(self._made)

    def name(self, number: int) -> str:
        return self._made[number][0]

    def make(self, number: int) -> bytes:
        name, place, change = self._made[number]
        if isinstance(place, tuple):
            return with_value(self._file(name), place, change)
        return with_array(self._file(name), place, change, np.random.default_rng([self.seed, number]))


@functools.cache
def queries_of(name: str):
    """Some of a model's queries and odd ones: all values missing, or extreme, or never seen."""
    model, queries = made(name)
    if queries is None or isinstance(model, ExpectedProfitClassifier):  # whose regression takes no missing values
        return None if queries is None else queries[:N_QUERIES]
    if isinstance(queries, np.ndarray):
        odd = [0.0, 1.0] if isinstance(model, (ScoreCalibrator, GroupCalibrator)) else [np.nan, 1e300, -1e300]
        return np.concatenate([queries[:N_QUERIES], *(np.full_like(queries[:1], value) for value in odd)])
    odd = pd.DataFrame([[None] * queries.shape[1], [1e300 if kind.kind in "if" else "?" for kind in queries.dtypes]])
    return pd.concat([queries[:N_QUERIES].astype(object), odd.set_axis(queries.columns, axis=1).astype(object)])


def check_harmless(model, queries, folder: Path) -> None:
    """Raise unless a model gives probabilities, and comes back from a file of its own."""
    try:
        said = answers(model, queries)
    except ValueError as error:
        if any(words in str(error) for words in MAY_REFUSE):
            return
        raise
    if "predict_proba" in said:
        check_probabilities(said["predict_proba"], model)
    if isinstance(model, (ScoreCalibrator, GroupCalibrator)):
        proba = said["predict"]
        check_probabilities(proba if proba.ndim == 2 else np.column_stack([1 - proba, proba]), model)
    for name in ("predict_interval", "oob_predict_proba_"):
        if name in said:
            known = said[name][~np.isnan(said[name])] if name == "oob_predict_proba_" else said[name]
            assert (known >= -1e-9).all() and (known <= 1 + 1e-9).all(), f"{name}: not between 0 and 1"
    if hasattr(model, "component_proba"):
        for proba in model.component_proba(queries).values():
            check_probabilities(proba, model)
    if hasattr(model, "predict_proba_std"):
        assert np.isfinite(model.predict_proba_std(queries)).all(), "predict_proba_std: not finite"
    if hasattr(model, "export_text"):
        assert model.export_text()
    repr(model)
    again = folder / "again.petiole"
    model.save(again)
    assert_same_answers(said, answers(petiole.load(again), queries))


def check_probabilities(proba, model) -> None:
    n_classes = len(model.classes_)
    assert proba.ndim == 2 and proba.shape[1] == n_classes, f"shape {proba.shape} for {n_classes} classes"
    assert np.isfinite(proba).all(), "not finite"
    assert (proba >= -1e-9).all() and (proba <= 1 + 1e-9).all(), "not between 0 and 1"
    assert np.allclose(proba.sum(axis=1), 1, rtol=0, atol=1e-6), "a row does not sum to 1"


# The child process: says the number of each mutant before it is tried, and afterwards what came of it.


def work(kind: type[Mutants], seed: int, names: list[str], first: int, end: int | None, folder: Path) -> None:
    if sys.platform == "linux":  # elsewhere there is no such limit
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, hard))
    # A forged model may be talkative: what it prints must not come between our messages.
    say = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def tell(**message) -> None:
        print(json.dumps(message), file=say, flush=True)

    mutants = kind(seed, names, folder)
    for name in names:
        mutants._file(name)  # made before the clock runs
    for number in range(first, len(mutants) if end is None else end):
        tell(number=number, name=mutants.name(number))
        try:
            tell(outcome=mutants.try_one(number) or "refused")
        except Exception as error:
            tell(outcome="finding", what=described(error))
    tell(outcome="end")


def described(error: BaseException) -> str:
    """An error with the place in petiole, or in these tests, that it comes from: equal for errors that are alike."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "petiole" in frame.filename] or frames
    place = f"{Path(ours[-1].filename).name}:{ours[-1].name}"
    return f"{type(error).__name__} at {place}: {str(error).splitlines()[0][:100] if str(error) else ''}"


# The parent.


class Outcome(NamedTuple):
    """What became of a mutant: "refused", "loaded" or a finding."""

    number: int
    name: str
    what: str


def watch(start, first: int, seconds: float) -> Iterator[Outcome]:
    """What becomes of each mutant from the first on. A child that dies or hangs is replaced by ``start(first)``."""
    while True:
        number = None
        with start(first) as process:
            for message in messages(process, seconds):
                if "number" in message:
                    number, name = message["number"], message["name"]
                elif message["outcome"] == "end":
                    return
                else:
                    yield Outcome(number, name, message.get("what", message["outcome"]))
                    first, number = number + 1, None
            status = process.poll()
            if number is None:
                raise RuntimeError(f"the child process ended with status {status} before mutant {first}")
            ended = f"no answer after {seconds:g} s" if status is None else f"process ended with status {status}"
            yield Outcome(number, name, f"{ended} ({name})")
            first = number + 1


@contextlib.contextmanager
def child(seed: int, names: list[str], end: int | None, first: int):
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--worker", folder, "--seed", str(seed), "--models", ",".join(names)]
        command += ["--strange"] if end is None else ["--mutants", str(end)]
        with running([*command, "--first", str(first)]) as process:
            yield process


@contextlib.contextmanager
def running(command: list[str]):
    """A process that ends here at the latest."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def messages(process, seconds: float) -> Iterator[dict]:
    """What the child says, until it ends or is silent for too long."""
    buffer, started = b"", False
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        # Making the models takes a while.
        while selector.select(seconds if started else 300):
            block = os.read(process.stdout.fileno(), 1 << 16)
            if not block:
                process.wait()
                return
            started = True
            *lines, buffer = (buffer + block).split(b"\n")
            yield from map(json.loads, lines)


def forge(
    seed: int, mutants: int | None, *, names=None, first: int = 0, seconds: float = LONGEST_SECONDS, report=None
) -> tuple[Counter[str], dict[str, list]]:
    """Try mutants, or every strange value if ``mutants`` is None.

    Returns how many were refused and loaded, and the findings: how often, the first mutant, and of which model it is.
    """
    outcomes: Counter[str] = Counter()
    findings: dict[str, list] = {}
    began = time.monotonic()
    start = functools.partial(child, seed, list(names or MAKERS), None if mutants is None else first + mutants)
    for number, name, what in watch(start, first, seconds):
        if what in ("refused", "loaded"):
            outcomes[what] += 1
        else:
            findings.setdefault(what, [0, number, name])[0] += 1
            if report and findings[what][0] == 1:
                report(f"mutant {number} ({name}): {what}")
        if report and (number + 1) % 5000 == 0:
            report(f"{number + 1:,} mutants in {time.monotonic() - began:.0f} s")
    return outcomes, findings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=100_000)
    parser.add_argument("--strange", action="store_true", help="every strange value at every place, instead of chance")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first mutant")
    parser.add_argument("--models", default=",".join(MAKERS), help="names of file_models.py, with commas between")
    parser.add_argument("--seconds", type=float, default=LONGEST_SECONDS, help="the limit for a mutant")
    parser.add_argument("--only", type=int, help="try one mutant in this process and show its error")
    parser.add_argument("--keep", type=Path, help="with --only: where to leave the file")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    names, kind = options.models.split(","), StrangeValues if options.strange else Mutants
    if options.worker:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent sees to it
        work(kind, options.seed, names, options.first, None if options.strange else options.mutants, options.worker)
        return 0
    if options.only is not None:
        return try_only(kind, names, options)
    outcomes, findings = forge(
        options.seed,
        None if options.strange else options.mutants,
        names=names,
        first=options.first,
        seconds=options.seconds,
        report=functools.partial(print, flush=True),
    )
    print(
        f"{outcomes.total():,} mutants were refused ({outcomes['refused']:,}) or gave probabilities "
        f"({outcomes['loaded']:,}); findings: {len(findings)}"
    )
    for what, (count, number, name) in sorted(findings.items(), key=lambda item: -item[1][0]):
        print(f"{count:6} times, first mutant {number} ({name}): {what}")
    return 1 if findings else 0


def try_only(kind: type[Mutants], names: list[str], options) -> int:
    with tempfile.TemporaryDirectory() as folder:
        mutants = kind(options.seed, names, Path(folder))
        if options.keep:
            options.keep.write_bytes(mutants.make(options.only))
        print(mutants.name(options.only), mutants.try_one(options.only) or "refused", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
