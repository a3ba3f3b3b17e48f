"""``.ci/run`` does what it says: which commands it runs, what they see of the data, and what makes it fail."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ("bash", "env", "mktemp", "rm", "cat", "dirname", "nice", "mkdir", "touch")
# Stands for a command: notes how it was called and what it saw of the data, and ends as it is told to.
STAND_IN = """#!/usr/bin/env bash
if [ "$(basename "$0")" = python3 ]; then mkdir -p "$3/bin"; touch "$3/bin/activate"; fi
call="$(basename "$0") $*"
echo "$call | data=${PETIOLE_DATA:-none}" >>"$CALLS"
echo "output of $call"
case "$call" in $FAILING) exit 3 ;; esac
"""


@pytest.fixture
def ci(tmp_path):
    """A function that runs a copy of .ci/run among stand-ins; its exit code, the calls and the output."""
    project, tools = tmp_path / "project", tmp_path / "tools"
    (project / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "run", project / ".ci" / "run")
    tools.mkdir()
    for name in (*TOOLS, "basename"):
        (tools / name).symlink_to(shutil.which(name))

    def run(*, failing="nothing", data=False, absent=()):
        for name in ("python3", "pip", "petiole", "pytest", "make", "cmake"):
            (tools / name).unlink(missing_ok=True)
            if name not in absent:
                (tools / name).write_text(STAND_IN)
                (tools / name).chmod(0o755)
        if data:
            (tmp_path / "shared" / "data").mkdir(parents=True)
        calls = tmp_path / "calls"
        environment = {"PATH": str(tools), "CALLS": str(calls), "FAILING": failing, "TMPDIR": str(tmp_path)}
        done = subprocess.run(
            [str(project / ".ci" / "run")], env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        left = [path for path in tmp_path.glob("tmp.*") if path.is_dir()]
        assert not left, "the temporary folder is still there"
        return done.returncode, calls.read_text().splitlines(), done.stdout

    return run


def readme_commands():
    blocks = re.findall(r"```bash\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    commands = [line for block in blocks for line in block.strip().splitlines()]
    return [command for command in commands if command.startswith("pip install")]


def test_the_readme_has_two_set_up_commands_and_ci_runs_both():
    commands = readme_commands()
    assert len(commands) == 2
    lines = [line.strip() for line in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()]
    assert all(command in lines for command in commands)


def without_sanitizers(calls):
    """The calls in their order; ``make`` runs beside the others, so its place is chance."""
    return [call for call in calls if not call.startswith(("make sanitize", "python3 -m venv"))]


def test_the_readmes_commands_come_first_and_without_data(ci):
    code, calls, output = ci(data=True)
    assert code == 0
    first, last = without_sanitizers(calls)[:-1], without_sanitizers(calls)[-1]
    assert first == [
        "pip install .[all] | data=none",
        "petiole compare breast-cancer | data=none",
        "pip install .[test] | data=none",
        "pytest -n auto | data=none",
    ]
    assert re.fullmatch(r"pytest -n auto -m real_data --require-data \| data=/.*/shared/data", last)
    assert "output of make sanitize" in output
    assert output.rstrip().endswith("output of pytest -n auto -m real_data --require-data")


def test_where_there_is_no_data_the_tests_that_want_it_are_skipped(ci):
    code, calls, _ = ci()
    assert code == 0
    assert without_sanitizers(calls)[-1] == "pytest -n auto -m real_data | data=none"


@pytest.mark.parametrize(
    ("failing", "last"),
    [
        ("pip install .\\[all\\]", "pip install .[all]"),
        ("petiole compare*", "petiole compare breast-cancer"),
        ("pip install .\\[test\\]", "pip install .[test]"),
        ("pytest -n auto", "pytest -n auto"),
        ("pytest*--require-data", "pytest -n auto -m real_data --require-data"),
        ("make sanitize*", "pytest -n auto"),
    ],
)
def test_any_step_that_fails_is_a_failure_and_the_last(ci, failing, last):
    code, calls, output = ci(failing=failing, data=True)
    assert code == 3
    assert without_sanitizers(calls)[-1].startswith(f"{last} | ")
    if failing.startswith("make"):
        assert "output of make sanitize" in output


def test_cmake_is_fetched_where_there_is_none(ci):
    _, calls, _ = ci(absent=("cmake",))
    assert "pip install cmake | data=none" in calls
    assert calls.index("pip install cmake | data=none") < calls.index("pip install .[all] | data=none")


def test_the_sanitizers_are_run_by_make_and_not_by_pytest():
    recipe = re.search(r"^sanitize:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert recipe is not None
    assert "-DPETIOLE_SANITIZE=ON" in recipe[1] and "core_tests" in recipe[1]
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
