"""``fit``: from data of any size to a fitted model."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from petiole._classifiers.bagging import BaggedPETClassifier
from petiole._classifiers.base import check_parameters
from petiole._classifiers.mob_esp import MOBESPClassifier
from petiole._classifiers.pet import PETClassifier
from petiole._classifiers.probability_forest import ProbabilityForestClassifier
from petiole._validation import check_choice, check_whole
from petiole.distributed.broadcast import fit_broadcast
from petiole.distributed.executors import OnDask, Serial
from petiole.distributed.level_wise import fit_levels
from petiole.distributed.sharded import fit_sharded, take_over
from petiole.distributed.sources import (
    PART_CELLS,
    Batch,
    Fields,
    Spilled,
    arrow_parts,
    batch_parts,
    part_rows,
    slices_of,
)
from petiole.distributed.tasks import Coding, survey_part

MODES = ("auto", "broadcast", "sharded")
CLASSIFIERS = (BaggedPETClassifier, MOBESPClassifier, ProbabilityForestClassifier, PETClassifier)
# With mode="auto", data of up to this many bytes as doubles are brought together; it must not depend on the workers.
BROADCAST_BYTES = 256 << 20
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def fit(
    model: Any,
    data: Any,
    target: Any = None,
    *,
    sample_weight: Any = None,
    mode: str = "auto",
    client: Any = None,
    features: Sequence[str] | None = None,
    memory_limit: int | str | None = None,
    shard_rows: int | None = None,
    verbose: int | None = None,
) -> Any:
    """Fit a classifier on data that are distributed or do not fit into memory.

    Parameters
    ----------
    model : BaggedPETClassifier, MOBESPClassifier, ProbabilityForestClassifier or PETClassifier
        It is fitted in place, as by ``model.fit``, and returned.
    data : Dask DataFrame or Array; path of a Parquet file or folder; Arrow dataset; batches; table or array
        Batches are an iterator, a function that returns one, or a list, of pairs (X, y), triples (X, y, weights), or
        tables with a target column. An iterator is written to a temporary folder, since several passes are needed.
    target : name of a column, or labels (a Dask Series or Array with Dask data)
    sample_weight : name of a column, or weights, optional
    mode : {"auto", "broadcast", "sharded"}, default="auto"
        "broadcast" brings all rows to each worker; the model is bit for bit that of ``model.fit``. "sharded" grows each
        tree on one shard and then counts all rows at the leaves of all trees; the model depends on the seed and on the
        partitions, not on the number of workers. A single tree is grown level by level, from histograms of the
        partitions that are summed. "auto" is "broadcast" up to 256 MB of numbers.
    client : distributed.Client, optional
        By default the active one, if there is one. Without a client, Dask data are processed by threads of this
        process, and all other data part by part, which does not need Dask.
    features : list of str, optional
        The features of a Parquet file or an Arrow dataset; by default all columns except target and weights.
    memory_limit : int or str such as "2GB", optional
        Files, tables and batches are divided into partitions so that the work on one of them stays within the limit.
        The model itself is not counted, and a row group of a Parquet file is not divided.
    shard_rows : int, optional
        The least number of rows of a shard; neighbouring partitions are joined until they have it. 100,000 by default.
    verbose : int, optional
        Whether progress is shown on the terminal; by default as the model's ``verbose``.

    Returns
    -------
    model
        The fitted model. In "sharded" mode, ``oob_score=True`` gives scores on some of the rows and no probabilities,
        and methods that need the training rows again (``warm_start``, permutation importance) do not work.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from petiole import MOBESPClassifier
    >>> from petiole.distributed import fit
    >>> X, y = load_iris(return_X_y=True)
    >>> batches = [(X[start::5], y[start::5]) for start in range(5)]
    >>> model = fit(MOBESPClassifier(16, random_state=0), batches, mode="sharded")
    >>> float(model.trees_[0].oob_class_counts[0].sum() + model.trees_[0].inbag_class_counts[0].sum())
    150.0
    """
    _check(model, mode, shard_rows)
    limit = parse_bytes(memory_limit)
    shown = model.verbose if verbose is None else verbose
    with open_engine(data, target, sample_weight, client, features, limit, shown) as engine:
        single = isinstance(model, PETClassifier)
        survey = _survey(engine, model, sketches=single and mode != "broadcast")
        chosen = mode
        if mode == "auto":
            n_bytes = 8 * sum(survey.n_rows.values()) * survey.n_features
            chosen = "broadcast" if n_bytes <= min(BROADCAST_BYTES, limit or BROADCAST_BYTES) else "sharded"
        if chosen == "broadcast":
            fitted = fit_broadcast(model, engine)
        else:
            coding = Coding.of(survey, model)
            fitted = fit_levels(model, engine, coding) if single else fit_sharded(model, engine, coding, shard_rows)
    take_over(model, fitted)
    return model


def parse_bytes(given: int | str | None, name: str = "memory_limit") -> int | None:
    """A number of bytes.

    >>> parse_bytes("1.5 GB"), parse_bytes("64MiB"), parse_bytes(100)
    (1500000000, 67108864, 100)
    """
    if given is None:
        return None
    if isinstance(given, str):
        found = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]i?)?b?\s*", given.lower())
        if found is None:
            raise ValueError(f"{name}={given!r}: must be a number of bytes, or a string such as '2GB'")
        return int(float(found.group(1)) * _UNITS[found.group(2) or ""])
    check_whole(name, given, 1)
    return int(given)


@contextlib.contextmanager
def open_engine(
    data: Any,
    target: Any,
    weight: Any,
    client: Any,
    features: Sequence[str] | None,
    memory_limit: int | None,
    verbose: int,
) -> Iterator[Any]:
    """Parts of the data, and the executor that works on them."""
    client = active_client() if client is None else client
    if is_dask(data):
        from petiole.distributed.collections import delayed_batches

        yield OnDask(delayed_batches(data, target, weight), client, verbose)
        return
    if features is not None and not _is_arrow(data):
        raise ValueError("features is for Parquet files and Arrow datasets: select the columns of other data yourself")
    if _is_arrow(data):
        parts = arrow_parts(data, _fields(target, weight), features, memory_limit)
        yield Serial(parts, verbose) if client is None else _on_cluster(parts, client, verbose)
        return
    if _are_batches(data):
        fields = Fields(target, weight)
        if isinstance(data, (list, tuple)):
            yield Serial(batch_parts(data, fields), verbose)
            return
        n_cells = part_rows(1, memory_limit) if memory_limit else PART_CELLS
        spilled = Spilled(data() if callable(data) else data, fields, n_cells)
        with contextlib.closing(spilled):
            yield Serial(spilled.parts, verbose)
        return
    yield Serial(_table_parts(data, target, weight, memory_limit), verbose)


def is_dask(data: Any) -> bool:
    """Whether this is one of Dask's collections."""
    return hasattr(data, "__dask_graph__")


def active_client() -> Any:
    """The active client of a Dask cluster, if there is one; Dask is not imported for it."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None


def _on_cluster(parts: Sequence[Callable[[], Batch]], client: Any, verbose: int) -> OnDask:
    import dask

    return OnDask([dask.delayed(_load, pure=False)(part) for part in parts], client, verbose)


def _load(part: Callable[[], Batch]) -> Batch:
    return part()


def _check(model: Any, mode: str, shard_rows: int | None) -> None:
    if type(model) not in CLASSIFIERS:
        names = ", ".join(kind.__name__ for kind in CLASSIFIERS)
        raise TypeError(f"model is a {type(model).__name__}: must be one of {names}")
    check_choice("mode", mode, MODES)
    check_whole("shard_rows", shard_rows, 1, optional=True)
    check_parameters(model)
    for name in ("monotonic_cst", "interaction_cst"):
        if getattr(model, name, None) is not None:
            raise ValueError(
                f"{name}: trees on shards are grown without constraints; fit in memory, model.fit(X, y), or on a sample"
            )


def _survey(engine: Any, model: Any, sketches: bool) -> Any:
    calls = [
        engine.call(survey_part, part, index, model.categorical_features, sketches)
        for index, part in enumerate(engine.parts)
    ]
    survey = engine.sum(calls, f"summarising {len(calls)} parts")
    if survey is None:
        raise ValueError("data has no rows of positive weight: give at least one")
    return survey


def _fields(target: Any, weight: Any) -> Fields:
    for name, value in (("target", target), ("sample_weight", weight)):
        if not isinstance(value, str) and not (name == "sample_weight" and value is None):
            raise ValueError(f"{name}={value!r}: must be the name of a column of the files")
    return Fields(target, weight)


def _is_arrow(data: Any) -> bool:
    return isinstance(data, (str, Path)) or type(data).__module__ == "pyarrow._dataset"


def _are_batches(data: Any) -> bool:
    if callable(data) or hasattr(data, "__next__"):
        return True
    return isinstance(data, (list, tuple)) and len(data) > 0 and _looks_like_batch(data[0])


def _looks_like_batch(entry: Any) -> bool:
    return isinstance(entry, tuple) or hasattr(entry, "columns") or getattr(entry, "ndim", 0) == 2


def _table_parts(data: Any, target: Any, weight: Any, memory_limit: int | None) -> list[Callable[[], Batch]]:
    if isinstance(target, str):
        whole = Fields(target, weight if isinstance(weight, str) else None).split(data, 0)
        whole = Batch(whole.X, whole.y, weight if whole.weights is None else whole.weights)
    else:
        whole = Batch(data, target, weight)
    width = np.shape(whole.X)[1] if len(np.shape(whole.X)) > 1 else 1
    return slices_of(whole.X, whole.y, whole.weights, part_rows(width, memory_limit))
