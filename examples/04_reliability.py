"""Reliability of a tree, an ordinary forest and petiole's forest on handwritten digits.

All 1,797 digits are predicted by models that have not seen them. Of the rows for which a model predicts a class with
80 %, 80 % should be of that class. The picture shows the observed share against the predicted probability.
"""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from petiole import ProbabilityForestClassifier, metrics

MODELS = {
    "a decision tree": (DecisionTreeClassifier(random_state=0), "#b0413e"),
    "a random forest": (RandomForestClassifier(random_state=0), "#c98a1b"),
    "petiole's forest": (ProbabilityForestClassifier(random_state=0), "#00796b"),
}
BINS = np.linspace(0, 1, 11)


def draw(ax, counts_ax, said, right, colour):
    """The share of correct predictions, and their number, by the predicted probability."""
    place = np.clip(np.digitize(said, BINS) - 1, 0, 9)
    counts = np.bincount(place, minlength=10)
    shown = counts >= 5  # the share in four rows is too uncertain
    happened = np.bincount(place, weights=right, minlength=10)[shown] / counts[shown]
    ax.bar((BINS[:-1] + 0.05)[shown], happened, width=0.085, color=colour, alpha=0.85)
    ax.plot([0, 1], [0, 1], color="#333333", linestyle="--", linewidth=1)
    counts_ax.bar(BINS[:-1] + 0.05, counts, width=0.085, color="#9e9e9e")


X, y = load_digits(return_X_y=True)
figure, axes = plt.subplots(
    2, 3, figsize=(10, 4.9), sharex=True, sharey="row", height_ratios=[4, 1], layout="constrained"
)
for column, (name, (model, colour)) in enumerate(MODELS.items()):
    proba = cross_val_predict(model, X, y, method="predict_proba", cv=5)
    loss = metrics.log_loss(y, proba, floor=0.001)
    error = metrics.expected_calibration_error(y, proba)
    accuracy = metrics.accuracy(y, proba)
    print(f"{name:16}  accuracy {accuracy:.3f}  log-loss {loss:.3f} bits  calibration error {error:.3f}")
    draw(axes[0, column], axes[1, column], proba.max(axis=1), proba.argmax(axis=1) == y, colour)
    axes[0, column].set_title(f"{name}\nlog-loss {loss:.2f} bits, calibration error {error:.2f}", fontsize=11)
    axes[1, column].set_xlabel("predicted probability")
axes[0, 0].set_ylabel("share that is right")
axes[1, 0].set_ylabel("digits")
axes[0, 0].set_xlim(0, 1)
axes[0, 0].set_ylim(0, 1.02)
for ax in axes.flat:
    ax.spines[["top", "right"]].set_visible(False)
figure.savefig("reliability_forests.png", dpi=150)
