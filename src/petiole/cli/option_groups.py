"""Options that belong together, as one parameter of a command: a frozen dataclass whose fields the user may give."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from petiole.cli import options

if TYPE_CHECKING:
    from petiole.cli.io.labelled import Roles

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class CellOptions:
    """How the cells of a table are read, and which of its columns are not features."""

    ids: options.Ids = None
    drop: options.Drop = None
    missing: options.Missing = None
    encoding: options.Encoding = None
    separator: options.Separator = None
    decimal: options.Decimal = None
    thousands: options.Thousands = None

    @property
    def roles(self) -> Roles:
        """The roles that the options give to columns."""
        from petiole.cli.io.labelled import make_roles

        values = {field.name: getattr(self, field.name) for field in fields(self)}
        signs = tuple(values.pop(name) for name in ("separator", "decimal", "thousands"))
        return make_roles(**values, signs=signs)


@dataclass(frozen=True)
class TargetOption:
    """The column of labels, which help names first."""

    target: options.Target = None


@dataclass(frozen=True)
class LabelOptions(CellOptions, TargetOption):
    """How the cells of a table with labels are read."""

    weight: options.Weight = None
    drop_missing_target: options.DropMissingTarget = False


@dataclass(frozen=True)
class BinnedLabelOptions(LabelOptions):
    """The same if labels may be numbers that are cut into classes."""

    bins: options.TargetBins = None


@dataclass(frozen=True)
class TrainingOptions(BinnedLabelOptions):
    """The same for a training table, where the user may set the kinds of columns."""

    categorical: options.Nominal = None
    numeric: options.Numeric = None
    ignore_case: options.IgnoreCase = None


SETS = "Prediction sets"


@dataclass(frozen=True)
class SetOptions:
    """What a model keeps for prediction sets."""

    sets: Annotated[
        str | None,
        typer.Option(
            "--sets",
            metavar="NAME",
            help="Calibrate prediction sets on out-of-bag or held-out rows, for predict --sets: lac (the smallest "
            "sets), aps or raps (larger sets for rows that are hard).",
            rich_help_panel=SETS,
            show_default=False,
        ),
    ] = None
    sets_by: Annotated[
        list[str] | None,
        typer.Option(
            "--sets-by",
            metavar="A,B",
            help="Columns whose values are groups; sets are calibrated in each group by itself.",
            rich_help_panel=SETS,
            show_default=False,
        ),
    ] = None
    sets_per_class: Annotated[
        bool,
        typer.Option(
            "--sets-per-class",
            metavar="",
            help="Calibrate the sets class by class.",
            rich_help_panel=SETS,
            show_default=False,
        ),
    ] = False

    def around(self, model: Any, seed: int) -> Any:
        """The model to fit: the one given, or one that makes prediction sets of its answers."""
        if self.sets is None:
            from petiole.cli.errors import WrongInput

            if self.sets_by or self.sets_per_class:
                raise WrongInput("--sets-by and --sets-per-class: are for prediction sets; add --sets lac")
            return model
        from petiole.cli.io.labelled import split_names
        from petiole.conformal import ConformalClassifier
        from petiole.conformal.scores import METHODS

        if self.sets not in METHODS:
            from petiole.cli.errors import WrongInput, nearest_of

            raise WrongInput(f"--sets {self.sets}: is not known; {nearest_of(self.sets, METHODS)}")
        by = split_names(self.sets_by)
        return ConformalClassifier(
            model, method=self.sets, by=list(by) or None, per_class=self.sets_per_class, random_state=seed
        )


Methods = Annotated[
    str,
    typer.Option(
        "--methods",
        "-m",
        metavar="A,B",
        help="auto (the methods that suit the table), all, or a list of names such as auto,lightgbm,catboost.",
    ),
]
Extra = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="MODULE:OBJECT",
        help="Also compare an estimator of your own: an object of a Python module, or a function that makes it.",
        show_default=False,
    ),
]
Test = Annotated[
    str | None,
    typer.Option(
        "--test",
        metavar="DATA",
        help="Score the methods on these rows instead of by cross-validation.",
        show_default=False,
    ),
]
Folds = Annotated[
    int | None,
    typer.Option("--folds", metavar="N", min=2, help="Number of folds of the cross-validation.", show_default=False),
]
Repeats = Annotated[
    int | None,
    typer.Option(
        "--repeats", metavar="N", min=1, help="Number of repeats of the cross-validation.", show_default=False
    ),
]


@dataclass(frozen=True)
class ComparisonOptions:
    """The methods to compare, and the rows."""

    methods: Methods = "auto"
    extra: Extra = None
    test: Test = None
    folds: Folds = None
    repeats: Repeats = None


def _written(name: str, *more: str, metavar: str = "FILE", help: str) -> Any:
    return typer.Option(name, *more, metavar=metavar, help=help, rich_help_panel=options.OUTPUT, show_default=False)


@dataclass(frozen=True)
class ComparisonOutputs:
    """The files that a comparison writes."""

    save: Annotated[
        str | None,
        _written(
            "--save",
            help="Write a model file with the method that is recommended, or the best of petiole's own, fitted to all "
            "rows.",
        ),
    ] = None
    report: Annotated[str | None, _written("--report", help="Write an HTML report with tables and charts.")] = None
    by: Annotated[
        list[str] | None,
        _written(
            "--by",
            "--groups",
            metavar="A,B",
            help="Columns by which the report groups rows: predicted and observed shares, calibration, and costs.",
        ),
    ] = None
    output: Annotated[str | None, _written("--output", "-o", help="Write the table to CSV, Parquet or JSON.")] = None


CARD = "Model card"
CARD_ENDINGS = (".html", ".htm", ".md", ".markdown")


def _on_card(name: str, *more: str, metavar: str = "TEXT", help: str) -> Any:
    return typer.Option(name, *more, metavar=metavar, help=help, rich_help_panel=CARD, show_default=False)


@dataclass(frozen=True)
class CardOptions:
    """What a model card says besides what is in the model file."""

    card: Annotated[
        str | None, _on_card("--card", metavar="FILE", help="Write a model card, as .html or .md by its ending.")
    ] = None
    purpose: Annotated[str | None, _on_card("--purpose", help="What the model is for, and what not.")] = None
    owner: Annotated[str | None, _on_card("--owner", metavar="NAME", help="Who is responsible for it.")] = None
    notes: Annotated[
        list[str] | None,
        _on_card("--note", metavar="NAME=TEXT", help="A note, such as 'Data=loans of 2025'; may be repeated."),
    ] = None
    by: Annotated[
        list[str] | None,
        _on_card("--groups", "--by", metavar="A,B", help="Columns all of whose groups are on the card."),
    ] = None
    test: Annotated[
        str | None,
        _on_card("--test", metavar="DATA", help="Labelled rows that the model has not seen, for scores and groups."),
    ] = None
    target: Annotated[
        str | None,
        _on_card(
            "--target",
            "-t",
            metavar="COLUMN",
            help="The column of labels in these rows; by default as at the fit.",
        ),
    ] = None

    def check(self) -> None:
        """Refuse options that say something about a card without a card, and cards that cannot be written."""
        from pathlib import Path

        from petiole.cli.errors import WrongInput

        for option in fields(self):
            if self.card is None and getattr(self, option.name) is not None:
                name = {"notes": "note", "by": "groups"}.get(option.name, option.name)
                raise WrongInput(f"--{name}: is for a model card; add --card card.html")
        if self.target is not None and self.test is None:
            raise WrongInput(
                f"--target {self.target}: is the column of labels of the rows of --test, which is not there"
            )
        if self.card is not None and Path(self.card).suffix.lower() not in CARD_ENDINGS:
            raise WrongInput(f"--card {self.card}: must end in .html or .md")

    @property
    def named_notes(self) -> dict[str, str]:
        """The notes by name."""
        from petiole.cli.errors import WrongInput

        found = {}
        for entry in self.notes or ():
            name, equals, words = entry.partition("=")
            if not equals or not name.strip() or not words.strip():
                raise WrongInput(f"--note {entry}: write NAME=TEXT, such as 'Data=loans of 2025'")
            found[name.strip()] = words.strip()
        return found


def with_option_groups(function: Function) -> Function:
    """A command whose parameters of dataclasses are options for each of their fields.

    >>> @dataclass(frozen=True)
    ... class Size:
    ...     width: int = 1
    ...     height: int = 2
    >>> @with_option_groups
    ... def area(size: Size, times: int = 1) -> int:
    ...     return size.width * size.height * times
    >>> area(height=5, times=2), str(inspect.signature(area))
    (10, '(*, width: int = 1, height: int = 2, times: int = 1) -> int')
    """
    hints = get_type_hints(function, include_extras=True)
    signature = inspect.signature(function)
    groups: dict[str, Any] = {
        name: hint for name, hint in hints.items() if name in signature.parameters and is_dataclass(hint)
    }

    @functools.wraps(function)
    def command(**given: Any) -> Any:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group) if field.name in given})
        return function(**given)

    spread = [
        one
        for name, parameter in signature.parameters.items()
        for one in (_parameters_of(groups[name]) if name in groups else [parameter.replace(annotation=hints[name])])
    ]
    only_by_name = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in spread]
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        only_by_name, return_annotation=hints.get("return", inspect.Signature.empty)
    )
    command.__annotations__ = {one.name: one.annotation for one in only_by_name}
    return command  # type: ignore[return-value]


def _parameters_of(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in fields(group)
    ]
