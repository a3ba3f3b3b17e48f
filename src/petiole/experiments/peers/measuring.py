"""What a fit costs: processor time, and memory where the system tells it."""

from __future__ import annotations

import contextlib
import math
import re
import time
from pathlib import Path
from typing import Any

import numpy as np

from petiole._table.columns import Floats
from petiole._table.frames import Array


def fit_and_predict(model: Any, X: Array, y: Array, X_test: Array) -> tuple[Floats, dict[str, float]]:
    """The probabilities of the test rows, with the seconds of fit and prediction and the memory they took together."""
    before = reset_peak()
    start = time.process_time()
    model.fit(X, y)
    fitted = time.process_time()
    proba = np.asarray(model.predict_proba(X_test), dtype=np.float64)
    spent = {"fit_seconds": fitted - start, "predict_seconds": time.process_time() - fitted}
    return proba, {**spent, "memory_mb": memory("VmHWM") - before}


def reset_peak() -> float:
    """Make Linux forget the largest size that this process has had; its size now, in megabytes."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


def memory(field: str) -> float:
    """A size of this process in megabytes, NaN where the system does not tell it."""
    try:
        found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        return math.nan
    return int(found[1]) / 1024 if found else math.nan
