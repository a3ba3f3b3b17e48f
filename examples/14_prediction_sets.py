"""Prediction sets: which classes a row may be of, and how often the sets are right.

Three classes of points overlap. The left picture shows the prediction set at every place. It has one class where the
classes are apart, and two or three between them. The sets contain the true class of 90 % of new points. The right
picture shows the share of new points whose sets contain their class, for each class. If all rows are calibrated
together, the rare third class is covered too seldom. If each class is calibrated by itself, all are near the dashed
line.
"""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb

from petiole import BaggedPETClassifier
from petiole.conformal import ConformalClassifier

COLOURS = ["#0072b2", "#e69f00", "#009e73"]
CENTRES = np.array([[0.0, 0.0], [2.2, 0.0], [1.1, 1.9]])


def draw_points(n, rng):
    labels = rng.choice(3, size=n, p=[0.45, 0.45, 0.1])  # the third class is rare
    return CENTRES[labels] + rng.normal(size=(n, 2)), labels


rng = np.random.default_rng(0)
X, y = draw_points(1000, rng)
X_new, y_new = draw_points(6000, rng)
forest = BaggedPETClassifier.eb_pets(n_estimators=200, min_samples_leaf=10, random_state=0)
by_all = ConformalClassifier(forest, random_state=0).fit(X, y)
by_class = ConformalClassifier(forest, per_class=True, random_state=0).fit(X, y)
for name, model in (("all rows together", by_all), ("class by class", by_class)):
    sets = model.predict_set(X_new)
    print(f"{name:18} {sets}")
    print(f"{'':18} covered {sets.covered(y_new):.3f}, by class {sets.covered_by_class(y_new).round(3)}")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
ticks = np.linspace(-2.5, 4.8, 150), np.linspace(-2.5, 4.4, 150)
places = np.stack(np.meshgrid(*ticks), axis=-1).reshape(-1, 2)
inside = by_all.predict_set(places).contains
mixed = inside @ np.array([to_rgb(colour) for colour in COLOURS]) / np.maximum(inside.sum(axis=1, keepdims=True), 1)
mixed[~inside.any(axis=1)] = 1.0
extent = (ticks[0][0], ticks[0][-1], ticks[1][0], ticks[1][-1])
left.imshow(mixed.reshape(150, 150, 3), origin="lower", extent=extent, aspect="auto", alpha=0.55)
for label, colour in enumerate(COLOURS):
    some = np.flatnonzero(y == label)[:120]
    left.scatter(*X[some].T, s=9, color=colour, edgecolors="white", linewidths=0.3, label=f"class {label}")
left.set(title="sets with a coverage of 90 %; mixed colours: several classes", xticks=[], yticks=[])
left.set(xlim=extent[:2], ylim=extent[2:])
left.legend(loc="upper left", fontsize=9)

asked = np.array([0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98])
right.plot([0.65, 1], [0.65, 1], color="#333333", linestyle="--", linewidth=1)
covered = [by_all.predict_set(X_new, coverage=share).covered_by_class(y_new) for share in asked]
each = [by_class.predict_set(X_new, coverage=share).covered_by_class(y_new) for share in asked]
for label, colour in enumerate(COLOURS):
    right.plot(asked, np.array(covered)[:, label], color=colour, marker="x", linewidth=0.8, alpha=0.8)
    right.plot(asked, np.array(each)[:, label], color=colour, marker="o", linewidth=1.6)
right.plot([], [], color="grey", marker="x", linewidth=0.8, label="all rows together")
right.plot([], [], color="grey", marker="o", linewidth=1.6, label="class by class")
right.set(xlabel="requested coverage", ylabel="share of new rows covered", title="coverage of each class")
right.set(xlim=(0.68, 1.0), ylim=(0.4, 1.01))
right.legend(fontsize=9)
right.spines[["top", "right"]].set_visible(False)
figure.savefig("prediction_sets.png", dpi=120)
