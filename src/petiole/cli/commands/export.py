"""``petiole export``: a model in another form, for programs without petiole or for people."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from petiole.cli import options
from petiole.cli.errors import WrongInput, errors_in_one_line
from petiole.cli.io.sinks import STANDARD_OUTPUT, complete_file
from petiole.cli.screen import note, warnings_as_notes

FORMS = {".onnx": "onnx", ".c": "c", ".h": "c", ".txt": "text", ".png": "picture", ".svg": "picture", ".pdf": "picture"}


@errors_in_one_line
def export(
    model: options.Model,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="ONNX (.onnx), C (.c), or a single tree as text (.txt, or - ) or picture (.png, .svg, .pdf).",
            show_default=False,
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FORM",
            help="onnx, c, text or picture; by default according to the file's name.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Prefix of the functions in C; by default the file's name.",
            show_default=False,
        ),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(
            "--depth",
            metavar="N",
            min=0,
            help="Number of levels of the tree to show, as text or picture.",
            show_default=False,
        ),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Write a model as ONNX or C, or a single tree as text or a picture."""
    from petiole.cli.methods import load_model

    form = _form(to, output)
    with warnings_as_notes(quiet):
        fitted = load_model(model)
        content = _content(fitted, form, output, name, depth)
        if output == STANDARD_OUTPUT:
            typer.echo(content, nl=False)
            return
        with complete_file(output) as file:
            file.write(content)
        if form == "onnx" and _loses_rows(content):
            note(
                "note: where a value is missing, or a category is new to a node of a tree, the graph gives NaN; "
                "petiole itself divides such rows over branches",
                quiet,
            )
        note(f"wrote {output} ({_size(content, form)})", quiet)


def _form(to: str | None, output: str) -> str:
    forms = sorted(set(FORMS.values()))
    form = to or ("text" if output == STANDARD_OUTPUT else FORMS.get(Path(output).suffix.lower()))
    if form not in forms:
        asked = f"--to {to}" if to else f"--output {output}"
        raise WrongInput(f"{asked}: add --to {', '.join(forms)}, or end the file's name with {', '.join(FORMS)}")
    return form


def _content(model: Any, form: str, output: str, name: str | None, depth: int | None) -> bytes:
    from petiole.export import ExportError, to_c, to_onnx

    try:
        if form == "onnx":
            return to_onnx(model)
        if form == "c":
            return to_c(model, name=name or c_name(Path(output).stem)).encode("utf-8")
    except ExportError as error:
        raise WrongInput(f"{error.reason} {_advice(error, form)}".rstrip()) from None
    if not hasattr(model, "tree_"):
        raise WrongInput(f"{form}: is for a single tree (fit --method pet), and the model is a {type(model).__name__}")
    if form == "text":
        return (model.export_text(max_depth=depth).rstrip("\n") + "\n").encode("utf-8")
    return _picture(model, Path(output).suffix.lstrip(".").lower() or "png", depth)


def _loses_rows(graph: bytes) -> bool:
    """Whether some rows get NaN from an ONNX graph."""
    import onnx

    from petiole.export.onnx_model import LOST_ROWS

    return any(entry.key == LOST_ROWS for entry in onnx.load_model_from_string(graph).metadata_props)


def _advice(error: Any, form: str) -> str:
    """What to do, in terms of the command line: the methods or settings whose models can be written."""
    from petiole.study import METHODS

    own = (name for name, method in METHODS.items() if not method.is_peer)
    names = [name for name in own if type(METHODS[name].make(0, 1)) in error.kinds]
    if names:
        other = ", or export ONNX (-o FILE.onnx)" if form == "c" else ""
        return f"Fit with --method {', '.join(names[:-1])} or {names[-1]}{other}"
    return f"Fit with {' or '.join(f'--set {setting}' for setting in error.settings)}" if error.settings else ""


def c_name(text: str) -> str:
    """A name that C allows.

    >>> c_name("3rd model")
    'm_3rd_model'
    """
    plain = re.sub(r"\W", "_", text, flags=re.ASCII) or "petiole_model"
    return f"m_{plain}" if plain[0].isdigit() else plain


def _picture(model: Any, kind: str, depth: int | None) -> bytes:
    import io

    try:
        import matplotlib
    except ImportError:
        raise WrongInput("picture: needs matplotlib: pip install matplotlib") from None
    matplotlib.use("Agg")
    axes = model.plot() if depth is None else model.plot(max_depth=depth)
    buffer = io.BytesIO()
    axes.figure.savefig(buffer, format=kind if kind in ("png", "svg", "pdf") else "png", bbox_inches="tight", dpi=150)
    return buffer.getvalue()


def _size(content: bytes, form: str) -> str:
    """Bytes of the file, and of the tables in a C file, which matter on small machines."""
    size = f"{len(content):,} bytes"
    if form != "c":
        return size
    n_bytes = int(content.split(b"Tables: ", 1)[1].split(b" bytes", 1)[0])
    return f"{size}, tables {n_bytes:,} bytes"
