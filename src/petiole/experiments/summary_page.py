"""The page over all papers: how many of their comparisons point the same way here."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from petiole.comparison.rendering import as_markdown
from petiole.experiments.pages import Agreement, write_page

Counted = Callable[[str | os.PathLike[str]], list[Agreement]]


def write(
    papers: Mapping[str, Counted],
    database: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    page: str | os.PathLike[str],
) -> Path:
    """Write the page from what databases have of each paper; of two that have a paper, the first is taken."""
    databases = [database] if isinstance(database, (str, os.PathLike)) else list(database)
    if not any(Path(one).exists() for one in databases):
        raise FileNotFoundError(f"database={str(databases[0])!r}: there is no such file; run an experiment first")
    found = {name: count_paper(counted, databases) for name, counted in papers.items()}
    return write_page(page, render(found))


def count_paper(counted: Counted, databases: Sequence[str | os.PathLike[str]]) -> list[Agreement] | None:
    """What a paper's comparisons come to, or None if no database has results of it."""
    for database in databases:
        try:
            return counted(database)
        except (ValueError, FileNotFoundError):
            continue
    return None


def render(found: Mapping[str, list[Agreement] | None]) -> str:
    """The page as text; papers without comparisons are left out."""
    run = {name: groups for name, groups in found.items() if groups}
    missing = [name for name, groups in found.items() if groups is None]
    groups = [group for several in run.values() for group in several]
    same, n = sum(group.same_sign for group in groups), sum(group.n_signs for group in groups)
    parts = [
        "# The papers' experiments, run again",
        "<!-- Made by `python -m petiole reproduce summary`: do not edit. -->",
        f"**Of {n} published comparisons of two methods that print tells apart, {same} point the same way here.** A "
        "comparison is one of two methods under one metric on one data set, or on all of them where the paper gives "
        "only a count.",
        _overview(run, missing),
        "“Significant there, confirmed” counts the differences that are significant in the paper, and those of them "
        "that are significant here in the same direction; a paper without tests has none. Each page tells what is "
        "done as printed, what the paper leaves open, and where it does not come out.",
    ]
    for name, several in run.items():
        parts += [f"## [{name}]({name}.md)", _details(several)]
    return "\n\n".join(parts)


def _overview(run: Mapping[str, list[Agreement]], missing: Sequence[str]) -> str:
    rows = [[f"[{name}]({name}.md)", *_totals(several)] for name, several in run.items()]
    rows += [[name, "not run", "", ""] for name in missing]
    everything = [group for several in run.values() for group in several]
    rows.append(["**all**", *_totals(everything)])
    return as_markdown(["paper", "same better method", "significant there, confirmed", "opposite verdict"], rows)


def _totals(groups: Sequence[Agreement]) -> list[str]:
    n, same = sum(group.n_signs for group in groups), sum(group.same_sign for group in groups)
    significant, confirmed = sum(g.n_significant for g in groups), sum(g.confirmed for g in groups)
    opposite, tests = sum(g.opposite_mark for g in groups), sum(g.n_marks for g in groups)
    share = f" ({same / n:.0%})" if n else ""
    return [
        f"{same} of {n}{share}",
        f"{confirmed} of {significant}" if tests else "no tests",
        str(opposite) if tests else "",
    ]


def _details(groups: Sequence[Agreement]) -> str:
    rows = [[group.name, *_totals([group])] for group in groups]
    return as_markdown(["comparison", "same better method", "significant there, confirmed", "opposite verdict"], rows)
