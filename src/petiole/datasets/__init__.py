"""Data sets by name, tables from your own files, the papers' data sets, and generators with known probabilities.

``list`` is left out of ``__all__``, so that a star import does not hide Python's built-in ``list``.
"""

from petiole.datasets import papers
from petiole.datasets.description import Description, Loaded
from petiole.datasets.generators import (
    Drawn,
    make_checkerboard,
    make_logistic,
    make_noisy_xor,
    make_ring_norm,
    make_three_norm,
    make_two_gaussians,
    make_two_norm,
    make_waveform,
)
from petiole.datasets.loading import describe, load
from petiole.datasets.loading import list_datasets as list  # noqa: F401
from petiole.datasets.reading import read
from petiole.datasets.targets import cut_into_classes

__all__ = [
    "Description",
    "Drawn",
    "Loaded",
    "cut_into_classes",
    "describe",
    "load",
    "make_checkerboard",
    "make_logistic",
    "make_noisy_xor",
    "make_ring_norm",
    "make_three_norm",
    "make_two_gaussians",
    "make_two_norm",
    "make_waveform",
    "papers",
    "read",
]
