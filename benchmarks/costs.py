"""Money saved by decisions: the cheapest class instead of the most probable one, with probabilities of three forests.

    PETIOLE_DATA=... python benchmarks/costs.py
    PETIOLE_DATA=... python benchmarks/costs.py --splits 3 --data-sets pima car

Ten random stratified splits, 2/3 to train and 1/3 to test; the costs are the actual ones of the test rows. Two kinds
of costs: 25 matrices of the model M5 of Margineantu & Dietterich (2002), in which it is expensive to overlook a rare
class, with the priors of the training rows, each divided by its largest entry so that all matrices count alike; and,
for two classes, a fixed price of 5 for overlooking the rarer class and of 1 for a false alarm.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from forest_quality import METHODS, RememberingForest, load_codes, part_of
from forest_smoothing import split

from petiole.decisions import decide, random_costs

DATA_SETS = ("pima", "credit-g", "cmc", "vehicle", "car")
FORESTS = {"RF": "raw forest", "RF isotonic": "isotonic forest", "petiole forest": "petiole's forest"}
PETIOLE = "petiole forest"
N_MATRICES = 25


def cost_matrices(y: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """The cost matrices of a split, by the kind of costs; ``[matrix, predicted, true]``."""
    drawn = random_costs("M5", y=y, n_matrices=N_MATRICES, random_state=seed)
    kinds = {"M5": drawn / drawn.max(axis=(1, 2), keepdims=True)}
    if y.max() == 1:
        rare = int(np.bincount(y).argmin())
        fixed = np.zeros((1, 2, 2))
        fixed[0, 1 - rare, rare], fixed[0, rare, 1 - rare] = 5, 1
        kinds["5 to 1"] = fixed
    return kinds


def realised(costs: np.ndarray, chosen: np.ndarray, y: np.ndarray) -> float:
    """The cost of decisions per row."""
    return float(costs[chosen, y].mean())


def run_split(name: str, trial: int) -> dict[tuple[str, str], tuple[float, float]]:
    """For each kind of costs and forest: the mean cost of the most probable class, and that of the cheapest."""
    RememberingForest.remembered.clear()
    frame, y = load_codes(name)
    train, test = split(y, trial)
    kinds = cost_matrices(y[train], trial)
    found = {}
    for forest in FORESTS:
        model = METHODS[forest](trial).fit(frame.iloc[train], y[train])
        proba = np.asarray(model.predict_proba(frame.iloc[test]), dtype=float)
        for kind, matrices in kinds.items():
            probable = [realised(costs, proba.argmax(axis=1), y[test]) for costs in matrices]
            cheapest = [realised(costs, decide(proba, costs), y[test]) for costs in matrices]
            found[kind, forest] = (float(np.mean(probable)), float(np.mean(cheapest)))
    return found


def print_lines(name: str, results: list[dict[tuple[str, str], tuple[float, float]]]) -> None:
    """The lines of a data set: one for each kind of costs."""
    means = {key: np.mean([result[key] for result in results], axis=0) for key in results[0]}
    for kind in dict.fromkeys(kind for kind, _ in means):
        cells = []
        for forest in FORESTS:
            probable, cheapest = means[kind, forest]
            cells.append(f"{probable:.4f} → {cheapest:.4f} ({100 * (1 - cheapest / probable):.0f} %)")
        print(f"| {name} ({part_of(name)}) | {kind} | {' | '.join(cells)} |", flush=True)


def print_summary(results: list[list[dict[tuple[str, str], tuple[float, float]]]]) -> None:
    """Over all lines of the table: the mean saving of each forest, and how petiole's decisions compare."""
    print()
    means = [{key: np.mean([split[key] for split in of], axis=0) for key in of[0]} for of in results]
    for forest, words in FORESTS.items():
        savings = [100 * (1 - pair[1] / pair[0]) for of in means for (_, other), pair in of.items() if other == forest]
        print(f"{words}: saves {np.mean(savings):.0f} % on average, from {min(savings):.0f} to {max(savings):.0f} %.")
    for forest in list(FORESTS)[:-1]:
        ratios = [
            of[kind, PETIOLE][1] / pair[1] for of in means for (kind, other), pair in of.items() if other == forest
        ]
        gaps = [
            split[kind, PETIOLE][1] - pair[1]
            for of in results
            for split in of
            for (kind, other), pair in split.items()
            if other == forest
        ]
        print(
            f"petiole's decisions cost {geometric_mean(ratios):.3f} times those of the {FORESTS[forest]} (geometric "
            f"mean of {len(ratios)} lines; {sum(ratio < 1 for ratio in ratios)} are below 1); they are cheaper "
            f"in {sum(gap < 0 for gap in gaps)}, as dear in {sum(gap == 0 for gap in gaps)} and dearer in "
            f"{sum(gap > 0 for gap in gaps)} splits."
        )


def geometric_mean(ratios: list[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--data-sets", nargs="+", default=DATA_SETS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"| data set | costs | {' | '.join(FORESTS.values())} |\n|{'---|' * (len(FORESTS) + 2)}")
    results = []
    for name in arguments.data_sets:
        results.append([run_split(name, trial) for trial in range(arguments.splits)])
        print_lines(name, results[-1])
    print_summary(results)


if __name__ == "__main__":
    main()
