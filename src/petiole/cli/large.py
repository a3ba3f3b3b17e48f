"""Fitting to files that are larger than memory: read in parts, several times, by ``petiole.distributed``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from petiole._table.number_texts import MISSING_MARKERS
from petiole.cli.errors import WrongInput
from petiole.cli.inspecting import inspect_parts, tell
from petiole.cli.io.labelled import Roles, unknown_column
from petiole.cli.methods import Fitted

LARGE_BYTES = 2_000_000_000  # of the table as numbers; smaller tables are read at once
_FORMATS = {".parquet": "parquet", ".arrow": "ipc", ".feather": "ipc", ".csv": "csv"}


def is_large(text: str) -> bool:
    """Whether a path is a folder, or a file that would take much memory."""
    path = Path(text)
    if path.is_dir():
        return True
    kind = _FORMATS.get(path.suffix.lower())
    if kind is None or not path.is_file():
        return False
    if kind != "parquet" or path.stat().st_size > LARGE_BYTES:
        return path.stat().st_size > LARGE_BYTES
    try:
        from pyarrow.parquet import read_metadata

        found = read_metadata(path)
    except (ImportError, OSError, ValueError):  # the error appears when it is read at once
        return False
    return bool(8 * found.num_rows * found.num_columns > LARGE_BYTES)


def fit_in_parts(model: Any, text: str, roles: Roles, memory_limit: str | None, quiet: bool) -> Fitted:
    """Fit a model to a file or a folder of files."""
    from petiole.distributed import fit
    from petiole.distributed.fitting import CLASSIFIERS, parse_bytes
    from petiole.distributed.sources import part_rows

    if type(model) not in CLASSIFIERS:
        raise WrongInput(
            f"a {type(model).__name__} cannot be fitted in parts; forests and single trees can: probability-forest, "
            "mob-esp, eb-pets, b-pets, pet"
        )
    if roles.ignore_case:
        raise WrongInput(
            f"--ignore-case {roles.ignore_case[0]}: is not possible for files that are read in parts; write the column "
            "in one spelling"
        )
    dataset = _open(text, roles)
    columns = dict(zip(dataset.schema.names, dataset.schema.types, strict=True))
    features = _features(columns, roles, text)
    limit = parse_bytes(memory_limit) or LARGE_BYTES
    n_rows, batch_rows = int(dataset.count_rows()), part_rows(len(columns), limit)
    left_out, warnings = inspect_parts(dataset, features, roles, label=text, n_rows=n_rows, batch_rows=batch_rows)
    tell(warnings, quiet)
    features = [name for name in features if name not in left_out]
    _set_categorical_features(model, columns, features, roles)
    started = time.perf_counter()
    fit(
        model,
        dataset,
        roles.target,
        sample_weight=roles.weight,
        features=features,
        memory_limit=limit,
        verbose=0 if quiet else 1,
    )
    seconds = time.perf_counter() - started
    model.encoder_.table_format = (model.encoder_.table_format or {}) | {"target": roles.target}
    return Fitted(n_rows, _kinds_of(model), seconds, left_out, warnings)


def _kinds_of(model: Any) -> dict[str, str]:
    """The columns to which a model was fitted, and their kinds."""
    names, categories = model.encoder_.feature_names, model.encoder_.categories
    return {name: "numeric" if of is None else "nominal" for name, of in zip(names, categories, strict=True)}


def _open(text: str, roles: Roles) -> Any:
    path = Path(text)
    kind = "parquet" if path.is_dir() else _FORMATS.get(path.suffix.lower())
    if kind is None or not path.exists():
        raise WrongInput(
            f"{text}: only Parquet, Arrow and CSV files and folders of Parquet are read in parts; leave --memory-limit "
            "out, or write one of these"
        )
    try:
        from pyarrow import ArrowInvalid, csv, dataset
    except ImportError as error:
        raise WrongInput("reading a table in parts needs pyarrow: pip install pyarrow") from error
    if kind == "csv":
        words = csv.ConvertOptions(
            null_values=sorted(roles.missing or MISSING_MARKERS),
            strings_can_be_null=True,
            decimal_point=roles.signs.decimal or ".",
        )
        encoding = csv.ReadOptions(encoding=roles.encoding or "utf8")
        cells = csv.ParseOptions(delimiter=roles.signs.separator or ",")
        kind = dataset.CsvFileFormat(convert_options=words, read_options=encoding, parse_options=cells)
    try:
        return dataset.dataset(text, format=kind)
    except (ArrowInvalid, OSError) as error:
        raise WrongInput(f"{text}: cannot be read: {str(error).splitlines()[0]}") from error


def _features(columns: dict[str, Any], roles: Roles, text: str) -> list[str]:
    if roles.target is None:
        raise WrongInput("--target: name the column with the class")
    for name, option in roles.options.items():
        if name not in columns:
            raise unknown_column(option, name, columns, text)
    left_out = {roles.target, roles.weight, *roles.ids, *roles.drop}
    features = [name for name in columns if name not in left_out]
    _refuse_dates(columns, features, text)
    return features


def _refuse_dates(columns: dict[str, Any], features: list[str], text: str) -> None:
    from pyarrow import types

    dates = [name for name in features if types.is_temporal(columns[name])]
    if dates:
        raise WrongInput(
            f"{text}: {', '.join(map(repr, dates))} hold{'s' if len(dates) == 1 else ''} dates or times, which are not "
            "read in parts: leave them out with --drop, or write numbers into the file"
        )


def _set_categorical_features(model: Any, columns: dict[str, Any], features: list[str], roles: Roles) -> None:
    """Columns of text are categorical by default; others only if an option says so."""
    from pyarrow import types

    texts = [name for name in features if _is_categorical(columns[name], types)]
    wrong = [name for name in roles.numeric if name in texts]
    if wrong:
        raise WrongInput(f"--numeric {wrong[0]}: is a column of {columns[wrong[0]]}; write numbers into the file")
    if roles.categorical:
        model.set_params(categorical_features=[name for name in features if name in texts or name in roles.categorical])


def _is_categorical(kind: Any, types: Any) -> bool:
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_boolean(kind))
