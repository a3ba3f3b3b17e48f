"""Write the files that later versions must read, once per format version: `python tests/files/freeze_files.py`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

import petiole
from file_models import MAKERS, made
from petiole.calibrators import GroupCalibrator
from petiole.files import FORMAT_VERSION

FOLDER = Path(__file__).parent / "frozen" / f"v{FORMAT_VERSION}"
N_QUERIES = 12


def plain(value):
    """Something that JSON can hold."""
    if isinstance(value, pd.DataFrame):
        columns = {name: plain(column.to_numpy(dtype=object)) for name, column in value.items()}
        return {"columns": columns}
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.tolist()]
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float) and np.isnan(value):
        return None
    return value if isinstance(value, (str, bool, int, float, type(None))) else str(value)


def expected(model, queries):
    """The queries and what the model says of them."""
    if isinstance(model, petiole.Tree):
        return {"text": model.export_text()}
    few = queries[:N_QUERIES]
    ask = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    columns = (few,) if isinstance(model, GroupCalibrator) else ()
    said = {"queries": plain(few), "probabilities": plain(ask(few, *columns))}
    return said | {"labels": plain(model.predict(few))} if hasattr(model, "predict_proba") else said


def freeze():
    if FOLDER.exists():
        raise SystemExit(f"{FOLDER} exists: files of a version that was released never change")
    FOLDER.mkdir(parents=True)
    answers = {}
    for name in MAKERS:
        if name == "pet_odd_categories":  # whose queries JSON cannot hold
            continue
        model, queries = made(name)
        model.save(FOLDER / f"{name}.petiole")
        answers[name] = expected(model, queries)
    (FOLDER / "expected.json").write_text(json.dumps(answers, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    freeze()
