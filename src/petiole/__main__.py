"""``python -m petiole``: a small comparison of leaf estimators on data that comes with scikit-learn.

``python -m petiole reproduce nielsen-2004`` runs the experiments of a paper.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss
from sklearn.model_selection import StratifiedKFold

from petiole import PETClassifier
from petiole.smoothing import HDP, HGS, Curtailment, Laplace, LeafEstimator, MBranch, MEstimate, Raw

ESTIMATORS: dict[str, LeafEstimator] = {
    "raw": Raw(),
    "Laplace": Laplace(),
    "m-estimate": MEstimate(),
    "curtailment": Curtailment(),
    "m-branch": MBranch(),
    "HDP": HDP(random_state=0),
    "HGS": HGS(),
    "HGS, honest": HGS(alpha="honest"),
}


def compare(n_splits: int = 10) -> dict[str, np.ndarray]:
    """Out-of-fold probabilities of the second class for every leaf estimator; each fold's tree is grown once."""
    X, y = load_breast_cancer(return_X_y=True)
    proba = {name: np.empty(len(y)) for name in ESTIMATORS}
    for train, test in StratifiedKFold(n_splits, shuffle=True, random_state=0).split(X, y):
        model = PETClassifier.c44().fit(X[train], y[train])
        for name, estimator in ESTIMATORS.items():
            proba[name][test] = model.with_smoothing(estimator, X[train], y[train]).predict_proba(X[test])[:, 1]
    return proba


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the estimators, or do what the first argument asks for; the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given:
        print_comparison()
        return 0
    if given[0] == "reproduce":
        from petiole.experiments import command

        return command.main(given[1:])
    print(f"unknown command {given[0]!r}: there is `reproduce`, or nothing for a small comparison", file=sys.stderr)
    return 2


def print_comparison() -> None:
    """Print how good the probabilities of each estimator are."""
    _, y = load_breast_cancer(return_X_y=True)
    print(f"breast-cancer: {len(y)} rows; one C4.4 tree per fold, 10-fold cross-validation\n")
    print(f"{'leaf estimator':<20}{'log-loss (bits)':>16}{'Brier score':>13}{'accuracy':>10}")
    for name, p in compare().items():
        bits = log_loss(y, np.clip(p, 1e-3, 1 - 1e-3)) / np.log(2)
        print(f"{name:<20}{bits:>16.3f}{brier_score_loss(y, p):>13.4f}{accuracy_score(y, p > 0.5):>10.3f}")
    print(
        "\nThe trees are the same in every line: only what their leaves say differs (probabilities floored at 0.001)."
    )


if __name__ == "__main__":
    sys.exit(main())
