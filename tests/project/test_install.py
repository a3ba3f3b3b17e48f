"""What is installed with petiole is enough for what it says: the library alone, the command, and every hint."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def name_of(requirement):
    return re.match(r"[\w-]+", requirement)[0]


def everything_in(extra):
    """The packages of an extra, with those of the extras that it names."""
    for requirement in EXTRAS[extra]:
        inner = re.fullmatch(r"petiole\[([\w,]+)\]", requirement)
        if inner is None:
            yield name_of(requirement)
        else:
            for other in inner[1].split(","):
                yield from everything_in(other)


OPTIONAL = sorted({*everything_in("all"), *everything_in("dask")})


def with_packages_blocked(blocked, script):
    """Run a script in a Python that finds none of these packages."""
    block = f"""
import importlib.abc, sys
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {set(blocked)}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name in {set(blocked)} else found(name)
"""
    return subprocess.run([sys.executable, "-c", block + script], capture_output=True, text=True, check=False)


def test_the_library_needs_four_packages():
    assert sorted(map(name_of, PROJECT["dependencies"])) == ["narwhals", "numpy", "scikit-learn", "scipy"]
    script = """
from sklearn.datasets import load_iris
import petiole
for name in petiole.__all__:
    getattr(petiole, name)
X, y = load_iris(return_X_y=True)
model = petiole.ProbabilityForestClassifier(n_estimators=8, random_state=0).fit(X, y)
print(model.predict_proba(X[:1]).sum().round(6))
"""
    done = with_packages_blocked(OPTIONAL, script)
    assert done.stdout.strip() == "1.0", done.stderr


@pytest.mark.parametrize("absent", [["typer"], ["rich"], ["typer", "rich"]])
def test_the_command_says_in_one_line_what_to_install(absent):
    done = with_packages_blocked(absent, "from petiole.__main__ import main; sys.exit(main())")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == f"petiole: the command line needs {' and '.join(absent)}: pip install {' '.join(absent)}\n"


def test_a_report_needs_no_package_for_its_charts(tmp_path):
    page = tmp_path / "page.html"
    script = f"""
from petiole.cli import main
sys.exit(main(["compare", "iris", "-m", "pet", "--folds", "2", "--repeats", "1", "-q", "--report", {str(page)!r}]))
"""
    done = with_packages_blocked(["plotly", "matplotlib"], script)
    assert done.returncode == 0, done.stderr
    assert page.stat().st_size < 300_000


def test_the_readmes_first_command_installs_what_the_pages_use():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(r'^pip install "\.\[all\]" && petiole compare', readme, re.MULTILINE)
    assert {"typer", "rich", "matplotlib", "pandas", "pyarrow", "onnx"} <= set(everything_in("all"))


def test_hints_name_packages_and_not_extras_of_petiole():
    """petiole may have come from a folder or a file: an index need not have it, but has these."""
    known = {
        *map(name_of, PROJECT["dependencies"]),
        *OPTIONAL,
        "networkx",
        "ray",
        "pyspark",
        "duckdb",
        "shap",
        "skops",
        "typer",
    }
    hints = 0
    for path in sorted((ROOT / "src" / "petiole").rglob("*.py")):
        for hint in re.findall(r"pip install ([^:;{`)]+)", path.read_text(encoding="utf-8")):
            wanted = hint.lstrip("\"' \\")
            if wanted.startswith(".["):  # in a clone, on a page of the documentation
                continue
            package = name_of(wanted)
            assert package in known, (path.name, hint)
            hints += 1
    assert hints > 10


def imported_by(path):
    """The first parts of the names of the modules that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


WHEELS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["cibuildwheel"]


@pytest.mark.parametrize("of", [WHEELS, *WHEELS["overrides"]], ids=lambda of: of.get("select", "all"))
def test_the_tests_of_a_wheel_have_what_they_import(of):
    """Wheels are tested where nothing else is: without the sources and the other packages that tests use."""
    folders = [ROOT / word for word in of["test-command"].split() if word.startswith("tests/")]
    tests = [path for folder in folders for path in folder.rglob("*.py")]
    assert len(tests) > 10
    ours = {path.stem for path in (ROOT / "tests").rglob("*.py")} | {"petiole", "tests"}
    installed = {*map(name_of, PROJECT["dependencies"]), *map(name_of, of["test-requires"]), "sklearn", "joblib"}
    wanted = {name for path in tests for name in imported_by(path)}
    assert sorted(wanted - ours - installed - sys.stdlib_module_names) == []
    read = {name for path in tests for name in re.findall(r'parents\[2\] / "(\w+)"', path.read_text(encoding="utf-8"))}
    assert read <= set(WHEELS["test-sources"])


def test_the_lowest_versions_are_those_of_the_project():
    script = ROOT / ".ci" / "lowest.py"
    said = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout.split()
    wanted = [*PROJECT["dependencies"], *EXTRAS["arrow"]]
    assert said.pop() == "polars==1.*"
    assert [line.removesuffix(".*") for line in said] == [line.replace(">=", "==") for line in wanted]
