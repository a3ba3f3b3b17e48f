"""Options for probabilities that are monotone along columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from petiole.cli.errors import WrongInput, nearest_of

if TYPE_CHECKING:
    from petiole.cli.io.labelled import Labelled

CONSTRAINTS = "Constraints"


@dataclass(frozen=True)
class ConstraintOptions:
    """Columns along which the probability of a class must not fall, or must not rise."""

    rising: Annotated[
        list[str] | None,
        typer.Option(
            "--rising",
            metavar="A,B",
            help="Columns along which the probability of a class must not fall.",
            rich_help_panel=CONSTRAINTS,
            show_default=False,
        ),
    ] = None
    falling: Annotated[
        list[str] | None,
        typer.Option(
            "--falling",
            metavar="A,B",
            help="Columns along which it must not rise.",
            rich_help_panel=CONSTRAINTS,
            show_default=False,
        ),
    ] = None
    monotone_class: Annotated[
        str | None,
        typer.Option(
            "--monotone-class",
            metavar="CLASS",
            help="The class whose probability that is; the second of two by default.",
            rich_help_panel=CONSTRAINTS,
            show_default=False,
        ),
    ] = None

    @property
    def are_given(self) -> bool:
        return bool(self.rising or self.falling)

    def check(self, model: Any, method: str, in_parts: bool) -> None:
        """Refuse what cannot be fitted, before the table is read."""
        if not self.are_given:
            if self.monotone_class is not None:
                raise WrongInput("--monotone-class: says whose probability is monotone; give --rising or --falling too")
            return
        if in_parts:
            raise WrongInput(
                f"{self._first}: a table that is read in parts is fitted without constraints; fit to a sample of it"
            )
        if _prefix(model) is None:
            raise WrongInput(
                f"{self._first}: {method} cannot keep to constraints; use --method probability-forest, boosted, "
                "eb-pets, b-pets, pet or dual"
            )

    def put_into(self, model: Any, table: Labelled) -> None:
        """Set the parameters of a model that is to be fitted to a table."""
        if not self.are_given:
            return
        signs = self._signs(list(table.columns))
        prefix, parameters = _prefix(model), model.get_params()
        by_name = hasattr(table.X, "columns")
        given: dict[str, Any] = {
            "monotonic_cst": signs if by_name else [signs.get(name, 0) for name in table.columns],
            "monotonic_class": self._label(table),
        }
        if parameters.get(f"{prefix}missing") == "fractional":
            given["missing"] = "separate"
        model.set_params(**{f"{prefix}{name}": value for name, value in given.items()})

    def lines(self) -> list[str]:
        """What was asked for, in words."""
        from petiole.cli.io.labelled import split_names

        of_class = "the second class" if self.monotone_class is None else self.monotone_class
        ways = (("falls", self.rising), ("rises", self.falling))
        said = [f"never {way} along {', '.join(split_names(names))}" for way, names in ways if names]
        return [f"the probability of {of_class} {' and '.join(said)}"] if said else []

    @property
    def _first(self) -> str:
        return "--rising" if self.rising else "--falling"

    def _signs(self, columns: list[str]) -> dict[str, int]:
        from petiole.cli.io.labelled import split_names

        signs: dict[str, int] = {}
        for option, values, sign in (("--rising", self.rising, 1), ("--falling", self.falling, -1)):
            for name in split_names(values):
                if name not in columns:
                    raise WrongInput(f"{option} {name}: the table has no such feature; {nearest_of(name, columns)}")
                if signs.get(name, sign) != sign:
                    raise WrongInput(f"{option} {name}: is also named by --rising; leave one of them out")
                signs[name] = sign
        return signs

    def _label(self, table: Labelled) -> Any:
        import numpy as np

        labels = np.unique(table.y).tolist()
        if self.monotone_class is None:
            if len(labels) > 2:
                raise WrongInput(
                    f"{self._first}: the target has {len(labels)} classes; say with --monotone-class which of them "
                    f"({', '.join(map(str, labels[:10]))})"
                )
            return None
        of_text = {str(label): label for label in labels}
        if self.monotone_class not in of_text:
            raise WrongInput(
                f"--monotone-class {self.monotone_class}: is not a class; {nearest_of(self.monotone_class, of_text)}"
            )
        return of_text[self.monotone_class]


def _prefix(model: Any) -> str | None:
    """What the names of the parameters begin with; None if a model has none."""
    names = model.get_params()
    return next((prefix for prefix in ("", "estimator__") if f"{prefix}monotonic_cst" in names), None)
