"""The loans that come with petiole, fingerprints of tables, and fetching of public sets."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.utils import Bunch

from command_line import read, refused, run
from petiole import datasets
from petiole.datasets import openml
from petiole.datasets.bundled import load_bundled
from petiole.datasets.columns import Categorical, Numeric, from_names
from petiole.datasets.fingerprints import fingerprint
from petiole.datasets.folder import open_cache
from petiole.datasets.public import PublicSet, public_sets


@pytest.fixture(autouse=True)
def without_folders(monkeypatch, tmp_path):
    monkeypatch.delenv("PETIOLE_DATA", raising=False)
    monkeypatch.setenv("PETIOLE_CACHE", str(tmp_path / "cache"))


# Loans.


def test_loans_are_always_there_and_say_where_they_come_from(tmp_path):
    X, y, description = datasets.load("loans")
    assert X.shape == (1000, 20) and "customer" not in X and (y == "yes").sum() == 300
    assert "UCI" in description.source and "CC BY 4.0" in description.license
    assert "loans" in datasets.list() and datasets.describe("loans").rows == 1000
    run("datasets", "write", "loans", "-o", tmp_path / "loans.csv", "-q")
    rows = read((tmp_path / "loans.csv").read_text(encoding="utf-8"))
    assert [*rows[0]][:1] == ["customer"] and [*rows[0]][-1] == "defaulted"
    assert [row["defaulted"] for row in rows] == y.tolist()
    assert [float(row["amount"]) for row in rows] == X["amount"].tolist()


def test_loans_have_the_fingerprint_of_the_german_credit_data():
    X, y, description = datasets.load("loans")
    columns = {name: _column(X[name], description.kinds[name]) for name in X.columns}
    assert fingerprint(columns, from_names(y.astype(object))) == public_sets()["credit-g"].fingerprint


def _column(series, kind):
    return Numeric(series.to_numpy(float)) if kind == "numeric" else from_names(series.astype(object).to_numpy())


# Fingerprints.


def test_a_fingerprint_is_that_of_the_contents_alone():
    random = np.random.default_rng(0)
    numbers, codes, labels = random.normal(size=50), random.integers(0, 3, 50), random.integers(0, 2, 50)
    numbers[3] = np.nan

    def mark(numbers, codes, names, labels):
        columns = {"a": Numeric(numbers), "b": Categorical(codes.astype(np.int64), names)}
        return fingerprint(columns, Categorical(labels.astype(np.int64), ("no", "yes")))

    known = mark(numbers, codes, ("x", "y", "z"), labels)
    order = random.permutation(50)
    assert mark(numbers[order], codes[order], ("1", "2", "3"), labels[order]) == known
    assert mark(numbers, np.array([2, 0, 1])[codes], ("z", "x", "y"), 1 - labels) == known
    assert mark(numbers + 1e-6, codes, ("x", "y", "z"), labels) != known
    assert mark(np.nan_to_num(numbers), codes, ("x", "y", "z"), labels) != known
    other = codes.copy()
    other[0] = (other[0] + 1) % 3
    assert mark(numbers, other, ("x", "y", "z"), labels) != known


@pytest.mark.parametrize(("name", "public"), [("breast-cancer", "wdbc"), ("wine", "wine")])
def test_pins_agree_with_an_independent_copy(name, public):
    """scikit-learn's copies of two UCI sets have the fingerprints that were taken from other copies."""
    found = load_bundled(name)
    assert fingerprint(found.columns, from_names(found.y.astype(object))) == public_sets()[public].fingerprint


def test_most_experiments_sets_are_known_and_some_are_pinned():
    sets = public_sets().values()
    assert len(sets) == 138 and sum(public.can_be_fetched for public in sets) > 50
    assert all((public.openml is None) == (public.fingerprint is None) for public in sets)


# Fetching.


def wine_of_openml(**changes):
    """What OpenML gives for wine: other names, other labels, other order."""
    found = load_bundled("wine")
    matrix = np.column_stack([column.values for column in found.columns.values()])[::-1]
    labels = np.array([{"class_0": "1", "class_1": "2", "class_2": "3"}[label] for label in found.y])[::-1]
    names = [f"V{j}" for j in range(matrix.shape[1])]
    return Bunch(**({"data": matrix, "target": labels, "feature_names": names, "categories": {}} | changes))


def test_a_public_set_is_fetched_held_against_its_fingerprint_and_kept(monkeypatch):
    monkeypatch.setattr(openml, "fetch_openml", lambda **_: wine_of_openml())
    run("datasets", "fetch", "wine", "--yes", "-q")
    X, y, description = datasets.load("wine")
    assert X.shape == (178, 13) and description.source == "OpenML, data_id=187" and set(y) == {"1", "2", "3"}
    monkeypatch.setattr(openml, "fetch_openml", None)  # not asked again
    run("datasets", "fetch", "wine", "--yes", "-q")
    told = json.loads(run("datasets", "fetch", "wine", "--json").stdout)
    assert told["there"] == ["wine"] and told["fetch"] == []


def test_other_rows_are_refused_and_not_kept(monkeypatch):
    data = wine_of_openml().data.copy()
    data[0, 0] += 1
    monkeypatch.setattr(openml, "fetch_openml", lambda **_: wine_of_openml(data=data))
    assert "1 of 1 data sets were not fetched: wine" in refused("datasets", "fetch", "wine", "--yes", code=1)
    assert not open_cache().has_rows("wine")
    with pytest.raises(ValueError, match="holds other rows than the set that petiole knows"):
        openml.fetch_public(public_sets()["wine"], open_cache())


def test_without_yes_nothing_is_fetched_and_all_is_said(monkeypatch, tmp_path):
    def ask(**_):
        raise AssertionError("OpenML was asked")

    monkeypatch.setattr(openml, "fetch_openml", ask)
    told = run("datasets", "fetch").stdout
    assert "nothing is fetched without --yes" in told and str(tmp_path / "cache") in told.replace("\n", "")
    assert "cannot be fetched, because their OpenML ids are not known: abalone" in told
    assert "did you mean 'wine'?" in refused("datasets", "fetch", "wien")
    assert not PublicSet("x", 1, 1, 2, "").can_be_fetched


def test_an_experiment_without_data_is_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("reproduce", "nielsen-2004", "--quick", code=2)
    assert len(result.stderr.strip().splitlines()) == 1 and "petiole datasets fetch" in result.stderr
    assert list(tmp_path.iterdir()) == []
