"""What a linear member adds to the probability forest: log-loss in bits on test rows of the development data sets.

    PETIOLE_DATA=... python benchmarks/linear_member.py --trials 3

The splits are those of `forest_quality.py`. "linear" is `LinearPlan()`, "curved" has ranks, squares and products
besides. Each is cross-fitted in four folds; the pools are learned from the forest's out-of-bag probabilities and the
held-out ones of the members. Seconds are processor time.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings

import numpy as np
from forest_quality import choose_data_sets, load_codes
from scores import log_loss_bits
from sklearn.model_selection import StratifiedShuffleSplit

from petiole import ProbabilityForestClassifier
from petiole._classifiers.base import encode_queries, encode_training
from petiole._estimates.cross_fitted import CrossFitted
from petiole._forest.log_pool import fit_pool
from petiole._linear.cross_fitting import fit_linear_folds
from petiole._linear.plan import LinearPlan
from petiole._tree.held_out import deal_into_folds

PLANS = {"linear": LinearPlan(), "curved": LinearPlan(degree=2, ranks=True)}
POOLS = {"forest + linear": ["linear"], "forest + curved": ["curved"], "forest + both": ["linear", "curved"]}
N_FOLDS, FLOOR = 4, 0.002


def run(name: str, trial: int) -> tuple[dict[str, float], dict[str, float]]:
    """Log-loss and seconds of each method on one split."""
    X, y = load_codes(name)
    train, test = next(StratifiedShuffleSplit(1, train_size=2 / 3, test_size=1 / 3, random_state=trial).split(y, y))
    forest = ProbabilityForestClassifier(oob_score=True, random_state=trial, n_jobs=1)
    start = time.process_time()
    forest.fit(X.iloc[train], y[train])
    seconds = {"forest": time.process_time() - start}
    _, rows = encode_training(forest, X.iloc[train], y[train], None)
    queries = encode_queries(forest, X.iloc[test])
    known = ~np.isnan(forest.oob_predict_proba_[:, 0])
    honest, new = {"forest": forest.oob_predict_proba_[known]}, {"forest": forest.predict_proba(X.iloc[test])}
    fold_of = deal_into_folds(rows.labels, N_FOLDS, np.random.default_rng(trial))
    for member, plan in PLANS.items():
        start = time.process_time()
        model = CrossFitted(fit_linear_folds(plan, rows, fold_of).models)
        honest[member] = model.held_out_answer(rows.matrix, fold_of)[known]
        seconds[member] = time.process_time() - start
        new[member] = model.answer(queries)
    for pool, members in POOLS.items():
        start = time.process_time()
        names = ["forest", *members]
        starts = np.array([1.0] + [0.0] * len(members))
        fitted = fit_pool([honest[m] for m in names], rows.labels[known], None, starts, FLOOR)
        seconds[pool] = time.process_time() - start
        new[pool] = fitted.combine([new[m] for m in names])
    return {method: log_loss_bits(y[test], proba) for method, proba in new.items()}, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=3)
    trials = parser.parse_args().trials
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    warnings.simplefilter("ignore")
    methods = ["forest", *PLANS, *POOLS]
    print(f"| data set | {' | '.join(methods)} |\n|{'---|' * (len(methods) + 1)}")
    table, total = [], dict.fromkeys(methods, 0.0)
    for name in choose_data_sets("development"):
        cells = [run(name, trial) for trial in range(trials)]
        table.append([np.mean([bits[method] for bits, _ in cells]) for method in methods])
        for _, seconds in cells:
            for method in methods:
                total[method] += seconds[method]
        print(f"| {name} | {' | '.join(f'{bits:.4f}' for bits in table[-1])} |", flush=True)
    ratios = np.array(table) / np.array(table)[:, :1]
    print(f"\n| method | geometric mean of ratios | median | worst | wins-losses | seconds |\n|{'---|' * 6}")
    for method, ratio in zip(methods, ratios.T, strict=True):
        wins, losses = (ratio < 0.9995).sum(), (ratio > 1.0005).sum()
        mean = np.exp(np.log(ratio).mean())
        line = f"{mean:.3f} | {np.median(ratio):.3f} | {ratio.max():.3f} | {wins}-{losses} | {total[method]:.1f}"
        print(f"| {method} | {line} |")


if __name__ == "__main__":
    main()
