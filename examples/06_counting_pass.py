"""Trees grown on 10,000 rows each, with leaves that count all rows: log-loss as the data grow.

Each of 32 trees is grown on one shard; then every row is counted at the leaves of all trees.
"""

import os

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from petiole import BaggedPETClassifier, ProbabilityForestClassifier
from petiole.distributed import fit
from petiole.metrics import log_loss

ROWS = 1_000 if "PETIOLE_QUICK" in os.environ else 10_000
NUMBERS = [1, 2, 4, 8, 16, 32]
FORESTS = {
    "ProbabilityForestClassifier": ProbabilityForestClassifier(32, min_samples_leaf=5, random_state=0),
    "EB-PETs": BaggedPETClassifier.eb_pets(n_estimators=32, min_samples_leaf=5, random_state=0),
}


def draw_rows(random, n):
    """Twenty features, of which twelve matter, and probabilities between 0.02 and 0.98."""
    X = random.normal(size=(n, 20)).astype(np.float32)
    score = 1.5 * np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + (X[:, 3] > 0.5) * X[:, 4] - 0.5 * np.abs(X[:, 5])
    p = 0.02 + 0.96 / (1 + np.exp(-(score + 0.3 * X[:, 6:12].sum(axis=1))))
    return X, (random.random(n) < p).astype(int), p


random = np.random.default_rng(0)
shards = [draw_rows(random, ROWS)[:2] for _ in range(max(NUMBERS))]
X, y, truth = draw_rows(random, 20_000)
figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
for (name, model), colour in zip(FORESTS.items(), ("tab:blue", "tab:orange"), strict=True):
    losses = []
    for n in NUMBERS:
        fit(model, shards[:n], mode="sharded", shard_rows=ROWS)
        losses.append(log_loss(y, model.predict_proba(X), floor=1e-6))
    axes.plot(np.array(NUMBERS) * ROWS, losses, marker="o", color=colour, label=name)
    print(name, " ".join(f"{loss:.4f}" for loss in losses))
best = log_loss(y, np.column_stack([1 - truth, truth]))
axes.axhline(best, color="black", linewidth=1, label="the true probabilities")
axes.set(xscale="log", xlabel=f"rows, {ROWS:,} in a shard", ylabel="log-loss of new rows, bits")
axes.legend()
figure.savefig("counting_pass.png", dpi=120)
print(f"true probabilities {best:.4f}; see counting_pass.png")
