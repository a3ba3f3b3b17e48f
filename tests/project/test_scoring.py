"""Scoring in batches, as other engines ask for it."""

from __future__ import annotations

import importlib.util
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from petiole import BaggedPETClassifier, PETClassifier
from petiole.scoring import _loaded, batch_scorer

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def frame():
    random = np.random.default_rng(0)
    colour = random.choice(["red", "blue", "green"], size=60)
    size = random.normal(size=60).round(2)
    size[:5] = np.nan
    return pd.DataFrame({"id": np.arange(60), "colour": colour, "size": size}, index=np.arange(60) * 2)


@pytest.fixture
def model(frame):
    y = np.where(frame["colour"] == "red", "yes", np.where(frame["size"] > 0, "no", "maybe"))
    return BaggedPETClassifier(4, random_state=0).fit(frame[["size", "colour"]], y)


def values(table):
    """Columns of any kind of table as arrays."""
    if isinstance(table, dict):
        return table
    if isinstance(table, pa.Table):
        return {name: table[name].to_numpy() for name in table.column_names}
    return {name: table[name].to_numpy() for name in table.columns}


KINDS = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_pandas(frame.reset_index(drop=True)),
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "arrow, batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
    "dict": lambda frame: {name: frame[name].to_numpy() for name in frame.columns},
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_table_is_scored_as_the_model_does(kind, frame, model):
    batch = KINDS[kind](frame)  # its columns are in another order, and one more is there
    found = batch_scorer(model)(batch)
    assert isinstance(found, pa.Table if kind == "arrow, batch" else type(batch))
    columns = values(found)
    assert list(columns) == ["proba_maybe", "proba_no", "proba_yes"]
    np.testing.assert_array_equal(
        np.column_stack(list(columns.values())), model.predict_proba(frame[["size", "colour"]])
    )
    if kind == "pandas":
        assert found.index.equals(frame.index)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_without_rows_gives_one_without_rows(kind, frame, model):
    columns = values(batch_scorer(model, prefix="p ")(KINDS[kind](frame[:0])))
    assert {name: len(column) for name, column in columns.items()} == {"p maybe": 0, "p no": 0, "p yes": 0}


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_without_names_is_given_the_columns_in_order(kind):
    random = np.random.default_rng(1)
    X, y = random.normal(size=(50, 2)), random.integers(3, size=50)
    model = PETClassifier().fit(X, y)
    frame = pd.DataFrame(X[:, ::-1], columns=["b", "a"])
    batch = KINDS[kind](frame)
    found = values(batch_scorer(model, columns=["a", "b"])(batch))
    np.testing.assert_array_equal(np.column_stack(list(found.values())), model.predict_proba(X))
    found = values(batch_scorer(model)(KINDS[kind](frame[["a", "b"]])))
    assert list(found) == ["proba_0", "proba_1", "proba_2"]
    np.testing.assert_array_equal(np.column_stack(list(found.values())), model.predict_proba(X))


def test_rows_that_are_vectors_are_a_matrix():
    X = np.random.default_rng(2).normal(size=(30, 3))
    model = PETClassifier().fit(X, X[:, 0] > 0)
    found = batch_scorer(model)({"data": X})
    assert list(found) == ["proba_False", "proba_True"]
    np.testing.assert_array_equal(found["proba_True"], model.predict_proba(X)[:, 1])


def test_a_file_is_loaded_once_in_a_process_and_again_when_it_was_replaced(frame, model, tmp_path):
    path = tmp_path / "model.petiole"
    model.save(path)
    scorer = batch_scorer(path)
    sent = pickle.dumps(scorer)
    assert len(sent) < 500
    _loaded.cache_clear()
    for one in (scorer, pickle.loads(sent), batch_scorer(str(path))):
        np.testing.assert_array_equal(one(frame).to_numpy(), model.predict_proba(frame[["size", "colour"]]))
    assert _loaded.cache_info().misses == 1
    other = model.updated(model.counts_of(frame[["size", "colour"]], ["yes"] * 60))
    other.save(path)
    os.utime(path, ns=(1, 1))
    np.testing.assert_array_equal(scorer(frame).to_numpy(), other.predict_proba(frame[["size", "colour"]]))
    assert "model.petiole" in repr(scorer) and "BaggedPETClassifier" in repr(batch_scorer(model))


def test_a_scorer_of_a_model_takes_it_along(frame, model):
    again = pickle.loads(pickle.dumps(batch_scorer(model)))
    np.testing.assert_array_equal(again(frame).to_numpy(), model.predict_proba(frame[["size", "colour"]]))


def test_errors_say_what_to_do(frame, model, tmp_path):
    with pytest.raises(ValueError, match=r"no column 'size'.*it has \['id', 'colour'\]"):
        batch_scorer(model)(frame[["id", "colour"]])
    with pytest.raises(ValueError, match=r"columns='size': must be a list"):
        batch_scorer(model, columns="size")
    with pytest.raises(ValueError, match="prefix=3"):
        batch_scorer(model, prefix=3)
    with pytest.raises(TypeError, match="got a int, must be a fitted classifier or a path"):
        batch_scorer(3)
    with pytest.raises(ValueError, match="this PETClassifier is not fitted yet"):
        batch_scorer(PETClassifier())
    with pytest.raises(TypeError, match="batch: got a list"):
        batch_scorer(model)([1, 2])
    with pytest.raises(FileNotFoundError):
        batch_scorer(tmp_path / "none.petiole")(frame)


def run_example(name, module):
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    done = subprocess.run([sys.executable, str(EXAMPLES / name)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_duckdb_scores_from_sql():
    assert "0.99" in run_example("12_duckdb.py", "duckdb")


@pytest.mark.slow
def test_spark_scores_a_table():
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    assert "proba_virginica" in run_example("10_spark.py", "pyspark")


@pytest.mark.slow
def test_ray_scores_a_data_set():
    assert "proba_virginica" in run_example("11_ray.py", "ray")
