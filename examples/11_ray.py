"""Score a Ray data set: every worker loads the model file once. Needs `pip install "ray[data]" pandas pyarrow`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from sklearn.datasets import load_iris

from petiole import ProbabilityForestClassifier
from petiole.scoring import batch_scorer

try:
    import ray
except ImportError:
    raise SystemExit("this example needs ray: pip install ray") from None

iris = load_iris(as_frame=True)
plants = iris.data.rename(columns=lambda name: name.removesuffix(" (cm)").replace(" ", "_"))

# On a cluster: a path that all workers can read.
path = Path(tempfile.mkdtemp()) / "iris.petiole"
ProbabilityForestClassifier(32, random_state=0).fit(plants, iris.target_names[iris.target]).save(path)

score = batch_scorer(path)  # this is what is sent to the workers, not the model


def with_probabilities(batch: dict[str, Any]) -> dict[str, Any]:
    """The batch, a dict of arrays, with the probabilities added."""
    return {**batch, **score(batch)}


ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
scored = ray.data.from_pandas(plants).map_batches(with_probabilities, batch_size=64)
print(scored.to_pandas().head())
ray.shutdown()
