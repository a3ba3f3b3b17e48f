"""The one error of model files."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A model cannot be written to a file, or a file holds no model that can be trusted; the message says why."""
