"""Estimators of the user's own, named on the command line as ``module:object``."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from petiole.cli.errors import WrongInput, nearest_of


def load_estimators(places: Iterable[str]) -> dict[str, Any]:
    """The estimators by the names of their objects; a module may be a file of the working folder."""
    found: dict[str, Any] = {}
    for place in places:
        module, colon, name = place.partition(":")
        if not (module and colon and name):
            raise WrongInput(f"--with {place}: write module:object, such as mymodels:model")
        if name in found:
            raise WrongInput(f"--with {place}: there are two objects named {name}; rename one")
        found[name] = _estimator(_object(module, name, place), place)
    return found


def _object(module: str, name: str, place: str) -> Any:
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        loaded = importlib.import_module(module.removesuffix(".py"))
    except Exception as error:  # any error of a user's module during its import
        raise WrongInput(f"--with {place}: {module} cannot be imported: {type(error).__name__}: {error}") from error
    if not hasattr(loaded, name):
        known = [known for known in vars(loaded) if not known.startswith("_")]
        raise WrongInput(f"--with {place}: {module} has no {name!r}; {nearest_of(name, known)}")
    return getattr(loaded, name)


def _estimator(value: Any, place: str) -> Any:
    """An object with ``fit``; a class or function without one is called."""
    made = value() if callable(value) and (isinstance(value, type) or not hasattr(value, "fit")) else value
    if not hasattr(made, "fit") or not hasattr(made, "get_params"):
        raise WrongInput(f"--with {place}: is not an estimator but of type {type(made).__name__}")
    return made
