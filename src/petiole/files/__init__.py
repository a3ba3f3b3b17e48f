"""Model files: ``model.save(path)`` and ``petiole.load(path)``, without pickle. The format is a page of the docs."""

from __future__ import annotations

from petiole.files.container import FORMAT_VERSION
from petiole.files.errors import ModelFileError
from petiole.files.storing import load, read_header, save

__all__ = ["FORMAT_VERSION", "ModelFileError", "load", "read_header", "save"]
