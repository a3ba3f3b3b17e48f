"""TabPFN v1, a transformer that was trained on simulated data sets: how it is run with today's libraries.

Its code is that of ``tabpfn==0.1.11``, which wants names that PyTorch and scikit-learn no longer have. Its weights are
in the source archive of ``tabpfn==0.1`` (yanked, so the exact version must be asked for) and belong into the folder
``models_diff`` of the installed package. PyTorch is large: use an environment of its own, and run
``petiole reproduce peers --methods "TabPFN v1 (4)"`` there.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from petiole._table.columns import Floats
from petiole._table.frames import Array

WEIGHTS = Path("models_diff") / "prior_diff_real_checkpoint_n_0_epoch_42.cpkt"


class TabPFN:
    """TabPFN v1 with a number of members. Categories are numbers to it; what is missing, it takes for the mean."""

    def __init__(self, n_members: int, seed: int) -> None:
        self.n_members, self.seed = n_members, seed

    def fit(self, X: Floats, y: Array) -> Self:
        make = _classifier_class()
        self.model_ = make(device="cpu", N_ensemble_configurations=self.n_members, seed=self.seed).fit(X, y)
        return self

    def predict_proba(self, X: Floats) -> Floats:
        proba: Floats = self.model_.predict_proba(X)
        return proba


@functools.cache
def _classifier_class() -> Any:
    """The classifier, in an environment that has what it wants."""
    check_weights()
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    transformer = importlib.import_module("torch.nn.modules.transformer")
    old_names = {name: getattr(typing, name) for name in ("Any", "Callable", "Optional", "Union")}
    for name, value in {**old_names, "Module": torch.nn.Module, "Tensor": torch.Tensor}.items():
        setattr(transformer, name, value)
    interface: Any = importlib.import_module("tabpfn.scripts.transformer_prediction_interface")
    for name in ("check_array", "check_X_y"):
        setattr(interface, name, _renamed(getattr(interface, name)))
    return interface.TabPFNClassifier


def _renamed(check: Callable[..., Any]) -> Callable[..., Any]:
    """A check of scikit-learn's under the name that a parameter had before version 1.6."""

    def checked(*arrays: Any, force_all_finite: bool = True) -> Any:
        return check(*arrays, ensure_all_finite=force_all_finite)

    return checked


def check_weights() -> None:
    """The weights are there; without them the package would look for them elsewhere."""
    found = importlib.util.find_spec("tabpfn")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("tabpfn: is not installed; install tabpfn==0.1.11")
    weights = Path(found.origin).parent / WEIGHTS
    if not weights.exists():
        raise FileNotFoundError(f"{weights}: is not there; copy it from the source archive of tabpfn==0.1")
