"""Functions of numpy that look for elements, put them somewhere, or go through neighbours."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ._array import array, asarray, to_numpy
from ._core import Tensor, functions
from ._numpy import searchsorted
from ._products import convolve, matmul
from ._shapes import axis_of, concat, reshape
from ._types import float32, result_type

__all__ = ["argwhere", "compress", "correlate", "digitize", "ediff1d", "flatnonzero", "gradient", "interp", "intersect1d", "put",
           "put_along_axis", "select", "setdiff1d", "trapezoid", "union1d", "unique", "unravel_index", "vdot"]


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


# Sets.

def unique(x: Any, /, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False) -> Any:
    """The different elements, in ascending order, NaN once; and where each is first, which one each element of x is, and how often each is there,
    as asked for. Waits for the device."""
    x = asarray(x)
    found: Any = np.unique(to_numpy(x), return_index=return_index, return_inverse=return_inverse, return_counts=return_counts)
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
        made = y0 + (y1 - y0) * (functions.clip(x, at[0], at[-1]) - x0) / width
    made = functions.where(functions.isnan(x), x, made)
    made = functions.where(x < at[0], values[0] if left is None else left, made)
    return functions.where(x > at[-1], values[-1] if right is None else right, made)


def ediff1d(x: Any, /) -> Tensor:
    """Differences of neighbours among all elements in a row."""
    flat = reshape(x, -1)
    made: Tensor = flat[1:] - flat[:-1]
    return made


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


def gradient(x: Any, spacing: float = 1.0, /, axis: int | None = None) -> Any:
    """The slope at each element, from both its neighbours, at the ends from one; along an axis, or a list with one result for each dimension."""
    x = asarray(x)
    x = x if x.dtype.is_floating else functions.cast(x, float32)
    if axis is None and x.ndim != 1:
        return [gradient(x, spacing, axis=d) for d in range(x.ndim)]
    place = axis_of(0 if axis is None else axis, x.ndim, "gradient")
    count = x.shape[place]
    if count < 2:
        raise ValueError(f"gradient() needs at least 2 elements along axis {place}; there are {count}.")

    def part(start: int, length: int) -> Tensor:
        return functions.slice(x, place, start, length)

    first, last = part(1, 1) - part(0, 1), part(count - 1, 1) - part(count - 2, 1)
    inside = (part(2, count - 2) - part(0, count - 2)) * 0.5
    return concat([first, inside, last], axis=place) / spacing


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
