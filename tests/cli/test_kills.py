"""Writers that are killed leave whole files, and a later writer removes what else they leave."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kill_writers import kill_many
from petiole.files.atomic import TemporaryFolder, complete_file, write_atomically

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks and signals")

# Of each command; `python tests/files/kill_writers.py` has more patience.
KILLS = int(os.environ.get("PETIOLE_KILLS", "2"))
WRITES = """
import sys, time
from petiole.files.atomic import TemporaryFolder, complete_file
with complete_file(sys.argv[1]) as file:
    folder = TemporaryFolder(sys.argv[2])
    (folder.path / "spilled").write_bytes(b"rows")
    file.write(b"a part of it")
    file.flush()
    print("writing", flush=True)
    time.sleep(600)
"""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def writer(tmp_path):
    """A process that is in the middle of writing ``tmp_path / "answers.csv"``."""
    command = [sys.executable, "-c", WRITES, str(tmp_path / "answers.csv"), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "writing\n"
        yield process
        process.kill()


def test_killed_commands_leave_whole_files_and_what_else_they_leave_is_removed(tmp_path):
    outcomes = kill_many(KILLS, seed=0, folder=tmp_path)
    assert {name: sum(found.values()) for name, found in outcomes.items()} == dict.fromkeys(outcomes, KILLS)
    assert any("leftovers" in outcome for found in outcomes.values() for outcome in found)


def test_what_a_killed_writer_leaves_is_removed_by_the_next(tmp_path, writer):
    target = tmp_path / "answers.csv"
    target.write_bytes(b"earlier")
    assert len(names(tmp_path)) == 4
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    assert target.read_bytes() == b"earlier" and len(names(tmp_path)) == 4
    write_atomically(tmp_path / "other.csv", [b"another file"])
    assert len(names(tmp_path)) == 5, "what belongs to another file stays"
    write_atomically(target, [b"new"])
    TemporaryFolder(tmp_path).close()
    assert target.read_bytes() == b"new" and names(tmp_path) == ["answers.csv", "other.csv"]


def test_what_a_living_writer_writes_stays(tmp_path, writer):
    before = names(tmp_path)
    write_atomically(tmp_path / "answers.csv", [b"new"])
    TemporaryFolder(tmp_path).close()
    assert set(before) <= set(names(tmp_path)) and (tmp_path / "answers.csv").read_bytes() == b"new"


def test_writers_of_one_file_do_not_disturb_each_other(tmp_path):
    """Each looks for abandoned files while others begin, write and end."""
    target, failed = tmp_path / "answers.csv", []

    def write_often(letter):
        try:
            for _ in range(40):
                write_atomically(target, [letter * 1000, letter * 1000])
                assert len(set(target.read_bytes())) == 1
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write_often, args=(letter,)) for letter in (b"a", b"b", b"c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == [] and names(tmp_path) == ["answers.csv"]


def test_names_that_are_nearly_too_long(tmp_path):
    target = tmp_path / ("ö" * 120 + ".petiole")
    write_atomically(target, [b"all"])
    assert target.read_bytes() == b"all" and names(tmp_path) == [target.name]


def test_a_link_stays_a_link_and_permissions_stay(tmp_path):
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_bytes(b"earlier")
    target.chmod(0o640)
    link.symlink_to(target)
    write_atomically(link, [b"new"])
    assert link.is_symlink() and target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_what_is_no_regular_file_is_written_to_directly(tmp_path):
    """As root it would be possible to put a file into the place of /dev/null."""
    os.mkfifo(tmp_path / "pipe")
    found = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    write_atomically(tmp_path / "pipe", [b"all ", b"of it"])
    reader.join()
    assert found == [b"all of it"] and stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_an_error_leaves_the_earlier_file_and_nothing_else(tmp_path):
    target = tmp_path / "answers.csv"
    target.write_bytes(b"earlier")
    with pytest.raises(KeyboardInterrupt), complete_file(target) as file:
        file.write(b"a part")
        raise KeyboardInterrupt
    assert target.read_bytes() == b"earlier" and names(tmp_path) == ["answers.csv"]


def test_a_temporary_folder_ends_with_its_owner(tmp_path):
    folder = TemporaryFolder(tmp_path)
    (folder.path / "deep").mkdir()
    (folder.path / "deep" / "file").write_bytes(b"rows")
    assert isinstance(folder.path, Path) and stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    del folder
    assert names(tmp_path) == []
