"""Score a table from SQL: class probabilities as a function in DuckDB. Needs `pip install duckdb pandas pyarrow`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from sklearn.datasets import load_iris

from petiole import ProbabilityForestClassifier
from petiole.scoring import batch_scorer

try:
    import duckdb
except ImportError:
    raise SystemExit("this example needs duckdb: pip install duckdb") from None

iris = load_iris(as_frame=True)
plants = iris.data.rename(columns=lambda name: name.removesuffix(" (cm)").replace(" ", "_"))
species = iris.target_names[iris.target]

path = Path(tempfile.mkdtemp()) / "iris.petiole"
ProbabilityForestClassifier(32, random_state=0).fit(plants, species).save(path)

score = batch_scorer(path)


def probability_of_virginica(sepal_length: Any, sepal_width: Any, petal_length: Any, petal_width: Any) -> Any:
    """DuckDB passes about two thousand rows at a time, each column as an Arrow array, and expects one array."""
    columns = (sepal_length, sepal_width, petal_length, petal_width)
    return score(pa.table(columns, names=plants.columns.tolist()))["proba_virginica"]


database = duckdb.connect()
database.register("plants", plants.assign(id=range(len(plants))))
double = duckdb.sqltype("DOUBLE")
database.create_function("p_virginica", probability_of_virginica, [double] * 4, double, type="arrow")

arguments = ", ".join(plants.columns)
print(database.sql(f"SELECT id, round(p_virginica({arguments}), 3) AS p FROM plants ORDER BY p DESC, id LIMIT 5"))
database.close()
