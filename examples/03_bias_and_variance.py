"""Why noise helps: bias and variance of a tree over the amount of noise, as in section 2.4 of Geurts (2001).

Fifty trees are grown on fifty samples of 300 rows of waveform, and each predicts with more and more noise. The
variance of the probabilities falls at once; their bias grows much later. The best amount of noise lies in between.
"""

import matplotlib

matplotlib.use("Agg")

from petiole import DualPerturbCombineClassifier, PETClassifier
from petiole.comparison import bias_variance_study
from petiole.datasets import make_waveform

X, y, _ = make_waveform(5000, random_state=0)
X_test, y_test, _ = make_waveform(2000, random_state=1)
study = bias_variance_study(
    DualPerturbCombineClassifier(PETClassifier(), noise=0.0),
    X,
    y,
    X_test,
    y_test,
    parameter="noise",
    values=[0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2, 1.6],
    n_sets=50,
    set_size=300,
    refit=False,  # noise is added to queries: the trees do not change
    random_state=0,
)
for noise, decisions, probabilities in zip(study.values, study.decisions, study.probabilities, strict=True):
    print(f"noise {noise:4}: error {decisions.error:.3f}, squared error {probabilities.error:.3f}")
study.plot()[0].figure.savefig("dual_bias_variance.png", dpi=110, bbox_inches="tight")
