"""Files that are written in full or not at all, and removal of the remains of killed writers.

A writer keeps its temporary file locked. The system releases the lock when the process ends, however it ends, so that
a later writer can tell whether a temporary file is still being written. Where there are no such locks (on Windows, on
some network drives), no file is taken for an abandoned one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None  # type: ignore[assignment]

# Longer names leave no space for the suffix of temporary files.
MOST_NAME_BYTES = 200
FOLDERS = "petiole-"


@contextlib.contextmanager
def complete_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file that replaces its target when it is complete.

    Readers of ``path`` see the earlier file or all of the new one. If anything goes wrong, Ctrl-C included, the
    temporary file beside it is removed and the earlier one stays. Temporary files of killed writers of the same file
    are removed first. A target that is not a regular file, such as /dev/null, is written to directly.
    """
    target = Path(os.path.realpath(path))  # a link remains a link, to the new file
    if target.exists() and not target.is_file():
        with open(target, "wb") as special:
            yield special
        return
    _remove_abandoned_files(target)
    tried: list[Path] = []  # recorded before the file is made: a signal may arrive right after that

    def new_name() -> Path:
        tried.append(target.with_name(f".{_shortened(target.name)}.{secrets.token_hex(8)}.part"))
        return tried[-1]

    try:
        temporary, file = _new_locked(new_name)
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            _keep_permissions(target, temporary)
            if fcntl is not None:  # otherwise an open file cannot be renamed
                os.replace(temporary, target)
        if fcntl is None:
            os.replace(temporary, target)
    except BaseException:
        for path in tried:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def write_atomically(path: str | os.PathLike[str], parts: Iterable[bytes | memoryview]) -> None:
    """Write parts one after the other to a :func:`complete_file`."""
    with complete_file(path) as file:
        for part in parts:
            file.write(part)


class TemporaryFolder:
    """A temporary folder of this process; those of killed processes are removed first.

    The lock is on a file beside the folder, which is made before it and removed after it.
    """

    def __init__(self, parent: str | os.PathLike[str] | None = None) -> None:
        place = Path(tempfile.gettempdir() if parent is None else parent)
        _remove_abandoned_folders(place)
        lock_path, lock = _new_locked(lambda: place / f"{FOLDERS}{secrets.token_hex(8)}.lock")
        self.path = lock_path.with_suffix("")
        self.path.mkdir(mode=0o700)
        self._finalizer = weakref.finalize(self, _remove_folder, lock_path, lock)

    def close(self) -> None:
        """Remove it with its contents; the end of the process does so, too."""
        self._finalizer()


def _remove_folder(lock_path: Path, lock: BinaryIO) -> None:
    shutil.rmtree(lock_path.with_suffix(""), ignore_errors=True)
    lock_path.unlink(missing_ok=True)
    lock.close()


# Locks.


def _new_locked(new_name: Any) -> tuple[Path, BinaryIO]:
    """A new file that this process has locked."""
    while True:
        path = new_name()
        # Not tempfile: its files are private, and the new file should have the permissions of any other.
        file = open(path, "xb")  # noqa: SIM115 - closed by the caller
        with contextlib.suppress(OSError):
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
        if path.exists():
            return path, file
        file.close()  # another writer has found it before it was locked, and removed it


@contextlib.contextmanager
def _abandoned(path: Path) -> Iterator[bool]:
    """Whether no process holds the lock of a file; if so it is held here meanwhile."""
    try:
        handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        yield False
        return
    try:
        yield _try_lock(handle)
    finally:
        os.close(handle)


def _try_lock(handle: int) -> bool:
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # another process has it, or there are no locks on this system
        return False
    return True


# Remains of killed writers.


def _remove_abandoned_files(target: Path) -> None:
    for path in _matching(target.parent, rf"\.{re.escape(_shortened(target.name))}\.[0-9a-f]{{16}}\.part"):
        with _abandoned(path) as abandoned, contextlib.suppress(OSError):
            if abandoned:
                path.unlink()


def _remove_abandoned_folders(place: Path) -> None:
    for path in _matching(place, rf"{FOLDERS}[0-9a-f]{{16}}\.lock"):
        with _abandoned(path) as abandoned, contextlib.suppress(OSError):
            if abandoned and path.stat().st_uid == os.getuid():
                shutil.rmtree(path.with_suffix(""), ignore_errors=True)
                path.unlink()


def _matching(folder: Path, pattern: str) -> list[Path]:
    matches = re.compile(pattern).fullmatch
    try:
        with os.scandir(folder) as entries:
            return [folder / entry.name for entry in entries if matches(entry.name)]
    except OSError:  # no such folder, which writing to it will report
        return []


def _shortened(name: str) -> str:
    """A file's name, or a shortened one if it is very long."""
    spelled = os.fsencode(name)
    return name if len(spelled) <= MOST_NAME_BYTES else hashlib.sha256(spelled).hexdigest()


def _keep_permissions(target: Path, temporary: Path) -> None:
    with contextlib.suppress(OSError):
        os.chmod(temporary, target.stat().st_mode & 0o777)


def _sync_folder(folder: Path) -> None:
    """Make the new name durable, which not every system supports."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
