"""What the site needs beyond its pages: the project's own files as pages, the examples, and links between them."""

from __future__ import annotations

import ast
import html
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent

# Files that people read beside the code are pages, too.
PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks.md",
    "README.md": "index.md",
}

# Formulas in LaTeX, which become MathML: browsers typeset that without a script.
FORMULA = re.compile(r"^```math\n(.*?)\n```$", re.MULTILINE | re.DOTALL)

# Not after a word: items[0](x) in code is a call and not a link.
LINK = re.compile(r"(?<![!\w\])])\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
ROLE = re.compile(r":(?:class|meth|func|mod|attr|data):(?:(?=<code>)|`([^`<]+)`)")


def on_files(files: Any, config: Any) -> Any:
    for source, page in PAGES.items():
        if page != "index.md":
            files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    files.append(File.generated(config, "examples.md", content=_examples()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    place = page.file.src_uri
    markdown = FORMULA.sub(lambda match: f'<div class="formula">{typeset(match[1])}</div>', markdown)
    return LINK.sub(lambda match: _link(match[1], match[2], place), markdown)


def typeset(formula: str) -> str:
    """A displayed formula as MathML, a line for each of its lines, with the LaTeX as its label."""
    inner = re.sub(r"\\(begin|end)\{aligned\}", "", formula)
    return "".join(_typeset_line(" ".join(line.replace("&", "").split())) for line in inner.split("\\\\"))


def _typeset_line(line: str) -> str:
    from latex2mathml.converter import convert

    return convert(line, display="block").replace("<math ", f'<math aria-label="{html.escape(line)}" ', 1)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Docstrings write :class:`Name` for tools that know roles; here the name is enough."""
    return ROLE.sub(lambda match: match[1] or "", output).replace("<code>~petiole.", "<code>petiole.")


def _examples() -> str:
    """A page made from the examples: what each says of itself, its pictures, its code."""
    scripts = sorted((ROOT / "examples").glob("[0-9]*.py"))
    lead = "Each is a script that prints numbers and writes its pictures into the folder it is run in."
    return "\n\n".join([f"# Examples\n\n{lead}", *map(_example, scripts)])


def _example(script: Path) -> str:
    source = script.read_text(encoding="utf-8")
    title, _, text = (ast.get_docstring(ast.parse(source)) or script.stem).partition("\n")
    stems = dict.fromkeys(re.findall(r'"(\w+)\.(?:png|html)"', source))
    pictures = [f"![{title}](images/{stem}.png)" for stem in stems if (ROOT / "docs/images" / f"{stem}.png").is_file()]
    code = "".join(f"    {line}\n" for line in ["```python", *source.splitlines(), "```"])
    head = f"## {script.stem[:2]}. {title.rstrip('.')} {{ #{script.stem} }}"
    fold = f'??? example "The code"\n\n{code}'
    return "\n\n".join([head, text.strip(), f"    python examples/{script.name}", *pictures, fold])


def _link(text: str, target: str, place: str) -> str:
    """A link of the repository as a link of the site; the text alone if the site has no such page."""
    if "://" in target or target.startswith(("#", "mailto:")):
        return f"[{text}]({target})"
    path, _, anchor = target.partition("#")
    source = next((source for source, page in PAGES.items() if page == place and page != "index.md"), f"docs/{place}")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
    if path in PAGES:
        page = PAGES[path]
    elif path.startswith("examples/"):
        page, anchor = "examples.md", anchor or path.removeprefix("examples/").removesuffix(".py")
    elif path.startswith("docs/"):
        page = path.removeprefix("docs/")
    else:
        return text  # a source file: readers of the site have it beside them or do not need it
    relative = posixpath.relpath(page, posixpath.dirname(place) or ".")
    return f"[{text}]({relative}{'#' + anchor if anchor else ''})"
