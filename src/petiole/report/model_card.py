"""A model card: one page for people who have to decide whether a model may be used."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

import petiole
from petiole.files.atomic import write_atomically
from petiole.monitoring import Reference
from petiole.report.card_columns import classes_section, columns_section, importances_section
from petiole.report.card_html import card_page
from petiole.report.card_known import Known
from petiole.report.card_markdown import card_text
from petiole.report.card_model import (
    ModelFile,
    demands_section,
    file_section,
    limits_section,
    model_section,
    purpose_section,
)
from petiole.report.card_parts import Card, counted, readable
from petiole.report.card_scores import SCORE_TITLES, groups_section, reliability_section, scores_section

WRITERS = {".html": card_page, ".htm": card_page, ".md": card_text, ".markdown": card_text}


def write_model_card(
    model: Any,
    path: Any,
    *,
    file: Any = None,
    title: str | None = None,
    purpose: str | None = None,
    owner: str | None = None,
    notes: Mapping[str, str] | None = None,
    groups: Sequence[Any] | None = None,
    reference: Reference | None = None,
    command: str = "",
) -> Path:
    """Write a model card: what a model is for, what it was fitted to, how good it is, and what is not known of it.

    A path that ends in ``.html`` gets one page that needs neither the network nor other files, one that ends in
    ``.md`` gets Markdown with tables instead of pictures. What a model does not keep is not left out, but named, with
    the reason and what to do about it.

    Parameters
    ----------
    model : path of a model file, or fitted classifier of petiole
        Of a file the card has name, size and checksum. :func:`petiole.monitoring.remember` lets a model keep what the
        card says of its training rows, as ``petiole fit`` does.
    path : str or path
        The file to write; an earlier file is replaced once the new one is complete.
    file : str or path, optional
        The file of a model that has been loaded already.
    title : str, optional
        The heading; by default "Model card" and the name of the file, or of the class of the model.
    purpose : str, optional
        What the model is for, and what not. An empty line begins another paragraph.
    owner : str, optional
        Who is responsible for it.
    notes : dict from names to texts, optional
        Anything else, such as where the data is from.
    groups : list of columns, optional
        Columns all of whose groups are listed; by default the groups that are furthest off.
    reference : Reference, optional
        The rows that the card is about, from :func:`petiole.monitoring.reference_of`; by default what the model keeps
        of its training rows. ``reference_of(model, X_test, y_test, rows="new")`` gives scores on new rows.
    command : str, optional
        The command that made it, shown at the end.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from petiole import BaggedPETClassifier
    >>> from petiole.monitoring import remember
    >>> from petiole.report import write_model_card
    >>> X, y = load_iris(return_X_y=True)
    >>> model = remember(BaggedPETClassifier.eb_pets(random_state=0).fit(X, y), X, y)
    >>> folder = tempfile.TemporaryDirectory()
    >>> card = write_model_card(model, Path(folder.name) / "card.md", purpose="To name irises.")
    >>> print(card.read_text(encoding="utf-8").splitlines()[2])
    A BaggedPETClassifier that gives the probabilities of 3 classes from 4 columns, fitted to 150 rows.
    >>> folder.cleanup()
    """
    target = Path(path)
    writer = writer_of(target)
    if isinstance(model, (str, Path)):
        file = model
        model = petiole.load(model)
    check_model(model)
    for name, text in (("purpose", purpose), ("owner", owner)):
        if text is not None and not isinstance(text, str):
            raise TypeError(f"{name}={text!r}: must be a text")
    made = datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
    known = Known.of(model, reference)
    found = [
        purpose_section(purpose, owner, notes or {}),
        scores_section(known),
        reliability_section(known),
        groups_section(known, groups),
        classes_section(known),
        columns_section(known),
        importances_section(known),
        demands_section(known),
        limits_section(known),
        model_section(known),
        file_section(None if file is None else ModelFile.of(Path(file)), made, command),
    ]
    named = title or f"Model card: {type(model).__name__ if file is None else Path(file).name}"
    card = Card(readable(named), _summary(known), _figures(known), found)
    write_atomically(target, [writer(card).encode("utf-8")])
    return target


def writer_of(path: Path) -> Any:
    """What writes a file with this ending."""
    if path.is_dir():
        raise IsADirectoryError(f"path={str(path)!r}: is a folder; name a file in it, such as card.html")
    if path.suffix.lower() not in WRITERS:
        raise ValueError(f"path={str(path)!r}: must end in .html or .md")
    return WRITERS[path.suffix.lower()]


def check_model(model: Any) -> None:
    """Raise an error unless a card can be written about this."""
    if not hasattr(model, "predict_proba") or not isinstance(model, petiole.files.savable.SavableModel):
        raise TypeError(
            f"model is a {type(model).__name__}: must be a fitted classifier of petiole, or the path of a model file"
        )
    check_is_fitted(model)


def _summary(known: Known) -> str:
    n_classes, n_columns = len(known.classes), getattr(known.model, "n_features_in_", None)
    columns = "" if n_columns is None else f" from {counted(n_columns, 'column')}"
    rows = "" if known.n_rows is None else f", fitted to {counted(known.n_rows, 'row')}"
    of = counted(n_classes, "class", "classes")
    return f"A {type(known.model).__name__} that gives the probabilities of {of}{columns}{rows}."


def _figures(known: Known) -> list[tuple[str, str, str]]:
    n_rows = "not known" if known.n_rows is None else f"{known.n_rows:,.6g}"
    figures = [("Rows of the fit", n_rows, "by weight")]
    scores = known.reference.scores if known.reference is not None else {}
    for name, title in SCORE_TITLES.items():
        if name in scores:
            one = scores[name]
            figures.append((title, f"{one.mean:.3f}", f"95% interval {one.low:.3f} to {one.high:.3f}"))
        else:
            figures.append((title, "not known", "no honest scores are kept"))
    return figures
