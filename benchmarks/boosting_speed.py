"""Boosted trees beside LightGBM, XGBoost and scikit-learn's HistGradientBoosting: seconds and log-loss.

    PETIOLE_DATA=... python benchmarks/boosting_speed.py --threads 1

All have the same number of rounds, leaves, bins and learning rate, no early stopping and no sampling. They take turns,
and a time is the least of several turns. Ratios are to petiole: 2 is twice as long.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scores import log_loss_bits
from workloads import DESCRIPTIONS, load

ROUNDS = {"W1": 100, "W2": 100}
SETTINGS = {"learning_rate": 0.1, "leaves": 31, "bins": 255, "min_rows": 20}


def petiole(rounds: int, threads: int) -> Any:
    from petiole import BoostedPETClassifier

    return BoostedPETClassifier(
        SETTINGS["learning_rate"], max_iter=rounds, max_leaf_nodes=SETTINGS["leaves"], max_bins=SETTINGS["bins"],
        min_samples_leaf=SETTINGS["min_rows"], l2_regularization=0, subsample=1.0, max_features=None,
        early_stopping=False, random_state=0, n_jobs=threads,
    )  # fmt: skip


def lightgbm(rounds: int, threads: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=rounds, learning_rate=SETTINGS["learning_rate"], num_leaves=SETTINGS["leaves"],
        max_bin=SETTINGS["bins"], min_child_samples=SETTINGS["min_rows"], n_jobs=threads, verbose=-1,
    )  # fmt: skip


def xgboost(rounds: int, threads: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(
        n_estimators=rounds, learning_rate=SETTINGS["learning_rate"], max_leaves=SETTINGS["leaves"], max_depth=0,
        grow_policy="lossguide", tree_method="hist", max_bin=SETTINGS["bins"], reg_lambda=0, n_jobs=threads,
    )  # fmt: skip


def hist_gradient_boosting(rounds: int, threads: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=rounds, learning_rate=SETTINGS["learning_rate"], max_leaf_nodes=SETTINGS["leaves"],
        max_bins=SETTINGS["bins"], min_samples_leaf=SETTINGS["min_rows"], early_stopping=False,
    )  # fmt: skip


LIBRARIES: dict[str, Callable[[int, int], Any]] = {
    "petiole": petiole,
    "LightGBM": lightgbm,
    "XGBoost": xgboost,
    "HistGradientBoosting": hist_gradient_boosting,
}


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = action()
    return time.perf_counter() - started, result


def compare(workload: str, threads: int, turns: int, names: list[str]) -> None:
    X, y = load(workload)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[: len(X) * 3 // 4], order[len(X) * 3 // 4 :]
    best: dict[str, list[float]] = {name: [np.inf, np.inf, np.nan] for name in names}
    for _ in range(turns):
        for name in names:
            model = LIBRARIES[name](ROUNDS[workload], threads)
            fit, _ = timed(lambda model=model: model.fit(X[train], y[train]))
            predict, proba = timed(lambda model=model: model.predict_proba(X[test]))
            fastest = best[name]
            best[name] = [
                min(fit, fastest[0]),
                min(predict, fastest[1]),
                log_loss_bits(y[test], np.asarray(proba, float)),
            ]
    print(f"\n{DESCRIPTIONS[workload]}, {ROUNDS[workload]} rounds, {threads} thread(s), {turns} turns\n")
    print("| library | fit (s) | ratio | predict (s) | ratio | log-loss (bits) |\n|---|---|---|---|---|---|")
    ours = best[names[0]]
    for name, (fit, predict, loss) in best.items():
        print(
            f"| {name} | {fit:.2f} | {fit / ours[0]:.2f} | {predict:.3f} | {predict / ours[1]:.2f} | {loss:.4f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--workloads", nargs="+", choices=list(ROUNDS), default=list(ROUNDS))
    parser.add_argument("--libraries", nargs="+", choices=list(LIBRARIES), default=list(LIBRARIES))
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)  # HistGradientBoosting has no parameter for it
    for workload in arguments.workloads:
        compare(workload, arguments.threads, arguments.turns, arguments.libraries)


if __name__ == "__main__":
    main()
