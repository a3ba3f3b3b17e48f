"""Reading the original files of the KDD Cup 1998: the standard division, and seven features."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from petiole._table.columns import Floats
from petiole.datasets.cells import Cell, NumericBuilder, Place
from petiole.datasets.columns import Numeric, Values, from_names
from petiole.datasets.description import Description, Loaded
from petiole.datasets.frames import make_frame
from petiole.datasets.text import read_bytes

LEARNING, VALIDATION, TARGETS = "cup98LRN.txt", "cup98VAL.txt", "valtargt.txt"
ROWS = {LEARNING: 95_412, VALIDATION: 96_367}
KEY = "CONTROLN"
NUMBERS = ("INCOME", "FISTDATE", "LASTDATE", "NGIFTALL", "NUMPROM", "RFA_2F")
NAMES = ("RFA_2A", "PEPSTRFL")
# Gifts in response to the last 22 promotions before that of the contest.
ANSWERS = tuple(f"RAMNT_{number}" for number in range(3, 25))
BLANK: frozenset[Cell] = frozenset({"", "."})


class Mailing(NamedTuple):
    """The standard division of the contest; ``description.outcomes["TARGET_D"]`` of each part has the gifts."""

    train: Loaded
    test: Loaded


def kdd98(folder: str | Path, *, check_size: bool = True) -> Mailing:
    """Read the contest's own files and make the training and test set of Zadrozny & Elkan (2001).

    "The training set consists of 95412 records [...]. The test set consists of 96367 records [...] we use the standard
    training set/test set division. All examples in the training set are used as training data for the learning
    algorithms, with seven fields as attributes" (section 3). The paper does not name the seven. They are taken to be
    (see the provenance page): INCOME, FISTDATE, LASTDATE, PGIFT (= NGIFTALL / NUMPROM), RFA_2F, RFA_2A,
    PEPSTRFL.

    Parameters
    ----------
    folder : path
        With the files cup98LRN.txt, cup98VAL.txt and valtargt.txt, each also as .gz.
    check_size : bool, default=True
        Whether to require the numbers of rows above.

    Returns
    -------
    train, test : each X, y, description as of :func:`petiole.datasets.load`
        y is "1" for those who gave; ``description.outcomes["TARGET_D"]`` is what they gave, in dollars, 0 for others.
    """
    learning = _read(Path(folder), LEARNING, (*NUMBERS, *NAMES, "TARGET_B", "TARGET_D"))
    validation = _read(Path(folder), VALIDATION, (KEY, *NUMBERS, *NAMES))
    targets = _read(Path(folder), TARGETS, (KEY, "TARGET_B", "TARGET_D"))
    if check_size:
        for file, table in ((LEARNING, learning), (VALIDATION, validation)):
            if len(table["INCOME"]) != ROWS[file]:
                raise ValueError(
                    f"{file} has {len(table['INCOME']):,} rows, not {ROWS[file]:,}: get the whole file, or pass "
                    "check_size=False"
                )
    return Mailing(_assemble(learning, LEARNING), _assemble(validation | _joined(validation, targets), VALIDATION))


def kdd98_gift_history(folder: str | Path) -> tuple[Floats, Floats]:
    """Read earlier gifts, for a model of the amount of the next one.

    Zadrozny & Elkan (2001) use "a simple linear regression described by" a report of theirs. Its regressors are
    LASTGIFT and the mean gift in response to the last 22 promotions, RAMNT_3 to RAMNT_24 (see the provenance page).

    Parameters
    ----------
    folder : path
        As of :func:`kdd98`.

    Returns
    -------
    train, test : arrays of shape (n_rows, 2)
        LASTGIFT and the mean gift; the latter is NaN for those who answered none of the promotions.
    """
    parts = []
    for file in (LEARNING, VALIDATION):
        table = _read(Path(folder), file, ("LASTGIFT", *ANSWERS))
        gifts = np.column_stack([_numbers(table[name], file, name) for name in ANSWERS])
        given = ~np.isnan(gifts)
        with np.errstate(invalid="ignore"):
            mean = np.where(given, gifts, 0.0).sum(axis=1) / given.sum(axis=1)
        parts.append(np.column_stack([_numbers(table["LASTGIFT"], file, "LASTGIFT"), mean]))
    return parts[0], parts[1]


def _read(folder: Path, file: str, wanted: Iterable[str]) -> dict[str, list[str]]:
    """Read some columns of a file; the files have up to 481."""
    data, name = read_bytes(_locate(folder, file))
    records = csv.reader(io.StringIO(data.decode("latin-1"), newline=""))  # names of people and towns, no UTF-8
    header = [cell.strip() for cell in next(records, [])]
    for column in wanted:
        if column not in header:
            raise ValueError(f"{name}, line 1: there is no column {column!r}: is this {file} of the KDD Cup 1998?")
    rows = list(_pick(records, [header.index(column) for column in wanted], len(header), name))
    if not rows:
        raise ValueError(f"{name}: there is a header but no rows: get the whole file")
    return {column: list(cells) for column, cells in zip(wanted, zip(*rows, strict=True), strict=True)}


def _pick(records: Iterator[list[str]], places: list[int], n_columns: int, name: str) -> Iterator[list[str]]:
    for number, cells in enumerate(records, start=2):
        if not cells:
            continue
        if len(cells) != n_columns:
            raise ValueError(
                f"{Place(name, number)}: {len(cells)} cells, but the header names {n_columns}: correct the line"
            )
        yield [cells[place].strip() for place in places]


def _locate(folder: Path, file: str) -> Path:
    for name in (file, f"{file}.gz", file.lower(), file.upper()):
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(
        f"folder={str(folder)!r}: there is no {file} in it, nor {file}.gz: put the contest's files there"
    )


def _joined(validation: Mapping[str, list[str]], targets: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Bring the published targets into the order of the validation rows."""
    row_of = {key: row for row, key in enumerate(targets[KEY])}
    lacking = next((key for key in validation[KEY] if key not in row_of), None)
    if lacking is not None:
        raise ValueError(f"{TARGETS}: there is no line for {KEY} {lacking} of {VALIDATION}: get the whole file")
    rows = [row_of[key] for key in validation[KEY]]
    return {column: [targets[column][row] for row in rows] for column in ("TARGET_B", "TARGET_D")}


def _assemble(table: Mapping[str, list[str]], file: str) -> Loaded:
    numbers = {name: _numbers(table[name], file, name) for name in (*NUMBERS, "TARGET_D")}
    with np.errstate(divide="ignore", invalid="ignore"):
        pgift = numbers["NGIFTALL"] / numbers["NUMPROM"]
    columns: dict[str, Values] = {name: Numeric(numbers[name]) for name in ("INCOME", "FISTDATE", "LASTDATE")}
    columns["PGIFT"] = Numeric(np.where(np.isfinite(pgift), pgift, np.nan))
    columns["RFA_2F"] = Numeric(numbers["RFA_2F"])
    columns["RFA_2A"] = _names(table["RFA_2A"], lambda cell: cell or None)
    columns["PEPSTRFL"] = _names(table["PEPSTRFL"], lambda cell: cell or "no")  # X marks a star; blank is none
    y = np.array(table["TARGET_B"], dtype=str)
    classes, counts = np.unique(y, return_counts=True)
    description = Description(
        name=f"kdd98 ({file})",
        source=f"KDD Cup 1998, {file}",
        rows=len(y),
        classes=tuple(classes.tolist()),
        class_counts=dict(zip(classes.tolist(), counts.tolist(), strict=True)),
        kinds={name: column.kind for name, column in columns.items()},
        n_missing=int(sum(column.is_missing.sum() for column in columns.values())),
        notes="Seven features; the paper does not name them, and the list is from memory.",
        papers=("Zadrozny & Elkan 2001",),
        outcomes={"TARGET_D": numbers["TARGET_D"]},
    )
    return Loaded(make_frame(columns), y, description)


def _numbers(cells: list[str], file: str, column: str) -> Floats:
    builder = NumericBuilder(BLANK)
    bad = builder.add(cells)
    if bad is not None:
        raise ValueError(f"{Place(file, bad + 2, column)}: {cells[bad]!r} is not a number: correct the line")
    return builder.parts[0]


def _names(cells: list[str], name_of: Callable[[str], str | None]) -> Values:
    return from_names(np.array([name_of(cell) for cell in cells], dtype=object))
