"""A leaf with two rows: the predictions of each leaf estimator.

C4.4 trees on the breast cancer data have leaves of a handful of rows. For a query in such a leaf, the picture shows the
frequency of a class along the path from the root, and the probability that each leaf estimator predicts at the leaf.
"""

import matplotlib

matplotlib.use("Agg")

import numpy as np
from sklearn.datasets import load_breast_cancer

from petiole import PETClassifier
from petiole.plotting import smoothing_paths

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
model = PETClassifier.c44().fit(X, y)

# Among the rows in the deepest leaves, the first whose leaf has the fewest rows.
leaves = model.apply(X)
depth, n = model.tree_.node_depth[leaves], model.tree_.weights[leaves]
row = int(np.lexsort((n, -depth))[0])

ax = smoothing_paths(model, X.iloc[[row]], target_class="malignant")
ax.figure.savefig("smoothing_paths.png", dpi=200)
print(f"row {row}: a leaf of {n[row]:g} training rows at depth {depth[row]}; see smoothing_paths.png")
