"""The petiole command as a process of its own: exit codes, signals, pipes, speed of help, memory, and bare installs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from command_line import read, refused, run, table, write
from versions import pandas_can_be_hidden

COMMAND = [sys.executable, "-m", "petiole"]
BLOCKED = "import sys; sys.modules.update(dict.fromkeys(('pandas', 'polars', 'pyarrow'))); "
BARE = [sys.executable, "-c", BLOCKED + "from petiole.cli import main; sys.exit(main())"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("process")
    write(path / "train.csv", table(120))
    run("fit", path / "train.csv", "-t", "y", "--id", "id", "-m", "pet", "-q", "-o", path / "m.petiole")
    return path


def start(*arguments, **options):
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def test_help_needs_none_of_the_heavy_libraries():
    """Processor time, the best of three processes; 0.3 s on the machine this was written on."""
    script = (
        "import sys, time; from petiole.cli import main; main(['--help']); print(time.process_time(), file=sys.stderr)"
    )
    script += "; print([m for m in ('numpy', 'sklearn', 'scipy', 'pandas') if m in sys.modules], file=sys.stderr)"
    done = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True) for _ in range(3)
    ]
    assert "compare" in done[0].stdout
    seconds, modules = zip(*(process.stderr.split("\n")[:2] for process in done), strict=True)
    assert set(modules) == {"[]"}
    assert min(map(float, seconds)) < 1.0


def test_wrong_input_is_one_line_and_exit_code_2(folder):
    done = subprocess.run([*COMMAND, "fit", folder / "train.csv", "-t", "why", "-o", folder / "x.petiole"],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "--target why: train.csv has no such column; its columns are 'id', 'size', 'town', 'grade', 'y'\n"
    )
    assert not (folder / "x.petiole").exists()


@pytest.mark.posix
def test_a_reader_that_has_enough_ends_it_quietly(folder):
    shell = f"{' '.join(COMMAND)} predict {folder}/m.petiole - --batch 100 -q | head -1"
    text = write(folder / "long.csv", table(50) * 2000).read_text()
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", shell], input=text, capture_output=True, text=True, check=False
    )
    assert done.stdout == "p_no,p_yes,prediction\n"
    assert done.stderr == "" and done.returncode == 141


@pytest.mark.posix
@pytest.mark.parametrize(
    "command", ["info {}/m.petiole", "explain {0}/m.petiole {0}/train.csv --row 3", "datasets fetch"]
)
def test_tables_that_nobody_reads_end_quietly_too(folder, command):
    """A pipe whose reader ends at once: the first line is written when it has gone."""
    shell = f"{' '.join(COMMAND)} {command.format(folder)} | true"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", shell], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 141)


def as_in_a_shell(code):
    """Python ends itself by the signal if that comes while it executes a string, as some imports do."""
    return code if code >= 0 else 128 - code


@pytest.mark.parametrize(("sent", "code", "said"), [(signal.SIGINT, 130, "stopped\n"), (signal.SIGTERM, 143, "")])
@pytest.mark.posix
def test_a_stopped_run_leaves_nothing_behind(folder, tmp_path, sent, code, said):
    output = tmp_path / "out.csv"
    output.write_text("as it was")
    process = start("predict", folder / "m.petiole", "-", "-o", output, "--batch", 1, "-q", stdin=subprocess.PIPE)
    process.stdin.write((folder / "train.csv").read_text())
    process.stdin.flush()
    end = time.monotonic() + 60
    while not any(path.name.endswith(".part") for path in tmp_path.iterdir()):
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.02)
    process.send_signal(sent)
    _, errors = process.communicate(timeout=30)
    assert (as_in_a_shell(process.returncode), errors) == (code, said)
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"] and output.read_text() == "as it was"


@pytest.mark.posix
def test_a_fit_can_be_stopped(tmp_path):
    write(tmp_path / "big.csv", [row for row in table(3000) for _ in range(3)])
    process = start("fit", tmp_path / "big.csv", "-t", "y", "--id", "id", "--set", "n_estimators=100000", "-j", 1,
                    "-o", tmp_path / "m.petiole")  # fmt: skip
    for line in process.stderr:
        if "categorical" in line:  # the summary is there, the work begins
            break
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert as_in_a_shell(process.returncode) == 130 and errors.endswith("stopped\n") and "Traceback" not in errors
    assert [path.name for path in tmp_path.iterdir()] == ["big.csv"]


@pytest.mark.posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to(folder, tmp_path):
    tmp_path.chmod(0o500)
    done = subprocess.run([*COMMAND, "predict", folder / "m.petiole", folder / "train.csv", "-o", tmp_path / "o.csv"],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 1 and "cannot be written" in done.stderr


def test_a_full_disk_is_told(folder):
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    line = refused("predict", folder / "m.petiole", folder / "train.csv", "-q", "-o", "/dev/full", code=1)
    assert "No space left" in line


@pandas_can_be_hidden
def test_it_works_without_any_library_for_frames(folder, tmp_path):
    """As after a plain ``pip install .``: no pandas, polars or pyarrow."""
    environment = {name: value for name, value in os.environ.items() if name != "PETIOLE_DATA"}
    environment["PETIOLE_CACHE"] = str(tmp_path / "cache")

    def bare(*arguments):
        done = subprocess.run(
            [*BARE, *map(str, arguments)], capture_output=True, text=True, check=False, env=environment
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    options = ("-m", "pet,naive-bayes", "--folds", 2, "--repeats", 1, "-j", 1)
    assert "Single tree, smoothed" in bare("compare", "breast-cancer", *options, "--save", tmp_path / "w.petiole")
    model = tmp_path / "m.petiole"
    bare("fit", folder / "train.csv", "-t", "y", "--id", "id", "-m", "pet", "-q", "-o", model)
    rows = read(bare("predict", model, folder / "train.csv", "-q"))
    # the same model, fitted and asked where there are frames
    expected = read(run("predict", folder / "m.petiole", folder / "train.csv", "-q").stdout)
    assert rows == expected == read(run("predict", model, folder / "train.csv", "-q").stdout)


@pytest.mark.slow
@pytest.mark.skipif("PETIOLE_BIG_TEST" not in os.environ, reason="set PETIOLE_BIG_TEST=1 to score a CSV file of 1 GB")
def test_a_gigabyte_is_scored_at_constant_memory(folder, tmp_path):
    # rows of some two hundred bytes, most of which the model does not look at
    rows = [row for row in table(5_000, seed=2) if "," not in row["town"]]
    body = "\n".join(",".join([*row.values(), "as they are " * 15]) for row in rows) + "\n"
    peaks = []
    for size in (50_000_000, 1_000_000_000):
        path = tmp_path / "big.csv"
        with path.open("w") as file:
            file.write("id,size,town,grade,y,notes\n")
            for _ in range(size // len(body)):
                file.write(body)
        process = start("predict", folder / "m.petiole", path, "--id", "id", "-o", "/dev/null", "--format", "csv", "-q")
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0
        peaks.append(usage.ru_maxrss)
    print(f"peak memory: {peaks[0] / 1024:.0f} MB for 50 MB, {peaks[1] / 1024:.0f} MB for 1 GB")
    assert peaks[1] < peaks[0] + 60 * 1024
