"""``petiole fit`` on files that are read in parts."""

from __future__ import annotations

import numpy as np
import pytest

import petiole
from command_line import refused, run
from petiole.cli import large

pandas = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def frame():
    random = np.random.default_rng(0)
    size, colour = random.normal(size=600).round(2), random.choice(["red", "green", "blue"], 600)
    code = random.choice([10, 20, 30], 600)
    y = np.where((size > 0) ^ (colour == "red") ^ (random.random(600) < 0.1), "yes", "no")
    size[::17] = np.nan
    return pandas.DataFrame({"row": range(600), "size": size, "colour": colour, "code": code, "w": 2.0, "answer": y})


def fitted(path, folder, *options):
    model = folder / "model.petiole"
    settings = ["--set", "n_estimators=16", "--id", "row", "--quiet"]
    run("fit", str(path), "--target", "answer", "-o", str(model), *settings, *options)
    return petiole.load(model)


@pytest.mark.parametrize("suffix", ["parquet", "feather", "csv"])
def test_parts_within_a_limit_give_the_model_of_all_rows(frame, tmp_path, suffix):
    """Small data is brought together, whatever the limit of its parts: the model is that of an ordinary fit."""
    path = tmp_path / f"data.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else getattr(frame, f"to_{suffix}")(path)
    options = ("--drop", "w", "--nominal", "code")
    whole, in_parts = fitted(path, tmp_path, *options), fitted(path, tmp_path, *options, "--memory-limit", "1GB")
    assert in_parts.encoder_.n_categories.tolist() == [0, 3, 3]
    columns = frame[["size", "colour", "code"]]
    as_texts = columns.assign(code=frame["code"].astype(str))  # which categorical columns are when all is read at once
    np.testing.assert_array_equal(in_parts.predict_proba(columns), whole.predict_proba(as_texts))


def test_a_folder_and_a_large_file_are_read_in_parts(frame, tmp_path, monkeypatch):
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in range(3):
        frame[number::3].to_parquet(folder / f"{number}.parquet")
    path = tmp_path / "one.parquet"
    frame.to_parquet(path)
    assert large.is_large(str(folder)) and not large.is_large(str(path)) and not large.is_large("iris")
    of_folder = fitted(folder, tmp_path, "--drop", "code", "--weight", "w")
    assert of_folder.class_weights_.sum() == 600 and of_folder.weight_unit_ == 2  # every weight is 2
    assert of_folder.feature_names_in_.tolist() == ["size", "colour"]
    monkeypatch.setattr(large, "LARGE_BYTES", 10_000)
    assert large.is_large(str(path))
    assert fitted(path, tmp_path, "--drop", "w").class_weights_.sum() == 600


def test_what_cannot_be_read_in_parts_is_refused(frame, tmp_path):
    path = tmp_path / "data.parquet"
    frame.to_parquet(path)
    (tmp_path / "data.arff").write_text("@relation r")
    options = ["-o", str(tmp_path / "model.petiole"), "--memory-limit", "1GB"]
    for data, more, message in (
        (path, ["--target", "answr"], "did you mean 'answer'"),
        (path, [], "--target: name the column"),
        (path, ["--target", "answer", "--numeric", "colour"], "--numeric colour: is a column of"),
        (path, ["--target", "answer", "--method", "naive-bayes"], "BinnedNaiveBayesClassifier"),
        (tmp_path / "data.arff", ["--target", "answer"], "only Parquet, Arrow and CSV files"),
    ):
        assert message in refused("fit", str(data), *more, *options)
