"""Model cards: every model that can be saved has one, figures are those of the rows, and nothing breaks out."""

from __future__ import annotations

import hashlib
import html.parser
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import petiole
from card_models import HOSTILE, hostile_model, late_payers
from file_models import MAKERS, made
from petiole import BaggedPETClassifier, BoostedPETClassifier, OOBCalibratedClassifier, PETClassifier
from petiole.conformal import ConformalClassifier
from petiole.decisions import CostSensitiveClassifier
from petiole.monitoring import reference_of, remember
from petiole.report import write_model_card


@pytest.fixture(scope="module")
def forest():
    X, y = late_payers()
    return remember(BaggedPETClassifier.eb_pets(n_estimators=48, oob_score=True, random_state=0).fit(X, y), X, y), X, y


class Tags(html.parser.HTMLParser):
    """The names of the tags of a page, its texts, and the addresses that it mentions in attributes."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.addresses = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.addresses += [value for name, value in attributes if name in ("href", "src") and value]
        assert not [name for name, _ in attributes if name.startswith("on")]

    def handle_data(self, data):
        self.texts.append(data)


def cards(model, folder, **more):
    """The card as a page and as Markdown."""
    return [
        write_model_card(model, folder / f"card.{ending}", **more).read_text(encoding="utf-8")
        for ending in ("html", "md")
    ]


def cells(markdown, first):
    """The other cells of the row of a table that begins with this."""
    row = next(line for line in markdown.splitlines() if line.startswith(f"| {first} |"))
    return [cell.strip() for cell in row.split("|")[2:-1]]


@pytest.mark.parametrize("name", [*MAKERS])
def test_every_model_that_can_be_saved_has_a_card(name, tmp_path):
    model, _ = made(name)
    if not (hasattr(model, "predict_proba") and hasattr(model, "classes_")) or name == "group":
        with pytest.raises(TypeError, match="must be a fitted classifier"):
            write_model_card(model, tmp_path / "card.md")
        return
    model.save(tmp_path / "m.petiole")
    page, text = cards(tmp_path / "m.petiole", tmp_path)
    for shown in (page, text):
        assert type(model).__name__ in shown and str(model.classes_[0]) in shown
        assert hashlib.sha256((tmp_path / "m.petiole").read_bytes()).hexdigest() in shown
        assert petiole.__version__ in shown and "Not known:" in shown
        for parameter in model.get_params(deep=False):
            assert parameter in shown
    tags = Tags(page)
    assert tags.tags.count("script") == 2 and all(one.startswith(("#", "data:")) for one in tags.addresses)
    if name != "monitored":
        assert "honest scores" in text and "nan" not in text.lower().replace("finance", "")


def test_frozen_files_from_before_have_cards(tmp_path):
    frozen = Path(__file__).parents[1] / "files" / "frozen" / "v1" / "monitored.petiole"
    page, text = cards(frozen, tmp_path)
    assert "monitored.petiole" in page and "Log-loss (bits)" in text and re.search(r"\d to \d", text)


def test_scores_are_those_of_the_out_of_bag_rows(forest, tmp_path):
    model, _, y = forest
    _, text = cards(model, tmp_path)
    proba, codes = model.oob_predict_proba_, (y == "yes").astype(int)
    losses = -np.log2(np.maximum(proba[np.arange(len(y)), codes], 0.001))
    half = 1.96 * losses.std(ddof=1) / np.sqrt(len(y))
    loss, alone = cells(text, "Log-loss (bits)")
    assert loss == f"{losses.mean():.3f} ({losses.mean() - half:.3f} to {losses.mean() + half:.3f})"
    share = codes.mean()
    assert float(alone) == pytest.approx(-share * np.log2(share) - (1 - share) * np.log2(1 - share), abs=6e-4)
    assert cells(text, "Accuracy")[0].startswith(f"{(proba.argmax(axis=1) == codes).mean():.3f} (")
    brier = ((proba - np.eye(2)[codes]) ** 2).sum(axis=1).mean()
    assert cells(text, "Brier score")[0].startswith(f"{brier:.3f} (")
    assert cells(text, "yes")[0] == f"{proba[:, 1].mean():.1%}"


def test_groups_and_columns_are_counted(forest, tmp_path):
    model, X, y = forest
    _, text = cards(model, tmp_path, groups=["town"])
    for town in ("Bern", "Oslo", "Rome"):
        inside = (X["town"] == town).to_numpy()
        rows, said, came = cells(text, f"town: {town}")
        assert (
            rows == f"{inside.sum():,}".replace(",", "") and said == f"{model.oob_predict_proba_[inside, 1].mean():.1%}"
        )
        assert came.removeprefix("**").startswith(f"{(y[inside] == 'yes').mean():.1%}")
    kind, values, missing = cells(text, "income")
    assert kind == "numeric" and missing == "10.0%"
    known = X["income"].dropna()
    assert values == f"{known.min():.6g} to {known.max():.6g}, median {known.median():.6g}"
    assert "2025-01-01 to 2029-02-08" in cells(text, "day")[1]
    assert cells(text, "town")[1].startswith("3: ") and "Rome (" in cells(text, "town")[1]
    importances = {name: float(cells(text[text.index("## Which columns") :], name)[0]) for name in X.columns}
    parts = model.feature_importances_
    assert importances["income"] == pytest.approx(parts[0], abs=6e-4)
    assert importances["day"] == pytest.approx(parts[2:].sum(), abs=6e-4)  # all parts of the date together
    with pytest.raises(ValueError, match="twon"):
        cards(model, tmp_path, groups=["twon"])


def test_a_group_that_is_off_stands_out(tmp_path):
    X, y = late_payers()
    blind = BaggedPETClassifier.eb_pets(n_estimators=48, random_state=0, categorical_features=["town"])
    X["town"] = np.where(np.arange(len(X)) % 2 == 0, "odd", "even")
    model = blind.fit(X, y)
    wrong = np.where((X["town"] == "odd") & (y == "yes"), "no", y)
    model = remember(model, X, wrong, rows="new")
    page, text = cards(model, tmp_path, groups=["town"])
    assert cells(text, "town: odd")[-1].startswith("**0.0%**") and "by more than chance" in text
    assert "**" not in cells(text, "town: even")[-1]
    assert "rows that the model has not seen" in text and "OOBCalibratedClassifier" in page


def test_what_is_not_known_is_said(tmp_path):
    X, y = late_payers(300)
    page, text = cards(PETClassifier().fit(X, y), tmp_path)
    for shown in (page, text):
        for what in ("honest scores", "what the model is for", "the file and its checksum", "the date of the fit"):
            assert what in shown
        assert "keeps no summary of its training rows" in shown
    _, text = cards(remember(PETClassifier().fit(X, y), X, y), tmp_path)
    assert "A PETClassifier has no out-of-bag rows" in text and "median" in text
    _, text = cards(BaggedPETClassifier(12, oob_score=True, random_state=0).fit(X, y), tmp_path)
    assert "They have no intervals" in text


def test_new_rows_give_scores_to_any_model(tmp_path):
    X, y = late_payers(800)
    model = remember(PETClassifier.c44().fit(X[:400], y[:400]), X[:400], y[:400])
    reference = reference_of(model, X[400:], y[400:], rows="new")
    _, text = cards(model, tmp_path, reference=reference)
    assert "400 rows that the model has not seen" in text and "fitted to 400 rows" in text
    proba = model.predict_proba(X[400:])
    right = (model.classes_[proba.argmax(axis=1)] == y[400:]).mean()
    assert cells(text, "Accuracy")[0].startswith(f"{right:.3f}")
    low = X[:400]["income"].min()
    assert cells(text, "income")[1].startswith(f"{low:.6g} to ")  # of the fit, not of the new rows


def test_demands_and_wrappers_are_described(tmp_path):
    X, y = late_payers(600)
    plain = X[["income", "town"]]
    forest = BaggedPETClassifier(24, interaction_cst=[["income"], ["town"]], random_state=0)
    inner = OOBCalibratedClassifier(forest, groups=["town"])
    model = ConformalClassifier(inner, 0.8, by="town", random_state=0).fit(plain, y)
    _, text = cards(remember(model, plain, y), tmp_path)
    for words in (
        "Only columns of one group interact in a tree: income; town.",
        "By the method beta on",
        "town: Rome",
        "for a coverage of 0.8",
        "by town",
        "Inside it, BaggedPETClassifier:",
    ):
        assert words in text, words
    falling = BaggedPETClassifier(24, monotonic_cst={"income": -1}, missing="separate", random_state=0).fit(plain, y)
    assert "The probability of “yes” never rises as one of these rises: income." in cards(falling, tmp_path)[1]
    costs = {"lend": {"yes": 5.0, "no": -1.0}, "refuse": {"yes": 0.0, "no": 0.0}}
    model = CostSensitiveClassifier(PETClassifier(), costs, actions=["lend", "refuse"]).fit(plain, y)
    page, text = cards(model, tmp_path)
    assert cells(text, "lend") == ["-1", "5"] and "cheapest decision" in page


def test_boosted_trees_are_predicted_in_folds_and_updates_are_told(tmp_path):
    X, y = late_payers(500)
    model = remember(BoostedPETClassifier(max_iter=20, random_state=0).fit(X, y), X, y)
    assert "by boosted trees of other folds" in cards(model, tmp_path)[1]
    forest = remember(BaggedPETClassifier(24, random_state=0).fit(X, y), X, y).update(X[:100], y[:100])
    assert "counts 600 rows now" in cards(forest, tmp_path)[1]


def test_nothing_breaks_out_of_a_card(tmp_path):
    words = dict.fromkeys(("purpose", "owner", "title"), HOSTILE[0])
    page, text = cards(hostile_model(), tmp_path, notes={HOSTILE[0]: HOSTILE[2]}, **words)
    tags = Tags(page)
    assert tags.tags.count("script") == 2 and "textarea" not in tags.tags
    assert all(one.startswith(("#", "data:")) for one in tags.addresses)
    assert '<script>alert("x")</script>' in "".join(tags.texts)  # as text
    assert "\u202e" not in page + text and "\\u202e" in page
    lines = text.splitlines()
    for above, line in pairwise(lines):
        if above.startswith("|") and line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", above)) == len(re.findall(r"(?<!\\)\|", line))


def test_markdown_means_nothing_but_text(tmp_path):
    markdown = pytest.importorskip("markdown_it")
    _, text = cards(
        hostile_model(), tmp_path, purpose="\n\n".join([*HOSTILE, "1. first", "- dash", "+ plus", "# head"])
    )
    parser = markdown.MarkdownIt("commonmark", {"linkify": False}).enable("table")
    tokens = parser.parse(text)
    inline = [child for token in tokens for child in token.children or ()]
    kinds = {token.type for token in [*tokens, *inline]}
    assert not kinds & {
        "html_block",
        "html_inline",
        "link_open",
        "image",
        "em_open",
        "code_inline",
        "code_block",
        "fence",
    }
    assert not kinds & {"ordered_list_open", "hr", "blockquote_open"}
    assert sum(token.type == "heading_open" for token in tokens) == 12
    assert any('<script>alert("x")</script>' in child.content for child in inline)


def test_forged_summaries_make_a_card_or_an_error(tmp_path):
    """Extreme numbers that a model file may hold."""
    X, y = late_payers(300)
    n_cards = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        model = remember(BaggedPETClassifier(8, random_state=0).fit(X, y), X, y)
        kept = model.encoder_.reference
        for name in ("group_said", "group_came", "group_expected", "code_weights"):
            extremes = np.array([0.0, 1e-300, 1.0, 1e90])
            setattr(kept, name, [extremes[rng.integers(0, 4, table.shape)] for table in getattr(kept, name)])
        kept.reliability = kept.reliability * [1, 0, 0, 1e200] if seed % 2 else np.empty((0, 4))
        kept.score_table = rng.choice([0.0, 1e-300, 1e6], (3, 4))
        kept.spans = np.sort(rng.choice([-1e308, -1.0, 0.0, 6.5, 1e9, 1e308, np.nan], kept.spans.shape), axis=1)
        kept.titles = [["x" * 10000 for _ in titles] for titles in kept.titles]
        kept.n_rows, kept.n_honest = 1e-300, 1e-300
        path = tmp_path / "forged.petiole"
        try:
            model.save(path)
            petiole.load(path)
        except ValueError:
            continue
        page, text = cards(path, tmp_path)
        assert len(page) < 200_000 and "x" * 100 not in text
        n_cards += 1
    assert n_cards > 5


def test_errors_say_what_to_do(forest, tmp_path):
    model, *_ = forest
    for path in ("card.pdf", "card"):
        with pytest.raises(ValueError, match=r"must end in \.html or \.md"):
            write_model_card(model, tmp_path / path)
    with pytest.raises(IsADirectoryError, match="folder"):
        write_model_card(model, tmp_path)
    with pytest.raises(TypeError, match="purpose=3"):
        write_model_card(model, tmp_path / "card.md", purpose=3)
    assert not list(tmp_path.iterdir())
