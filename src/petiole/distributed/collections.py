"""Dask's collections as parts, and predictions of fitted models by partition: lazily, keeping the index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from petiole.distributed.sources import Batch, Fields


def delayed_batches(data: Any, target: Any, weight: Any) -> list[Any]:
    """The partitions of a Dask DataFrame or Array, each with its labels and weights."""
    import dask

    if is_array(data):
        parts = list(_blocks(data))
        make = dask.delayed(Batch, pure=False)
        if target is None or isinstance(target, str):
            raise ValueError(f"target={target!r}: with a Dask Array it must be an array of labels")
        labels = _aligned_parts(target, data, parts, "target")
        weights = [None] * len(parts) if weight is None else _aligned_parts(weight, data, parts, "sample_weight")
        return [make(*each) for each in zip(parts, labels, weights, strict=True)]
    parts = data.to_delayed()
    names = list(data.columns)
    for role, name in (("target", target), ("sample_weight", weight)):
        if isinstance(name, str) and name not in names:
            raise ValueError(f"{role}={name!r}: there is no such column; the columns are {names[:10]}")
    if target is None:
        raise ValueError("target=None: must be the name of a column, or a Dask Series of labels")
    labels = [target] * len(parts) if isinstance(target, str) else _aligned_parts(target, data, parts, "target")
    named = weight is None or isinstance(weight, str)
    weights = [weight] * len(parts) if named else _aligned_parts(weight, data, parts, "sample_weight")
    split = dask.delayed(_split, pure=False)
    return [split(*each, number) for number, each in enumerate(zip(parts, labels, weights, strict=True))]


def is_array(data: Any) -> bool:
    """Whether this is a Dask Array."""
    return hasattr(data, "chunks") and hasattr(data, "rechunk")


def _split(table: Any, target: Any, weight: Any, number: int) -> Batch:
    fields = Fields(target if isinstance(target, str) else None, weight if isinstance(weight, str) else None)
    if fields.target is None:
        kept = table if fields.weight is None else table.drop(columns=[fields.weight])
        return Batch(kept, target, weight if fields.weight is None else table[fields.weight])
    batch = fields.split(table, number)
    return Batch(batch.X, batch.y, weight if fields.weight is None else batch.weights)


def _blocks(array: Any) -> Any:
    if array.ndim != 2:
        raise ValueError(f"data has {array.ndim} dimensions: a Dask Array must have two")
    return array.rechunk({1: -1}).to_delayed().ravel()


def _aligned_parts(values: Any, data: Any, parts: list[Any], name: str) -> list[Any]:
    if is_array(data) and not hasattr(values, "__dask_graph__"):
        import dask.array as da

        values = da.from_array(np.asarray(values), chunks=(data.chunks[0],))
    if not hasattr(values, "to_delayed"):
        raise TypeError(f"{name} is a {type(values).__name__}: with Dask data it must be one of Dask's collections")
    if is_array(data) and is_array(values) and not np.isnan(values.chunks[0] + data.chunks[0]).any():
        if sum(values.chunks[0]) != sum(data.chunks[0]):
            raise ValueError(f"{name} has {sum(values.chunks[0])} rows, but data has {sum(data.chunks[0])}")
        values = values.rechunk((data.chunks[0],))
    found = list(np.ravel(values.to_delayed()))
    if len(found) != len(parts):
        raise ValueError(f"{name} has {len(found)} partitions, but data has {len(parts)}: divide both at the same rows")
    return found


# Predictions of fitted models.


def predict_proba(model: Any, data: Any) -> Any:
    """Return class probabilities for the rows of a Dask DataFrame or Array, computed lazily.

    Parameters
    ----------
    model : fitted classifier, of petiole or any other that has ``predict_proba``
    data : Dask DataFrame or Array
        A DataFrame may have further columns: those that the model was fitted on are taken by name.

    Returns
    -------
    Dask DataFrame with a column per class and the index of the data, or Dask Array of shape (n_rows, n_classes)

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_iris
    >>> from petiole import PETClassifier
    >>> from petiole.distributed import predict_proba
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PETClassifier().fit(X, y)
    >>> predict_proba(model, da.from_array(X, chunks=(50, 4))).shape
    (150, 3)
    """
    check_is_fitted(model)
    return _map_rows(model, data, "predict_proba", [str(label) for label in model.classes_], np.dtype(np.float64))


def apply(model: Any, data: Any) -> Any:
    """Return the leaf of each row in each tree, see :func:`predict_proba`; a column per tree."""
    check_is_fitted(model)
    n_trees = len(model.trees_) if hasattr(model, "trees_") else 1
    return _map_rows(model, data, "apply", [f"tree {i}" for i in range(n_trees)], np.dtype(np.int64))


def predict(model: Any, data: Any) -> Any:
    """Return the most probable class of each row, see :func:`predict_proba`; a Series or an Array of one dimension."""
    check_is_fitted(model)
    dtype = np.asarray(model.classes_).dtype
    if is_array(data):
        blocks = data.rechunk({1: -1})
        empty = np.empty(0, dtype=dtype)
        return blocks.map_blocks(
            _ask_array,
            model=_as_shared_task(model),
            method="predict",
            empty=empty,
            dtype=dtype,
            drop_axis=1,
            meta=empty,
        )
    import pandas as pd

    meta = pd.Series([], name="predicted", dtype=dtype)
    return data.map_partitions(_ask_series, _as_shared_task(model), meta=meta, enforce_metadata=False)


def _as_shared_task(model: Any) -> Any:
    """The model as a separate task: a worker gets it once and keeps what it computes for quick predictions."""
    import dask

    return dask.delayed(model, traverse=False)


def _map_rows(model: Any, data: Any, method: str, columns: list[str], dtype: np.dtype[Any]) -> Any:
    if is_array(data):
        blocks = data.rechunk({1: -1})
        return blocks.map_blocks(
            _ask_array,
            model=_as_shared_task(model),
            method=method,
            empty=np.empty((0, len(columns)), dtype=dtype),
            dtype=dtype,
            chunks=(blocks.chunks[0], (len(columns),)),
            meta=np.empty((0, 0), dtype=dtype),
        )
    if not hasattr(data, "map_partitions"):
        raise TypeError(
            f"data is a {type(data).__name__}: must be a Dask DataFrame or Array; for data in memory call "
            f"model.{method}"
        )
    import pandas as pd

    meta = pd.DataFrame({name: np.empty(0, dtype=dtype) for name in columns})
    return data.map_partitions(
        _ask_frame, _as_shared_task(model), method, columns, dtype, meta=meta, enforce_metadata=False
    )


def _ask_array(block: Any, *, model: Any, method: str, empty: Any) -> Any:
    if not len(block):
        return empty
    found = np.asarray(getattr(model, method)(block))
    return found.reshape(len(block), *empty.shape[1:])


def _ask_frame(frame: Any, model: Any, method: str, columns: list[str], dtype: Any) -> Any:
    import pandas as pd

    if not len(frame):
        return pd.DataFrame({name: np.empty(0, dtype=dtype) for name in columns}, index=frame.index)
    found = np.asarray(getattr(model, method)(_features(model, frame)))
    return pd.DataFrame(found.reshape(len(frame), -1), columns=columns, index=frame.index)


def _ask_series(frame: Any, model: Any) -> Any:
    import pandas as pd

    classes = np.asarray(model.classes_)
    found = classes[:0] if not len(frame) else model.predict(_features(model, frame))
    return pd.Series(found, index=frame.index, name="predicted")


def _features(model: Any, frame: Any) -> Any:
    """The columns that the model was fitted on."""
    names = getattr(model, "feature_names_in_", None)
    if names is None or list(frame.columns) == list(names):
        return frame
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise ValueError(f"data has no column {missing[0]!r}, which the model was fitted on: add it")
    return frame[list(names)]


# Metrics: sums over partitions.

Loss = Callable[[Any, Any, Any, Any], tuple[float, float]]


def log_loss(y_true: Any, proba: Any, *, sample_weight: Any = None, labels: Any = None) -> Any:
    """Compute the log-loss, in bits, of probabilities in a Dask collection, lazily.

    Parameters
    ----------
    y_true : Dask Series or Array of labels
    proba : Dask DataFrame or Array, as from :func:`predict_proba`, divided at the same rows
    sample_weight : Dask Series or Array, optional
    labels : the class of each column of ``proba``
        By default the names of its columns are taken as labels, which is correct if labels are strings.

    Returns
    -------
    dask.delayed.Delayed, whose ``compute()`` is a float
    """
    return _mean(_log_losses, y_true, proba, sample_weight, labels)


def brier_score(y_true: Any, proba: Any, *, sample_weight: Any = None, labels: Any = None) -> Any:
    """Compute the Brier score summed over classes, see :func:`log_loss`."""
    return _mean(_brier_scores, y_true, proba, sample_weight, labels)


def accuracy(y_true: Any, proba: Any, *, sample_weight: Any = None, labels: Any = None) -> Any:
    """Compute the share of rows whose most probable class is the true one, see :func:`log_loss`."""
    return _mean(_hits, y_true, proba, sample_weight, labels)


def _mean(values_of: Callable[[Any], Any], y_true: Any, proba: Any, sample_weight: Any, labels: Any) -> Any:
    import dask

    parts = list(_blocks(proba)) if is_array(proba) else list(proba.to_delayed())
    truth = _aligned_parts(y_true, proba, parts, "y_true")
    weights = (
        [None] * len(parts) if sample_weight is None else _aligned_parts(sample_weight, proba, parts, "sample_weight")
    )
    if labels is None and not is_array(proba):
        labels = list(proba.columns)
    if labels is None:
        raise ValueError("labels=None: must name the class of each column of an array, such as model.classes_")
    sums = [
        dask.delayed(_partition_sums, pure=False)(values_of, *each, np.asarray(labels))
        for each in zip(truth, parts, weights, strict=True)
    ]
    return dask.delayed(_ratio, pure=False)(sums)


def _partition_sums(values_of: Callable[[Any], Any], y: Any, proba: Any, weights: Any, labels: Any) -> Any:
    from petiole._table.judged import check_judged
    from petiole._table.rows import rows_that_count

    if not len(y):
        return np.zeros(2)
    if weights is not None and not np.asarray(weights).any():
        return np.zeros(2)
    judged = check_judged(np.asarray(y), np.asarray(proba), labels=labels, sample_weight=weights)
    kept, weights, values = rows_that_count(judged.weights), judged.weights, values_of(judged)
    if kept is not None:
        weights, values = weights[kept], values[kept]
    return np.array([weights @ values, judged.weights.sum()])


def _ratio(sums: Any) -> float:
    total = np.sum(sums, axis=0)
    return float(total[0] / total[1])


def _log_losses(judged: Any) -> Any:
    with np.errstate(divide="ignore"):
        return -np.log2(judged.proba_of_truth)


def _brier_scores(judged: Any) -> Any:
    return ((judged.proba - judged.truth) ** 2).sum(axis=1)


def _hits(judged: Any) -> Any:
    return (judged.proba.argmax(axis=1) == judged.codes).astype(float)
