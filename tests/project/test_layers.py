"""Imports go down only."""

from __future__ import annotations

import ast
from pathlib import Path

import petiole

# From the bottom up; a module may import those of its own line and of the lines before it.
LAYERS = [
    {"_core"},
    {"files", "parameters", "tree_text", "tree_plot", "columns", "tables", "weights"},
    {"dataset", "datasets", "labels", "tree"},
    {"judged", "grow", "impurity", "traversal", "smoothing", "pool", "score_calibrator", "lazy_paths"},
    {"binning", "venn_abers", "baselines", "perturbation", "noise_search"},
    {"pruning", "cross_fit", "forest", "soft_traversal", "monte_carlo"},
    {"classifier", "calibrators", "counting", "updating", "sketch", "survey"},
    {"pet", "ensemble", "naive_bayes"},
    {"bagging", "mob_esp", "lazy"},
    {"probability_forest"},
    {"soft_models", "perturbed_model", "noise_tuning"},
    {"dual"},
    {"distributed"},
    {"metrics", "decisions", "scoring"},
    {"convert", "export", "plotting", "recalibration", "comparison"},
    {"experiments"},
    {"study"},
    {"report"},
    {"cli"},
    {"__main__"},
]


def modules():
    folder = Path(petiole.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).parts[0].removesuffix(".py")
        if name != "__init__":
            yield name, path


def imported(path):
    """Modules of petiole imported at the top level of a file; imports for type checkers do not count."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
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
        for other in imported(path):
            if other in height:
                assert height[other] <= height[name], f"{path.name} imports {other}, which lies above it"


def test_the_core_includes_no_python():
    root = Path(__file__).parents[2] / "src" / "core"
    files = sorted(root.glob("*.?pp"))
    assert files
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert "Python.h" not in text and "nanobind" not in text, path.name
