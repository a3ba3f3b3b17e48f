"""The components and members of a pool, from the parameters of a classifier."""

from __future__ import annotations

from typing import Any

from petiole._estimates.components import Component, Votes, make_components
from petiole._estimates.members import AUTO_MEMBERS, FOREST, KERNEL, MEMBERS, without_kernels
from petiole._forest.plan import tree_kinds
from petiole._table.constraints import Constraints
from petiole._tree.plan import AUTO
from petiole._validation import check_choice


def pool_components(model: Any) -> tuple[Component, ...]:
    """The components of the model's parameters."""
    return make_components(model.components, float(model.coarse_rows))


def kind_names(model: Any, n_kinds: int) -> list[str]:
    """What the names of leaf statistics end with, for each kind of trees."""
    kinds = tree_kinds(model)[:n_kinds]
    return [""] if len(kinds) == 1 else [f", {kind}" for kind in kinds]


def member_names(model: Any, constraints: Constraints | None = None) -> tuple[str, ...]:
    """The members of the pool beside the forest, without those that cannot keep to the constraints."""
    if isinstance(model.members, str) and model.members == AUTO:
        return AUTO_MEMBERS if constraints is None else without_kernels(AUTO_MEMBERS)
    names = tuple(model.members) if isinstance(model.members, (tuple, list)) else ()
    for name in names:
        check_choice("members", name, (FOREST, *MEMBERS))
    if FOREST not in names or len(set(names)) < len(names):
        raise ValueError(
            f"members={model.members!r}: must be 'auto' or a tuple of different names from {(FOREST, *MEMBERS)}, "
            f"{FOREST!r} among them"
        )
    return tuple(name for name in MEMBERS if name in names)


def check_constrainable(model: Any) -> None:
    """Raise ValueError if what was asked for cannot keep to constraints."""
    if model.monotonic_cst is None and model.interaction_cst is None:
        return
    if KERNEL in member_names(model) and model.members != AUTO:
        raise ValueError(
            f"members={model.members!r}: kernels are functions of all columns together, which keep to no constraint; "
            f"leave {KERNEL!r} out with monotonic_cst or interaction_cst"
        )
    if set(model.components) == {Votes.name}:
        raise ValueError(
            f"components={tuple(model.components)!r}: leaves keep other rows for each winner of a vote, so that no "
            "order of leaves makes this monotone; add 'raw', 'eb', 'oob' or 'coarse' with monotonic_cst or "
            "interaction_cst"
        )
