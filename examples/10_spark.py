"""Score a Spark table: every worker loads the model file once. Needs `pip install pyspark pandas pyarrow`, and Java."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from sklearn.datasets import load_iris

from petiole import ProbabilityForestClassifier
from petiole.scoring import batch_scorer

try:
    from pyspark.sql import SparkSession
except ImportError:
    raise SystemExit("this example needs pyspark: pip install pyspark") from None

iris = load_iris(as_frame=True)
plants = iris.data.rename(columns=lambda name: name.removesuffix(" (cm)").replace(" ", "_"))

# On a cluster: a path that all workers can read.
path = Path(tempfile.mkdtemp()) / "iris.petiole"
ProbabilityForestClassifier(32, random_state=0).fit(plants, iris.target_names[iris.target]).save(path)

score = batch_scorer(path)  # this is what is sent to the workers, not the model


def with_probabilities(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for batch in batches:
        yield batch[["id"]].join(score(batch))


spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
table = spark.createDataFrame(plants.assign(id=range(len(plants))))
schema = "id long, " + ", ".join(f"`{name}` double" for name in score.output_names)
scored = table.mapInPandas(with_probabilities, schema)
scored.orderBy("id").show(5)
spark.stop()
