"""How often intervals hold the true probability, on generated data where it is known.

    python benchmarks/probability_intervals.py
    python benchmarks/probability_intervals.py --rows 300 --draws 5 --models eb-pets

Each draw is a training set of its own; all draws are asked about the same queries. Besides the share of intervals that
hold the true probability, the table has the share that holds the mean prediction over draws, which is what the interval
would hold if the model were right on average, and the mean squares of bias and spread.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any, NamedTuple

import numpy as np

from petiole import BaggedPETClassifier, OOBCalibratedClassifier, ProbabilityForestClassifier, datasets

GENERATORS = {
    "one normal column": datasets.make_two_gaussians,
    "noisy xor": lambda n, seed: datasets.make_noisy_xor(n, seed, noise=0.2),
    "checkerboard": lambda n, seed: datasets.make_checkerboard(n, seed, noise=0.1),
    "logistic, 3 columns": datasets.make_logistic,
    "logistic, 8 columns": lambda n, seed: datasets.make_logistic(
        n, seed, weights=(1.0, -1.0, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0)
    ),
    "three-norm, 5 columns": lambda n, seed: datasets.make_three_norm(n, seed, n_features=5),
    "ring-norm, 5 columns": lambda n, seed: datasets.make_ring_norm(n, seed, n_features=5),
    "waveform": datasets.make_waveform,
}
MODELS = {
    "eb-pets": lambda seed: BaggedPETClassifier.eb_pets(random_state=seed),
    "b-pets": lambda seed: BaggedPETClassifier.b_pets(random_state=seed),
    "pool": lambda seed: ProbabilityForestClassifier(random_state=seed),
    "eb-pets, beta": lambda seed: OOBCalibratedClassifier(BaggedPETClassifier.eb_pets(random_state=seed), "beta"),
    "eb-pets, venn_abers": lambda seed: OOBCalibratedClassifier(
        BaggedPETClassifier.eb_pets(random_state=seed), "venn_abers"
    ),
}


class Found(NamedTuple):
    """The figures of a model on a generator."""

    holds_truth: float
    holds_mean: float
    width: float
    bias: float
    spread: float
    estimated: float
    seconds: float


def measure(generator: Any, make: Any, n_rows: int, n_draws: int, n_queries: int, level: float) -> Found:
    """Fit a model to several training sets, and compare its intervals with the truth and with each other."""
    queries, _, truth = generator(n_queries, 10_000)
    lower, upper, proba, seconds = [], [], [], 0.0
    for seed in range(n_draws):
        X, y, _ = generator(n_rows, seed)
        model = make(seed).fit(X, y)
        started = time.process_time()
        found = model.learn_intervals(X, y).predict_proba_interval(queries, level)
        seconds += time.process_time() - started
        lower.append(found.lower)
        upper.append(found.upper)
        proba.append(found.proba)
    low, high, said = np.array(lower), np.array(upper), np.array(proba)
    mean = said.mean(axis=0)
    z = 1.6448536269514722
    return Found(
        float(((low <= truth) & (truth <= high)).mean()),
        float(((low <= mean) & (mean <= high)).mean()),
        float((high - low).mean()),
        float(np.sqrt(np.maximum(((mean - truth) ** 2 - said.var(axis=0, ddof=1) / n_draws).mean(), 0))),
        float(np.sqrt(said.var(axis=0, ddof=1).mean())),
        float(np.sqrt((((high - low) / (2 * z)) ** 2).mean())),
        seconds / n_draws,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--models", nargs="+", choices=tuple(MODELS), default=tuple(MODELS))
    parser.add_argument("--generators", nargs="+", choices=tuple(GENERATORS), default=tuple(GENERATORS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{options.rows} rows, {options.draws} draws, {options.queries} queries, level {options.level:g}\n")
    print("| data | model | holds P | holds the mean | width | bias | spread | width / 3.29 | s |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    for name in options.generators:
        for kind in options.models:
            if kind == "eb-pets, beta" and name == "waveform":
                continue  # maps of intervals are for two classes
            one = measure(GENERATORS[name], MODELS[kind], options.rows, options.draws, options.queries, options.level)
            figures = [f"{one.width:.3f}", f"{one.bias:.3f}", f"{one.spread:.3f}", f"{one.estimated:.3f}"]
            shares = [f"{100 * one.holds_truth:.1f} %", f"{100 * one.holds_mean:.1f} %"]
            print("| " + " | ".join([name, kind, *shares, *figures, f"{one.seconds:.2f}"]) + " |", flush=True)


if __name__ == "__main__":
    main()
