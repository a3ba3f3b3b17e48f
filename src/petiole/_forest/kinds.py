"""Kinds of trees: a forest may consist of several, each with samples, leaves and components of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from petiole._tree.plan import AUTO

BEST = "best"


@dataclass(frozen=True)
class TreeKind:
    """What the trees of one kind have in common and those of other kinds have not.

    Attributes
    ----------
    max_features : None, "sqrt", "log2", int or float
        Features drawn at each node.
    splits : {"best", "oblique", "random"}
        The tests among which a split is chosen.

    >>> str(TreeKind("sqrt")), str(TreeKind(1, "random"))
    ('max_features=sqrt', 'max_features=1, splits=random')
    """

    max_features: Any = None
    splits: Any = BEST

    def __str__(self) -> str:
        """As in the names of components."""
        of_splits = "" if self.splits == BEST else f", splits={self.splits}"
        return f"max_features={self.max_features}{of_splits}"


# The kinds of a forest that is not told which to have.
DEFAULT_KINDS = (TreeKind("sqrt"), TreeKind(1, "random"))


def kinds_of(max_features: Any, splits: Any) -> tuple[TreeKind, ...]:
    """The kinds that two parameters ask for; each is one value for all kinds, or a tuple with a value for each.

    >>> kinds_of(("sqrt", 1), "best")
    (TreeKind(max_features='sqrt', splits='best'), TreeKind(max_features=1, splits='best'))
    >>> kinds_of(1, ("best", "random"))
    (TreeKind(max_features=1, splits='best'), TreeKind(max_features=1, splits='random'))
    >>> kinds_of("auto", "auto") == DEFAULT_KINDS
    True
    """
    if _is(max_features, AUTO) and _is(splits, AUTO):
        return DEFAULT_KINDS
    if _is(splits, AUTO):
        splits = BEST
    if _is(max_features, AUTO):
        max_features = "sqrt" if isinstance(splits, (tuple, list)) else ("sqrt", 1)
    given = {"max_features": max_features, "splits": splits}
    lengths = {name: len(value) for name, value in given.items() if isinstance(value, (tuple, list))}
    if len(set(lengths.values())) > 1:
        raise ValueError(
            f"max_features={max_features!r} and splits={splits!r} name {lengths['max_features']} and "
            f"{lengths['splits']} kinds of trees: give tuples of the same length, or one value for all kinds"
        )
    n_kinds = next(iter(lengths.values()), 1)
    columns = [value if name in lengths else [value] * n_kinds for name, value in given.items()]
    kinds = tuple(TreeKind(*pair) for pair in zip(*columns, strict=True))
    if not kinds or len({repr(kind) for kind in kinds}) < n_kinds:
        raise ValueError(
            f"max_features={max_features!r} with splits={splits!r}: must name one kind of trees or several that differ"
        )
    return kinds


def _is(value: Any, name: str) -> bool:
    return isinstance(value, str) and value == name
