"""Shapley values beside the shap package: the same forest, converted to scikit-learn, one thread, processor time.

    python benchmarks/shapley_speed.py [--rows 1000] [--trees 256] [--shap-rows 100]

All times of a line are from one run. shap explains fewer rows, because it is slower, and its time is multiplied.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import make_classification

from petiole import BaggedPETClassifier, BoostedPETClassifier, ProbabilityForestClassifier


def measured(run):
    started = time.process_time()
    found = run()
    return found, time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--trees", type=int, default=256)
    parser.add_argument("--shap-rows", type=int, default=100)
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    X, y = make_classification(args.rows, 20, n_informative=8, flip_y=0.1, random_state=0)
    X = X.astype(np.float32)
    forest = BaggedPETClassifier(args.trees, random_state=0, n_jobs=1).fit(X, y)
    background = X[:100]
    few = X[: args.shap_rows]
    times = {}
    for name, others in (("path", None), ("100 background rows", background)):
        found, times[name] = measured(lambda others=others: forest.explain(X, background=others))
        print(f"petiole, {name}: {times[name]:.2f} s for {args.rows} rows, {args.trees} trees", flush=True)
        compare(forest, few, others, name, times[name] * len(few) / len(X), found.values[: len(few)])
    for model in (
        BoostedPETClassifier(random_state=0, n_jobs=1),
        ProbabilityForestClassifier(args.trees // 2, random_state=0, n_jobs=1),
    ):
        model.fit(X, y)
        for name, others in (("path", None), ("100 background rows", background)):
            _, spent = measured(lambda model=model, others=others: model.explain(few, background=others))
            print(f"petiole, {type(model).__name__}, {name}: {spent:.2f} s for {len(few)} rows", flush=True)


def compare(forest, few, background, name, ours, values):
    try:
        import shap
    except ImportError:
        print("shap is not installed: pip install shap")
        return
    explainer = shap.TreeExplainer(forest.to_sklearn(), background)
    theirs, spent = measured(lambda: explainer.shap_values(few))
    apart = np.abs(theirs - values).max()
    print(f"shap {shap.__version__}, {name}: {spent / ours:.1f} times the time of petiole, values within {apart:.0e}")


if __name__ == "__main__":
    main()
