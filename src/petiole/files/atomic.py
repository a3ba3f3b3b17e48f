"""Files that are there in full or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], parts: Iterable[bytes | memoryview]) -> None:
    """Write parts one after the other to a temporary file beside ``path``, then let it take its place.

    Whoever opens ``path`` sees the earlier file or all of the new one. Whatever goes wrong, Ctrl-C included, the
    temporary file is removed and the earlier one stays.
    """
    target = Path(os.path.realpath(path))  # a link stays a link to the new file
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        # Not tempfile: its files are private, and the model should have the permissions of any new file.
        with open(temporary, "xb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        _keep_permissions(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _keep_permissions(target: Path, temporary: Path) -> None:
    with contextlib.suppress(OSError):
        os.chmod(temporary, target.stat().st_mode & 0o777)


def _sync_folder(folder: Path) -> None:
    """Make the new name last; not every system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
