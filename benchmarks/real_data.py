"""Real data sets from the folder named by PETIOLE_DATA, described by its manifest."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pandas as pd


def manifest() -> dict[str, dict[str, Any]]:
    """What the folder has, by name."""
    folder = os.environ.get("PETIOLE_DATA")
    if not folder:
        raise SystemExit("PETIOLE_DATA: set it to the folder with the data sets and their manifest.json")
    return {entry["name"]: entry for entry in json.loads((Path(folder) / "manifest.json").read_text())}


def load(name: str) -> tuple[pd.DataFrame, Any]:
    """A data set as (frame, labels): nominal columns are strings, outcomes that are no attributes are left out."""
    entry = manifest()[name]
    kinds = {column["name"]: str if column["kind"] == "nominal" else float for column in entry["columns"]}
    path = Path(os.environ["PETIOLE_DATA"]) / entry["file"]
    frame = pd.read_csv(path, dtype=kinds, keep_default_na=False, na_values=[""])
    outcomes = [column["name"] for column in entry["columns"] if "outcome" in column.get("role", "")]
    return frame.drop(columns=["class", *outcomes]), frame["class"].to_numpy(dtype=str)
