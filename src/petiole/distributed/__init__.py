"""Fit and use models on data that exceed the memory of one machine, with Dask or part by part.

``fit`` takes Dask's collections, Parquet folders, Arrow datasets and iterators of batches. ``predict_proba``,
``predict`` and ``apply`` apply fitted models lazily, partition by partition; ``log_loss``, ``brier_score`` and
``accuracy`` are sums over partitions. Only Dask's collections need Dask
(``pip install "dask[array,dataframe]" distributed``).
"""

from petiole.distributed.collections import accuracy, apply, brier_score, log_loss, predict, predict_proba
from petiole.distributed.fitting import fit

__all__ = ["accuracy", "apply", "brier_score", "fit", "log_loss", "predict", "predict_proba"]
