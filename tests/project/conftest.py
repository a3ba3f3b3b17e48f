"""The site, built once however many processes run the tests."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory, worker_id):
    """The folder of the site; what is built first is built for all."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "site"
    folder.mkdir(exist_ok=True)
    fcntl = pytest.importorskip("fcntl")
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "site").exists():
            build(folder)
    return folder / "site"


def build(folder):
    """Build strictly; the pages and the site are written below ``folder``."""
    prepare = [sys.executable, str(ROOT / "docs" / "prepare.py"), str(folder / "pages")]
    subprocess.run(prepare, check=True)
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    settings = re.sub(r"^docs_dir:.*$", "docs_dir: pages", settings, flags=re.MULTILINE)
    settings = re.sub(r"^site_dir:.*$", "site_dir: site", settings, flags=re.MULTILINE)
    settings = settings.replace("[src]", f"[{ROOT / 'src'}]").replace("docs/roles.py", str(ROOT / "docs" / "roles.py"))
    (folder / "mkdocs.yml").write_text(settings, encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", str(folder / "mkdocs.yml")]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
