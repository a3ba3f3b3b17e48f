"""Files of every released format version are read, and mean what they meant."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import petiole
from file_models import MAKERS, made
from petiole.calibrators import GroupCalibrator
from petiole.files import FORMAT_VERSION, read_header

FROZEN = Path(__file__).parent / "frozen"
FILES = sorted(FROZEN.glob("v*/*.petiole"))


def as_queries(kept):
    return pd.DataFrame(kept["columns"]) if isinstance(kept, dict) else np.array(kept)


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}-{path.stem}" for path in FILES])
def test_a_frozen_file_means_what_it_meant(path):
    expected = json.loads((path.parent / "expected.json").read_text(encoding="utf-8"))[path.stem]
    assert read_header(path)["format_version"] == int(path.parent.name[1:])
    model = petiole.load(path)
    if isinstance(model, petiole.Tree):
        assert model.export_text() == expected["text"]
        return
    queries = as_queries(expected["queries"])
    ask = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    columns = (queries,) if isinstance(model, GroupCalibrator) else ()
    assert np.allclose(ask(queries, *columns), expected["probabilities"], rtol=0, atol=1e-12)
    if "labels" in expected:
        assert model.predict(queries).tolist() == expected["labels"]


def test_this_format_version_has_frozen_files_of_every_class():
    folder = FROZEN / f"v{FORMAT_VERSION}"
    frozen = {read_header(path)["class"] for path in folder.glob("*.petiole")}
    saved = {type(made(name)[0]).__name__ for name in MAKERS}
    assert saved <= frozen, f"run `python tests/files/freeze_files.py`: {folder} lacks {sorted(saved - frozen)}"
