"""The data sets of Zadrozny & Elkan (2001), "Obtaining calibrated probability estimates from decision trees..."."""

from __future__ import annotations

from typing import NamedTuple

from petiole.datasets.description import Loaded
from petiole.datasets.loading import load


class TrainTest(NamedTuple):
    """A data set with its standard division."""

    train: Loaded
    test: Loaded


def coil2000() -> TrainTest:
    """Load the CoIL challenge with its standard division into 5,822 training and 4,000 test rows (paper, section 4).

    Of the training rows 348 (5.98 %) and of the test rows 238 (5.95 %) have class "1": the all-zero lines of the
    paper's Table 4, 0.11955 and 0.11900, are twice these shares.

    Returns
    -------
    train, test : each X, y, description as of :func:`petiole.datasets.load`
    """
    return TrainTest(load("coil2000-train"), load("coil2000-test"))


def kdd98_sample() -> Loaded:
    """Load the sample of the KDD'98 learning set: all 4,843 donors and 14,529 of the 90,569 non-donors.

    ``description.weights`` has one weight per row, 1 for donors and 90569/14529 = 6.234 for others; with them the base
    rate is 5.08 %, that of the full set. ``description.outcomes["TARGET_D"]`` is the gift in dollars, NaN for
    non-donors. The paper used the full files: see :func:`kdd98` if you have them.

    Returns
    -------
    X, y, description : as of :func:`petiole.datasets.load`; y is "1" for donors and "0" for others
    """
    return load("kdd98-sample")
