"""The page on the command line shows what the commands print.

``python tests/cli/test_cli_docs.py`` writes the outputs into the page anew.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from pathlib import Path

import pytest

from command_line import run
from petiole.cli import progress as waiting

PAGE = Path(__file__).parents[2] / "docs" / "command_line.md"
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def output_of(line):
    """What a line of the session prints; petiole is run in this process, and of its output perhaps only the tail."""
    command, _, after = line.partition(" | ")
    words = shlex.split(command)
    if words[0] != "petiole":
        return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True).stdout
    jobs = ["-j", "1"] if words[1] in ("compare", "fit", "predict", "evaluate") else []
    result = run(*words[1:], *jobs)
    text = result.stderr + result.stdout
    return "".join(text.splitlines(keepends=True)[-int(after.split("-")[1]) :]) if after else text


def session(block):
    """The commands of a block, each with what it prints."""
    lines = []
    for line in block.splitlines():
        if line.startswith("$ "):
            lines += [line, *(text.rstrip() for text in output_of(line[2:]).splitlines())]
    return "\n".join(lines).rstrip() + "\n"


def without_times(text):
    """Seconds differ from run to run, and so do the widths of the columns they are in."""
    return re.sub(r"[ ─]+", " ", re.sub(r"\b\d+\.\d\d?\b(?!\d)| in \d+\.\d s", "#", text))


@pytest.mark.posix
def test_the_page_shows_what_the_commands_print(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(waiting, "SECONDS_BETWEEN_LINES", 1e9)  # progress depends on the machine
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) >= 5
    for block in blocks:
        assert without_times(session(block)) == without_times(block)


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    waiting.SECONDS_BETWEEN_LINES = 1e9
    os.chdir(tempfile.mkdtemp())
    PAGE.write_text(BLOCK.sub(lambda match: f"```console\n{session(match[1])}```", page), encoding="utf-8")
