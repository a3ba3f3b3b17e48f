"""Data sets by name: the manifest keeps its word, and every way to a data set works or says what to do."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.utils import Bunch

import petiole
from petiole import PETClassifier, datasets
from petiole.datasets import openml
from versions import pandas_can_be_hidden

FOLDER = os.environ.get("PETIOLE_DATA")
ENTRIES = json.loads(Path(FOLDER, "manifest.json").read_text(encoding="utf-8")) if FOLDER else []
CSV = "size,colour,class\n1.5,red,a\n,blue,b\n3,red,a\n"
ENTRY = {
    "name": "toys",
    "file": "toys.csv.gz",
    "n_rows": 3,
    "columns": [
        {"name": "size", "kind": "numeric"},
        {"name": "colour", "kind": "nominal"},
        {"name": "class", "kind": "nominal", "role": "class"},
    ],
    "class_counts": {"a": 2, "b": 1},
    "n_missing_cells": 1,
    "source": "made up",
    "notes": "a note",
    "papers": ["A paper"],
}
SHA256 = hashlib.sha256(CSV.encode()).hexdigest()


@pytest.fixture(autouse=True)
def no_network(monkeypatch, tmp_path):
    """No test reaches OpenML or the user's own cache."""

    def fail(**options):
        raise OSError(f"no network in tests: {options}")

    monkeypatch.setattr(openml, "fetch_openml", fail)
    monkeypatch.setenv("PETIOLE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def make_folder(tmp_path, monkeypatch):
    """A function that writes a folder with one data set and points PETIOLE_DATA to it."""

    def make(text=CSV, **changes):
        folder = tmp_path / "data"
        folder.mkdir(exist_ok=True)
        entry = {key: value for key, value in (ENTRY | changes).items() if value is not None}
        (folder / "manifest.json").write_text(json.dumps([entry]))
        if text is not None:
            (folder / "toys.csv.gz").write_bytes(gzip.compress(text.encode()))
        monkeypatch.setenv("PETIOLE_DATA", str(folder))
        return folder

    return make


@pytest.mark.real_data
@pytest.mark.parametrize("entry", ENTRIES, ids=[entry["name"] for entry in ENTRIES])
def test_every_set_is_what_the_manifest_says(entry):
    X, y, description = datasets.load(entry["name"])
    assert X.shape == (entry["n_rows"], entry["n_attributes"])
    assert dict(zip(*np.unique(y, return_counts=True), strict=True)) == entry["class_counts"]
    outcomes = [column["name"] for column in entry["columns"] if "outcome" in column.get("role", "")]
    features = [column for column in entry["columns"] if column["name"] not in ("class", *outcomes)]
    assert list(X) == [column["name"] for column in features]
    categorical = [isinstance(dtype, pd.CategoricalDtype) for dtype in X.dtypes]
    assert categorical == [column["kind"] == "nominal" for column in features]
    missing_outcomes = sum(int(np.isnan(values).sum()) for values in description.outcomes.values())
    assert int(X.isna().sum().sum()) == description.n_missing == entry["n_missing_cells"] - missing_outcomes
    assert int(X.isna().any(axis=1).sum()) == entry["rows_with_missing"] or outcomes
    assert (description.rows, len(description.classes)) == (entry["n_rows"], entry["n_classes"])
    assert len(description.kinds) == entry["n_attributes"]


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["vote", "audiology", "cleveland", "kr-vs-kp", "wpbc", "spectrometer", "sponge"])
def test_cells_are_those_that_pandas_reads(load_real, name):
    X, y, _ = datasets.load(name)
    theirs, labels = load_real(name)
    np.testing.assert_array_equal(y, labels)
    for column in theirs:
        if theirs[column].dtype == float:
            np.testing.assert_array_equal(X[column], theirs[column])
        else:
            assert X[column].astype(object).fillna("∅").tolist() == theirs[column].astype(object).fillna("∅").tolist()


@pytest.mark.real_data
def test_the_listing_has_every_set_and_a_line_for_it():
    listing = datasets.list()
    assert {entry["name"] for entry in ENTRIES} <= set(listing)
    assert listing["vote"] == "435 rows, 16 features (categorical), 2 classes, 392 cells missing"
    assert listing["kdd98-sample"].startswith("19,372 rows, 47 features (37 numeric, 10 categorical), 2 classes")
    assert list(listing) == sorted(listing) and all("\n" not in line for line in listing.values())


@pytest.mark.real_data
def test_a_sample_by_class_has_the_weights_of_its_population():
    _, y, description = datasets.load("kdd98-sample")
    assert description.weights.sum() == pytest.approx(95_412)
    assert set(description.weights[y == "1"]) == {1.0}
    assert description.weights[y == "0"].max() == pytest.approx(6.2337, abs=1e-4)
    gifts = description.outcomes["TARGET_D"]
    assert np.nansum(gifts) == pytest.approx(75_668.70) and (np.isnan(gifts) == (y == "0")).all()
    assert "TARGET_D" not in description.kinds


def test_a_folder_of_ones_own(make_folder):
    make_folder()
    X, y, description = datasets.load("toys")
    assert X["size"].isna().tolist() == [False, True, False] and X["colour"].tolist() == ["red", "blue", "red"]
    assert y.tolist() == ["a", "b", "a"]
    assert str(description) == "toys: 3 rows, 2 features (1 numeric, 1 categorical), 2 classes, 1 cell missing"
    assert (description.source, description.notes, description.papers) == ("made up", "a note", ("A paper",))
    assert description.weights is None and description.outcomes == {}
    assert datasets.describe("toys").class_counts == {"a": 2, "b": 1}
    assert datasets.list()["toys"] == description.summary
    with pytest.raises(AttributeError):
        description.rows = 4
    assert pickle.loads(pickle.dumps(description)).kinds == description.kinds


def test_a_changed_manifest_is_read_again(make_folder):
    make_folder()
    assert datasets.describe("toys").notes == "a note"
    make_folder(notes="another, longer note")
    assert datasets.describe("toys").notes == "another, longer note"


def test_checksums(make_folder):
    make_folder(sha256=SHA256.upper())
    assert len(datasets.load("toys").y) == 3
    make_folder(text=CSV.replace("3,red", "4,red"), sha256=SHA256)
    with pytest.raises(
        ValueError, match=f"toys.csv.gz: the SHA-256 is [0-9a-f]{{64}}, not {SHA256}: .* fetch them again"
    ):
        datasets.load("toys")


@pytest.mark.parametrize(
    ("text", "changes", "message"),
    [
        (CSV + "1,red,b\n", {}, "not what the manifest describes: its classes have {'a': 2, 'b': 2} rows, not"),
        (CSV.replace("size", "width"), {}, "the columns differ in 'size', 'width'"),
        (CSV.replace("1.5", "big"), {}, "toys.csv.gz, line 2, column 'size': 'big' is not a number"),
        (CSV, {"columns": None}, "manifest.json, entry 0: has no 'columns': add it"),
        (CSV, {"columns": [{"name": "size", "kind": "date"}]}, "column 'size' has kind='date': must be numeric or"),
    ],
)
def test_files_that_do_not_fit_their_manifest(make_folder, text, changes, message):
    make_folder(text=text, **changes)
    with pytest.raises(ValueError, match=message):
        datasets.load("toys")


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("[\n{]", "manifest.json, line 2, column 2: not JSON"),
        ("{}", "must be a list with one entry per data set, not a dict"),
        (json.dumps([ENTRY, ENTRY]), "entry 1: 'toys' is described twice"),
        ("[3]", "entry 0: has no 'name'"),
    ],
)
def test_bad_manifests(make_folder, manifest, message):
    (make_folder() / "manifest.json").write_text(manifest)
    with pytest.raises(ValueError, match=message):
        datasets.load("toys")


def test_names_that_are_not_there(make_folder, monkeypatch, tmp_path):
    make_folder()
    with pytest.raises(
        ValueError, match=r"name='toyz': no data set .*nearest names are 'toys'; the folder PETIOLE_DATA="
    ):
        datasets.load("toyz")
    with pytest.raises(TypeError, match="name=3: must be a string"):
        datasets.load(3)
    with pytest.raises(ValueError, match="name='toyz'"):
        datasets.describe("toyz")
    monkeypatch.delenv("PETIOLE_DATA")
    with pytest.raises(ValueError, match=r"'irsi'.*'iris'.*set the environment variable PETIOLE_DATA to a folder"):
        datasets.load("irsi")
    make_folder()
    (tmp_path / "data" / "toys.csv.gz").unlink()
    with pytest.raises(
        FileNotFoundError, match=r"name='toys': .*toys.csv.gz does not exist, although the manifest names it"
    ):
        datasets.load("toys")
    assert "toys" not in datasets.list()
    monkeypatch.setenv("PETIOLE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"PETIOLE_DATA=.*nowhere'.*there is no manifest.json in it"):
        datasets.load("toys")


@pytest.mark.parametrize(
    ("name", "shape", "label"),
    [
        ("iris", (150, 4), "setosa"),
        ("wine", (178, 13), "class_0"),
        ("digits", (1797, 64), "0"),
        ("wdbc", (569, 30), "malignant"),
    ],
)
def test_sets_that_are_always_there(monkeypatch, name, shape, label):
    monkeypatch.delenv("PETIOLE_DATA", raising=False)
    X, y, description = datasets.load(name)
    assert X.shape == shape and y[0] == label and description.source == "scikit-learn"
    assert sum(description.class_counts.values()) == len(y)
    assert set(datasets.list()) == {"loans"} | {
        plain for name in ("breast-cancer", "digits", "iris", "wine") for plain in (name, f"sklearn-{name}")
    }


def test_breast_cancer_says_which_it_is(monkeypatch):
    """The Ljubljana set of the folder and scikit-learn's Wisconsin set share a name."""
    monkeypatch.delenv("PETIOLE_DATA", raising=False)
    with pytest.warns(UserWarning, match="Wisconsin set here; in the data folder the name means the Ljubljana set"):
        assert datasets.load("breast-cancer").X.shape == (569, 30)
    assert datasets.load("sklearn-breast-cancer").X.shape == (569, 30)  # no warning: pytest would not see one


@pytest.mark.real_data
def test_the_folder_comes_before_scikit_learn():
    assert datasets.load("breast-cancer").X.shape == (286, 9)
    assert datasets.load("sklearn-breast-cancer").X.shape == (569, 30)


def fake_openml(**changes):
    """What OpenML would give for the toys."""
    calls = []

    def fetch(**options):
        calls.append(options)
        return Bunch(
            **{
                "data": np.array([[1.5, 1.0], [np.nan, 0.0], [3.0, 1.0]]),
                "target": np.array(["a", "b", "a"], dtype=object),
                "feature_names": ["size", "colour"],
                "categories": {"colour": ["blue", "red"]},
            }
            | changes
        )

    return fetch, calls


def test_openml_is_asked_once_and_then_the_cache(make_folder, monkeypatch, tmp_path):
    make_folder(text=None, openml={"data_id": 4711, "sha256": SHA256})
    fetch, calls = fake_openml()
    monkeypatch.setattr(openml, "fetch_openml", fetch)
    assert "toys" in datasets.list()
    X, y, description = datasets.load("toys")
    assert y.tolist() == ["a", "b", "a"] and X["colour"].tolist() == ["red", "blue", "red"]
    assert X["size"].tolist()[::2] == [1.5, 3.0] and description.n_missing == 1
    again = datasets.load("toys")
    pd.testing.assert_frame_equal(again.X, X)
    assert [call["data_id"] for call in calls] == [4711]
    monkeypatch.delenv("PETIOLE_DATA")  # the cache does not need the folder
    assert datasets.load("toys").y.tolist() == ["a", "b", "a"]
    assert "toys" in datasets.list()
    stored = tmp_path / "cache" / "toys.csv.gz"
    stored.write_bytes(gzip.compress(CSV.replace("3,red", "4,red").encode()))
    with pytest.raises(ValueError, match="the SHA-256 is"):
        datasets.load("toys")


def test_openml_data_that_changed_are_refused(make_folder, monkeypatch):
    make_folder(text=None, openml={"data_id": 4711, "sha256": SHA256})
    fetch, _ = fake_openml(data=np.array([[1.5, 1.0], [np.nan, 0.0], [4.0, 1.0]]))
    monkeypatch.setattr(openml, "fetch_openml", fetch)
    with pytest.raises(ValueError, match=r"'toys' \(OpenML, data_id=4711\): the SHA-256 is"):
        datasets.load("toys")
    assert not os.path.exists(os.environ["PETIOLE_CACHE"])


def test_a_pin_needs_a_checksum_and_the_error_tells_it(make_folder, monkeypatch):
    make_folder(text=None, openml={"data_id": 4711})
    monkeypatch.setattr(openml, "fetch_openml", fake_openml()[0])
    with pytest.raises(ValueError, match=f"the manifest pins no sha256; that of what was fetched is {SHA256}"):
        datasets.load("toys")


def test_openml_with_other_columns_is_refused(make_folder, monkeypatch):
    make_folder(text=None, openml={"data_id": 4711, "sha256": SHA256})
    fetch, _ = fake_openml(data=np.zeros((3, 1)), feature_names=["size"], categories={})
    monkeypatch.setattr(openml, "fetch_openml", fetch)
    with pytest.raises(ValueError, match="has 1 features, but the manifest names 2"):
        datasets.load("toys")


def test_without_a_network_the_error_says_what_to_do(make_folder):
    make_folder(text=None, openml={"data_id": 4711, "sha256": SHA256})
    with pytest.raises(OSError, match=r"'toys' \(OpenML, data_id=4711\) could not be fetched .*set PETIOLE_DATA"):
        datasets.load("toys")


def test_a_set_without_a_pin_never_asks_openml(make_folder):
    make_folder()
    assert datasets.load("toys").description.rows == 3
    assert not any(openml.is_pinned(entry) for entry in ENTRIES)  # this folder pins none


@pandas_can_be_hidden
@pytest.mark.parametrize(("hidden", "kind"), [(["pandas"], pl.DataFrame), (["pandas", "polars"], pa.Table)])
def test_other_frame_libraries(make_folder, monkeypatch, hidden, kind):
    make_folder(text=CSV.replace("3,red,a\n", "3,red,a\n" * 9), class_counts={"a": 10, "b": 1})
    for name in hidden:
        monkeypatch.setitem(sys.modules, name, None)
    X, y, _ = datasets.load("toys")
    assert isinstance(X, kind)
    assert PETClassifier().fit(X, y).predict_proba(X).shape == (11, 2)


def test_datasets_is_there_without_being_imported():
    assert petiole.datasets is datasets and "datasets" in petiole.__all__
    assert "list" not in datasets.__all__
