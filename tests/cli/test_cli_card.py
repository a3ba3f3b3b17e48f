"""``petiole info --card``: cards from the command line."""

from __future__ import annotations

import json

import pytest

from command_line import refused, run, table, write


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("card")
    write(folder / "train.csv", table(400, seed=0))
    write(folder / "test.csv", table(300, seed=1))
    write(folder / "unlabelled.csv", [{k: v for k, v in row.items() if k != "y"} for row in table(50, seed=2)])
    for method, more in (("eb-pets", ("--set", "n_estimators=40", "--sets", "lac")), ("pet", ())):
        arguments = ("--target", "y", "--id", "id", "-q", "--method", method, *more)
        run("fit", folder / "train.csv", *arguments, "-o", folder / f"{method}.petiole")
    return folder


def test_a_fitted_file_has_what_a_card_needs(files, tmp_path):
    page = tmp_path / "card.html"
    words = ("--purpose", "To lend money.", "--owner", "Ms Example", "--note", "Data=loans = good", "--groups", "town")
    result = run("info", files / "eb-pets.petiole", "--card", page, *words)
    assert f"wrote {page}" in result.stderr and "ConformalClassifier" in result.stdout
    shown = page.read_text(encoding="utf-8")
    for text in ("To lend money.", "Ms Example", "loans = good", "town: Rome", "“y”", "Calibrated on 400 rows"):
        assert text in shown, text
    assert "Not known: the date of the fit." in shown


def test_rows_of_a_test_give_scores(files, tmp_path):
    card = tmp_path / "card.md"
    run("info", files / "pet.petiole", "--card", card)
    assert "honest scores" in card.read_text(encoding="utf-8")
    found = json.loads(
        run("info", files / "pet.petiole", "--card", card, "--test", files / "test.csv", "--json").stdout
    )
    assert found["class"] == "PETClassifier"
    text = card.read_text(encoding="utf-8")
    assert "300 rows that the model has not seen" in text and "honest scores" not in text


def test_the_model_of_a_comparison_has_what_a_card_needs(files, tmp_path):
    model, card = tmp_path / "best.petiole", tmp_path / "card.md"
    study = ("--methods", "eb-pets,b-pets", "--folds", "3", "--repeats", "1", "-q")
    run("compare", files / "train.csv", "--target", "y", "--id", "id", *study, "--save", model)
    run("info", model, "--card", card)
    text = card.read_text(encoding="utf-8")
    assert "Measured on 400 rows of the fit" in text and "The target is the column “y”" in text


def test_what_is_wrong_is_told(files, tmp_path):
    model, card = files / "pet.petiole", tmp_path / "card.html"
    assert "add --card" in refused("info", model, "--purpose", "x")
    assert "add --card" in refused("info", model, "--groups", "town")
    assert ".html or .md" in refused("info", model, "--card", tmp_path / "card.pdf")
    assert "NAME=TEXT" in refused("info", model, "--card", card, "--note", "x")
    assert "--test" in refused("info", model, "--card", card, "--target", "y")
    assert "no labels" in refused("info", model, "--card", card, "--test", files / "unlabelled.csv")
    assert "town" in refused("info", model, "--card", card, "--groups", "twon", "--test", files / "test.csv")
    assert "no folder" in refused("info", model, "--card", tmp_path / "none" / "card.html")
    assert not list(tmp_path.iterdir())
