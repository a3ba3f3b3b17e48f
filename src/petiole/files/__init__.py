"""Model files: ``model.save(path)`` and ``petiole.load(path)``, without pickle. The format is a page of the docs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from petiole.files.errors import ModelFileError

if TYPE_CHECKING:
    from petiole.files.container import FORMAT_VERSION
    from petiole.files.storing import load, read_header, save

__all__ = ["FORMAT_VERSION", "ModelFileError", "load", "read_header", "save"]

# Classes declare what files keep of them; the modules that write and read files are imported when they are used.
_MODULE_OF = {"FORMAT_VERSION": "container", "load": "storing", "read_header": "storing", "save": "storing"}


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"petiole.files.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module 'petiole.files' has no attribute {name!r}")
