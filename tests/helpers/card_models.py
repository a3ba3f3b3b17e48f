"""Tables and models for model cards, with names that want to be more than names."""

from __future__ import annotations

import numpy as np
import pandas as pd

from petiole import BaggedPETClassifier
from petiole.monitoring import remember

HOSTILE = [
    '<script>alert("x")</script>',
    "a|b\n# c",
    "`*_[x](http://y)_*`",
    "\u202eoil",
    "</textarea>'\"",
    "&lt;b&gt;",
    "www.x.org",
]


def late_payers(n=1500, seed=0, late=("no", "yes")):
    rng = np.random.default_rng(seed)
    income, town = rng.normal(size=n).round(3), rng.choice(["Bern", "Oslo", "Rome"], n)
    score = income - 1.5 * (town == "Rome") + rng.logistic(size=n)
    X = pd.DataFrame(
        {"income": income, "town": town, "day": pd.Timestamp("2025-01-01") + pd.to_timedelta(np.arange(n), "D")}
    )
    X.loc[::10, "income"] = np.nan
    return X, np.array(late)[(score < 0).astype(int)]


def hostile_model():
    rng = np.random.default_rng(0)
    n = 400
    X = pd.DataFrame(
        {HOSTILE[0]: rng.normal(size=n), HOSTILE[1]: rng.choice(HOSTILE, n), HOSTILE[4]: rng.choice(HOSTILE[:3], n)}
    )
    y = np.array(HOSTILE)[(X[HOSTILE[0]] > 0).astype(int) + 2 * rng.integers(0, 2, n)]
    return remember(BaggedPETClassifier.eb_pets(n_estimators=24, random_state=0).fit(X, y), X, y)
