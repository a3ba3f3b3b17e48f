"""A forest: many trees packed in one object, and operations on all of them."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from petiole import _core
from petiole._tree.tree import Tree
from petiole.files import checks, packed
from petiole.files.checks import fields
from petiole.files.savable import Savable

Floats = npt.NDArray[np.float64]

# The arrays of the core's state with the splits of a forest, and the numbers of their entries per tree.
_SPLITS = ("feature", "threshold", "n_children", "child_nodes", "missing_branch", "n_categories", "category_branch")

# Those that only forests with oblique splits have.
_PROJECTION = ("n_terms", "projection_feature", "projection_weight")

_BOOTSTRAPS: dict[str | bool, _core.Bootstrap] = {
    "stratified": _core.Bootstrap.stratified,
    "plain": _core.Bootstrap.plain,
    False: _core.Bootstrap.none,
}


class Forest(Savable, Sequence[Tree]):
    """The trees of an ensemble, about ten bytes per node; ``forest[i]`` unpacks a :class:`Tree`.

    Inner nodes' counts are the sums of their leaves', so only leaves are kept, each with the classes that occur there.
    """

    _saved = fields(forest=packed.check_forest, n_features=checks.whole(0, 2**31 - 1))

    def __init__(self, core: _core.Forest, n_features: int) -> None:
        self.core = core
        self.n_features = n_features

    @classmethod
    def of(cls, trees: Iterable[Tree], prior: Floats) -> Forest:
        """Pack trees; ``prior`` is each class's weight in the training set, which decides ties between votes."""
        packed = list(trees)
        arrays = [tree.arrays | {"oob_class_counts": tree.oob_class_counts} for tree in packed]
        core = _core.Forest.from_trees(arrays, len(prior), np.ascontiguousarray(prior, dtype=float))
        return cls(core, packed[0].n_features)

    @classmethod
    def joined(cls, forests: Sequence[Forest]) -> Forest:
        """All trees of several forests, in order."""
        return cls(_core.Forest.joined([forest.core for forest in forests]), forests[0].n_features)

    def __len__(self) -> int:
        return int(self.core.n_trees)

    @overload
    def __getitem__(self, index: int) -> Tree: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Tree]: ...
    def __getitem__(self, index: int | slice) -> Tree | Sequence[Tree]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(f"tree {index}: there are {len(self)}")
        return Tree._trusted(n_features=self.n_features, **self.core.tree(position))

    def __iter__(self) -> Iterator[Tree]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"Forest({len(self)} trees, {self.core.n_classes} classes)"

    def __getstate__(self) -> dict[str, Any]:
        return {"forest": self.core.state(), "n_features": self.n_features}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(_core.Forest.from_state(state["forest"]), state["n_features"])  # type: ignore[misc]

    def _check_state(self, state: dict[str, Any]) -> None:
        packed.check_forest_fits(state["forest"], state["n_features"])
        vars(self)["facts"] = packed.facts_of(state["forest"])

    @functools.cached_property
    def facts(self) -> packed.Facts:
        """The facts that model files compare with other parts of a model."""
        return packed.facts_of(self.core.state())

    @functools.cached_property
    def structure(self) -> bytes:
        """Equal for forests with the same splits, regardless of counts."""
        state = self.core.state()
        digest = hashlib.blake2b(digest_size=16)
        for name in (*_SPLITS, *(name for name in _PROJECTION if name in state)):
            digest.update(np.ascontiguousarray(state[name]).view(np.uint8).data)
        return digest.digest()

    @property
    def is_oblique(self) -> bool:
        """Whether a split of a tree tests a sum of columns."""
        return bool(self.core.is_oblique)

    @functools.cached_property
    def router(self) -> _core.ForestRouter:
        """The core's object that sends rows down all trees."""
        return _core.ForestRouter(self.core, 1)


def bootstrap_kind(bootstrap: str | bool) -> _core.Bootstrap:
    """The core's name for a kind of bootstrap."""
    return _BOOTSTRAPS[bootstrap]
