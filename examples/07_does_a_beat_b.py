"""Comparing methods: leaf estimators on twenty data sets, and the sources of a tree's error.

Six leaf estimators use the same C4.4 trees, on four data sets that come with scikit-learn and sixteen generated ones.
The first picture shows their mean ranks and which differences may be due to chance. The second shows the error of a
tree as its leaves get larger: bias increases, variance decreases.
"""

import matplotlib

matplotlib.use("Agg")

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification
from sklearn.model_selection import StratifiedKFold

from petiole import PETClassifier
from petiole.comparison import bias_variance_study, friedman_nemenyi, win_tie_loss

ESTIMATORS = {
    "raw": "raw",
    "Laplace": "laplace",
    "m-estimate": "m_estimate",
    "curtailment": "curtailment",
    "m-branch": "m_branch",
    "HGS": "hgs",
}


def data_sets():
    """Names and data: four real ones, and generated ones of several kinds."""
    for name, load in (
        ("iris", load_iris),
        ("wine", load_wine),
        ("cancer", load_breast_cancer),
        ("digits", load_digits),
    ):
        yield name, *load(return_X_y=True)
    for seed in range(16):
        rng = np.random.default_rng(seed)
        n_classes = int(rng.integers(2, 6))
        yield (
            f"made up {seed + 1}",
            *make_classification(
                n_samples=int(rng.integers(150, 1000)),
                n_features=int(rng.integers(8, 20)),
                n_informative=5,
                n_classes=n_classes,
                n_clusters_per_class=int(rng.integers(1, 4)),
                flip_y=float(rng.uniform(0, 0.3)),
                class_sep=float(rng.uniform(0.5, 2)),
                random_state=seed,
            ),
        )


def log_losses(X, y):
    """Mean log-loss in bits of each estimator over five folds; probabilities are floored at 0.001."""
    losses = np.zeros(len(ESTIMATORS))
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        model = PETClassifier.c44().fit(X[train], y[train])
        for column, smoothing in enumerate(ESTIMATORS.values()):
            proba = model.with_smoothing(smoothing).predict_proba(X[test])
            own = np.maximum(proba[np.arange(len(test)), np.searchsorted(model.classes_, y[test])], 0.001)
            losses[column] -= np.log2(own).mean() / 5
    return losses


names, scores = zip(*((name, log_losses(X, y)) for name, X, y in data_sets()), strict=True)
comparison = friedman_nemenyi(np.array(scores), names=list(ESTIMATORS))
print(comparison.to_text(), end="\n\n")
print(win_tie_loss(np.array(scores), reference="HGS", names=list(ESTIMATORS), data_sets=names), end="\n\n")
comparison.plot().figure.savefig("critical_difference.png", dpi=200)

X, y = make_classification(6000, 10, n_informative=6, n_clusters_per_class=3, flip_y=0, random_state=0)
study = bias_variance_study(
    PETClassifier(smoothing="raw"),
    X[:5000],
    y[:5000],
    X[5000:],
    y[5000:],
    parameter="min_samples_leaf",
    values=[1, 2, 4, 8, 16, 32, 64],
    set_size=500,
    random_state=0,
)
print(study.to_text())
axes = study.plot()
for ax in axes:
    ax.set_xscale("log", base=2)
    ax.set_xticks(study.values, study.values)
axes[0].figure.savefig("bias_variance.png", dpi=200)
