"""Monitoring: how soon new labels show that a model no longer holds.

A forest is fitted to 2,000 applicants. Three series of 3,000 new applicants follow. In the first, nothing changes. In
the second, the applicants are poorer, but the probability of default depends on income and debt as before. In the
third, defaults become more frequent for everyone from row 1,000 on. The lines on the left show the evidence against the
model after each row. There is an alarm when a line reaches the dashed line, an e-value of 20; if the model is right,
that ever happens with a probability of at most 5 %. The bars show how much the columns have changed.
"""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from petiole import ProbabilityForestClassifier
from petiole.monitoring import monitor, remember

COLOURS = ["#009e73", "#0072b2", "#b0413e"]


def applicants(n, rng, *, poorer=0.0, harder_from=None):
    income, debt = rng.normal(size=(2, n))
    income -= poorer
    score = debt - income - 0.5
    if harder_from is not None:
        score[harder_from:] += 0.7
    return np.column_stack([income, debt]), rng.uniform(size=n) < 1 / (1 + np.exp(-score))


rng = np.random.default_rng(1)
X, y = applicants(2000, rng)
model = remember(ProbabilityForestClassifier(64, random_state=0).fit(X, y), X, y)
series = {
    "nothing changes": applicants(3000, rng),
    "poorer applicants": applicants(3000, rng, poorer=0.8),
    "more defaults from row 1,000 on": applicants(3000, rng, harder_from=1000),
}

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained", width_ratios=[3, 2])
for place, ((name, (X_new, y_new)), colour) in enumerate(zip(series.items(), COLOURS, strict=True)):
    found = monitor(model, X_new, y_new)
    print(f"{name}: {found.verdict}")
    left.plot(np.arange(1, len(X_new) + 1), found.calibration.evidence, color=colour, label=name)
    if found.calibration.first_row is not None:
        print(f"  first alarm at row {found.calibration.first_row}")
        left.axvline(found.calibration.first_row, color=colour, linewidth=0.8, linestyle=":")
    drift = {column.name: column.distance for column in found.columns}
    right.barh(np.arange(2) + 0.27 * (1 - place), [drift["x0"], drift["x1"]], height=0.24, color=colour)
left.axhline(np.log10(20), color="#333333", linestyle="--", linewidth=1)
left.set(xlabel="new rows with labels", ylabel="e-value (power of ten)", title="evidence against the model")
left.set_ylim(-3, 8)
left.legend(fontsize=9, loc="upper left")
right.axvline(0.1, color="#333333", linestyle="--", linewidth=1)
right.set(yticks=[0, 1], yticklabels=["income", "debt"], xlabel="distance from the training rows")
right.set_title("drift of the columns")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
figure.savefig("monitoring.png", dpi=120)
