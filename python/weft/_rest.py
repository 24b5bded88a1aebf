"""What is left of numpy's names: grids by slices, functions of places, pieces and rows, windows, polynomials, and changes by masks."""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ._array import array, asarray, to_numpy
from ._core import Tensor, functions
from ._names import indices, tril_indices, triu_indices
from ._products import matmul
from ._search import put
from ._shapes import arange, axis_of, concat, linspace, meshgrid, moveaxis, reshape, stack
from ._types import float32, isdtype

__all__ = ["apply_along_axis", "asanyarray", "ascontiguousarray", "bartlett", "blackman", "c_", "copyto", "diag_indices", "frexp", "fromfunction", "fromiter",
           "hamming", "hanning", "histogram2d", "kaiser", "matvec", "mgrid", "ogrid", "piecewise", "place", "polyfit", "putmask", "r_",
           "tril_indices_from", "triu_indices_from", "vecmat"]


# Grids.

def _range(part: slice) -> Tensor:
    """The numbers of a slice: with a step of 5j, say, 5 of them from its start to its stop."""
    start, step = 0 if part.start is None else part.start, 1 if part.step is None else part.step
    if part.stop is None:
        raise ValueError(f"A grid needs an end for each slice; {part.start!r}:{part.stop!r} has none.")
    if isinstance(step, complex):
        return linspace(start, part.stop, int(abs(step)))
    return arange(start, part.stop, step)


class _Grid:
    """Numbers by slices: mgrid[0:3, 0:2] is the same as meshgrid() of the ranges with indexing="ij"."""

    def __init__(self, sparse: bool) -> None:
        self._sparse = sparse

    def __getitem__(self, parts: Any) -> Any:
        if isinstance(parts, slice):
            return _range(parts)
        made = meshgrid(*map(_range, parts), indexing="ij", sparse=self._sparse)
        return made if self._sparse else stack(made)


class _Joined:
    """Ranges, numbers and tensors in a row: r_[0:3, 5, x]; c_[x, y] has vectors as columns."""

    def __init__(self, columns: bool) -> None:
        self._columns = columns

    def __getitem__(self, parts: Any) -> Tensor:
        made = []
        for part in parts if isinstance(parts, tuple) else (parts,):
            if isinstance(part, str):
                raise TypeError(f"r_ and c_ take slices, numbers and tensors; {part!r} is a text.")
            x = _range(part) if isinstance(part, slice) else asarray(part)
            made.append(reshape(x, (-1, 1)) if self._columns and x.ndim < 2 else reshape(x, (1,)) if x.ndim == 0 else x)
        return concat(made, axis=-1 if self._columns else 0)


mgrid, ogrid, r_, c_ = _Grid(False), _Grid(True), _Joined(False), _Joined(True)


def fromfunction(function: Callable[..., Any], shape: Sequence[int], *, dtype: Any = float32, **named: Any) -> Any:
    """function(i, j, …) of the indices of each element of a shape, which are given as tensors of that shape."""
    places = functions.cast(indices(shape), dtype)
    return function(*(places[number] for number in range(len(tuple(shape)))), **named)


def fromiter(values: Any, dtype: Any, count: int = -1) -> Tensor:
    """A vector of the numbers of anything that can be gone through, or of its first `count`."""
    made = list(values) if count < 0 else list(islice(values, count))
    if len(made) < count:
        raise ValueError(f"fromiter(): there are {len(made)} numbers; {count} were asked for.")
    return array(made, dtype)


def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """The indices (int32) of the main diagonal of a square matrix of n rows, or of a cube of more dimensions."""
    return (functions.arange(n, 0, 1, "int32"),) * ndim


def tril_indices_from(x: Any, /, k: int = 0) -> tuple[Tensor, ...]:
    """tril_indices() of the shape of a matrix."""
    rows, columns = _matrix(x, "tril_indices_from")
    return tril_indices(rows, k, columns)


def triu_indices_from(x: Any, /, k: int = 0) -> tuple[Tensor, ...]:
    """triu_indices() of the shape of a matrix."""
    rows, columns = _matrix(x, "triu_indices_from")
    return triu_indices(rows, k, columns)


def _matrix(x: Any, name: str) -> tuple[int, int]:
    shape = asarray(x).shape
    if len(shape) != 2:
        raise ValueError(f"{name}() needs a matrix; it was given the shape {shape}.")
    return shape[0], shape[1]


def asanyarray(x: Any, dtype: Any = None) -> Tensor:
    """The same as asarray()."""
    return asarray(x, dtype)


def ascontiguousarray(x: Any, dtype: Any = None) -> Tensor:
    """The same as asarray(): the elements of a tensor always lie in their order."""
    return asarray(x, dtype)


# Windows.

def _window(name: str) -> Any:
    described = getattr(np, name)

    def run(M: int) -> Tensor:
        return array(described(operator.index(M)), float32)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"The {name.capitalize()} window of M numbers, the same from both ends."
    return run


bartlett, blackman, hamming, hanning = (_window(name) for name in ("bartlett", "blackman", "hamming", "hanning"))


def kaiser(M: int, beta: float) -> Tensor:
    """The Kaiser window of M numbers, the same from both ends."""
    return array(np.kaiser(operator.index(M), beta), float32)


# Pieces and rows.

def piecewise(x: Any, conditions: Any, choices: Sequence[Any]) -> Tensor:
    """Of each element what the last of some conditions that holds has for it: a number, or a function of x. One choice more than conditions is for where none
    holds; else it is 0 there."""
    x = asarray(x)
    given = [asarray(c) for c in (conditions if isinstance(conditions, (list, tuple)) else [conditions])]
    if len(choices) not in (len(given), len(given) + 1):
        raise ValueError(f"piecewise() needs as many choices as conditions, or one more; it was given {len(choices)} and {len(given)}.")

    def chosen(choice: Any) -> Tensor:
        return functions.broadcast_to(functions.cast(choice(x) if callable(choice) else choice, x.dtype), x.shape)

    made = chosen(choices[-1]) if len(choices) > len(given) else functions.zeros_like(x)
    for condition, choice in zip(given, choices, strict=False):
        made = functions.where(condition, chosen(choice), made)
    return made


def apply_along_axis(function: Callable[..., Any], axis: int, x: Any, /, *more: Any, **named: Any) -> Tensor:
    """function(row) of each row along an axis; what it gives stands in its place. Each row is a call: most functions take an axis, and are quicker so."""
    x = asarray(x)
    place = axis_of(axis, x.ndim, "apply_along_axis")
    rows = moveaxis(x, place, -1)
    shape = rows.shape[:-1]
    flat = reshape(rows, (-1, rows.shape[-1])) if rows.size else rows
    if rows.size == 0:
        raise ValueError(f"apply_along_axis() needs elements; the tensor has the shape {x.shape}.")
    made = stack([asarray(function(row, *more, **named)) for row in flat])
    ends = range(-(made.ndim - 1), 0)
    made = reshape(made, (*shape, *made.shape[1:]))
    return moveaxis(made, tuple(ends), tuple(range(place, place + len(ends)))) if ends else made


def matvec(x1: Any, x2: Any, /) -> Tensor:
    """Matrices times vectors, in the last dimensions of both; the others are batches that broadcast."""
    a, b = asarray(x1), asarray(x2)
    if a.ndim < 2 or b.ndim < 1:
        raise ValueError(f"matvec() needs matrices and vectors; it was given the shapes {a.shape} and {b.shape}.")
    return functions.squeeze_axes(matmul(a, functions.unsqueeze(b, -1)), -1)


def vecmat(x1: Any, x2: Any, /) -> Tensor:
    """Vectors times matrices, in the last dimensions of both; the others are batches that broadcast."""
    a, b = asarray(x1), asarray(x2)
    if a.ndim < 1 or b.ndim < 2:
        raise ValueError(f"vecmat() needs vectors and matrices; it was given the shapes {a.shape} and {b.shape}.")
    return functions.squeeze_axes(matmul(functions.unsqueeze(a, -2), b), -2)


# On the host.

def frexp(x: Any, /) -> tuple[Tensor, Tensor]:
    """m and e (int32) with x = m · 2**e, and m from 0.5 up to 1. The host computes it: waits for the device."""
    x = asarray(x)
    x = x if isdtype(x.dtype, "real floating") else functions.cast(x, float32)
    parts, places = np.frexp(to_numpy(x))
    return array(parts, x.dtype, device=x.device), array(places.astype(np.int32), device=x.device)


def polyfit(x: Any, y: Any, deg: int) -> Tensor:
    """The factors of the polynomial of a degree, the highest power first, with the least sum of squares of its distances from points. The host computes
    it: waits for the device."""
    at, values = asarray(x), asarray(y)
    if at.ndim != 1 or at.size == 0 or values.ndim not in (1, 2) or values.shape[0] != at.size or deg < 0:
        raise ValueError(f"polyfit() needs as many values as places, at least one, and a degree from 0 on; it was given the shapes {at.shape} and "
                         f"{values.shape} and the degree {deg}.")
    return array(np.polyfit(to_numpy(at).astype(np.float64), to_numpy(values).astype(np.float64), deg), float32, device=at.device)


def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None) -> tuple[Tensor, Tensor, Tensor]:
    """How many points lie in each cell of a grid (float32), and the edges of the cells along x and along y. The host computes it: waits for the device."""
    points = [asarray(v) for v in (x, y)]
    if any(p.ndim != 1 for p in points) or points[0].shape != points[1].shape:
        raise ValueError(f"histogram2d() needs two vectors of one length; they have the shapes {points[0].shape} and {points[1].shape}.")
    edges: Any = [np.asarray(b) for b in bins] if isinstance(bins, (list, tuple)) else bins if isinstance(bins, int) else np.asarray(bins)
    count: Any = np.histogram2d
    found = count(*map(to_numpy, points), edges, range, density, None if weights is None else to_numpy(asarray(weights)))
    counts, first, second = (array(part, float32, device=points[0].device) for part in found)
    return counts, first, second


# Changes.

def copyto(x: Tensor, values: Any, *, where: Any = True) -> None:
    """Changes x: where a mask holds, or everywhere, its elements are those of `values`, which broadcast."""
    given = functions.broadcast_to(functions.cast(asarray(values), x.dtype), x.shape)
    x[...] = functions.where(functions.broadcast_to(asarray(where), x.shape), given, x)


def putmask(x: Tensor, mask: Any, values: Any, /) -> None:
    """Changes x where a mask of its shape holds: element i becomes value i, of values that are repeated where there are fewer."""
    given, chosen = reshape(asarray(values), -1), asarray(mask)
    if chosen.shape != x.shape or given.size == 0:
        raise ValueError(f"putmask() needs a mask of the shape {x.shape} and at least one value; it was given {chosen.shape} and {given.size} values.")
    repeated = functions.take(given, array((np.arange(x.size) % given.size).astype(np.int32), device=x.device), 0)
    copyto(x, reshape(repeated, x.shape), where=chosen)


def place(x: Tensor, mask: Any, values: Any, /) -> None:
    """Changes x where a mask of its shape holds: the first such element becomes the first value, and so on; values are repeated where there are fewer.
    Waits for the device."""
    chosen = asarray(mask)
    if chosen.size != x.size:
        raise ValueError(f"place() needs a mask of {x.size} elements; it has {chosen.size}.")
    put(x, np.flatnonzero(to_numpy(chosen)), values)
