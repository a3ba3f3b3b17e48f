"""The site builds without a warning, needs no network, and its pages print what they say."""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from command_line import run

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"```(python|console)\n(.*?)```", re.DOTALL)


SIGNIFICANT = re.compile(r"\* (ours )?significant at")  # notes below tables, which begin with an asterisk


class Loaded(HTMLParser):
    """The addresses that a page makes the browser fetch."""

    def __init__(self):
        super().__init__()
        self.addresses = []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag in ("script", "img", "iframe", "source", "video", "audio", "embed"):
            self.addresses.append(attributes.get("src") or "")
        if tag == "link" and attributes.get("rel") not in ("canonical", "next", "prev"):
            self.addresses.append(attributes.get("href") or "")


def loaded_by(page):
    parser = Loaded()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser.addresses


def is_foreign(address):
    return re.match(r"(\w+:)?//", address) is not None


def test_pages_load_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        assert not [address for address in loaded_by(page) if is_foreign(address)], page.name
    for sheet in site.rglob("*.css"):
        addresses = re.findall(r"url\(['\"]?([^)'\"]+)", sheet.read_text(encoding="utf-8"))
        assert not [address for address in addresses if is_foreign(address)], sheet.name


def test_what_pages_load_is_there(site):
    for page in site.rglob("*.html"):
        if page.name != "404.html":  # its addresses are those of a server's root
            for address in loaded_by(page):
                path = address.partition("?")[0]
                assert not path or (page.parent / path).exists(), (page.name, address)


def test_search_knows_methods_and_names(site):
    documents = json.loads((site / "search.json").read_text(encoding="utf-8"))["items"]
    for word, place in {
        "MOB-ESP": "mob_esp.html",
        "brier_score": "api/metrics.html",
        "curtailment": "leaf_est",
    }.items():
        assert any(
            word in entry["title"] + entry["text"] and entry["location"].startswith(place) for entry in documents
        )


def test_the_reference_has_every_public_name(site):
    import petiole

    names = set(petiole.__all__) - {"__version__", "comparison", "datasets", "decisions", "metrics", "smoothing"}
    for module in ("comparison", "decisions", "metrics", "smoothing", "plotting", "study", "report", "export", "files"):
        names |= {name for name in getattr(petiole, module).__all__ if not name.isupper()} - {"as_leaf_estimator"}
    text = "".join(page.read_text(encoding="utf-8") for page in (site / "api").glob("*.html"))
    found = {name.rpartition(".")[2] for name in re.findall(r'<h[2-5] id="(petiole[\w.]*)"', text)}
    assert not names - found


def test_no_role_of_another_tool_is_left(site):
    for page in (site / "api").glob("*.html"):
        assert not re.search(r":(class|func|meth|mod):", page.read_text(encoding="utf-8")), page.name


def run_console(block):
    """Run the petiole commands of a block; what they print follows them."""
    for entry in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        line, _, said = entry.partition("\n")
        program, *arguments = line.split()
        assert program == "petiole"
        done = run(*arguments)
        assert (done.stdout + done.stderr).strip() == said.strip()


@pytest.mark.parametrize(
    "name",
    [
        *("trees", "bagged_trees", "comparison", "decisions", "lazy_option_trees", "naive_bayes"),
        *("constraints", "explanations", "monitoring", "groups"),
    ],
)
def test_formulas_are_typeset(site, name):
    page = (site / f"{name}.html").read_text(encoding="utf-8")
    assert "<math " in page and "```math" not in page


def test_the_reference_lists_what_a_class_inherits(site):
    page = (site / "api" / "ensembles.html").read_text(encoding="utf-8")
    for method in ("predict_proba", "update", "merged", "save"):
        assert f'id="petiole.ProbabilityForestClassifier.{method}"' in page


def test_pictures_suit_the_dark_and_methods_say_what_they_are_in_plain_words():
    assert 'scheme="slate"] .md-typeset img' in (DOCS / "css" / "site.css").read_text(encoding="utf-8")
    names = ("trees", "leaf_estimators", "bagged_trees", "mob_esp", "forests", "lazy_option_trees", "naive_bayes")
    for name in (*names, "dual_perturb_combine", "recalibration"):
        first = (DOCS / f"{name}.md").read_text(encoding="utf-8").split("\n\n")[1]
        opening = first.split(". ")[0]
        assert "`" not in opening and len(first.split()) > 40, name  # an idea before the name of a class


SESSIONS = sorted(path.name for path in DOCS.glob("*.md") if ">>> " in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", [name for name in SESSIONS if name != "tutorial.md"])
def test_a_page_prints_what_it_says(name):
    blocks = [block for kind, block in BLOCK.findall((DOCS / name).read_text(encoding="utf-8")) if kind == "python"]
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    said: list[str] = []
    assert runner.run(test, out=said.append).failed == 0, "".join(said)


def test_the_tutorial_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    kinds = []
    for kind, block in BLOCK.findall((DOCS / "tutorial.md").read_text(encoding="utf-8")):
        kinds.append(kind)
        if kind == "console":
            run_console(block)
            continue
        test = doctest.DocTestParser().get_doctest(block, names, "tutorial.md", "tutorial.md", 0)
        said: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        assert runner.run(test, out=said.append, clear_globs=False).failed == 0, "".join(said)
        names.update(test.globs)
    assert len(kinds) > 8
    assert (tmp_path / "tumours.html").stat().st_size > 1e5


def test_every_example_is_in_the_gallery_and_has_a_page_with_its_picture(site):
    gallery = (site / "examples" / "index.html").read_text(encoding="utf-8")
    for example in (ROOT / "examples").glob("[0-9]*.py"):
        assert f'href="{example.stem}.html"' in gallery, example.name
        article = (site / "examples" / f"{example.stem}.html").read_text(encoding="utf-8").partition("<article")[2]
        assert "<img" in article or "savefig" not in example.read_text(encoding="utf-8"), example.name


def test_every_page_is_in_the_navigation(site):
    """A page that nobody links to from the navigation is not found by readers."""
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in site.rglob("*.html"):
        name = page.relative_to(site).with_suffix(".md").as_posix()
        assert name == "404.md" or f" {name}\n" in settings, name


# What Markdown leaves as text if a list has no empty line before it, a formula no fence or a link no target.
LEFT_OVER = re.compile(r"(?:^|[.:;]) ?[-*] \S|\$[^$\d\s][^$]*\$|\]\(|\[`|\*\*|```|^\|.*\|", re.MULTILINE)


def test_no_markup_is_left_in_the_text(site):
    for page in site.rglob("*.html"):
        for paragraph in re.findall(r"<p>(.*?)</p>", page.read_text(encoding="utf-8"), re.DOTALL):
            text = re.sub(r"<code.*?</code>|<[^>]+>", "", paragraph, flags=re.DOTALL)
            assert not LEFT_OVER.search(text) or SIGNIFICANT.match(text), (page.name, text)


def test_roles_are_links_to_the_reference(site):
    page = (site / "api" / "trees.html").read_text(encoding="utf-8")
    assert re.search(r'<a class="autorefs[^>]*href="#petiole[^>]*><code>', page)


def test_versions_are_listed_newest_first(tmp_path):
    for version in ("main", "v0.2.0", "v0.10.0"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "index.html").touch()
    subprocess.run([sys.executable, str(DOCS / "versions.py"), str(tmp_path)], check=True)
    listed = json.loads((tmp_path / "versions.json").read_text(encoding="utf-8"))
    assert [entry["version"] for entry in listed] == ["v0.10.0", "v0.2.0", "main"]
    assert listed[0]["aliases"] == ["latest"] and "url=v0.10.0/" in (tmp_path / "index.html").read_text(
        encoding="utf-8"
    )


def test_links_of_the_files_beside_the_code_are_alive():
    for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md"):
        source = ROOT / name
        for target in re.findall(r"\]\(([^)#\s]+)", source.read_text(encoding="utf-8")):
            assert (source.parent / target).exists(), (name, target)
