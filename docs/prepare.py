"""Writes the pages of the site: docs, the project's own files, a gallery of examples, the notebooks.

They go to build/pages, or to the folder that is named. The links between these files are those of the repository, where
people read them, too. Here they become links of the site.
"""

from __future__ import annotations

import ast
import html
import json
import posixpath
import re
import shutil
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGES = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "pages"

# Files of the repository that are pages of the site.
OF_PROJECT = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "benchmarks/README.md": "benchmarks.md",
}
# Formulas in LaTeX, which become MathML: browsers typeset that without a script.
FORMULA = re.compile(r"^```math\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
# Not after a word: items[0](x) in code is a call and not a link.
LINK = re.compile(r"(?<![\w\])])\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def main() -> None:
    """Write all pages anew."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES, ignore=shutil.ignore_patterns("*.py", "*.ipynb", "publish", "__pycache__"))
    for page in PAGES.rglob("*.md"):
        _write(page.relative_to(PAGES).as_posix(), page.read_text(encoding="utf-8"))
    for source, page in OF_PROJECT.items():
        _write(page, (ROOT / source).read_text(encoding="utf-8"))
    for name, text in example_pages():
        _write(name, text)
    for notebook in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        _write(f"notebooks/{notebook.stem}.md", notebook_page(json.loads(notebook.read_text(encoding="utf-8"))))


def _write(page: str, text: str) -> None:
    path = PAGES / page
    path.parent.mkdir(parents=True, exist_ok=True)
    text = FORMULA.sub(lambda match: f'<div class="formula">{typeset(match[1])}</div>', text)
    path.write_text(LINK.sub(lambda match: link_of_site(match[1], match[2], page), text), encoding="utf-8")


def typeset(formula: str) -> str:
    """A displayed formula as MathML, a line for each of its lines, with the LaTeX as its label."""
    inner = re.sub(r"\\(begin|end)\{aligned\}", "", formula)
    return "".join(_typeset_line(" ".join(line.replace("&", "").split())) for line in inner.split("\\\\"))


def _typeset_line(line: str) -> str:
    from latex2mathml.converter import convert

    return convert(line, display="block").replace("<math ", f'<math aria-label="{html.escape(line)}" ', 1)


def link_of_site(text: str, target: str, page: str) -> str:
    """A link of the repository as a link of the site; the text alone if the site has no such page."""
    if "://" in target or target.startswith(("#", "mailto:")):
        return f"[{text}]({target})"
    path, _, anchor = target.partition("#")
    source = next((source for source, known in OF_PROJECT.items() if known == page), f"docs/{page}")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    if path in OF_PROJECT:
        path = OF_PROJECT[path]
    elif path.startswith("examples/"):
        path = path.replace(".py", ".md")
    elif path.startswith("docs/"):
        path = path.removeprefix("docs/").replace(".ipynb", ".md")
    else:
        return text  # a source file: readers of the site have it beside them or do not need it
    relative = posixpath.relpath(path, posixpath.dirname(page) or ".")
    return f"[{text}]({relative}{'#' + anchor if anchor else ''})"


def example_pages() -> list[tuple[str, str]]:
    """The gallery, and a page for each example: what it says of itself, its pictures, its code."""
    cards, pages = [], []
    for script in sorted((ROOT / "examples").glob("[0-9]*.py")):
        source = script.read_text(encoding="utf-8")
        title, _, text = (ast.get_docstring(ast.parse(source)) or script.stem).partition("\n")
        title = title.rstrip(".")
        stems = dict.fromkeys(re.findall(r'"(\w+)\.(?:png|html)"', source))
        found = [stem for stem in stems if (ROOT / "docs/images" / f"{stem}.png").is_file()]
        pictures = [f"![{title}](../images/{stem}.png)" for stem in found]
        code = f"```python\n{source}```"
        parts = [f"# {title}", text.strip(), f"    python examples/{script.name}", *pictures, "## The code", code]
        pages.append((f"examples/{script.stem}.md", "\n\n".join(parts)))
        shown = f"![{title}](../images/{found[0] + '.png' if found else 'favicon.svg'})"
        cards.append(f"-   [{shown}]({script.stem}.md)\n\n    [{title}]({script.stem}.md)")
    lead = "Each example is a script that prints numbers and writes its pictures into the folder in which it is run."
    gallery = '<div class="gallery" markdown>\n\n' + "\n\n".join(cards) + "\n\n</div>"
    return [("examples/index.md", f"# Examples\n\n{lead}\n\n{gallery}"), *pages]


def notebook_page(notebook: dict[str, Any]) -> str:
    """A notebook as a page: text, code, and what the cells have printed or drawn."""
    return "\n\n".join(part for cell in notebook["cells"] for part in _parts_of_cell(cell))


def _parts_of_cell(cell: dict[str, Any]) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    return [f"```python\n{source}\n```", *(_output(output) for output in cell["outputs"])]


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        return f'<div class="output">{_one_line("".join(data["text/html"]))}</div>'
    if "image/png" in data:
        return f'<img alt="drawn by the cell above" src="data:image/png;base64,{data["image/png"].strip()}">'
    text = "".join(output.get("text", data.get("text/plain", "")))
    return f"```text\n{text.rstrip()}\n```"


def _one_line(html: str) -> str:
    """Without line breaks, so that no line of it is taken for Markdown."""
    return " ".join(html.split())


if __name__ == "__main__":
    main()
