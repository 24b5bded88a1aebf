"""Functions of numpy that look for elements, put them somewhere, or go through neighbours."""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ._array import array, asarray, to_numpy
from ._core import Tensor, functions
from ._numpy import searchsorted
from ._products import convolve, matmul
from ._shapes import axis_of, concat, reshape, split
from ._types import float32, is_one, result_type, wholes

__all__ = ["append", "argwhere", "compress", "correlate", "delete", "digitize", "ediff1d", "extract", "flatnonzero", "gradient", "insert", "interp",
           "intersect1d", "put", "put_along_axis", "ravel_multi_index", "select", "setdiff1d", "setxor1d", "trapezoid", "union1d", "unique",
           "unravel_index", "vdot"]


def argwhere(x: Any, /) -> Tensor:
    """The indices (int32) of what is not 0, one row for each. Waits for the device."""
    x = asarray(x)
    return array(np.argwhere(to_numpy(x)).astype(np.int32), device=x.device)


def flatnonzero(x: Any, /) -> Tensor:
    """The places (int32) of what is not 0 among all elements in a row. Waits for the device."""
    x = asarray(x)
    return array(np.flatnonzero(to_numpy(x)).astype(np.int32), device=x.device)


def unravel_index(indices: Any, shape: Sequence[int], /) -> tuple[Tensor, ...]:
    """The index (int32) along each dimension of a shape, of elements that are numbered in a row. Waits for the device."""
    given = asarray(indices)
    found = np.unravel_index(to_numpy(given), tuple(shape))
    return tuple(array(np.asarray(i).astype(np.int32), device=given.device) for i in found)


def compress(condition: Any, x: Any, /, axis: int | None = None) -> Tensor:
    """The places along an axis where a condition holds; without an axis, of all elements in a row. Waits for the device."""
    x = asarray(x)
    if axis is None:
        x, axis = reshape(x, -1), 0
    place = axis_of(axis, x.ndim, "compress")
    made: Tensor = x[(*[slice(None)] * place, np.flatnonzero(to_numpy(asarray(condition))))]
    return made


def extract(condition: Any, x: Any, /) -> Tensor:
    """The elements of x, in a row, at the places where a condition of as many elements holds. Waits for the device."""
    return compress(reshape(condition, -1), x)


def ravel_multi_index(places: Sequence[Any], shape: Sequence[int], /) -> Tensor:
    """The numbers (int32) of elements in a row, from their indices along each dimension of a shape. Waits for the device."""
    given = [asarray(p) for p in places]
    return array(np.ravel_multi_index([to_numpy(p) for p in given], tuple(shape)).astype(np.int32), device=given[0].device if given else None)


# Sets.

def unique(x: Any, /, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None,
           *, equal_nan: bool = True) -> Any:
    """The different elements, or those along an axis, in ascending order, NaN once unless `equal_nan` is false; and where each is first, which one each
    element of x is, and how often each is there, as asked for. Waits for the device."""
    x = asarray(x)
    search: Any = np.unique
    found = search(to_numpy(x), return_index=return_index, return_inverse=return_inverse, return_counts=return_counts, axis=axis, equal_nan=equal_nan)
    if not (return_index or return_inverse or return_counts):
        return array(found, x.dtype, device=x.device)
    return (array(found[0], x.dtype, device=x.device), *(array(part.astype(np.int32), device=x.device) for part in found[1:]))


def _of_both(function: Any, x1: Any, x2: Any) -> Tensor:
    a, b = asarray(x1), asarray(x2)
    kind = result_type(a, b)
    return array(function(to_numpy(functions.cast(a, kind)), to_numpy(functions.cast(b, kind))), kind, device=a.device)


def union1d(x1: Any, x2: Any, /) -> Tensor:
    """The different elements of both, in ascending order. Waits for the device."""
    return _of_both(np.union1d, x1, x2)


def intersect1d(x1: Any, x2: Any, /) -> Tensor:
    """The elements that are in both, in ascending order. Waits for the device."""
    return _of_both(np.intersect1d, x1, x2)


def setxor1d(x1: Any, x2: Any, /) -> Tensor:
    """The elements that are in one of two and not in the other, in ascending order. Waits for the device."""
    return _of_both(np.setxor1d, x1, x2)


def setdiff1d(x1: Any, x2: Any, /) -> Tensor:
    """The elements of x1 that are not in x2, in ascending order. Waits for the device."""
    return _of_both(np.setdiff1d, x1, x2)


# Choosing and putting.

def select(conditions: Sequence[Any], choices: Sequence[Any], default: Any = 0) -> Tensor:
    """Of each element the choice whose condition is the first that holds, or the default."""
    if len(conditions) != len(choices) or not choices:
        raise ValueError(f"select() needs as many choices as conditions, and at least one; it was given {len(conditions)} and {len(choices)}.")
    made = default
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        given = choice if isinstance(made, Tensor) or isinstance(choice, Tensor) else asarray(choice)
        made = functions.where(asarray(condition), given, made)
    result: Tensor = made
    return result


def put(x: Tensor, indices: Any, values: Any, /) -> None:
    """Changes elements of x, numbered in a row; values are repeated where there are fewer of them."""
    flat = reshape(x, -1)
    places = np.asarray(to_numpy(asarray(indices))).reshape(-1)
    given = reshape(asarray(values), -1)
    if places.size == 0:
        return
    if given.size == 0:
        raise ValueError("put(): there are indices, and no values.")
    flat[places] = functions.take(given, array((np.arange(places.size) % given.size).astype(np.int32), device=given.device), 0)
    x[...] = reshape(flat, x.shape)


def put_along_axis(x: Tensor, indices: Any, values: Any, /, axis: int | None = -1) -> None:
    """Changes x[i, indices[i, j, k], k] to values[i, j, k] for axis 1, and so on."""
    places = to_numpy(asarray(indices))
    if axis is None:
        put(x, places, values)
        return
    along = axis_of(axis, x.ndim, "put_along_axis")
    if places.ndim != x.ndim:
        raise ValueError(f"put_along_axis() needs indices with as many dimensions as the tensor; there are {places.ndim} and {x.ndim}.")
    others = [np.arange(n).reshape([-1 if d == axis_at else 1 for d in range(x.ndim)]) for axis_at, n in enumerate(x.shape)]
    x[tuple(places if d == along else others[d] for d in range(x.ndim))] = values


def append(x: Any, /, values: Any, axis: int | None = None) -> Tensor:
    """A tensor and values behind it along an axis; without one, all elements in a row."""
    return concat([x, values], axis=axis)


def _insert_many(x: Tensor, places: Any, values: Any, along: int) -> Tensor:
    """As insert(), before several places."""
    extent = x.shape[along]
    before = np.arange(extent)[places] if isinstance(places, slice) else to_numpy(asarray(places, "int64")).reshape(-1)
    if before.size and (before.min() < -extent or before.max() > extent):
        raise IndexError(f"insert(): the places {before.tolist()} are not all along axis {along}, which has {extent}.")
    before = np.where(before < 0, before + extent, before)
    order = np.argsort(before, kind="stable")
    before[order] += np.arange(before.size)
    given = functions.cast(asarray(values), x.dtype)
    given = functions.broadcast_to(given, (*x.shape[:along], before.size, *x.shape[along + 1:]))
    source = np.full(extent + before.size, -1)
    source[before] = extent + np.arange(before.size)
    source[source < 0] = np.arange(extent)
    return functions.take(concat([x, given], axis=along), array(source.astype(np.int32), device=x.device), along)


def insert(x: Any, place: Any, values: Any, /, axis: int | None = None) -> Tensor:
    """A tensor with values before a place along an axis, or before several (a list, or a slice); without an axis, all elements in a row."""
    x = asarray(x)
    if axis is None:
        x, axis = reshape(x, -1), 0
    along = axis_of(axis, x.ndim, "insert")
    extent = x.shape[along]
    if not is_one(place):
        return _insert_many(x, place, values, along)
    place = operator.index(place)
    if not -extent <= place <= extent:
        raise IndexError(f"insert(): there is no place {place} along axis {axis}, which has {extent}.")
    given = functions.cast(asarray(values), x.dtype)
    shape = [*x.shape[:along], *x.shape[along + 1:]]
    if x.ndim == 1:
        row = reshape(given, -1)
    else:
        row = functions.unsqueeze(functions.broadcast_to(given, shape), along) if given.ndim <= len(shape) else given
    before, behind = split(x, [place + extent if place < 0 else place], axis=along)
    return concat([before, row, behind], axis=along)


def delete(x: Any, places: Any, /, axis: int | None = None) -> Tensor:
    """A tensor without some places along an axis (a number, several, or a slice); without an axis, of all elements in a row."""
    x = asarray(x)
    if axis is None:
        x, axis = reshape(x, -1), 0
    along = axis_of(axis, x.ndim, "delete")
    gone = places if isinstance(places, slice) else operator.index(places) if is_one(places) else to_numpy(asarray(places))
    gone = gone.astype(np.intp) if isinstance(gone, np.ndarray) and gone.size == 0 else gone
    kept = np.delete(np.arange(x.shape[along]), gone)
    made: Tensor = x[(*[slice(None)] * along, kept)]
    return made


# Neighbours.

def digitize(x: Any, bins: Any, /, right: bool = False) -> Tensor:
    """Which of the ranges between ascending or descending borders each element is in, as int32."""
    borders = asarray(bins)
    if borders.ndim != 1:
        raise ValueError(f"digitize() needs a vector of borders; they have the shape {borders.shape}.")
    side, steps = "left" if right else "right", np.diff(to_numpy(borders).astype(np.float64))
    if (steps > 0).any() and (steps < 0).any():
        raise ValueError("digitize() needs borders that ascend, or descend.")
    if (steps < 0).any():
        made: Tensor = borders.shape[0] - searchsorted(functions.flip(borders, 0), x, side=side)
        return made
    return searchsorted(borders, x, side=side)


def interp(x: Any, xp: Any, fp: Any, /, left: float | None = None, right: float | None = None) -> Tensor:
    """The line through points (xp ascending) at x; before the first and behind the last point the value there, or `left` and `right`."""
    x, at, values = (functions.cast(asarray(a), float32) for a in (x, xp, fp))
    if at.ndim != 1 or at.shape != values.shape or at.shape[0] == 0:
        raise ValueError(f"interp() needs two vectors of one length, at least 1; they have the shapes {at.shape} and {values.shape}.")
    if at.shape[0] == 1:
        made = functions.broadcast_to(values, (*x.shape, 1))[..., 0]
    else:
        behind = functions.clip(searchsorted(at, x, side="right"), 1, at.shape[0] - 1)
        x0, x1 = functions.take(at, behind - 1, 0), functions.take(at, behind, 0)
        y0, y1 = functions.take(values, behind - 1, 0), functions.take(values, behind, 0)
        width = functions.where(x1 == x0, 1.0, x1 - x0)
        made = y0 + (y1 - y0) * (functions.minimum(functions.maximum(x, at[0]), at[-1]) - x0) / width
    made = functions.where(functions.isnan(x), x, made)
    made = functions.where(x < at[0], values[0] if left is None else left, made)
    return functions.where(x > at[-1], values[-1] if right is None else right, made)


def ediff1d(x: Any, /, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """Differences of neighbours among all elements in a row, with others behind and before them."""
    flat = reshape(x, -1)
    made: Tensor = flat[1:] - flat[:-1]
    ends = [None if e is None else functions.cast(reshape(e, -1), made.dtype) for e in (to_begin, to_end)]
    return concat([part for part in (ends[0], made, ends[1]) if part is not None])


def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    """The area below points with heights y, at places x or at equal distances."""
    heights = asarray(y)
    heights = heights if heights.dtype.is_floating else functions.cast(heights, float32)
    place = axis_of(axis, heights.ndim, "trapezoid")
    count = max(heights.shape[place] - 1, 0)

    def ends(values: Tensor, along: int) -> tuple[Tensor, Tensor]:
        return functions.slice(values, along, 1 if count else 0, count), functions.slice(values, along, 0, count)

    later, earlier = ends(heights, place)
    width: Any = dx
    if x is not None:
        at = asarray(x)
        right, left = ends(at, 0 if at.ndim == 1 else place)
        width = right - left
        if at.ndim == 1:
            width = functions.reshape(width, (*[1] * place, count, *[1] * (heights.ndim - place - 1)))
    return functions.sum((later + earlier) * 0.5 * width, place)


def gradient(x: Any, /, *spacing: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """The slope at each element, from both its neighbours, at the ends from one (edge_order 1) or two (2); along an axis, or a tuple with one result for
    each of some axes, or of all. The distances of elements are 1, one number, or one for each axis; or a vector says where the elements of an axis are."""
    x = asarray(x)
    x = x if x.dtype.is_floating else functions.cast(x, float32)
    axes = list(range(x.ndim)) if axis is None else [axis_of(a, x.ndim, "gradient") for a in wholes(axis)]
    if edge_order not in (1, 2):
        raise ValueError(f"gradient(): `edge_order` is {edge_order}; it can be 1 or 2.")
    if len(spacing) not in (0, 1, len(axes)):
        raise TypeError(f"gradient() needs one distance, or one for each of {len(axes)} axes; it was given {len(spacing)}.")
    steps = [1.0] * len(axes) if not spacing else [*spacing] * (len(axes) // len(spacing))
    made = tuple(_slope(x, place, step if is_one(step) else asarray(step), edge_order) for place, step in zip(axes, steps, strict=True))
    return made[0] if len(made) == 1 else made


def _slope(x: Tensor, place: int, step: Any, edge_order: int) -> Tensor:
    count = x.shape[place]
    if count < edge_order + 1:
        raise ValueError(f"gradient() needs at least {edge_order + 1} elements along axis {place}; there are {count}.")

    def part(start: int, length: int, of: Tensor = x, along: int = place) -> Tensor:
        return functions.slice(of, along, start, length)

    if isinstance(step, Tensor) and step.ndim:
        if step.shape != (count,):
            raise ValueError(f"gradient(): the places of {count} elements along axis {place} have the shape {step.shape}.")
        far = functions.reshape(functions.cast(part(1, count - 1, step, 0) - part(0, count - 1, step, 0), x.dtype),
                                tuple(count - 1 if d == place else 1 for d in range(x.ndim)))
    else:
        far = functions.full(tuple(count - 1 if d == place else 1 for d in range(x.ndim)), 1.0, x.dtype, device=x.device) * step
    slopes = (part(1, count - 1) - part(0, count - 1)) / far

    def between(at: int, length: int) -> Tensor:
        """The slopes between neighbours, from one on."""
        return part(at, length, slopes)

    def distance(at: int, length: int) -> Tensor:
        return part(at, length, far)

    first, last = between(0, 1), between(count - 2, 1)
    if edge_order == 2:  # the parabola through three elements
        first = first + (first - between(1, 1)) * distance(0, 1) / (distance(0, 1) + distance(1, 1))
        last = last + (last - between(count - 3, 1)) * distance(count - 2, 1) / (distance(count - 2, 1) + distance(count - 3, 1))
    before, behind = distance(0, count - 2), distance(1, count - 2)
    inside = (between(0, count - 2) * behind + between(1, count - 2) * before) / (before + behind)
    return concat([first, inside, last], axis=place)


def vdot(a: Any, b: Any, /) -> Tensor:
    """The sum of the products of all elements."""
    return matmul(reshape(a, -1), reshape(b, -1))


def correlate(a: Any, v: Any, /, mode: Literal["full", "same", "valid"] = "valid") -> Tensor:
    """The sums of products of a vector with another one that is moved along it; modes as of convolve()."""
    a, v = asarray(a), asarray(v)
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError(f"correlate() needs two vectors; they have the shapes {a.shape} and {v.shape}.")
    if a.size < v.size:
        return functions.flip(convolve(v, functions.flip(a, 0), mode), 0)
    return convolve(a, functions.flip(v, 0), mode)
