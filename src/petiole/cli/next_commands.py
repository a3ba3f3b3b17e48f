"""The commands to run after a comparison."""

from __future__ import annotations

import shlex
from typing import Any

from petiole._table.number_texts import MISSING_MARKERS
from petiole.cli.io.labelled import Labelled, Roles
from petiole.study import METHODS

MODEL_FILE = "model.petiole"


def next_commands(study: Any, data: str, roles: Roles, table: Labelled, costs: str | None) -> list[str]:
    """Fit the recommended method, or the best of petiole's methods, to all rows; predict and decide."""
    chosen = study.result(study.recommended)
    own = not chosen.is_peer and chosen.name in METHODS
    method = chosen.name if own else study.petiole_winner
    if method not in METHODS:
        return []
    columns = _columns(roles)
    fit = ["petiole", "fit", data, *columns, "--method", method, "-o", MODEL_FILE]
    decide = [] if costs is None else ["--costs", costs]
    names = [part for name in table.ids for part in ("--id", _quoted(name))]
    predict = ["petiole", "predict", MODEL_FILE, "NEW.csv", *names, *decide, "-o", "decisions.csv"]
    return [shlex.join(fit), shlex.join(predict)]


def _columns(roles: Roles) -> list[str]:
    """The options about columns, as given by the user."""
    found = [] if roles.target is None else ["--target", roles.target]
    found += [] if roles.weight is None else ["--weight", roles.weight]
    named = (
        ("--id", roles.ids),
        ("--nominal", roles.categorical),
        ("--numeric", roles.numeric),
        ("--drop", roles.drop),
        ("--ignore-case", roles.ignore_case),
    )
    for option, names in named:
        if names:
            found += [option, ",".join(map(_quoted, names))]
    found += [] if roles.missing is None else ["--missing", _markers(roles.missing)]
    signs = (("--separator", roles.signs.separator), ("--decimal", roles.signs.decimal))
    for option, sign in (*signs, ("--thousands", roles.signs.thousands)):
        found += [] if sign is None else [option, sign]
    found += ["--drop-missing-target"] if roles.drop_missing_target else []
    found += [] if roles.bins is None else ["--target-bins", ",".join(f"{edge:g}" for edge in roles.bins)]
    return found + ([] if roles.encoding is None else ["--encoding", roles.encoding])


def _markers(missing: frozenset[str]) -> str:
    """The option's value: texts besides the usual ones, or instead of them after "=".

    >>> _markers(frozenset({"", "?", "x,y"}))
    '=?,"x,y"'
    """
    usual = frozenset(MISSING_MARKERS)
    more = missing >= usual
    return ("" if more else "=") + ",".join(map(_quoted, sorted(missing - (usual if more else {""}))))


def _quoted(name: str) -> str:
    """A name that contains a comma in double quotes, for options with several names."""
    return f'"{name}"' if "," in name else name
