"""The page over all papers: how many of their comparisons agree here."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from petiole.comparison.rendering import as_markdown
from petiole.experiments._pages.building import Agreement, write_page, write_picture

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
    picture = Path(page).parent / "images" / f"{Path(page).stem}.png"
    drawn = _draw({name: groups for name, groups in found.items() if groups}, picture)
    return write_page(page, render(found, f"images/{picture.name}" if drawn else None))


def count_paper(counted: Counted, databases: Sequence[str | os.PathLike[str]]) -> list[Agreement] | None:
    """What a paper's comparisons come to, or None if no database has results of it."""
    for database in databases:
        try:
            return counted(database)
        except (ValueError, FileNotFoundError):
            continue
    return None


def render(found: Mapping[str, list[Agreement] | None], picture: str | None = None) -> str:
    """The page as text; papers without comparisons are left out."""
    run = {name: groups for name, groups in found.items() if groups}
    missing = [name for name, groups in found.items() if groups is None]
    groups = [group for several in run.values() for group in several]
    same, n = sum(group.same_sign for group in groups), sum(group.n_signs for group in groups)
    parts = [
        "# The papers reproduced",
        "<!-- Made by `python -m petiole reproduce summary`: do not edit. -->",
        f"**Of {n} published comparisons in which the printed scores of two methods differ, {same} have the same "
        "better method here.** A comparison is between two methods under one metric on one data set, or on all data "
        "sets where the paper gives only a count. The comparisons of one table are not independent of each other; by "
        "chance, half would agree.",
        *([f"![Share of comparisons with the same better method, by paper]({picture})"] if picture else []),
        _overview(run, missing),
        "“Significant in the paper, confirmed” counts the differences that are significant in the paper, and those "
        "of them "
        "that are significant here in the same direction; a paper without tests has none. Each page describes what "
        "is done as in the paper, what the paper leaves open, and which results differ.",
    ]
    for name, several in run.items():
        parts += [f"## [{_title(name)}]({name}.md)", _details(several)]
    return "\n\n".join(parts)


def _title(name: str) -> str:
    """
    >>> _title("zadrozny-elkan-2001"), _title("peers")
    ('Zadrozny & Elkan (2001)', 'peers')
    """
    *authors, year = name.split("-")
    return f"{' & '.join(author.capitalize() for author in authors)} ({year})" if year.isdigit() else name


def _overview(run: Mapping[str, list[Agreement]], missing: Sequence[str]) -> str:
    rows = [[f"[{_title(name)}]({name}.md)", *_totals(several)] for name, several in run.items()]
    rows += [[_title(name), "not run", "", ""] for name in missing]
    everything = [group for several in run.values() for group in several]
    rows.append(["**all**", *_totals(everything)])
    return as_markdown(["paper", "same better method", "significant in the paper, confirmed", "opposite verdict"], rows)


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
    return as_markdown(
        ["comparison", "same better method", "significant in the paper, confirmed", "opposite verdict"], rows
    )


def _draw(run: Mapping[str, list[Agreement]], path: Path) -> bool:
    """A bar for each paper; False without matplotlib or without papers."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    if not run:
        return False
    figure = Figure(figsize=(8, 0.9 + 0.45 * len(run)), layout="constrained")
    axes = figure.subplots()
    for place, (name, groups) in enumerate(run.items()):
        _draw_bar(axes, place, sum(g.same_sign for g in groups), sum(g.n_signs for g in groups))
        axes.text(-0.01, place, name, ha="right", va="center", fontsize=9)
    axes.axvline(0.5, color="grey", linestyle=":", zorder=3)
    axes.set(xlim=(0, 1), ylim=(len(run) - 0.5, -0.5), yticks=[])
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %\n(chance)", "75 %", "100 %"], fontsize=8)
    axes.set_title("published comparisons with the same better method here", fontsize=10)
    axes.spines[["top", "right", "left"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_picture(path, figure, dpi=110)
    return True


def _draw_bar(axes: Any, place: int, same: int, n: int) -> None:
    share = same / n if n else 0.0
    axes.barh(place, 1.0, color="0.93", height=0.7)
    axes.barh(place, share, color="C0", height=0.7)
    axes.text(0.01, place, f"{same} of {n}", color="white", va="center", fontsize=9, fontweight="bold")
