"""A report for people who decide: which probabilities to trust, and what decisions by them cost.

Tumours of the breast, measured under the microscope. To send a patient with a malignant one home is taken to be twenty
times as bad as to call a healthy one back. The report is one file, report.html: open it in a browser, change the costs,
move the threshold, walk through the tree.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer

from petiole.report import write_report
from petiole.study import compare_methods

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
labels = np.array(["malignant", "benign"])[y]
cost = [[0, 20], [1, 0]]  # [predicted, true], classes in sorted order: benign, malignant

study = compare_methods(
    X,
    labels,
    methods=["probability-forest", "mob-esp", "pet", "naive-bayes", "random-forest"],
    cost=cost,
    repeats=1,
    name="Breast cancer",
)
print(study, end="\n\n")
path = write_report(study, "report.html", title="Malignant or benign?", command="python examples/09_report.py")
print(f"{path}: {path.stat().st_size / 1e3:.0f} kB")
