"""The effect of noise on the border between classes: Figure 2 of Geurts (2001), on a similar border.

A tree of axis-parallel cuts separates two classes on either side of a wave. With perturbed queries, the same tree has a
smooth border; with too much noise the border is too smooth. The first row shows the predicted classes, the second row
the probabilities.
"""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from petiole import DualPerturbCombineClassifier, PETClassifier

random = np.random.default_rng(0)
X = random.uniform(0, 1, size=(300, 2))


def border(x):
    return 0.5 + 0.3 * np.sin(5 * x)


y = (X[:, 1] > border(X[:, 0])).astype(int)

model = DualPerturbCombineClassifier(PETClassifier(), random_state=0).fit(X, y)
best = float(model.noise_)
side = np.linspace(0, 1, 300)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
truth = grid[:, 1] > border(grid[:, 0])

figure, axes = plt.subplots(2, 3, figsize=(9.6, 6.6), sharex=True, sharey=True, layout="constrained")
titles = ("the tree itself", "the best noise", "too much noise")
errors = []
for column, (noise, title) in enumerate(zip((0.0, best, 1.5), titles, strict=True)):
    proba = model.set_params(noise=noise).predict_proba(grid)[:, 1]  # no fit: only the noise changes
    errors.append(np.mean((proba > 0.5) != truth))
    picture = {"origin": "lower", "extent": (0, 1, 0, 1), "vmin": 0, "vmax": 1}
    upper, lower = axes[:, column]
    decided = np.where(proba > 0.5, 0.75, 0.25).reshape(300, 300)
    upper.imshow(decided, cmap="RdBu", **picture)
    upper.contour(
        side, side, truth.reshape(300, 300).astype(float), [0.5], colors="black", linestyles="dotted", linewidths=1.2
    )
    for label, marker in ((0, "o"), (1, "^")):
        upper.scatter(*X[y == label].T, s=7, marker=marker, color="white", edgecolors="black", linewidths=0.5)
    upper.set_title(f"{title}\nλ = {noise:.2f}: {100 * errors[-1]:.1f} % wrong", fontsize=10)
    image = lower.imshow(proba.reshape(300, 300), cmap="RdBu", **picture)
for row, label in enumerate(("decision", "probability")):
    axes[row, 0].set_ylabel(f"{label}\nx1", fontsize=10)
for ax in axes[1]:
    ax.set_xlabel("x0")
figure.colorbar(image, ax=axes[1], label="P(triangle)", shrink=0.9)
figure.savefig("smooth_boundaries.png", dpi=150)
wrong = [f"{100 * error:.1f} %" for error in errors]
print(f"wrong: {wrong[0]} without noise, {wrong[1]} with λ = {best:.2f}; see smooth_boundaries.png")
