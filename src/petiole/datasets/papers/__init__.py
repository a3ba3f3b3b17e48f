"""Data sets as the papers used them: their classes, rows, codings and splits, as far as the texts describe them."""

from petiole.datasets.papers.geurts import GEURTS, GrowPruneTest, geurts
from petiole.datasets.papers.kdd98 import Mailing, kdd98, kdd98_gift_history
from petiole.datasets.papers.margineantu_dietterich import (
    MARGINEANTU_DIETTERICH,
    MARGINEANTU_DIETTERICH_PROBABLY,
    margineantu_dietterich,
)
from petiole.datasets.papers.nielsen import NIELSEN, nielsen
from petiole.datasets.papers.zadrozny_elkan import TrainTest, coil2000, kdd98_sample
from petiole.datasets.papers.zhang import zhang, zhang_names

__all__ = [
    "GEURTS",
    "MARGINEANTU_DIETTERICH",
    "MARGINEANTU_DIETTERICH_PROBABLY",
    "NIELSEN",
    "GrowPruneTest",
    "Mailing",
    "TrainTest",
    "coil2000",
    "geurts",
    "kdd98",
    "kdd98_gift_history",
    "kdd98_sample",
    "margineantu_dietterich",
    "nielsen",
    "zhang",
    "zhang_names",
]
