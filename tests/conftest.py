"""The order of tests, and what holds for all of them."""

from __future__ import annotations

import os
import signal
import sys

import pytest

pytest_plugins = ["wanting_data"]  # the mark real_data and the fixture load_real

# One thread of linear algebra per process, as there is one process per core: more of them wait for each other, which
# makes the fit of a small pool take ten times as long. Before numpy is imported, and for processes that tests start.
for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")

# A shell that runs the tests in the background has them ignore Ctrl-C, which some of them are about.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# These need signals, forks or limits of a process, which Windows does not have. Single tests of that kind are marked.
OF_POSIX = ["cli/test_kills.py", "files/test_files_hostile.py", "fuzz", "project/test_ci.py"]
collect_ignore = OF_POSIX if sys.platform == "win32" else []


def pytest_collection_modifyitems(items):
    """Begin with the longest, so that no worker is left alone with them at the end."""
    if sys.platform == "win32":
        for item in items:
            if item.get_closest_marker("posix"):
                item.add_marker(pytest.mark.skip(reason="needs signals, file modes or a shell of POSIX systems"))
    longest = {"test_examples_run", "test_types_are_sound"}
    items.sort(key=lambda item: item.name not in longest)
