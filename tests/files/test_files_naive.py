"""A reader that knows only the page about the format says what petiole says."""

from __future__ import annotations

import numpy as np
import pytest

import naive_files
from file_models import made, mixed, numbers
from petiole import BaggedPETClassifier, PETClassifier


def rows_of(queries):
    listed = queries.to_numpy(dtype=object).tolist() if hasattr(queries, "columns") else queries.tolist()
    return [[None if isinstance(value, float) and np.isnan(value) else value for value in row] for row in listed]


@pytest.mark.parametrize(
    "name", ["pet", "pet_c45_mixed", "pet_separate_binary", "pet_hdp", "pet_from_sklearn", "pet_oblique"]
)
def test_a_tree_by_the_page(name, tmp_path):
    model, queries = made(name)
    model.save(tmp_path / "model")
    metadata, found = naive_files.read(tmp_path / "model")
    assert metadata["class"] == "PETClassifier"
    assert found["state"]["classes_"] == model.classes_.tolist()
    expected = [naive_files.predict_pet(found, row) for row in rows_of(queries)]
    assert np.allclose(model.predict_proba(queries), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("missing", ["fractional", "separate"])
@pytest.mark.parametrize("splits", ["best", "oblique"])
def test_a_forest_by_the_page(seed, missing, splits, tmp_path):
    options = {
        "missing": missing,
        "splits": splits,
        "min_samples_leaf": 1,
        "count": ["copies", "distinct"][seed % 2],
    }
    X, y = mixed(40, seed) if seed < 3 else numbers(2, 40, seed)
    weights = np.random.default_rng(seed).choice([0.3, 1.0, 2.0], len(y)) if seed == 2 else None
    model = BaggedPETClassifier(3, random_state=seed, **options).fit(X, y, weights)
    model.save(tmp_path / "model")
    _, found = naive_files.read(tmp_path / "model")
    expected = [naive_files.predict_bagged(found, row) for row in rows_of(X)]
    assert np.allclose(model.predict_proba(X), expected, rtol=0, atol=1e-12)


def test_the_page_names_what_files_hold(tmp_path):
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "model_files.md").read_text(encoding="utf-8")
    X, y = numbers()
    BaggedPETClassifier(2, splits="oblique").fit(X, y).save(tmp_path / "model")
    forest = naive_files.read(tmp_path / "model")[1]["state"]["trees_"]["state"]["forest"]
    for name in forest:
        parts = name.removesuffix("_size").split("_")
        stem = name.removesuffix("_size")
        shown = stem if f"`{stem}`" in page else f"<counts>_{parts[-1]}"
        assert f"`{shown}`" in page or stem in ("n_classes", "n_trees"), name
    PETClassifier(splits="oblique").fit(X, y).save(tmp_path / "model")
    for name in naive_files.read(tmp_path / "model")[1]["state"]["tree_"]["state"]:
        assert f"`{name}`" in page, name
