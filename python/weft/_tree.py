"""Trees of tensors: dicts, lists, tuples, named tuples and dataclasses whose leaves are tensors, or anything else."""
from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ._array import array
from ._core import Tensor

__all__ = ["tree_leaves", "tree_map"]

Structure = Any  # hashable: what is left of a tree without its tensors


class Leaf:
    """The place of a tensor in a structure."""

    def __repr__(self) -> str:
        return "*"


LEAF = Leaf()


class Static:
    """Something that is no tensor, as a part of a structure: equal where it equals, or is the same object."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Static) or type(self.value) is not type(other.value):
            return False
        if isinstance(self.value, float):  # -0.0 is another number than 0.0, and NaN the same as NaN
            same = self.value == other.value and math.copysign(1, self.value) == math.copysign(1, other.value)
            return same or (math.isnan(self.value) and math.isnan(other.value))
        try:
            return self.value is other.value or bool(self.value == other.value)
        except Exception:
            return False

    def __hash__(self) -> int:
        try:
            return 0 if isinstance(self.value, float) and math.isnan(self.value) else hash(self.value)
        except TypeError:
            return hash(type(self.value))

    def __repr__(self) -> str:
        return repr(self.value)


def _is_dataclass(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _walk(value: Any, leaves: list[Tensor], arrays: bool) -> Structure:
    if isinstance(value, Tensor):
        leaves.append(value)
        return LEAF
    if isinstance(value, dict):
        return (dict, tuple(value), tuple([_walk(v, leaves, arrays) for v in value.values()]))
    if isinstance(value, (list, tuple)):
        return (type(value), None, tuple([_walk(v, leaves, arrays) for v in value]))
    if arrays and isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        leaves.append(array(value))
        return LEAF
    if _is_dataclass(value):
        names = tuple(f.name for f in dataclasses.fields(value))
        return (type(value), names, tuple([_walk(getattr(value, n), leaves, arrays) for n in names]))
    return Static(value)


def flatten(tree: Any, arrays: bool = False) -> tuple[list[Tensor], Structure]:
    """The tensors of a tree in order, and what is left of it. With `arrays`, numpy's arrays become tensors."""
    leaves: list[Tensor] = []  # not in a closure that calls itself: such a cycle would keep the tensors of a trace alive
    return leaves, _walk(tree, leaves, arrays)


def unflatten(structure: Structure, leaves: Iterator[Any]) -> Any:
    """The tree again, with other leaves."""
    if structure is LEAF:
        return next(leaves)
    if isinstance(structure, Static):
        return structure.value
    kind, names, parts = structure
    values = [unflatten(part, leaves) for part in parts]
    if kind is dict:
        return dict(zip(names, values, strict=True))
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        made = object.__new__(kind)
        for name, value in zip(names, values, strict=True):
            object.__setattr__(made, name, value)
        return made
    if hasattr(kind, "_fields"):
        return kind(*values)
    return kind(values)


def tree_leaves(tree: Any) -> list[Tensor]:
    """The tensors of a tree, in order."""
    return flatten(tree)[0]


def _beside(structure: Structure, tree: Any, path: str) -> list[Tensor]:
    """The tensors of a tree that has a structure, in its order: dicts may have their keys in another one."""
    if isinstance(structure, Static):
        return []
    if structure is LEAF:
        if not isinstance(tree, Tensor):
            raise ValueError(f"tree_map(): another tree has a {type(tree).__name__} where the first has a tensor, at {path or 'its top'}.")
        return [tree]
    kind, names, parts = structure
    fits, items = type(tree) is kind, []
    if kind is dict:
        fits = isinstance(tree, dict) and set(tree) == set(names)
        items = [(f"{path}[{n!r}]", tree[n]) for n in names] if fits else []
    elif fits and names is not None:
        items = [(f"{path}.{n}", getattr(tree, n)) for n in names]
    elif fits:
        items = [(f"{path}[{i}]", value) for i, value in enumerate(tree)]
    if not fits or len(items) != len(parts):
        of = f"keys {sorted(map(str, tree))}" if isinstance(tree, dict) else f"a {type(tree).__name__}"
        raise ValueError(f"tree_map(): the trees differ at {path or 'their top'}: another one has {of}, the first {_told(kind, names, parts)}.")
    return [leaf for part, (place, value) in zip(parts, items, strict=True) for leaf in _beside(part, value, place)]


def _told(kind: Any, names: Any, parts: Any) -> str:
    return f"keys {sorted(map(str, names))}" if kind is dict else f"a {kind.__name__} of {len(parts)}"


def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """A tree of the same structure with what a function makes of each tensor, and of those at its place in other trees."""
    leaves, structure = flatten(tree)
    columns = [leaves, *(_beside(structure, other, "") for other in others)]
    return unflatten(structure, iter([function(*row) for row in zip(*columns, strict=True)]))
