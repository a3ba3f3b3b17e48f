"""Reading ARFF, dense and sparse, as Weka writes it: quoted names, nominal declarations, "?" for missing.

SciPy's reader does not support sparse rows, strings and escaped quotes, and does not name the line of an error.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from petiole._table.date_texts import ISO, DateFormat, recognise_dates
from petiole.datasets.assembling import Assembler, Row
from petiole.datasets.cells import Cell, ColumnPlan, Place
from petiole.datasets.columns import Categorical, Dates, Values

QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
# A value, quoted or not, up to the comma that ends it. An unquoted one may hold blanks and quotes inside.
VALUE = re.compile(rf"\s*({QUOTED}|[^,'\"\s][^,]*?|)\s*(,|$)")
ATTRIBUTE = re.compile(rf"@attribute\s+({QUOTED}|[^\s'\"{{][^\s{{]*)\s*(.*)$", re.IGNORECASE | re.DOTALL)
SPARSE_ENTRY = re.compile(r"\s*(\d+)\s+(.*)$", re.DOTALL)
BRACE = re.compile(rf"{QUOTED}|\}}")
NUMERIC_TYPES = ("numeric", "real", "integer")
ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
# Letters of Java's patterns for dates, and what strptime calls them.
LETTERS = {
    **{"yyyy": "%Y", "yy": "%y", "MM": "%m", "M": "%m", "MMM": "%b", "MMMM": "%B", "dd": "%d", "d": "%d"},
    **{"HH": "%H", "H": "%H", "hh": "%I", "h": "%I", "mm": "%M", "ss": "%S", "SSS": "%f", "a": "%p", "Z": "%z"},
}
DATE_PART = re.compile(r"'[^']*'|[A-Za-z]+|[^A-Za-z']")
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
    """Read ARFF. Strings count as categories; ``kinds`` overrides what is declared.

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
    dated = {plan.name: plan.date for plan in plans if kinds.get(plan.name, plan.kind) == "date"}
    for name, format in dated.items():
        columns[name] = _as_dates(columns[name], format, Place(file, column=name))
    return columns


def _as_dates(column: Values, format: DateFormat | None, place: Place) -> Values:
    """Texts as dates, in the declared spelling or in one that is found."""
    assert isinstance(column, Categorical)
    if format is None:
        found = recognise_dates(dict.fromkeys(column.categories, 1))
        format = DateFormat(ISO) if found is None else found[0]
    days = [format.parse(text) for text in column.categories]
    if None in days:
        raise ValueError(f"{place}: {column.categories[days.index(None)]!r} is none of {format}")
    return Dates(np.array([*days, np.nan], dtype=np.float64)[column.codes])


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
    if kind == "date":
        return ColumnPlan(name, "date", date=_date_format(declared[len(kind) :].strip(), place))
    if kind == "relational":
        raise ValueError(
            f"{place}: attribute {name!r} is of type relational, which is a table in a cell: make columns of it, or "
            "remove it"
        )
    raise ValueError(f"{place}: attribute {name!r} has the type {declared!r}: use numeric, string or {{value, value}}")


def _date_format(declared: str, place: Place) -> DateFormat:
    """The spelling of dates that a pattern of Java declares; without one it is that of ISO 8601.

    >>> _date_format('"dd.MM.yyyy HH:mm"', Place("x.arff"))
    DateFormat(pattern='%d.%m.%Y %H:%M')
    """
    pattern = unquote(declared)
    parts = [run for part in DATE_PART.findall(pattern) for run in _runs(part)]
    spelled = "".join(LETTERS.get(part, part.strip("'") if part[0] == "'" else part) for part in parts)
    unknown = [part for part in parts if part.isalpha() and part not in LETTERS]
    if unknown:
        raise ValueError(
            f"{place}: the date pattern {pattern!r} has the letters {unknown[0]!r}; those that are read are "
            f"{', '.join(LETTERS)}"
        )
    return DateFormat(spelled) if pattern else DateFormat(ISO)


def _runs(part: str) -> list[str]:
    """Letters in runs of equal ones; quoted text and signs as they are.

    >>> _runs("ddMMyyyy"), _runs("'T'")
    (['dd', 'MM', 'yyyy'], ["'T'"])
    """
    return ["".join(run) for _, run in itertools.groupby(part)] if part.isalpha() else [part]


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
