"""Recognises tables and model files by their first bytes, for errors if one is passed where the other is expected."""

from __future__ import annotations

from pathlib import Path

from petiole.cli.errors import WrongInput

HEADER_AT = 8  # a model file begins with the length of its header, which is JSON
LOOKED_AT = 4096


def refuse_table(path: str) -> None:
    """Raise an error if a table or the name of a data set is passed as a model."""
    file = Path(path)
    if not file.exists() and not file.suffix:
        raise WrongInput(f"{path}: there is no such file; the first argument is a model file, written by petiole fit")
    if file.is_file() and not is_model(first := _first_bytes(file)) and _is_table(file, first):
        raise WrongInput(
            f"{path}: is a table, not a model file; write one with petiole fit {path} --target COLUMN --output MODEL"
        )


def is_model(first: bytes) -> bool:
    """Whether a file that begins like this is a model of petiole."""
    return first[HEADER_AT : HEADER_AT + 1] == b"{" and b"petiole" in first


def refuse_model(path: Path) -> None:
    """Raise an error if a model is passed as a table."""
    if path.is_file() and is_model(_first_bytes(path)):
        raise WrongInput(f"{path}: is a model file, not a table; the model comes first and the rows second")


def _first_bytes(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(LOOKED_AT)


def _is_table(file: Path, first: bytes) -> bool:
    if first[:4] in (b"PAR1", b"ARRO", b"FEA1") or first[:2] == b"\x1f\x8b":
        return True
    lines = first.splitlines()[:2]
    # no zero bytes, which the length of a header has, and several lines or the ending of a table
    return b"\0" not in first[:64] and (len(lines) > 1 or file.suffix.lower() in (".csv", ".arff", ".txt", ".tsv"))
