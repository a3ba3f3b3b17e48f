"""Write fitted models for other runtimes: as ONNX graphs, and as C without dependencies.

Examples
--------
>>> from sklearn.datasets import load_iris
>>> from petiole import PETClassifier
>>> from petiole.export import to_c
>>> X, y = load_iris(return_X_y=True)
>>> print(to_c(PETClassifier(max_depth=1).fit(X, y)).splitlines()[0])
/* petiole_model: PETClassifier, 1 tree, 4 features, 3 classes. */
"""

from __future__ import annotations

from petiole.export.c_source import to_c
from petiole.export.onnx_model import to_onnx
from petiole.export.refusal import ExportError

__all__ = ["ExportError", "to_c", "to_onnx"]
