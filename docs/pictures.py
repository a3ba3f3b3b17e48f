"""The pictures of the methods' pages that no example makes: `python docs/pictures.py` writes them into docs/images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import cross_val_predict

from petiole import BaggedPETClassifier, BinnedNaiveBayesClassifier, MOBESPClassifier, PETClassifier, metrics
from petiole.calibrators import BetaCalibrator, BinningCalibrator, IsotonicCalibrator, SigmoidCalibrator

IMAGES = Path(__file__).parent / "images"
COLOURS = ("#b0413e", "#c98a1b", "#00796b", "#3b5b92")
BINS = np.linspace(0, 1, 11)


def reliability(ax: Any, predicted: Any, right: Any, colour: str) -> None:
    """Observed frequency against predicted probability."""
    place = np.clip(np.digitize(predicted, BINS) - 1, 0, 9)
    counts = np.bincount(place, minlength=10)
    shown = counts >= 5
    happened = np.bincount(place, weights=right, minlength=10)[shown] / counts[shown]
    ax.bar((BINS[:-1] + 0.05)[shown], happened, width=0.085, color=colour, alpha=0.85)
    ax.plot([0, 1], [0, 1], color="#333333", linestyle="--", linewidth=1)
    ax.set(xlim=(0, 1), ylim=(0, 1.02))
    ax.spines[["top", "right"]].set_visible(False)


def tree() -> None:
    data = load_breast_cancer(as_frame=True)
    model = PETClassifier.c44(max_depth=2).fit(data.data, data.target_names[data.target])
    ax = model.plot()
    ax.figure.savefig(IMAGES / "tree.png", dpi=150)


def bagged_trees() -> None:
    X, y = load_digits(return_X_y=True)
    models = {
        "B-PETs": BaggedPETClassifier.b_pets(random_state=0),
        "EB-PETs": BaggedPETClassifier.eb_pets(random_state=0),
        "MOB-ESP": MOBESPClassifier(random_state=0),
    }
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharey=True, layout="constrained")
    for ax, colour, (name, model) in zip(axes, COLOURS, models.items(), strict=False):
        proba = cross_val_predict(model, X, y, method="predict_proba", cv=5)
        loss, accuracy = metrics.log_loss(y, proba, floor=0.001), metrics.accuracy(y, proba)
        error = metrics.expected_calibration_error(y, proba)
        print(f"{name:8} log-loss {loss:.3f}  accuracy {accuracy:.3f}  calibration error {error:.3f}")
        reliability(ax, proba.max(axis=1), proba.argmax(axis=1) == y, colour)
        ax.set_title(f"{name}\nlog-loss {loss:.2f} bits, calibration error {error:.2f}", fontsize=11)
        ax.set_xlabel("predicted probability")
    axes[0].set_ylabel("share that is right")
    figure.savefig(IMAGES / "bagged_trees.png", dpi=150)


def naive_bayes() -> None:
    """Naive Bayes speaks of millions to one. What happened, in bins of equal counts, beside what it claimed."""
    X, y = load_breast_cancer(return_X_y=True)
    proba = cross_val_predict(BinnedNaiveBayesClassifier(), X, y, method="predict_proba", cv=10)
    binned = cross_val_predict(BinnedNaiveBayesClassifier.zadrozny_elkan(), X, y, method="predict_proba", cv=10)
    for name, predicted in {"naive Bayes": proba, "binned naive Bayes": binned}.items():
        loss = metrics.log_loss(y, predicted, floor=0.001)
        print(f"{name:20} log-loss {loss:.3f}  Brier {metrics.brier_score(y, predicted):.4f}")
    odds = np.diff(np.log10(np.maximum(proba, 1e-30)), axis=1)[:, 0]
    order = np.array_split(np.argsort(odds), 20)
    grid = np.linspace(-20, 20, 801)
    figure, ax = plt.subplots(figsize=(7.2, 3.8), layout="constrained")
    ax.plot(grid, 1 / (1 + 10.0**-grid), color=COLOURS[0], label="naive Bayes")
    shares = [np.mean(y[rows]) for rows in order]
    ax.plot([np.median(odds[rows]) for rows in order], shares, "o-", color=COLOURS[2], label="observed share")
    ax.set(xlim=(-16, 16), ylim=(-0.03, 1.03), xlabel="odds of class 1, powers of ten", ylabel="probability of class 1")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="upper left")
    figure.savefig(IMAGES / "naive_bayes.png", dpi=150)


def recalibration() -> None:
    """Four maps, learned on the out-of-bag rows of one forest: predicted against recalibrated probabilities."""
    X, y = load_digits(return_X_y=True)
    is_eight = (y == 8).astype(int)
    forest = BaggedPETClassifier.eb_pets(oob_score=True, random_state=0).fit(X, is_eight)
    predicted = forest.oob_predict_proba_[:, 1]
    maps = {
        "sigmoid": SigmoidCalibrator(),
        "beta": BetaCalibrator(),
        "isotonic": IsotonicCalibrator(),
        "binning": BinningCalibrator(),
    }
    grid = np.linspace(0, 1, 501)
    figure, ax = plt.subplots(figsize=(6, 4.4), layout="constrained")
    for colour, (name, calibrator) in zip(COLOURS, maps.items(), strict=True):
        ax.plot(grid, calibrator.fit(predicted, is_eight).predict(grid), label=name, color=colour)
    ax.plot([0, 1], [0, 1], color="#333333", linestyle="--", linewidth=1, label="no change")
    for value in (0, 1):
        rows = predicted[is_eight == value]
        ax.plot(rows, np.full(len(rows), -0.03 + 1.06 * value), "|", color="#9e9e9e", markersize=5)
    ax.set(xlabel="probability of an 8 by the forest", ylabel="recalibrated probability", xlim=(-0.01, 1.01))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower right")
    figure.savefig(IMAGES / "recalibration_maps.png", dpi=150)


if __name__ == "__main__":
    for picture in (tree, bagged_trees, naive_bayes, recalibration):
        picture()
