"""Pictures of probabilities and decisions: which of three forests is calibrated, and what its decisions earn.

The forests are scikit-learn's on the breast cancer data, without and with isotonic calibration, and petiole's. All rows
are predicted by models that have not seen them. There is one picture with everything, and one for each part.
"""

import os

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict

from petiole import PETClassifier, ProbabilityForestClassifier, metrics
from petiole.plotting import (
    CostCurveDisplay,
    GainsDisplay,
    LiftDisplay,
    ProfitDisplay,
    ReliabilityDisplay,
    ScoreScatterDisplay,
    TruthScatterDisplay,
)
from petiole.smoothing import Curtailment, MEstimate

data = load_breast_cancer()
X, y = data.data, data.target_names[data.target]  # "benign", "malignant"

forest = RandomForestClassifier(20 if "PETIOLE_QUICK" in os.environ else 100, random_state=0)
models = {
    "random forest": forest,
    "… with isotonic calibration": CalibratedClassifierCV(forest, method="isotonic"),
    "ProbabilityForestClassifier": ProbabilityForestClassifier(random_state=0),
}
proba = {name: cross_val_predict(model, X, y, cv=5, method="predict_proba") for name, model in models.items()}

# A second test costs 1. It finds an overlooked tumour, which is worth 20.
second_test = {"amounts": 20, "cost": 1}

# Generated data, whose true probabilities are known: 4,000 rows to train and 1,000 to test.
rng = np.random.default_rng(0)
Z = rng.normal(size=(5000, 6))
truth = 1 / (1 + np.exp(2 - 1.5 * Z[:, 0] - np.sin(3 * Z[:, 1]) + Z[:, 2] * Z[:, 3]))
label = np.where(rng.random(5000) < truth, "yes", "no")
Z_new, label_new, truth_new = Z[4000:], label[4000:], np.column_stack([1 - truth, truth])[4000:]

# Raw scores of a tree, and scores after smoothing and curtailment, as in Zadrozny & Elkan's figures 1 and 3.
tree = PETClassifier(smoothing="raw", min_samples_leaf=5).fit(Z[:4000], label[:4000])
smoothed = {
    "smoothing": tree.with_smoothing(MEstimate(m=50)),
    "curtailment": tree.with_smoothing(Curtailment(v=50)),
}
learners = {"raw tree": tree, "ProbabilityForestClassifier": models["ProbabilityForestClassifier"]}
learners["ProbabilityForestClassifier"].fit(Z[:4000], label[:4000])


def draw(ax=None):
    """Each kind of picture, on given axes or in its own figure."""
    panels = iter([None] * 8 if ax is None else ax.flat)
    return {
        "reliability": ReliabilityDisplay.from_predictions(y, proba, n_bins=5, ax=next(panels)),
        "lift": LiftDisplay.from_predictions(y, proba, ax=next(panels)),
        "gains": GainsDisplay.from_predictions(y, proba, ax=next(panels)),
        "profit": ProfitDisplay.from_predictions(y, proba, **second_test, ax=next(panels)),
        "cost_curve": CostCurveDisplay.from_predictions(y, proba, ax=next(panels)),
        "score_scatter": ScoreScatterDisplay.from_estimator(
            smoothed, Z_new, label_new, reference={"the raw tree": tree}, ax=next(panels)
        ),
        "score_sorted": ScoreScatterDisplay.from_estimator(
            smoothed, Z_new, label_new, reference={"the raw tree": tree}, kind="sorted", ax=next(panels)
        ),
        "truth_scatter": TruthScatterDisplay.from_estimator(learners, Z_new, truth_new, ax=next(panels)),
    }


for name, display in draw().items():
    display.figure_.savefig(f"picture_{name}.png", dpi=150)
    plt.close(display.figure_)

figure, axes = plt.subplots(2, 4, figsize=(15, 8.6), layout="constrained")
draw(axes)
figure.savefig("pictures.png", dpi=110)

print(f"{'':28}calibration error  area under lift  best profit  log-loss (bits)")
for name, p in proba.items():
    error = metrics.expected_calibration_error(y, p, target="malignant", n_bins=5)
    area = metrics.area_under_lift_curve(y, p, target="malignant")
    best = metrics.profit_curve(y, p, **second_test).best_profit
    print(f"{name:28}{error:17.3f}{area:17.3f}{best:13,.0f}{metrics.log_loss(y, p, floor='exact'):17.3f}")
