"""What a user demands of columns: directions along which a probability must not fall, and columns that may interact."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from petiole._table.encoder import FeatureEncoder
from petiole._validation import did_you_mean

PAIRWISE, NO_INTERACTIONS = "pairwise", "no_interactions"


@dataclass(frozen=True)
class Constraints:
    """Demands on encoded columns.

    Attributes
    ----------
    signs : tuple of int
        For each column 1 if the probability must not fall as the column rises, -1 if it must not rise, 0 otherwise;
        empty if nothing is demanded of any.
    target : int
        Whose probability that is: the position of a class.
    groups : tuple of tuples of int
        The tests on a path are of columns of one group; empty if all columns may be together.
    """

    signs: tuple[int, ...] = ()
    target: int = 1
    groups: tuple[tuple[int, ...], ...] = ()

    @property
    def orders(self) -> bool:
        """Whether a probability must be monotone along a column."""
        return bool(self.signs)

    def may_interact(self, n_columns: int) -> npt.NDArray[np.bool_]:
        """Which pairs of columns may interact: those of a group.

        >>> Constraints(groups=((0,), (1, 2))).may_interact(3).astype(int).tolist()
        [[1, 0, 0], [0, 1, 1], [0, 1, 1]]
        """
        allowed = np.full((n_columns, n_columns), not self.groups)
        for group in self.groups:
            allowed[np.ix_(group, group)] = True
        np.fill_diagonal(allowed, True)
        return allowed


def check_constraints(monotonic_cst: Any, monotonic_class: Any, interaction_cst: Any) -> None:
    """Raise an error if constraints are invalid for any table."""
    if monotonic_cst is not None:
        _directions(monotonic_cst)
    elif monotonic_class is not None:
        raise ValueError(
            f"monotonic_class={monotonic_class!r}: says of which class the probability is monotone; say with "
            "monotonic_cst along which columns"
        )
    if interaction_cst is not None and not isinstance(interaction_cst, str):
        _listed_groups(interaction_cst)
    elif isinstance(interaction_cst, str) and interaction_cst not in (PAIRWISE, NO_INTERACTIONS):
        raise _bad_groups(interaction_cst)


def has_directions(monotonic_cst: Any) -> bool:
    """Whether a probability has to be monotone along a column.

    >>> has_directions({"debt": 1}), has_directions([0, 0]), has_directions(None)
    (True, False, False)
    """
    return monotonic_cst is not None and any(_directions(monotonic_cst))


def resolve_constraints(
    monotonic_cst: Any, monotonic_class: Any, interaction_cst: Any, encoder: FeatureEncoder, classes: npt.NDArray[Any]
) -> Constraints | None:
    """The constraints for the columns and classes of training data; None if nothing is demanded."""
    check_constraints(monotonic_cst, monotonic_class, interaction_cst)
    signs = () if monotonic_cst is None else _signs(monotonic_cst, encoder)
    target = 1
    if monotonic_cst is not None:
        target = _target(monotonic_class, classes)
    if len(classes) < 2 or not any(signs):
        signs = ()
    groups = () if interaction_cst is None else _groups(interaction_cst, encoder)
    return Constraints(signs, target, groups) if signs or groups else None


def _directions(value: Any) -> list[int]:
    """The directions that are given, whatever they are given for."""
    given = list(value.values()) if isinstance(value, Mapping) else value
    remedy = f"monotonic_cst={value!r}: must be a dict from column names to -1, 0 or 1, or one of these per column"
    if isinstance(given, (str, bytes)):
        raise ValueError(remedy)
    try:
        entries = list(given)
    except TypeError:
        raise ValueError(remedy) from None
    for entry in entries:
        if isinstance(entry, (bool, np.bool_)) or not isinstance(entry, Real) or float(entry) not in (-1, 0, 1):
            raise ValueError(remedy)
    return [int(entry) for entry in entries]


def _signs(value: Any, encoder: FeatureEncoder) -> tuple[int, ...]:
    directions = _directions(value)
    if isinstance(value, Mapping):
        of_column = {
            _position("monotonic_cst", name, encoder): sign for name, sign in zip(value, directions, strict=True)
        }
    else:
        if len(directions) != encoder.n_inputs:
            raise ValueError(
                f"monotonic_cst has {len(directions)} entries, but X has {encoder.n_inputs} columns: give -1, 0 or 1 "
                "for each column, or a dict from names to these"
            )
        of_column = dict(enumerate(directions))
    signs: list[int] = []
    for position, kind in enumerate(encoder.kinds):
        sign = of_column.get(position, 0)
        if sign and kind in ("nominal", "date"):
            what = "its categories have no order; code them as numbers" if kind == "nominal" else "give it as a number"
            raise ValueError(
                f"monotonic_cst: the column {_name(position, encoder)} is {_KINDS[kind]}: {what}, or leave it out"
            )
        signs += [sign] * encoder.widths[position]
    return tuple(signs)


_KINDS = {"nominal": "categorical", "date": "a date"}


def _target(monotonic_class: Any, classes: npt.NDArray[Any]) -> int:
    labels = classes.tolist()
    if monotonic_class is None:
        if len(labels) > 2:
            raise ValueError(
                f"monotonic_cst: y has the {len(labels)} classes {_shown(labels)}; say with monotonic_class of which "
                "of them the probability must be monotone"
            )
        return len(labels) - 1
    plain = monotonic_class.item() if isinstance(monotonic_class, np.generic) else monotonic_class
    if plain not in labels:
        raise ValueError(f"monotonic_class={monotonic_class!r}: must be one of the classes {_shown(labels)}")
    return int(labels.index(plain))


def _listed_groups(value: Any) -> list[list[Any]]:
    if isinstance(value, (bytes, Mapping)):
        raise _bad_groups(value)
    try:
        groups = [[group] if isinstance(group, (str, Integral)) else list(group) for group in value]
    except TypeError:
        raise _bad_groups(value) from None
    for group in groups:
        for member in group:
            if isinstance(member, bool) or not isinstance(member, (str, Integral)):
                raise _bad_groups(value)
    if not groups or not all(groups):
        raise _bad_groups(value)
    return groups


def _groups(value: Any, encoder: FeatureEncoder) -> tuple[tuple[int, ...], ...]:
    """Groups of encoded columns. As in scikit-learn, columns that are in no group are one more."""
    ends = np.cumsum(encoder.widths).tolist()
    columns_of = [tuple(range(end - width, end)) for end, width in zip(ends, encoder.widths, strict=True)]
    if isinstance(value, str):
        size = 2 if value == PAIRWISE else 1
        groups = [set(group) for group in itertools.combinations(range(encoder.n_inputs), min(size, encoder.n_inputs))]
    else:
        groups = [
            {_position("interaction_cst", member, encoder) for member in group} for group in _listed_groups(value)
        ]
        rest = set(range(encoder.n_inputs)).difference(*groups)
        groups += [rest] if rest else []
    if any(len(group) == encoder.n_inputs for group in groups):
        return ()  # all columns may be together
    return tuple(tuple(column for member in sorted(group) for column in columns_of[member]) for group in groups)


def _position(parameter: str, member: Any, encoder: FeatureEncoder) -> int:
    """Where a column is among the user's, by its name or number."""
    names = encoder.input_names
    if isinstance(member, str):
        if names is None:
            raise ValueError(
                f"{parameter} names the column {member!r}, but X has no column names: give positions, or a data frame"
            )
        if member not in names:
            hint = did_you_mean(member, names, f"the columns are {_shown(list(names))}")
            raise ValueError(f"{parameter}: X has no column {member!r}; {hint}")
        return names.index(member)
    if not 0 <= int(member) < encoder.n_inputs:
        raise ValueError(
            f"{parameter}: there is no column {member}; X has {encoder.n_inputs}, use 0 to {encoder.n_inputs - 1}"
        )
    return int(member)


def _bad_groups(value: Any) -> ValueError:
    return ValueError(
        f"interaction_cst={value!r}: must be 'pairwise', 'no_interactions', or groups of column names or positions "
        "such as [[0, 1], [2, 3]]"
    )


def _name(position: int, encoder: FeatureEncoder) -> str:
    return repr(encoder.input_names[position]) if encoder.input_names is not None else str(position)


def _shown(labels: Sequence[Any]) -> str:
    shown = ", ".join(map(repr, labels[:10]))
    return f"[{shown}, ...]" if len(labels) > 10 else f"[{shown}]"
