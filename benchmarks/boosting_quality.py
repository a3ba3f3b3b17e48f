"""Log-loss of boosted trees beside LightGBM and HistGradientBoosting on real data sets, one third held out.

    PETIOLE_DATA=... python benchmarks/boosting_quality.py --part development --trials 2

"same" gives all three the same number of rounds, learning rate, leaves and least leaf, so that only the engines differ.
"default" is BoostedPETClassifier as it is, beside HistGradientBoosting as it is. Numeric and categorical columns alike.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from forest_quality import CategoryBoosting, choose_data_sets, load_codes, nominal
from scores import log_loss_bits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedShuffleSplit

ROUNDS, RATE, LEAVES, LEAST = 50, 0.1, 15, 10


def petiole_same(seed: int) -> Any:
    from petiole import BoostedPETClassifier

    return BoostedPETClassifier(
        RATE, max_iter=ROUNDS, max_leaf_nodes=LEAVES, min_samples_leaf=LEAST, l2_regularization=0, subsample=1.0,
        max_features=None, early_stopping=False, random_state=seed,
    )  # fmt: skip


def petiole_default(seed: int) -> Any:
    from petiole import BoostedPETClassifier

    return BoostedPETClassifier(random_state=seed)


def hist_same(seed: int) -> Any:
    wrapped = CategoryBoosting(seed)
    wrapped.model = HistGradientBoostingClassifier(
        learning_rate=RATE, max_iter=ROUNDS, max_leaf_nodes=LEAVES, min_samples_leaf=LEAST, early_stopping=False
    )
    return wrapped


class LightGBM:
    """LightGBM with categorical columns as categories."""

    def __init__(self, seed: int) -> None:
        from lightgbm import LGBMClassifier

        self.model = LGBMClassifier(
            n_estimators=ROUNDS, learning_rate=RATE, num_leaves=LEAVES, min_child_samples=LEAST, n_jobs=1, verbose=-1
        )

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> LightGBM:
        self.types = {name: pd.CategoricalDtype(np.unique(X[name].dropna().astype(object))) for name in nominal(X)}
        self.model.fit(self._encode(X), y)
        return self

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        return self.model.predict_proba(self._encode(X))

    def _encode(self, X: pd.DataFrame) -> pd.DataFrame:
        encoded = X.assign(**{name: X[name].astype(object).astype(kind) for name, kind in self.types.items()})
        return encoded.set_axis([f"c{i}" for i in range(X.shape[1])], axis=1)


METHODS: dict[str, Callable[[int], Any]] = {
    "petiole, same": petiole_same,
    "LightGBM, same": LightGBM,
    "HistGB, same": hist_same,
    "petiole, default": petiole_default,
    "HistGB, default": CategoryBoosting,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["development", "report"], default="development")
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--least-rows", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"| data set | rows | {' | '.join(METHODS)} |\n|{'---|' * (len(METHODS) + 2)}")
    table = []
    for name in choose_data_sets(arguments.part):
        frame, y = load_codes(name)
        if len(y) < arguments.least_rows:
            continue
        losses = np.zeros(len(METHODS))
        for trial in range(arguments.trials):
            train, test = next(StratifiedShuffleSplit(1, test_size=1 / 3, random_state=trial).split(y, y))
            for i, make in enumerate(METHODS.values()):
                proba = make(trial).fit(frame.iloc[train], y[train]).predict_proba(frame.iloc[test])
                losses[i] += log_loss_bits(y[test], proba) / arguments.trials
        table.append(losses)
        print(f"| {name} | {len(y)} | {' | '.join(f'{loss:.4f}' for loss in losses)} |", flush=True)
    print(f"| **mean** | | {' | '.join(f'{loss:.4f}' for loss in np.mean(table, axis=0))} |")


if __name__ == "__main__":
    main()
