"""``petiole monitor``: exit codes, JSON, order of time, states, and pages."""

from __future__ import annotations

import json

import pytest

from command_line import refused, run, table, write
from petiole.cli.commands.monitor import ALARM, DRIFT


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("monitor")
    write(folder / "train.csv", table(600, seed=0))
    write(folder / "same.csv", table(400, seed=1))
    write(folder / "later.csv", table(400, seed=5))
    turned = [row | {"y": {"no": "yes", "yes": "no"}[row["y"]]} for row in table(400, seed=2)]
    write(folder / "turned.csv", [row | {"day": f"2026-01-{1 + i // 20:02}"} for i, row in enumerate(turned)])
    moved = [{k: v for k, v in row.items() if k != "y"} | {"size": "9.5"} for row in table(300, seed=3)]
    write(folder / "moved.csv", moved)
    arguments = ("--method", "eb-pets", "--set", "n_estimators=40", "--id", "id", "-q")
    run("fit", folder / "train.csv", "--target", "y", *arguments, "-o", folder / "m.petiole")
    return folder


def test_fine_rows_end_with_zero(files):
    found = json.loads(run("monitor", files / "m.petiole", files / "same.csv", "--json").stdout)
    assert not found["alarm"] and found["promised"]["log_loss"]["mean"] < 1 and len(found["tests"]) == 2
    assert {column["name"] for column in found["columns"]} == {"size", "town", "grade"}


def test_an_alarm_and_a_drift_have_codes_of_their_own(files, tmp_path):
    page = tmp_path / "page.html"
    result = run(
        "monitor",
        files / "m.petiole",
        files / "turned.csv",
        "--by",
        "town",
        "--time",
        "day",
        "--report",
        page,
        code=ALARM,
    )
    assert "ALARM" in result.stdout and "town: Rome" in result.stdout and "What to do:" in result.stdout
    assert "petiole monitor" in page.read_text(encoding="utf-8")
    result = run("monitor", files / "m.petiole", files / "moved.csv", code=DRIFT)
    assert "DRIFT" in result.stdout and "size" in result.stdout


def test_states_go_on(files, tmp_path):
    state = tmp_path / "state.json"
    counts = []
    for name in ("same.csv", "later.csv"):
        found = json.loads(run("monitor", files / "m.petiole", files / name, "--state", state, "--json").stdout)
        counts.append(json.loads(state.read_text())["tests"]["calibration"]["n_rows"])
    assert counts == [400, 800] and found["rows"] == 400
    state.write_text("[]")
    assert "--state" in refused("monitor", files / "m.petiole", files / "same.csv", "--state", state)


def test_what_is_wrong_is_told(files):
    assert "labels" in refused("monitor", files / "m.petiole", files / "moved.csv", "--by", "town")
    assert "dya" in refused("monitor", files / "m.petiole", files / "turned.csv", "--time", "dya")
    assert "twon" in refused("monitor", files / "m.petiole", files / "turned.csv", "--by", "twon")
