"""A report for decision makers: which method has the best probabilities, and what decisions cost.

The rows are breast tumours, measured under the microscope. Sending a patient with a malignant tumour home is taken to
be twenty times as bad as calling a healthy one back. The report is a single file, report.html: open it in a browser,
change the costs, move the threshold, click through the tree.
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
