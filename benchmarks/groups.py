"""Corrections for groups: the worst group's calibration error and the log-loss, with and without them.

    PETIOLE_DATA=... python benchmarks/groups.py [--sets A,B] [--most-rows N] [--forest NAME] [--seen]

Real data sets with numeric and categorical columns and at least 1,500 rows. The groups are the categories with at
least 500 rows (a sixth of them in small sets) of all categorical columns. The forest is fitted to the numeric columns,
so that groups are what it does not know, as where a column must not be used to decide but the probabilities shall be
right for everyone; with ``--seen`` it has all columns.

Three folds: in each, one forest is fitted to two thirds of the rows, and all maps are learned on its out-of-bag rows,
so that only the maps differ. Answers for the rows of all folds are pooled. From the square of each group's error what
scatter adds is subtracted. The largest of many such errors is still too large, however true the answers are: ``true``
is what it is for labels that are drawn from the answers of "beta" (mean over draws). Sets count as far off where the
error is at least 0.03 and twice that.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from real_data import descriptions
from scores import log_loss_bits
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline

from petiole import BaggedPETClassifier, OOBCalibratedClassifier, ProbabilityForestClassifier
from petiole.calibrators import GroupCalibrator
from petiole.datasets import load
from petiole.metrics import expected_calibration_error
from petiole.metrics.groups import ROWS_PER_BIN

LEAST_ROWS, MOST_CATEGORIES, MIN_WEIGHT = 1500, 20, 500
LARGE = 0.03
MAPS = ("forest", "beta", "beta + columns", "beta + tree")
N_DRAWS = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="")
    parser.add_argument("--most-rows", type=int, default=16000)
    parser.add_argument("--forest", choices=("eb-pets", "b-pets", "probability"), default="eb-pets")
    parser.add_argument("--seen", action="store_true")
    parser.add_argument("--penalty", default="auto")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    names = arguments.sets.split(",") if arguments.sets else suitable()
    print(
        f"{'data set':22}{'rows':>7}{'groups':>7}{'true':>7}", *(f"{name:>16}" for name in MAPS), " log-loss change %"
    )
    found = []
    for name in names:
        row = one_set(name, arguments)
        if row is not None:
            found.append(row)
    summary(found)


def suitable() -> list[str]:
    """Sets with categorical columns, enough rows and not too many classes."""
    wanted = descriptions().items()
    return [
        name
        for name, about in wanted
        if about.rows >= LEAST_ROWS and {"numeric", "nominal"} <= {*about.kinds.values()} and len(about.classes) <= 10
    ]


def forest_of(arguments: Any, seed: int, numeric: list[str]) -> Any:
    """The forest, of the numeric columns alone unless it may see all."""
    if arguments.forest == "probability":
        forest = ProbabilityForestClassifier(random_state=seed, members=("forest",), n_jobs=1)
    else:
        make = BaggedPETClassifier.eb_pets if arguments.forest == "eb-pets" else BaggedPETClassifier.b_pets
        forest = make(random_state=seed, n_jobs=1)
    if arguments.seen:
        return forest
    return make_pipeline(ColumnTransformer([("numbers", "passthrough", numeric)]), forest)


def one_set(name: str, arguments: Any) -> dict[str, Any] | None:
    X, y, about = load(name)
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(len(y))[: arguments.most_rows])
    X, y = X.iloc[rows].reset_index(drop=True), np.asarray(y)[rows]
    counts = dict(zip(*np.unique(y, return_counts=True), strict=True))
    kept = np.array([counts[label] >= 30 for label in y])
    X, y = X[kept].reset_index(drop=True), y[kept]
    kinds = about.kinds
    columns = [c for c in X.columns if kinds[c] == "nominal" and 2 <= X[c].nunique() <= MOST_CATEGORIES]
    numeric = [c for c in X.columns if kinds[c] == "numeric"]
    if not columns or not numeric or len(np.unique(y)) < 2:
        return None
    labels = np.unique(y)
    answers = {one: np.zeros((len(y), len(labels))) for one in MAPS}
    penalty = arguments.penalty if arguments.penalty == "auto" else float(arguments.penalty)
    for fold, (train, test) in enumerate(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)):
        fitted = OOBCalibratedClassifier(forest_of(arguments, fold, numeric)).fit(X.iloc[train], y[train])
        answers["forest"][test] = fitted.estimator_.predict_proba(X.iloc[test])
        answers["beta"][test] = fitted.predict_proba(X.iloc[test])
        for kind, groups in (("columns", columns), ("tree", "tree")):
            given = groups if arguments.penalty == "auto" else GroupCalibrator(kind, penalty)
            other = fitted.with_method("beta", y[train], X=X.iloc[train], groups=given)
            answers[f"beta + {kind}"][test] = other.predict_proba(X.iloc[test])
    least = min(MIN_WEIGHT, len(y) / 6)
    masks = [(X[c] == value).to_numpy() for c in columns for value in X[c].dropna().unique()]
    masks = [mask for mask in masks if mask.sum() >= least]
    worst = {one: worst_error(y, proba, masks, labels) for one, proba in answers.items()}
    losses = {one: log_loss_bits(np.searchsorted(labels, y), p) for one, p in answers.items()}
    base = answers["beta"]
    chance = np.mean([worst_error(drawn(base, labels, rng), base, masks, labels) for _ in range(N_DRAWS)])
    change = {one: 100 * (losses[one] / losses["beta"] - 1) for one in MAPS}
    shown = " ".join(f"{worst[one]:16.4f}" for one in MAPS)
    changes = " ".join(f"{change[one]:+.2f}" for one in MAPS[2:])
    print(f"{name:22}{len(y):7}{len(masks):7}{chance:7.3f} {shown}  {changes}", flush=True)
    return {"name": name, "worst": worst, "losses": losses, "chance": chance}


def drawn(proba: Any, labels: Any, rng: Any) -> Any:
    """Labels for which the probabilities are true."""
    return labels[(proba.cumsum(axis=1) > rng.uniform(size=(len(proba), 1))).argmax(axis=1)]


def worst_error(y: Any, proba: Any, masks: Any, labels: Any) -> float:
    """The largest error of a group."""
    return float(np.sqrt(max(0.0, *(squared_error(y, proba, mask, labels) for mask in masks))))


def squared_error(y: Any, proba: Any, rows: Any, labels: Any) -> float:
    """The debiased squared calibration error of rows: of the second of two classes, or the largest of several."""
    n_bins = int(np.clip(rows.sum() // ROWS_PER_BIN, 1, 10))
    given: dict[str, Any] = {"n_bins": n_bins, "strategy": "quantile", "norm": "squared", "debiased": True}
    targets = labels[1:] if len(labels) == 2 else labels
    each = [expected_calibration_error(y[rows], proba[rows], target=k, labels=labels, **given) for k in targets]
    return float(max(each))


def summary(found: list[dict[str, Any]]) -> None:
    """Sets whose worst group is far off before."""
    for base in ("forest", "beta"):
        large = [row for row in found if row["worst"][base] >= max(LARGE, 2 * row["chance"])]
        for one in [name for name in MAPS if name != base and large]:
            before, after = ([row["worst"][name] for row in large] for name in (base, one))
            changes = [100 * (row["losses"][one] / row["losses"][base] - 1) for row in large]
            halved = sum(b >= 2 * a for b, a in zip(before, after, strict=True))
            print(
                f"{one} after {base}: {len(large)} sets that are far off; mean {np.mean(before):.4f} "
                f"-> {np.mean(after):.4f} (ratio {sum(after) / sum(before):.2f}), halved on {halved}; log-loss "
                f"{np.mean(changes):+.2f} % in the mean, {np.max(changes):+.2f} % at worst"
            )


if __name__ == "__main__":
    main()
