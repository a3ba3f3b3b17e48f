"""Executors: this process, part by part, or Dask. Both add up results in the same order, so the sums are identical."""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from petiole._progress import Bar

# The number of results that one task adds up; the order of the sum depends only on their number.
FAN_IN = 8


def add_all(values: Sequence[Any]) -> Any:
    """The sum from left to right; None stands for nothing."""
    present = [value for value in values if value is not None]
    return functools.reduce(lambda one, two: one + two, present) if present else None


class RunningSum:
    """Adds up values as they arrive, in groups of FAN_IN and groups of groups; only a few sums are in memory."""

    def __init__(self) -> None:
        self._levels: list[list[Any]] = []

    def add(self, value: Any, level: int = 0) -> None:
        if level == len(self._levels):
            self._levels.append([0, None])
        group = self._levels[level]
        group[0] += 1
        group[1] = add_all([group[1], value])
        if group[0] == FAN_IN:
            self._levels[level] = [0, None]
            self.add(group[1], level + 1)

    def total(self) -> Any:
        carried = None
        for level, (n, value) in enumerate(self._levels):
            if carried is None:
                carried = value if n else None
            elif n or level + 1 < len(self._levels):
                carried = add_all([value, carried])
        return carried


class Serial:
    """One part after another, in this process; results are computed when they are requested."""

    n_workers = 1

    def __init__(self, loaders: Sequence[Callable[[], Any]], verbose: int = 0) -> None:
        self.parts: list[Any] = [functools.partial(load) for load in loaders]
        self.verbose = verbose

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The function of these arguments, some of which may be pending results."""
        return functools.partial(_evaluate, function, arguments)

    def keep(self, results: Sequence[Any], what: str) -> list[Any]:
        """Compute results now and keep them where they are."""
        with self._watched(results, what) as watched:
            return [_Known(self._value(result)) for result in watched]

    def get(self, result: Any) -> Any:
        """A result, here."""
        return self._value(result)

    def gather(self, results: Sequence[Any]) -> list[Any]:
        """Several results, here."""
        return [self._value(result) for result in results]

    def sum(self, results: Sequence[Any], what: str) -> Any:
        """The sum of results, here; None stands for nothing."""
        with self._watched(results, what) as watched:
            return _add_up(watched)

    def total(self, results: Sequence[Any]) -> Any:
        """The sum of results, as an argument for other calls."""
        return functools.partial(_add_up, list(results))

    def share(self, value: Any) -> Any:
        """A value that many calls use."""
        return _Known(value)

    @staticmethod
    def _value(result: Any) -> Any:
        return result()

    @contextlib.contextmanager
    def _watched(self, results: Iterable[Any], what: str) -> Iterator[Iterable[Any]]:
        """The results with a bar, which is removed when the work ends, also after an error."""
        if not self.verbose:
            yield results
            return
        listed, progress = list(results), Bar(what)

        def advancing() -> Iterator[Any]:
            for result in listed:
                yield result
                progress.advance("")

        progress.start(len(listed))
        try:
            yield advancing()
        finally:
            progress.stop()


def _add_up(results: Iterable[Callable[[], Any]]) -> Any:
    total = RunningSum()
    for result in results:
        total.add(result())
    return total.total()


class _Known:
    """A result that is available."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self) -> Any:
        return self.value


def _evaluate(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    return function(*(_settled(argument) for argument in arguments))


def _settled(argument: Any) -> Any:
    if isinstance(argument, (functools.partial, _Known)):
        return argument()
    if isinstance(argument, list):
        return [_settled(entry) for entry in argument]
    return argument


class OnDask:
    """Parts and work on Dask: on a cluster if there is a client, otherwise in threads of this process."""

    def __init__(self, parts: Sequence[Any], client: Any = None, verbose: int = 0) -> None:
        self.parts = list(parts)
        self.client = client
        self.verbose = verbose

    @property
    def n_workers(self) -> int:
        return 1 if self.client is None else max(1, len(self.client.nthreads()))

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        import dask

        return dask.delayed(function, pure=False)(*arguments)

    def keep(self, results: Sequence[Any], what: str) -> list[Any]:
        import dask

        if self.client is None:
            with self._progress(what):
                values = dask.compute(*results, scheduler="threads")
            return [dask.delayed(value, traverse=False) for value in values]
        kept = self.client.persist(list(results))
        self._wait(kept, what)
        return list(kept)

    def get(self, result: Any) -> Any:
        return self._compute(result, None)

    def gather(self, results: Sequence[Any]) -> list[Any]:
        import dask

        if self.client is None:
            return list(dask.compute(*results, scheduler="threads"))
        return list(self.client.gather(self.client.compute(list(results))))

    def sum(self, results: Sequence[Any], what: str) -> Any:
        return self._compute(self.total(results), what)

    def total(self, results: Sequence[Any]) -> Any:
        level = list(results)
        while len(level) > 1:
            level = [self.call(add_all, level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
        return level[0]

    def share(self, value: Any) -> Any:
        import dask

        return dask.delayed(value, traverse=False, pure=False)

    def _compute(self, result: Any, what: str | None) -> Any:
        import dask

        if self.client is None:
            with self._progress(what):
                return dask.compute(result, scheduler="threads")[0]
        future = self.client.compute(result)
        self._wait([future], what)
        return future.result()

    def _progress(self, what: str | None) -> Any:
        import contextlib

        if not self.verbose or what is None:
            return contextlib.nullcontext()
        from dask.diagnostics import ProgressBar

        print(what, file=sys.stderr)
        return ProgressBar(out=sys.stderr)

    def _wait(self, futures: Sequence[Any], what: str | None) -> None:
        if not self.verbose or what is None:
            return
        import distributed

        started = time.perf_counter()
        if sys.stdout.isatty():
            distributed.progress(*futures, notebook=False)
        else:
            distributed.wait(futures)
        print(f"{what}: {time.perf_counter() - started:.1f} s", file=sys.stderr)
