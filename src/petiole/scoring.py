"""Scoring inside other engines: a function of batches that Spark, Ray and DuckDB can call in their own processes."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def batch_scorer(model_or_path: Any, columns: Sequence[Any] | None = None, prefix: str = "proba_") -> BatchScorer:
    """Make a function that turns a batch of rows into a batch of class probabilities, in the same kind of table.

    It can be pickled, so that engines can send it to their workers. With a path the model itself is not sent: each
    process loads the file when it gets its first batch, and keeps it for later batches.

    Parameters
    ----------
    model_or_path : fitted classifier, or the path of a model file
        A path must exist on every worker. A file that is replaced is loaded again.
    columns : sequence of names, optional
        The input columns of the model, in its order; others are not read. By default those with the names of the fit,
        or all columns if the model was fitted without names.
    prefix : str, default="proba_"
        Prefix of the output columns, followed by the class label.

    Returns
    -------
    BatchScorer
        Takes a pandas or polars frame, a pyarrow table or record batch, or a dict of arrays as in Ray; returns the
        probabilities alone, one column per class (a pandas frame keeps its index). ``output_names`` are the names of
        these columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from petiole import PETClassifier
    >>> from petiole.scoring import batch_scorer
    >>> frame = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0]})
    >>> model = PETClassifier(min_samples_leaf=1).fit(frame, ["no", "no", "yes", "yes"])
    >>> batch_scorer(model)(pd.DataFrame({"id": [7, 8], "size": [0.5, 9.0]}, index=["a", "b"]))
       proba_no  proba_yes
    a      0.75       0.25
    b      0.25       0.75
    """
    return BatchScorer(model_or_path, columns, prefix)


class BatchScorer:
    """The callable that :func:`batch_scorer` returns."""

    def __init__(self, model_or_path: Any, columns: Sequence[Any] | None, prefix: str) -> None:
        if isinstance(columns, str):
            raise ValueError(f"columns={columns!r}: must be a list of names; write [{columns!r}]")
        if not isinstance(prefix, str):
            raise ValueError(f"prefix={prefix!r}: must be a text")
        self.prefix = prefix
        self.columns = None if columns is None else list(columns)
        self.path = os.fspath(model_or_path) if isinstance(model_or_path, (str, os.PathLike)) else None
        self._model = None if self.path is not None else _checked(model_or_path)

    def __repr__(self) -> str:
        of = repr(self.path) if self.path is not None else type(self._model).__name__
        return f"BatchScorer({of})"

    @property
    def model(self) -> Any:
        """The model; read from its file on first use in a process."""
        if self.path is None:
            return self._model
        status = os.stat(self.path)
        return _loaded(os.path.abspath(self.path), status.st_mtime_ns, status.st_size)

    @property
    def output_names(self) -> list[str]:
        """The names of the output columns, in the order of ``classes_``."""
        return [f"{self.prefix}{label}" for label in self.model.classes_.tolist()]

    def __call__(self, batch: Any) -> Any:
        """The probabilities of the rows of a batch, as the same kind of table."""
        if isinstance(batch, Mapping):
            return self._named(self._score(*_read_dict(batch, self._wanted(list(batch)))))
        return self._score_table(batch)

    def _score_table(self, batch: Any) -> Any:
        import narwhals.stable.v2 as nw

        if type(batch).__name__ == "RecordBatch" and type(batch).__module__.startswith("pyarrow"):
            import pyarrow as pa

            batch = pa.Table.from_batches([batch])
        try:
            frame = nw.from_native(batch, eager_only=True)
        except TypeError:
            raise TypeError(
                f"batch: got a {type(batch).__name__}, must be a pandas or polars frame, a pyarrow table, or a dict of "
                "arrays"
            ) from None
        chosen = frame.select(self._wanted(frame.columns))
        columns_out = self._named(self._score(chosen.to_native(), chosen.to_numpy, len(frame)))
        table = nw.from_dict(columns_out, backend=frame.implementation).to_native()
        if frame.implementation.is_pandas():
            table.index = batch.index
        return table

    def _wanted(self, there: list[Any]) -> list[Any]:
        """The input columns of the model, in its order."""
        known = getattr(self.model, "feature_names_in_", None)
        wanted = self.columns if self.columns is not None else there if known is None else known.tolist()
        lacking = [name for name in wanted if name not in there]
        if lacking:
            raise ValueError(
                f"the batch has no column {lacking[0]!r}, which the model needs; it has {there}: rename its columns, "
                "or name those to use in columns="
            )
        return wanted

    def _score(self, table: Any, as_array: Any, n_rows: int) -> Array:
        """Probabilities of a table, which is converted to an array for a model without column names."""
        model = self.model
        if n_rows == 0:
            return np.empty((0, len(model.classes_)))
        return model.predict_proba(table if hasattr(model, "feature_names_in_") else as_array())

    def _named(self, proba: Array) -> dict[str, Array]:
        return {name: np.ascontiguousarray(column) for name, column in zip(self.output_names, proba.T, strict=True)}


def _checked(model: Any) -> Any:
    if not hasattr(model, "predict_proba"):
        raise TypeError(f"model_or_path: got a {type(model).__name__}, must be a fitted classifier or a path")
    if not hasattr(model, "classes_"):
        raise ValueError(f"model_or_path: this {type(model).__name__} is not fitted yet; fit it first")
    return model


@functools.lru_cache(maxsize=4)
def _loaded(path: str, modified: int, size: int) -> Any:
    """The model in a file; a changed time or size means that the file was replaced."""
    from petiole.files import load

    return load(path)


def _read_dict(batch: Mapping[Any, Any], wanted: list[Any]) -> tuple[Any, Any, int]:
    """A dict of arrays as a table, a function that converts it to an array, and its length."""
    arrays = [np.asarray(batch[name]) for name in wanted]
    if len(arrays) == 1 and arrays[0].ndim == 2:  # rows that are vectors, as Ray holds arrays of two dimensions
        return arrays[0], lambda: arrays[0], len(arrays[0])
    import pandas as pd

    frame = pd.DataFrame(dict(zip(wanted, arrays, strict=True)))
    return frame, frame.to_numpy, len(frame)
