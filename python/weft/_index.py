"""x[…] and x[…] = v, as numpy has them.

Integers, slices, None and Ellipsis are views. Index arrays and masks take rows: which rows is asked of numpy, on the host, so that every
combination means what it means there. In a function that is being compiled indices have no values yet: there, tensors of integers
are looked up on the device, where an index outside gives zeros.
"""
from __future__ import annotations

import operator
from math import isfinite, prod
from typing import Any

import numpy as np

from . import _core
from ._array import MOST_DIMENSIONS, array, asarray, to_numpy
from ._core import Tensor, functions
from ._types import boolean, int32, int64

Basic = int | slice | None
LONGEST = 2**63


def _is_array(item: Any) -> bool:
    if isinstance(item, Tensor):
        return item.ndim > 0 or not item.dtype.is_integer or _core.tracing()
    return isinstance(item, (list, tuple, np.ndarray, bool, np.bool_)) or (hasattr(item, "__array__") and not hasattr(item, "__index__"))


def _host_index(item: Any) -> Any:
    """An index as numpy takes it."""
    if isinstance(item, Tensor):
        item = to_numpy(item)
    elif isinstance(item, (list, tuple)):
        item = np.asarray([to_numpy(i) if isinstance(i, Tensor) else i for i in item])
        if item.size == 0:
            item = item.astype(np.intp)
    if isinstance(item, np.ndarray) and item.dtype.kind not in "biu":
        raise IndexError(f"An index holds {item.dtype}; it can hold integers or booleans.")
    return item


def _place(item: Any) -> int:
    try:
        return operator.index(item)
    except TypeError:
        raise IndexError(f"{item!r} is no index; there are integers, slices, None, Ellipsis, and arrays of integers or booleans.") from None


def _used(item: Any) -> int:
    """How many dimensions an index goes along."""
    if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)):
        return 0
    if isinstance(item, (np.ndarray, Tensor)) and item.dtype in (np.bool_, boolean):
        return item.ndim
    return 1


def _expand(x: Tensor, index: Any) -> list[Any]:
    """One index for each dimension. Of an Ellipsis only one for no dimensions is left: between arrays it keeps them apart, as in numpy."""
    items = list(index) if isinstance(index, tuple) else [index]
    items = [_host_index(i) if isinstance(i, (list, tuple)) else i for i in items]
    places = [n for n, item in enumerate(items) if item is Ellipsis]
    if len(places) > 1:
        raise IndexError("There is more than one Ellipsis in an index.")
    used = sum(_used(item) for item in items)
    if used > x.ndim:
        raise IndexError(f"There are {used} indices for a tensor of shape {x.shape}.")
    rest = [slice(None)] * (x.ndim - used)
    if places:
        apart = any(_is_array(item) for item in items) and not rest
        return items[:places[0]] + ([Ellipsis] if apart else rest) + items[places[0] + 1:]
    return items + rest


def _checked(place: int, extent: int, axis: int) -> int:
    if not -extent <= place < extent:
        raise IndexError(f"There is no element {place} along axis {axis}, which has {extent}.")
    return place % extent


def _basic(x: Tensor, items: list[Any]) -> Tensor:
    """Integers, slices and None."""
    shape: list[int] = []
    axis = 0
    for item in items:
        if item is None:
            shape.append(1)
            continue
        extent = x.shape[axis]
        if isinstance(item, slice):
            start, stop, step = item.indices(extent)
            count = len(range(start, stop, step))
            if step < 0:
                if count > 0:
                    last = start + (count - 1) * step
                    x = functions.slice(x, axis, last, count, -step)
                    x = functions.flip(x, axis) if count > 1 else x
                else:
                    x = functions.slice(x, axis, 0, 0)
            elif count != extent:
                x = functions.slice(x, axis, start if count else 0, count, step)
            shape.append(count)
        else:
            x = functions.slice(x, axis, _checked(_place(item), extent, axis), 1)
        axis += 1
    if len(shape) > MOST_DIMENSIONS:
        raise IndexError(f"x[…] of the shape {x.shape} would have {len(shape)} dimensions; a tensor has at most {MOST_DIMENSIONS}.")
    return x if shape == list(x.shape) else functions.reshape(x, shape)


def _rows(x: Tensor, items: list[Any]) -> tuple[list[Any], tuple[int, ...], tuple[int, ...]]:
    """The leading indices that are not whole slices, with numpy's arrays; the extents they go along, and those behind them."""
    while items and isinstance(items[-1], slice) and items[-1] == slice(None):
        items = items[:-1]
    items = [_host_index(i) if _is_array(i) else i if i is None or i is Ellipsis or isinstance(i, slice) else _place(i)
             for i in items]
    used = sum(_used(i) for i in items)
    return items, x.shape[:used], x.shape[used:]


def _positions(extents: tuple[int, ...], items: list[Any]) -> np.ndarray[Any, Any]:
    """The numbers of the rows that numpy would take."""
    count = prod(extents)
    try:
        return np.asarray(np.arange(count, dtype=np.int32 if count < 2**31 else np.int64).reshape(extents)[tuple(items)])
    except IndexError as error:
        raise IndexError(f"x[…] of dimensions {extents}: {error}.") from None


def _take_rows(x: Tensor, items: list[Any]) -> Tensor:
    items, extents, rest = _rows(x, items)
    positions = _positions(extents, items)
    shape = (*positions.shape, *rest)
    if prod(shape) == 0:
        return functions.reshape(functions.slice(functions.flatten(x), 0, 0, 0), shape) if x.ndim else functions.reshape(
            functions.slice(functions.reshape(x, (1,)), 0, 0, 0), shape)
    rows = functions.reshape(x, (prod(extents), *rest))
    taken = functions.take(rows, array(positions.reshape(-1), device=x.device), 0)
    return functions.reshape(taken, shape)


def _on_device(x: Tensor, items: list[Any]) -> Tensor:
    """Tensors of integers as indices whose values are not known yet, side by side."""
    places = [n for n, item in enumerate(items) if _is_array(item)]
    first, last = places[0], places[-1]
    inside = items[first:last + 1]
    if any(item is None or item is Ellipsis or isinstance(item, slice) for item in inside):
        raise IndexError("In a compiled function, index tensors must stand side by side.")
    if any(np.asarray(i).dtype == bool if not isinstance(i, Tensor) else i.dtype == boolean for i in inside):
        raise IndexError("A mask has a result whose shape depends on its values, which a compiled function cannot have; use where().")
    before, behind = ([item for item in part if item is not Ellipsis] for part in (items[:first], items[last + 1:]))
    x = _basic(x, [*before, *[slice(None)] * len(inside), *behind])
    axis = sum(1 for item in before if item is None or isinstance(item, slice))
    extents = x.shape[axis:axis + len(inside)]
    flat: Any = 0
    sound: Any = True
    for item, extent in zip(inside, extents, strict=True):
        place = asarray(item, device=x.device) if not isinstance(item, Tensor) else item
        place = place if place.dtype == int64 else functions.cast(place, int32)  # which have room for the numbers of all rows
        place = functions.where(place < 0, place + extent, place)
        flat = flat * extent + place
        sound = functions.logical_and(sound, functions.logical_and(place >= 0, place < extent))
    joined = functions.reshape(x, (*x.shape[:axis], prod(extents), *x.shape[axis + len(inside):]))
    # Behind the last row there are zeros; another dimension's index must not lead to a row that is there.
    return functions.take(joined, functions.where(sound, flat, prod(extents)), axis)


def get_item(self: Tensor, index: Any) -> Tensor:
    if type(index) is int and -LONGEST <= index < LONGEST:
        return self._row(index)
    items = _expand(self, index)
    if not any(_is_array(item) for item in items):
        return _basic(self, items)
    if _core.tracing():
        return _on_device(self, items)
    return _take_rows(self, items)


def _where_basic(x: Tensor, items: list[Any], value: Tensor) -> Tensor:
    """x with a value in the place of a basic index: stretched along each dimension to where it belongs, and chosen there."""
    kept = [item for item in items if item is not None]
    axes: list[tuple[int, range]] = []
    shape: list[int] = []
    for axis, item in enumerate(kept):
        extent = x.shape[axis]
        places = range(*item.indices(extent)) if isinstance(item, slice) else range(p := _checked(_place(item), extent, axis), p + 1)
        axes.append((axis, places))
        shape.append(len(places))
    selected: list[int] = []
    counts = iter(shape)
    for item in items:
        if item is None:
            selected.append(1)
        elif isinstance(item, slice):
            selected.append(next(counts))
        else:
            next(counts)
    value = _stretched(value, tuple(selected))
    if 0 in shape:
        return x
    value = functions.reshape(value, shape)
    mask: Tensor | None = None
    for axis, places in axes:
        extent = x.shape[axis]
        if places == range(extent):
            continue
        source = np.zeros(extent, np.int32)
        inside = np.zeros(extent, bool)
        source[list(places)] = np.arange(len(places), dtype=np.int32)
        inside[list(places)] = True
        if len(places) > 1:
            value = functions.take(value, array(source, device=x.device), axis)
        along = [1] * x.ndim
        along[axis] = extent
        part = functions.reshape(array(inside, device=x.device), along)
        mask = part if mask is None else functions.logical_and(mask, part)
    return functions.broadcast_to(value, x.shape) if mask is None else functions.where(mask, value, x)


def _stretched(value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A value to assign, as numpy broadcasts it: leading dimensions of extent 1 may be too many."""
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = functions.reshape(value, value.shape[1:])
    try:
        np.broadcast_shapes(value.shape, shape)
        if value.ndim > len(shape) or np.broadcast_shapes(value.shape, shape) != tuple(shape):
            raise ValueError
    except ValueError:
        raise ValueError(f"A value of shape {value.shape} cannot be assigned to elements of shape {tuple(shape)}.") from None
    return functions.broadcast_to(value, shape)


def _put_rows(x: Tensor, items: list[Any], value: Tensor) -> Tensor:
    items, extents, rest = _rows(x, items)
    positions = _positions(extents, items)
    value = _stretched(value, (*positions.shape, *rest))
    if value.size == 0:
        return x
    count = prod(extents)
    source = np.full(count, -1, np.int32)
    source[positions.reshape(-1)] = np.arange(positions.size, dtype=np.int32)  # of equal positions the last one counts
    inside = array((source >= 0).reshape(count, *[1] * len(rest)), device=x.device)
    rows = functions.reshape(value, (positions.size, *rest))
    spread = functions.take(rows, array(np.maximum(source, 0), device=x.device), 0)
    return functions.reshape(functions.where(inside, spread, functions.reshape(x, (count, *rest))), x.shape)


def _assignable(x: Tensor, value: Any) -> Tensor:
    """A value as elements of x: as numpy, floats lose their fraction in integers."""
    if isinstance(value, (bool, int, float)) and not isinstance(value, np.generic):
        if x.dtype.is_integer and not isfinite(value):
            raise ValueError(f"{value} cannot be assigned to integers.")
        if x.dtype.is_integer:
            return array(int(value), x.dtype, device=x.device)  # says so where it does not fit
    return functions.cast(asarray(value) if isinstance(value, Tensor) else array(value, device=x.device), x.dtype)


def set_item(self: Tensor, index: Any, value: Any) -> None:
    items = _expand(self, index)
    given = _assignable(self, value)
    arrays = [item for item in items if _is_array(item)]
    if not arrays:
        self._replace(_where_basic(self, items, given))
        return
    mask = items[0]
    whole = all(isinstance(i, slice) and i == slice(None) for i in items[1:])
    if whole and isinstance(mask, (Tensor, np.ndarray)) and mask.dtype in (np.bool_, boolean) and given.ndim == 0:
        chosen = asarray(mask)
        if chosen.shape != self.shape[:chosen.ndim]:
            raise IndexError(f"A mask of shape {chosen.shape} does not fit a tensor of shape {self.shape}.")
        chosen = functions.reshape(chosen, (*chosen.shape, *[1] * (self.ndim - chosen.ndim)))
        self._replace(functions.broadcast_to(functions.where(chosen, given, self), self.shape))
        return
    if _core.tracing():
        raise IndexError("In a compiled function elements are assigned by slices and masks; scatter_add() and index_copy() take indices.")
    self._replace(_put_rows(self, items, given))
