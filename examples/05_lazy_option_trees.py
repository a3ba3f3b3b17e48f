"""Two Gaussians whose true probabilities are known: experiment 1 of Margineantu & Dietterich (2002).

Bagged trees with Laplace's correction (B-PETs) and bagged lazy option trees (B-LOTs) see 1,000 rows and estimate the
probability of 1,000 others. The picture shows the estimates beside the truth; a second one shows the lazy option tree
of one query, as in the paper's figure 1.1.
"""

import os

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from petiole import BaggedPETClassifier, LazyOptionTreesClassifier

DISTANCE = 0.5  # of the means; the paper does not give it
ROWS = 200 if "PETIOLE_QUICK" in os.environ else 1000


def two_gaussians(n, distance, random):
    """Rows, labels and the true probability of class 1; the classes are equally likely, their spread is 1."""
    y = random.integers(0, 2, n)
    x = random.normal(distance * y)
    return x[:, None], y, 1 / (1 + np.exp(distance * (distance / 2 - x)))


MODELS = {
    "B-PETs": BaggedPETClassifier.b_pets(n_estimators=30, criterion="gain_ratio", bootstrap="plain", random_state=0),
    "B-LOTs as published": LazyOptionTreesClassifier.paper(random_state=0),
    "petiole's, min_samples_leaf from OOB": LazyOptionTreesClassifier(min_samples_leaf="auto", random_state=0),
}

random = np.random.default_rng(0)
X, y, _ = two_gaussians(ROWS, DISTANCE, random)
queries, _, truth = two_gaussians(ROWS, DISTANCE, random)
print(f"means {DISTANCE:g} apart, true probabilities from {truth.min():.2f} to {truth.max():.2f}")
figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), sharey=True)
for ax, (name, model) in zip(axes, MODELS.items(), strict=True):
    p = model.fit(X, y).predict_proba(queries)[:, 1]
    rmse = np.sqrt(np.mean((p - truth) ** 2))
    low, high = np.quantile(p, [0.05, 0.95])
    print(f"  {name:38s} RMSE {rmse:.3f}, nine tenths of the estimates from {low:.2f} to {high:.2f}")
    ax.plot([0, 1], [0, 1], color="#C4C7CC", zorder=0)
    ax.scatter(truth, p, s=5, color="#0072B2", linewidths=0)
    ax.set(title=f"{name}\nRMSE {rmse:.3f}", xlabel="true probability", xlim=(0, 1), ylim=(-0.02, 1.02))
    ax.title.set_fontsize(10)
axes[0].set_ylabel("estimated probability")
figure.tight_layout()
figure.savefig("lazy_option_trees.png", dpi=150)

X = [[1, 1], [2, 3], [3, 2], [4, 5], [5, 4], [6, 6], [7, 1], [8, 3]]
y = ["no", "no", "yes", "no", "yes", "yes", "no", "yes"]
model = LazyOptionTreesClassifier.paper(n_estimators=1, bootstrap=False).fit(X, y)
explanation = model.explain([4.5, 3.5])
print(f"\nthe paths of the query (4.5, 3.5) and their shares, P(yes) = {explanation.probabilities[1]:.3f}")
print(explanation)
explanation.plot().figure.savefig("lazy_option_paths.png", dpi=150)
