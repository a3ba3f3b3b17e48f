"""Imports go down only, also those inside functions, and ARCHITECTURE.md says where each folder lies."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import petiole

ROOT = Path(__file__).parents[2]

# From the bottom up. A folder (or module) may import those of the lines before its own.
LAYERS = [
    {"_core"},
    {"_progress", "_sheet", "_validation"},
    {"files"},
    {"_table", "smoothing"},
    {"_tree", "datasets"},
    {"_forest", "_linear", "_boosting", "calibrators"},
    {"_estimates"},
    {"_classifiers"},
    {"_dual", "_lazy", "distributed"},
    {"metrics", "decisions", "explanations", "scoring"},
    {"comparison", "conformal", "export"},
    {"monitoring"},
    {"plotting", "study"},
    {"experiments", "report"},
    {"cli"},
    {"__main__"},
]
# Inside functions, upwards on purpose: a shortcut for users, and a class that a file may hold.
ALLOWED = {
    ("_classifiers", "export"),
    ("_classifiers", "explanations"),
    ("explanations", "plotting"),
    ("files", "smoothing"),
}


def modules():
    folder = Path(petiole.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).parts[0].removesuffix(".py")
        if name != "__init__":
            yield name, path


def imported(path):
    """Modules of petiole imported anywhere in a file; imports for type checkers do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "petiole":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("petiole."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("petiole."))


def test_imports_go_down_only():
    height = {name: level for level, names in enumerate(LAYERS) for name in names}
    for name, path in modules():
        assert name in height, f"{name}: add it to LAYERS"
        for other in set(imported(path)) - {name}:
            if other in height and (name, other) not in ALLOWED:
                assert height[other] < height[name], f"{path} imports {other}, which does not lie below {name}"


def test_what_is_allowed_is_needed():
    found = {(name, other) for name, path in modules() for other in imported(path)}
    assert found >= ALLOWED


def test_the_map_has_the_same_layers():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = re.findall(r"(?m)^\| (`.*?`) \|", text.split("## Who may import whom")[1].split("\n## ")[0])
    assert [set(re.findall(r"`(\w+)`", names)) for names in table] == LAYERS[::-1]


def test_the_top_of_the_package_is_small():
    folder = Path(petiole.__file__).parent
    assert len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) <= 8


def test_a_study_does_not_load_the_experiments():
    loaded = {other for name, path in modules() if name == "study" for other in imported(path)}
    assert "experiments" not in loaded


def test_the_core_includes_no_python():
    core = ROOT / "src" / "core"
    files = sorted(core.glob("*/*.?pp"))
    assert files and not list(core.glob("*.?pp")), "every file of the core is in a folder"
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert "Python.h" not in text and "nanobind" not in text, path.name


def test_public_folders_say_what_is_public():
    folder = Path(petiole.__file__).parent
    public = {name for layer in LAYERS for name in layer if not name.startswith("_")} - {
        "cli",
        "scoring",
    }
    for name in sorted(public):
        module = importlib.import_module(f"petiole.{name}")
        assert all(hasattr(module, public_name) for public_name in module.__all__), name
    assert {path.parent.name for path in folder.glob("*/__init__.py") if not path.parent.name.startswith("_")} == {
        *public,
        "cli",
    }
