"""MOB-ESP beside EB-PETs and B-PETs, in the order of Nielsen (2004), and the questions that the paper leaves open.

    PETIOLE_DATA=... python benchmarks/mob_esp.py --out results.jsonl --jobs 2
    PETIOLE_DATA=... python benchmarks/mob_esp.py --out results.jsonl --table

The open questions: the weight of out-of-bag rows (oob_weight="auto"), as many voters for a query as for a training row
(voters="as_out_of_bag"), and a better ranking (rows="shared"). All variants and EB-PETs share the trees of a split.
Five random stratified splits, 2/3 to train and 1/3 to test, 128 trees. Every finished split is a line of the file, and
splits that are there are not run again. The scores are the paper's: 0/1-MSE, log-loss (in bits), area under the lift
chart, and the change in accuracy from the trees' majority vote to the most probable class.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from forest_quality import choose_data_sets, load_codes, read
from forest_smoothing import by_data_set, run_splits, sign_test, split
from scores import accuracy_change, aulc, log_loss_bits, zero_one_mse

from petiole import BaggedPETClassifier, MOBESPClassifier, _core
from petiole._estimates.vote_look_up import make_ballot

VARIANTS: dict[str, dict[str, Any]] = {
    "MOB-ESP": {},
    "MOB-ESP, auto": {"oob_weight": "auto"},
    "MOB-ESP, as out of bag": {"voters": "as_out_of_bag"},
    "MOB-ESP, shared": {"rows": "shared"},
    "MOB-ESP, shared, auto": {"rows": "shared", "oob_weight": "auto"},
}
METHODS = ("B-PETs", "EB-PETs", *VARIANTS)
SCORES = {"zero_one_mse": -1, "log_loss": -1, "aulc": 1, "accuracy_change": 1}  # the sign: whether more is better


def run_split(name: str, trial: int) -> dict[str, Any]:
    """All methods on one split of a data set."""
    warnings.simplefilter("ignore")
    frame, y = load_codes(name)
    train, test = split(y, trial)
    X, unseen = frame.iloc[train], frame.iloc[test]
    priors = np.bincount(y[train]) / len(train)
    b_pets = BaggedPETClassifier.b_pets(random_state=trial, n_jobs=1).fit(X, y[train])
    eb_pets = BaggedPETClassifier.eb_pets(random_state=trial, n_jobs=1).fit(X, y[train])
    variants = {
        method: MOBESPClassifier.from_ensemble(eb_pets, X, y[train], **parameters)
        for method, parameters in VARIANTS.items()
    }
    voters = {"B-PETs": MOBESPClassifier.from_ensemble(b_pets, X, y[train]), "EB-PETs": variants["MOB-ESP"]}
    votes = {method: voted(model, unseen) for method, model in voters.items()}
    scores = {}
    for method, model in {"B-PETs": b_pets, "EB-PETs": eb_pets, **variants}.items():
        proba = model.predict_proba(unseen)
        scores[method] = {
            "zero_one_mse": zero_one_mse(y[test], proba),
            "log_loss": log_loss_bits(y[test], proba),
            "aulc": aulc(y[test], proba, priors),
            "accuracy_change": accuracy_change(y[test], proba, votes.get(method, votes["EB-PETs"])),
        }
    weights = {method: model.oob_weight_ for method, model in variants.items() if model.oob_weight == "auto"}
    return {"scores": scores, "oob_weights": weights}


def voted(model: MOBESPClassifier, X: Any) -> np.ndarray:
    """The class with the votes of most trees, before anything is looked up; ties are broken as MOB-ESP breaks them."""
    n_trees, rows, ballot = len(model.trees_), _core.VoteRows.winner, make_ballot(model.trees_, model.class_weights_)
    matrix = model.encoder_.transform(X)
    return model.vote_tables_.look_up(model.trees_.router, matrix, ballot, n_trees, rows, None, 1)[0]


def print_tables(lines: list[dict[str, Any]]) -> None:
    """Means, comparisons by sign tests, and the weights that "auto" chose."""
    data_sets = by_data_set(lines)
    numbers = [len(trials) for trials in data_sets]
    print(f"{len(data_sets)} data sets, {min(numbers)} to {max(numbers)} splits of each")
    values = {
        score: {
            m: np.array([np.mean([t["scores"][m][score] for t in trials]) for trials in data_sets]) for m in METHODS
        }
        for score in SCORES
    }
    header = f"{' | '.join(SCORES)} |\n|{'---|' * (len(SCORES) + 1)}"
    print(f"\n### Means\n\n| method | {header}")
    for method in METHODS:
        print(f"| {method} | {' | '.join(f'{of[method].mean():.4f}' for of in values.values())} |")
    for reference in ("B-PETs", "EB-PETs", "MOB-ESP"):
        print(f"\n### Wins-draws-losses against {reference} (p of the two-tailed sign test)\n\n| method | {header}")
        for method in METHODS[METHODS.index(reference) + 1 :]:
            cells = [
                sign_test(sign * (values[score][method] - values[score][reference])) for score, sign in SCORES.items()
            ]
            print(f"| {method} | {' | '.join(cells)} |")
    for method in lines[0]["oob_weights"]:
        chosen = Counter(line["oob_weights"][method] for line in lines)
        found = ", ".join(f"{weight:g} in {chosen[weight]}" for weight in sorted(chosen))
        print(f"\nThe weights of {method}, by splits: {found}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the file of the splits, one JSON object per line")
    parser.add_argument("--part", choices=["development", "report", "all"], default="all")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--table", action="store_true", help="print the tables, run nothing")
    arguments = parser.parse_args()
    if not arguments.table:
        run_splits(run_split, choose_data_sets(arguments.part), arguments.trials, arguments.out, arguments.jobs)
    for part in ("development", "report"):
        data_sets = choose_data_sets(part)
        lines = [x for x in read([arguments.out]) if x["data_set"] in data_sets and x["trial"] < arguments.trials]
        if lines:
            print(f"\n## The {part} data sets\n")
            print_tables(lines)


if __name__ == "__main__":
    main()
