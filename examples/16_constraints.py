"""Constraints: more debt never makes a default less probable.

Two forests are fitted to 200 applicants. In one of them, the probability of default is constrained to rise with debt
and to fall with income. The lines show the predicted probability along debt for three incomes, and the dotted lines are
the true probabilities. Without the constraint, the lines go up and down, because there are few rows.
"""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from petiole import BaggedPETClassifier, metrics

COLOURS = {-1.0: "#b0413e", 0.0: "#c98a1b", 1.0: "#00796b"}


def true_probability(X):
    return 1 / (1 + np.exp(1.2 * (X[:, 0] - X[:, 1])))


rng = np.random.default_rng(0)
X, X_new = rng.normal(size=(200, 2)), rng.normal(size=(5000, 2))  # columns: income, debt
y, y_new = (rng.uniform(size=len(rows)) < true_probability(rows) for rows in (X, X_new))
forest = BaggedPETClassifier(200, min_samples_leaf=5, random_state=0)
models = {
    "without a constraint": forest.fit(X, y),
    "with monotonic_cst=[-1, 1]": BaggedPETClassifier(**forest.get_params() | {"monotonic_cst": [-1, 1]}).fit(X, y),
}

debts = np.linspace(-2.2, 2.2, 400)
figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    loss = metrics.log_loss(y_new, model.predict_proba(X_new), floor=0.001)
    print(f"{name}: log-loss {loss:.3f} bits on 5,000 new rows")
    for income, colour in COLOURS.items():
        rows = np.column_stack([np.full(len(debts), income), debts])
        ax.plot(debts, model.predict_proba(rows)[:, 1], color=colour, label=f"income {income:+.0f}")
        ax.plot(debts, true_probability(rows), color=colour, linestyle=":", linewidth=1)
    ax.set(title=f"{name}\nlog-loss {loss:.2f} bits", xlabel="debt")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("probability of default")
axes[0].set_ylim(0, 1)
axes[0].legend(fontsize=9)
figure.savefig("constraints.png", dpi=120)
