"""Saving and loading."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from petiole.files import container
from petiole.files.atomic import write_atomically
from petiole.files.errors import ModelFileError
from petiole.files.json_text import parse
from petiole.files.reading import ModelReader
from petiole.files.writing import ModelWriter


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model or a tree to a file; ``model.save(path)`` does the same."""
    writer = ModelWriter()
    name = type(model).__name__
    writer.add(model, name)
    if not writer.objects[-1].get("state"):
        raise ModelFileError(f"{name} is not fitted: a file holds a fitted model or a tree")
    write_atomically(path, container.file_parts(_metadata(name, writer.objects), writer.tensors))


def load(path: str | os.PathLike[str], *, verify: bool = True, mmap: bool = True) -> Any:
    """Read a model that was written by its ``save``; its predictions are the same, bit for bit.

    Nothing in the file is run, and nothing is trusted: a file that is cut off, damaged or hostile gives a
    :class:`petiole.files.ModelFileError`.

    Parameters
    ----------
    path : str or path
    verify : bool, default=True
        Whether the whole file is compared with its checksum. Without that, only harmful changes are found: a number
        that was changed by accident may go unnoticed.
    mmap : bool, default=True
        Whether large arrays of a single tree and the rows of lazy trees stay in the file, mapped into memory, so that
        processes share them. Forests are unpacked into memory in any case. A mapped file must not be changed in place
        while the model is in use; ``save`` never does that.

    Returns
    -------
    The fitted model, of the class that was saved.

    Examples
    --------
    >>> import tempfile, pathlib, petiole
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "iris.petiole"
    >>> petiole.PETClassifier.c44().fit(X, y).save(path)
    >>> petiole.load(path).predict_proba(X[:1]).round(3)
    array([[0.962, 0.019, 0.019]])
    """
    try:
        contents = container.read_contents(path, verify=verify, map_file=mmap)
        description = parse(contents.metadata["model"], "the description of the model")
        return ModelReader(contents.tensors).read(description, contents.metadata["class"])
    except ModelFileError as error:
        raise ModelFileError(f"{Path(path).name}: {error}") from error.__cause__


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The header of a model file, without loading the model: class, versions and the description of its parts.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from petiole import Tree
    >>> from petiole.files import read_header
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "leaf.petiole"
    >>> Tree.from_arrays(feature=[-1], threshold=[0], left=[-1], right=[-1], inbag_class_counts=[[2, 1]]).save(path)
    >>> header = read_header(path)
    >>> header["class"], header["format_version"]
    ('Tree', 1)
    """
    try:
        metadata = container.read_metadata(path)
        version = int(metadata["format_version"])
        return {**metadata, "format_version": version, "model": parse(metadata["model"], "the description")}
    except ModelFileError as error:
        raise ModelFileError(f"{Path(path).name}: {error}") from None


def _metadata(class_name: str, objects: list[dict[str, Any]]) -> dict[str, str]:
    from petiole import __version__

    return {
        "format": container.FORMAT,
        "format_version": str(container.FORMAT_VERSION),
        "petiole_version": __version__,
        "class": class_name,
        "checksum": container.NO_CHECKSUM,
        "model": json.dumps({"objects": objects}, allow_nan=False, separators=(",", ":")),
    }
