"""Reading ARFF, dense and sparse, as Weka writes it: quoted names, nominal declarations, "?" for missing.

SciPy's reader does not support sparse rows, strings and escaped quotes, and does not name the line of an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from petiole.datasets.assembling import Assembler, Row
from petiole.datasets.cells import Cell, ColumnPlan, Place
from petiole.datasets.columns import Values

QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
# A value, quoted or not, up to the comma that ends it. An unquoted one may hold blanks and quotes inside.
VALUE = re.compile(rf"\s*({QUOTED}|[^,'\"\s][^,]*?|)\s*(,|$)")
ATTRIBUTE = re.compile(rf"@attribute\s+({QUOTED}|[^\s'\"{{][^\s{{]*)\s*(.*)$", re.IGNORECASE | re.DOTALL)
SPARSE_ENTRY = re.compile(r"\s*(\d+)\s+(.*)$", re.DOTALL)
BRACE = re.compile(rf"{QUOTED}|\}}")
NUMERIC_TYPES = ("numeric", "real", "integer")
ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
MISSING: frozenset[Cell] = frozenset({None})  # a quoted '?' is a value


def looks_like_arff(text: str) -> bool:
    """Whether the first line that is neither blank nor a comment opens an ARFF header.

    >>> looks_like_arff("% toys\\n@RELATION toys")
    True
    """
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("%"):
            return line.lstrip().lower().startswith(("@relation", "@attribute"))
    return False


def read_arff(text: str, file: str, kinds: Mapping[str, str]) -> dict[str, Values]:
    """Read ARFF. Strings count as categories, dates are refused; ``kinds`` overrides what is declared.

    >>> text = "@relation r\\n@attribute a {x, 'y z'}\\n@attribute b real\\n@data\\n'y z',?\\n{1 2.5}\\n"
    >>> columns = read_arff(text, "r.arff", {})
    >>> columns["a"].labels(), columns["b"].values
    (array(['y z', 'x'], dtype='<U3'), array([nan, 2.5]))
    """
    lines = text.split("\n")
    plans, first = _read_header(lines, file)

    def rows() -> Iterator[Row]:
        return _read_rows(lines, first, plans, file)

    columns = Assembler(file, [_planned(plan, kinds) for plan in plans], MISSING, strip=False).assemble(rows)
    if not len(next(iter(columns.values()))):
        raise ValueError(f"{file}: there are no rows after @data: the file must have at least one")
    return columns


def _planned(plan: ColumnPlan, kinds: Mapping[str, str]) -> ColumnPlan:
    wanted = kinds.get(plan.name, plan.kind)
    return plan if wanted == plan.kind else ColumnPlan(plan.name, wanted)


def _read_header(lines: list[str], file: str) -> tuple[list[ColumnPlan], int]:
    """Return the declared columns, and the index of the line after @data."""
    plans: list[ColumnPlan] = []
    for index, line in enumerate(lines):
        place = Place(file, index + 1)
        stripped = line.strip()
        word = stripped.split(None, 1)[0].lower() if stripped else ""
        if not stripped or word.startswith("%") or word == "@relation":
            continue
        if word == "@data":
            if not plans:
                raise ValueError(f"{place}: @data comes before any @attribute: declare the columns first")
            return plans, index + 1
        if word != "@attribute":
            raise ValueError(
                f"{place}: {stripped[:40]!r} is not ARFF: expected @relation, @attribute, @data or a % comment"
            )
        plan = _read_attribute(stripped, place)
        if any(plan.name == other.name for other in plans):
            raise ValueError(f"{place}: two attributes are named {plan.name!r}: rename one")
        plans.append(plan)
    raise ValueError(f"{file}: there is no @data line: the file is cut short, or not ARFF")


def _read_attribute(line: str, place: Place) -> ColumnPlan:
    match = ATTRIBUTE.match(line)
    if match is None:
        raise ValueError(f"{place}: cannot read {line[:60]!r}: write @attribute name type, and quote names with blanks")
    name, declared = unquote(match[1]), match[2].strip()
    if declared.startswith("{"):
        return ColumnPlan(name, "nominal", _read_categories(declared, place))
    kind = declared.split(None, 1)[0].lower() if declared else ""
    if kind in NUMERIC_TYPES:
        return ColumnPlan(name, "numeric")
    if kind == "string":
        return ColumnPlan(name, "nominal")
    if kind in ("date", "relational"):
        raise ValueError(
            f"{place}: attribute {name!r} is of type {kind}, which is neither numeric nor nominal: "
            "convert it to numbers (a date to days since some date), or remove it"
        )
    raise ValueError(f"{place}: attribute {name!r} has the type {declared!r}: use numeric, string or {{value, value}}")


def _read_categories(declared: str, place: Place) -> tuple[str, ...]:
    body, closed, _ = _inside_braces(declared)
    if not closed:
        raise ValueError(f"{place}: the list of values is not closed: end it with }} on the same line")
    values = [unquote(value) for value in _split(body, place)] if body.strip() else []
    for index, value in enumerate(values):
        if value in values[:index]:
            raise ValueError(f"{place}: the value {value!r} is declared twice: remove one")
    return tuple(values)


def _inside_braces(text: str) -> tuple[str, bool, str]:
    """Return the text between { and the first } that is not quoted, whether there is one, and what follows."""
    for match in BRACE.finditer(text):
        if match[0] == "}":
            return text[1 : match.start()], True, text[match.end() :]
    return text[1:], False, ""


def _read_rows(lines: list[str], first: int, plans: list[ColumnPlan], file: str) -> Iterator[Row]:
    fillers = [_filler(plan) for plan in plans]
    for index in range(first, len(lines)):
        line = lines[index].strip()
        if not line or line.startswith("%"):
            continue
        place = Place(file, index + 1)
        if line.startswith("{"):
            yield index + 1, _sparse_row(line, plans, fillers, place)
        else:
            yield index + 1, _dense_row(line, plans, place)


def _dense_row(line: str, plans: Sequence[ColumnPlan], place: Place) -> list[Cell]:
    raw = _split(line, place)
    if len(raw) == len(plans) + 1 and re.fullmatch(r"\{[^}]*\}", raw[-1]):
        raise ValueError(f"{place}: weights of rows such as {raw[-1]} are not read: give them as a column")
    if len(raw) != len(plans):
        raise ValueError(
            f"{place}: {len(raw)} values, but {len(plans)} attributes are declared: quote values that hold a comma, "
            "and write ? for missing ones"
        )
    return [_cell(value) for value in raw]


def _sparse_row(line: str, plans: Sequence[ColumnPlan], fillers: list[Cell], place: Place) -> list[Cell]:
    """Values that a sparse row leaves out are 0, or the first declared value of a nominal attribute."""
    body, closed, rest = _inside_braces(line)
    if not closed or rest.strip():
        raise ValueError(f"{place}: a sparse row is one pair of braces, {{index value, index value}}: {line[:60]!r}")
    cells, seen = list(fillers), set()
    for entry in _split_entries(body, place) if body.strip() else ():
        match = SPARSE_ENTRY.match(entry)
        index = int(match[1]) if match else -1
        if match is None or index >= len(plans) or index in seen:
            raise ValueError(
                f"{place}: {entry.strip()!r}: each entry of a sparse row is an index from 0 to {len(plans) - 1}, once, "
                "and a value"
            )
        seen.add(index)
        cells[index] = _cell(match[2].strip())
    for index, plan in enumerate(plans):
        if plan.kind == "nominal" and not plan.categories and index not in seen:
            raise ValueError(
                f"{place}: the sparse row leaves out the string {plan.name!r}, which has no default: add it"
            )
    return cells


def _filler(plan: ColumnPlan) -> Cell:
    if plan.kind == "numeric":
        return "0"
    return plan.categories[0] if plan.categories else None


def _split_entries(body: str, place: Place) -> list[str]:
    """Split at commas that are not quoted."""
    parts = re.findall(rf"(?:{QUOTED}|[^,'\"])+", body)
    if sum(map(len, parts)) + len(parts) - 1 != len(body):
        raise ValueError(f"{place}: cannot read {body[:60]!r}: is a quote not closed?")
    return parts


def _split(text: str, place: Place) -> list[str]:
    """Split at commas that are not quoted; the values keep their quotes."""
    if "'" not in text and '"' not in text:
        return [value.strip() for value in text.split(",")]
    values, position = [], 0
    while True:
        match = VALUE.match(text, position)
        if match is None:
            raise ValueError(f"{place}: cannot read {text[position : position + 40]!r}: is a quote not closed?")
        values.append(match[1])
        if not match[2]:
            return values
        position = match.end()


def _cell(value: str) -> Cell:
    return None if value in ("?", "") else unquote(value)


def unquote(value: str) -> str:
    """Remove the quotes around a value and the backslashes in it.

    >>> unquote(r"'it\\'s'")
    "it's"
    """
    if len(value) < 2 or value[0] not in "'\"" or value[-1] != value[0]:
        return value
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match[1], match[1]), value[1:-1])
