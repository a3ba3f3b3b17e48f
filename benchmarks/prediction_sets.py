"""Prediction sets from out-of-bag rows beside split-conformal ones by MAPIE: coverage and size on unseen rows.

    PETIOLE_DATA=... python benchmarks/prediction_sets.py --part report
    PETIOLE_DATA=... python benchmarks/prediction_sets.py --part development --forest flagship

The same division of the data sets as `forest_quality.py`; of each at most so many rows, two thirds of them to train
on. petiole fits the forest to all training rows and calibrates on their out-of-bag answers. MAPIE gets the same
forest, fitted to a part of the same rows, and calibrates on the others. Both ask for 90 % of the unseen rows.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict
from typing import Any

import numpy as np
from forest_quality import choose_data_sets, load_codes
from sklearn.model_selection import StratifiedShuffleSplit, train_test_split

from petiole import BaggedPETClassifier, ProbabilityForestClassifier
from petiole.conformal import ConformalClassifier
from petiole.conformal.thresholds import least_rows

FORESTS = {
    "eb-pets": lambda seed: BaggedPETClassifier.eb_pets(oob_score=True, random_state=seed, n_jobs=1),
    "flagship": lambda seed: ProbabilityForestClassifier(oob_score=True, random_state=seed, n_jobs=1),
}
METHODS = {
    "lac": {"method": "lac"},
    "aps": {"method": "aps"},
    "aps, not randomised": {"method": "aps", "randomised": False},
    "raps": {"method": "raps"},
    "lac per class": {"method": "lac", "per_class": True},
    "aps per class": {"method": "aps", "per_class": True},
}


class Known:
    """A classifier whose probabilities are known: its rows are their positions."""

    def __init__(self, proba: np.ndarray) -> None:
        self.proba, self.classes_ = proba, np.arange(proba.shape[1])
        self.n_features_in_ = 1

    def fit(self, X: Any, y: Any) -> Known:
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self.proba[np.asarray(X)[:, 0].astype(int)]

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.predict_proba(X).argmax(axis=1)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def by_mapie(
    model: Any, calibrating: tuple[Any, np.ndarray], queries: Any, coverage: float, score: str, last: Any = None
) -> np.ndarray:
    """The sets of MAPIE's split-conformal classifier around a fitted model; ``last`` is its ``include_last_label``."""
    from mapie.classification import SplitConformalClassifier
    from sklearn.base import BaseEstimator, ClassifierMixin

    kind = type("Known", (Known, ClassifierMixin, BaseEstimator), {})
    X, y = calibrating
    proba = np.concatenate([model.predict_proba(X), model.predict_proba(queries)])
    places = np.arange(len(proba))[:, np.newaxis]
    split = SplitConformalClassifier(kind(proba), confidence_level=coverage, conformity_score=score, random_state=0)
    split.conformalize(places[: len(y)], y)
    options = None if last is None else {"include_last_label": last}
    return np.asarray(split.predict_set(places[len(y) :], conformity_score_params=options)[1])[:, :, 0]


def run(name: str, trial: int, forest: str, coverage: float, most: int, share: float) -> dict[str, dict[str, Any]]:
    """The coverage, the mean size and the coverage of each class by each method on one split of a data set."""
    frame, y = load_codes(name)
    n = min(len(y), most)
    train_size = round(n * 2 / 3)
    splitter = StratifiedShuffleSplit(1, train_size=train_size, test_size=n - train_size, random_state=trial)
    train, test = next(splitter.split(y, y))
    X, codes, queries, truth = frame.iloc[train], y[train], frame.iloc[test], y[test]
    whole = FORESTS[forest](trial).fit(X, codes)
    found = {}
    for label, options in METHODS.items():
        sets = ConformalClassifier.from_oob(whole, X, codes, coverage=coverage, random_state=trial, **options)
        found[label] = judged(sets.predict_set(queries).contains, whole.classes_, truth, codes, coverage)
    fitting, holding = split_rows(codes, share, trial)
    part = FORESTS[forest](trial).fit(X.iloc[fitting], codes[fitting])
    if len(part.classes_) < len(whole.classes_):
        return found
    for score, last in (("lac", None), ("aps", None), ("aps", "randomized")):
        if score == "aps" and len(whole.classes_) == 2:  # which MAPIE refuses
            continue
        inside = by_mapie(part, (X.iloc[holding], codes[holding]), queries, coverage, score, last)
        found[f"MAPIE {score}" + (f", {last}" if last else "")] = judged(inside, whole.classes_, truth, codes, coverage)
    return found


def split_rows(codes: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    return tuple(train_test_split(np.arange(len(codes)), test_size=share, stratify=codes, random_state=seed))  # type: ignore[return-value]


def judged(
    inside: np.ndarray, classes: np.ndarray, truth: np.ndarray, codes: np.ndarray, coverage: float
) -> dict[str, Any]:
    """Scores of some sets; classes that have too few training rows for the coverage do not count among the classes."""
    hits = inside[np.arange(len(truth)), np.searchsorted(classes, truth)]
    large = [label for label in classes.tolist() if (codes == label).sum() >= least_rows(coverage)]
    by_class = {label: float(hits[truth == label].mean()) for label in large if (truth == label).any()}
    return {"coverage": hits.mean(), "size": inside.sum(axis=1).mean(), "by_class": by_class, "empty": ~inside.any(1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--part", choices=("development", "report", "all"), default="report")
    parser.add_argument("--forest", choices=tuple(FORESTS), default="eb-pets")
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--sets", type=int, default=1000, help="at most so many data sets")
    parser.add_argument("--coverage", type=float, default=0.9)
    parser.add_argument("--share", type=float, default=1 / 3, help="of the training rows that MAPIE calibrates on")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names, start = choose_data_sets(options.part)[: options.sets], time.process_time()
    cells: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for name in names:
        for trial in range(options.trials):
            for method, cell in run(name, trial, options.forest, options.coverage, options.rows, options.share).items():
                cells[method][name].append(cell)
    seconds = time.process_time() - start
    print(f"{len(names)} {options.part} data sets, {options.trials} splits each, {options.forest}; {seconds:.0f} s\n")
    print("| sets | coverage | by class: mean of sets | mean of classes | size | empty | data sets |")
    print("|---|---|---|---|---|---|---|")
    for method, by_name in cells.items():
        print(f"| {method} | {line(by_name)} |")
    print()
    for ours, theirs in (("lac", "MAPIE lac"), ("aps", "MAPIE aps"), ("aps", "MAPIE aps, randomized")):
        print(beside(cells[ours], cells[theirs], ours, theirs))


def beside(ours: dict[str, Any], theirs: dict[str, Any], our_name: str, their_name: str) -> str:
    """The mean sizes of two kinds of sets on the data sets that both have, and how often the first are smaller."""

    def sizes(found: dict[str, Any]) -> np.ndarray:
        return np.array([np.mean([cell["size"] for cell in found[name]]) for name in theirs])

    first, second = sizes(ours), sizes(theirs)
    smaller, larger = int((first < second - 1e-9).sum()), int((first > second + 1e-9).sum())
    return (
        f"{our_name}: mean size {first.mean():.3f}, {their_name}: {second.mean():.3f}, on {len(theirs)} data sets; "
        f"smaller on {smaller}, larger on {larger}"
    )


def line(by_name: dict[str, list[dict[str, Any]]]) -> str:
    """Means over data sets, of the means over splits."""

    def mean(score: str) -> float:
        return float(np.mean([np.mean([np.mean(cell[score]) for cell in found]) for found in by_name.values()]))

    by_class = [
        [np.mean([cell["by_class"][label] for cell in found if label in cell["by_class"]]) for label in labels]
        for found in by_name.values()
        if (labels := sorted({label for cell in found for label in cell["by_class"]}))
    ]
    of_sets = float(np.mean([np.mean(one) for one in by_class]))
    of_classes = float(np.mean(np.concatenate(by_class)))
    figures = [mean("coverage"), of_sets, of_classes]
    shown = [f"{100 * figure:.1f} %" for figure in figures]
    return " | ".join([*shown, f"{mean('size'):.3f}", f"{100 * mean('empty'):.1f} %", str(len(by_name))])


if __name__ == "__main__":
    main()
