"""Methods by name, their parameters from the command line, and fitting them with a bar."""

from __future__ import annotations

import ast
import sys
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from petiole._classifiers.nesting import find_encoder, with_inner_classifiers
from petiole._classifiers.sizing import finest_growth
from petiole._validation import thread_count
from petiole.cli.errors import WrongInput, nearest_of
from petiole.cli.io.labelled import Labelled
from petiole.cli.progress import expecting

MANY_CELLS = 1_000_000
MANY_ROWS = 5_000  # a fit to fewer is short
TRIAL_SHARE = 32  # one row of so many is fitted to estimate the time of all


@dataclass(frozen=True)
class Fitted:
    """Facts about a fit: rows, the kinds of the features, and notes."""

    n_rows: int
    kinds: dict[str, str]
    seconds: float
    left_out: list[str]
    warnings: list[str]


def n_processors(jobs: int | None) -> int:
    """How many processors to use; all by default."""
    if jobs is None:
        return thread_count(-1)
    if jobs < 1:
        raise WrongInput(f"--jobs {jobs}: must be a whole number at least 1")
    return jobs


def make_model(method: str, settings: Iterable[str], seed: int, n_jobs: int) -> Any:
    """A classifier of petiole that is not fitted yet."""
    from petiole.study import METHODS

    own = [name for name, entry in METHODS.items() if not entry.is_peer]
    if method not in METHODS:
        raise WrongInput(f"--method {method}: is unknown; {nearest_of(method, own)}")
    if METHODS[method].is_peer:
        raise WrongInput(f"--method {method}: is scikit-learn's, and model files hold petiole's own: {', '.join(own)}")
    model = METHODS[method].make(seed, n_jobs)
    for setting in settings:
        name, value = read_setting(setting)
        if name == "class_weight":
            raise WrongInput(
                f"--set {setting}: {method} has no such parameter, because its probabilities would no longer be those "
                "of the data: if some mistakes cost more than others, give --costs to predict and compare; if the rows "
                "of a class stand for more rows than one, give --weight to fit"
            )
        if name not in model.get_params():
            raise WrongInput(
                f"--set {setting}: {method} has no parameter {name!r}; {nearest_of(name, model.get_params())}"
            )
        model.set_params(**{name: value})
    return model


def read_setting(text: str) -> tuple[str, Any]:
    """A parameter and its value; anything other than a number, list, True, False or None is text.

    >>> read_setting("n_estimators=500"), read_setting("max_features=sqrt")
    (('n_estimators', 500), ('max_features', 'sqrt'))
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise WrongInput(f"--set {text}: write name=value, such as n_estimators=500")
    try:
        return name.strip(), ast.literal_eval(value.strip())
    except (ValueError, SyntaxError):
        return name.strip(), value.strip()


def fit_model(model: Any, table: Labelled, quiet: bool) -> float:
    """Fit a model and return the seconds that it took."""
    X, y = table.X, table.y
    arguments = {} if table.weights is None else {"sample_weight": table.weights}
    expected = 0.0 if quiet else _expected_seconds(model, X, y, table.weights)
    started = time.perf_counter()
    with expecting("fitting", expected, quiet):
        model.fit(X, y, **arguments)
    if isinstance(X, np.ndarray):
        remember_names(model, [*table.columns])
    remember_format(model, table.format)
    seconds = time.perf_counter() - started
    remember_rows(model, X, y, table.weights)
    return seconds


def remember_rows(model: Any, X: Any, y: Any, weights: Any) -> None:
    """Let a model keep what petiole monitor and a model card need to know of its rows."""
    from petiole.monitoring import remember

    if find_encoder(model) is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            remember(model, X, y, weights)


def _expected_seconds(model: Any, X: Any, y: Any, weights: Any) -> float:
    """An estimate of the time of a fit from that of a few of the rows; 0 if it is short or unknown."""
    from sklearn.base import clone
    from sklearn.utils import _safe_indexing

    n = len(X)
    if n < MANY_ROWS or not _is_watched(X):
        return 0.0
    few = np.arange(0, n, TRIAL_SHARE)
    settings = finest_growth(model, n) if getattr(model, "sizes_trees", False) else {}
    started = time.perf_counter()
    with warnings.catch_warnings(), expecting("estimating the time of the fit", 0.0, quiet=False):
        warnings.simplefilter("ignore")
        given = {} if weights is None else {"sample_weight": weights[few]}
        try:
            clone(model).set_params(**settings).fit(_safe_indexing(X, few), y[few], **given)
        except ValueError:  # some of the rows need not have what all have, such as several classes
            return 0.0
    return (time.perf_counter() - started) * n / len(few)


def _is_watched(X: Any) -> bool:
    """Whether the time left is shown: on a terminal, and elsewhere if the work may take more than a few seconds."""
    return sys.stderr.isatty() or X.shape[0] * X.shape[1] > MANY_CELLS


def remember_names(model: Any, names: list[str]) -> None:
    """Set the column names of a model that was fitted to an array because no library for frames is installed."""
    encoder = find_encoder(model)
    if encoder is not None:
        encoder.name_inputs(names)
        for part in with_inner_classifiers(model):
            part.feature_names_in_ = np.array(names, dtype=object)


def remember_format(model: Any, format: dict[str, Any]) -> None:
    """Store in a model how its file was read."""
    encoder = find_encoder(model)
    if encoder is not None:
        encoder.table_format = format or None


def load_model(path: str, jobs: int | None = None) -> Any:
    """Read a model file; its predictions use the given number of processors."""
    import petiole
    from petiole.cli.io.model_files import refuse_table

    refuse_table(path)
    model = petiole.load(path)
    if not hasattr(model, "predict_proba"):
        raise WrongInput(f"{path}: holds a {type(model).__name__}, which does not give probabilities")
    n_jobs = n_processors(jobs)
    for part in with_inner_classifiers(model):
        if hasattr(part, "n_jobs"):
            part.n_jobs = n_jobs
    return model
