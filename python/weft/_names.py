"""More of numpy's functions, by numpy's names, made of the others: shapes, new tensors, elements and reductions."""
from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence
from math import pi
from typing import Any

import numpy as np

from . import _reduce
from ._array import array, asarray
from ._core import Device, Tensor, functions
from ._numpy import floor_divide, remainder
from ._shapes import Axis, axis_of, concat, eye, meshgrid, permute_dims, reshape, split, stack
from ._types import boolean, float32, is_one

__all__ = ["array_split", "atleast_1d", "atleast_2d", "atleast_3d", "average", "cbrt", "column_stack", "deg2rad", "diag",
           "divmod", "dsplit", "dstack", "fliplr", "flipud", "fmax", "fmin", "heaviside", "hsplit", "hstack", "identity", "indices",
           "isneginf", "isposinf", "logaddexp2", "logspace", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar", "ptp", "rad2deg",
           "ravel", "rot90", "sinc", "tril_indices", "triu_indices", "vander", "vsplit", "vstack"]


def _floats(x: Any) -> Tensor:
    x = asarray(x)
    return x if x.dtype.is_floating else functions.cast(x, float32)


# Shapes.

def ravel(x: Any, /, order: str = "C") -> Tensor:
    """All elements in a row: the last dimension first (order "C"), or the first one first ("F")."""
    return reshape(x, -1, "C" if order == "K" else order)


def _at_least(x: Any, count: int) -> Tensor:
    x = given = asarray(x)
    if x.ndim >= count:
        return given
    if count == 3 and x.ndim > 0:  # numpy puts the last one behind
        return functions.reshape(x, (1, x.shape[0], 1) if x.ndim == 1 else (*x.shape, 1))
    return functions.reshape(x, (*[1] * (count - x.ndim), *x.shape))


def _each(count: int, arrays: tuple[Any, ...]) -> Any:
    made = tuple(_at_least(a, count) for a in arrays)
    return made[0] if len(made) == 1 else made


def atleast_1d(*arrays: Any) -> Any:
    """Numbers as vectors of one element; a tuple for several tensors."""
    return _each(1, arrays)


def atleast_2d(*arrays: Any) -> Any:
    """Numbers and vectors as matrices of one row; a tuple for several tensors."""
    return _each(2, arrays)


def atleast_3d(*arrays: Any) -> Any:
    """With dimensions of extent 1 up to three: a vector is then the one in the middle, a matrix the first two; a tuple for several tensors."""
    return _each(3, arrays)


def hstack(arrays: Sequence[Any], /) -> Tensor:
    """Tensors side by side: along the second dimension, vectors along their only one."""
    tensors = [_at_least(a, 1) for a in arrays]
    return concat(tensors, axis=0 if tensors and tensors[0].ndim == 1 else 1)


def vstack(arrays: Sequence[Any], /) -> Tensor:
    """Tensors below each other; vectors count as rows."""
    return concat([_at_least(a, 2) for a in arrays], axis=0)


def dstack(arrays: Sequence[Any], /) -> Tensor:
    """Tensors one behind the other, along the third dimension."""
    return concat([_at_least(a, 3) for a in arrays], axis=2)


def column_stack(arrays: Sequence[Any], /) -> Tensor:
    """Vectors as the columns of a matrix; matrices beside them."""
    tensors = [asarray(a) for a in arrays]
    return concat([reshape(t, (-1, 1)) if t.ndim < 2 else t for t in tensors], axis=1)


def array_split(x: Any, /, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    """As split(), but where the parts cannot be equal the first ones have one more."""
    x = asarray(x)
    if not is_one(indices_or_sections):
        return split(x, indices_or_sections, axis=axis)
    indices_or_sections = operator.index(indices_or_sections)  # type: ignore[arg-type]
    if not 1 <= indices_or_sections <= 2**24:
        raise ValueError(f"array_split(): there must be at least 1 part, and at most {2**24}; {indices_or_sections} were asked for.")
    extent = x.shape[axis_of(axis, x.ndim, "array_split")]
    size, more = extent // indices_or_sections, extent % indices_or_sections
    ends = [part * size + min(part, more) for part in range(1, indices_or_sections)]
    return split(x, ends, axis=axis)


def _split_along(x: Any, parts: int | Sequence[int], axis: int, least: int, name: str) -> list[Tensor]:
    x = asarray(x)
    if x.ndim < least:
        raise ValueError(f"{name}() needs at least {least} dimensions; the tensor has {x.ndim}.")
    return split(x, parts, axis=axis)


def hsplit(x: Any, indices_or_sections: int | Sequence[int], /) -> list[Tensor]:
    """split() along the second dimension, of a vector along its own."""
    return _split_along(x, indices_or_sections, 1 if asarray(x).ndim > 1 else 0, 1, "hsplit")


def vsplit(x: Any, indices_or_sections: int | Sequence[int], /) -> list[Tensor]:
    """split() along the first dimension."""
    return _split_along(x, indices_or_sections, 0, 2, "vsplit")


def dsplit(x: Any, indices_or_sections: int | Sequence[int], /) -> list[Tensor]:
    """split() along the third dimension."""
    return _split_along(x, indices_or_sections, 2, 3, "dsplit")


def flipud(x: Any, /) -> Tensor:
    """The first dimension in reverse order."""
    return functions.flip(x, 0)


def fliplr(x: Any, /) -> Tensor:
    """The second dimension in reverse order."""
    return functions.flip(x, 1)


def rot90(x: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """Turned by k quarters, from the first of two axes towards the second."""
    x = asarray(x)
    if len(axes) != 2:
        raise ValueError(f"rot90() needs two axes; it was given {tuple(axes)}.")
    a, b = (axis_of(axis, x.ndim, "rot90") for axis in axes)
    if a == b or x.ndim < 2:
        raise ValueError(f"rot90() needs two different axes; they are {tuple(axes)} of a tensor of {x.ndim} dimensions.")
    if k % 4 == 2:
        return functions.flip(x, (a, b))
    order = list(range(x.ndim))
    order[a], order[b] = b, a
    if k % 4 == 1:
        return permute_dims(functions.flip(x, b), order)
    return functions.flip(permute_dims(x, order), b) if k % 4 == 3 else +x


def diag(x: Any, /, k: int = 0) -> Tensor:
    """The diagonal of a matrix, or a matrix with a vector on a diagonal and 0 elsewhere."""
    x = asarray(x)
    if x.ndim == 2:
        return functions.diagonal(x, k, 0, 1)
    if x.ndim != 1:
        raise ValueError(f"diag() needs a vector or a matrix; it was given the shape {x.shape}.")
    size = x.shape[0]
    above, left = max(-k, 0), max(k, 0)
    square = functions.where(eye(size, dtype=boolean, device=x.device), functions.unsqueeze(x, 0), functions.zeros((), x.dtype, device=x.device))
    return functions.pad(functions.reshape(square, (size, size)), [above, left], [left, above])


# New tensors.

def identity(n: int, dtype: Any = None, *, device: Device | None = None) -> Tensor:
    """A square matrix with 1 on the diagonal."""
    return eye(n, dtype=dtype, device=device)


def logspace(start: float, stop: float, num: int = 50, *, endpoint: bool = True, base: float = 10.0) -> Tensor:
    """`num` numbers whose logarithms have equal distances, from base**start to base**stop."""
    return array(np.logspace(start, stop, num, endpoint=endpoint, base=base), float32)


def indices(dimensions: Sequence[int]) -> Tensor:
    """The index of each element of a shape: one row of the result for each dimension, as int32."""
    shape = tuple(dimensions)
    return stack(meshgrid(*[functions.arange(n, 0, 1, "int32") for n in shape], indexing="ij")) if shape else functions.zeros((0,), "int32")


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, ...]:
    """The indices (int32) of the elements on and below a diagonal of a matrix of n rows."""
    return tuple(array(i.astype(np.int32)) for i in np.tril_indices(n, k, m))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, ...]:
    """The indices (int32) of the elements on and above a diagonal of a matrix of n rows."""
    return tuple(array(i.astype(np.int32)) for i in np.triu_indices(n, k, m))


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of a vector as columns, falling or (increasing) rising."""
    x = asarray(x)
    if x.ndim != 1:
        raise ValueError(f"vander() needs a vector; it was given the shape {x.shape}.")
    count = x.shape[0] if N is None else N
    columns = [x**power for power in range(count)]
    if not columns:
        return functions.zeros((x.shape[0], 0), x.dtype, device=x.device)
    return stack(columns if increasing else columns[::-1], axis=1)


# Elements.

def deg2rad(x: Any, /) -> Tensor:
    """Degrees as radians."""
    return _floats(x) * (pi / 180)


def rad2deg(x: Any, /) -> Tensor:
    """Radians as degrees."""
    return _floats(x) * (180 / pi)


def cbrt(x: Any, /) -> Tensor:
    """The cube root, of negative numbers too."""
    x = _floats(x)
    size = functions.abs(x)
    root = functions.pow(size, 1 / 3)
    better = root - (root * root * root - size) / (3.0 * root * root)  # one step of Newton's: a third is no float
    sound = functions.logical_and(functions.isfinite(better), functions.isfinite(root * root * root))
    return functions.where(x == 0, x, functions.where(x < 0, -1.0, 1.0) * functions.where(sound, better, root))


def sinc(x: Any, /) -> Tensor:
    """sin(πx) / (πx), and 1 at 0."""
    y = _floats(x) * pi
    return functions.where(y == 0, 1.0, functions.sin(y) / functions.where(y == 0, 1.0, y))


def heaviside(x1: Any, x2: Any, /) -> Tensor:
    """0 below 0, x2 at 0, 1 above; NaN stays."""
    x = _floats(x1)
    return functions.where(x == 0, x2, functions.where(functions.isnan(x), x, functions.cast(x > 0, x.dtype)))


def logaddexp2(x1: Any, x2: Any, /) -> Tensor:
    """log2(2**x1 + 2**x2), without overflow."""
    log2 = float(np.log(2.0))
    return functions.logaddexp(_floats(x1) * log2, _floats(x2) * log2) / log2


def _but_nan(function: Any, x1: Any, x2: Any) -> Tensor:
    a, b = asarray(x1), asarray(x2)
    made: Tensor = function(a, b)
    if not made.dtype.is_floating:
        return made
    return functions.where(functions.isnan(a), b, functions.where(functions.isnan(b), a, made))


def fmax(x1: Any, x2: Any, /) -> Tensor:
    """The larger of two elements; of NaN and a number the number."""
    return _but_nan(functions.maximum, x1, x2)


def fmin(x1: Any, x2: Any, /) -> Tensor:
    """The smaller of two elements; of NaN and a number the number."""
    return _but_nan(functions.minimum, x1, x2)


def isposinf(x: Any, /) -> Tensor:
    """Whether an element is infinity."""
    return functions.equal(x, float("inf"))


def isneginf(x: Any, /) -> Tensor:
    """Whether an element is minus infinity."""
    return functions.equal(x, float("-inf"))


def divmod(x1: Any, x2: Any, /) -> tuple[Tensor, Tensor]:
    """floor_divide() and remainder()."""
    return floor_divide(x1, x2), remainder(x1, x2)


# Reductions.

def average(x: Any, axis: Axis = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    """The mean over some axes, or over all; with weights, Σ weight · x / Σ weight. With `returned`, the sum of the weights is given too."""
    x = _floats(x)
    if weights is None:
        found = _reduce.mean(x, axis, keepdims)
        return (found, functions.full_like(found, x.size / builtins.max(found.size, 1))) if returned else found
    given = _floats(weights)
    if given.shape != x.shape:
        if axis is None or not is_one(axis) or given.ndim != 1:
            raise ValueError(f"average(): weights of shape {given.shape} do not fit a tensor of shape {x.shape}; a vector needs an axis.")
        place = axis_of(axis, x.ndim, "average")
        given = functions.reshape(given, (*[1] * place, given.shape[0], *[1] * (x.ndim - place - 1)))
        given = functions.broadcast_to(given, x.shape)
    weight = _reduce.sum(given, axis, keepdims=keepdims)
    found = _reduce.sum(x * given, axis, keepdims=keepdims) / weight
    return (found, weight) if returned else found


def ptp(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The largest element less the smallest."""
    return _reduce.max(x, axis, keepdims=keepdims) - _reduce.min(x, axis, keepdims=keepdims)


def _filled(x: Tensor, value: float) -> Tensor:
    return functions.where(functions.isnan(x), value, x) if x.dtype.is_floating else x


def _nothing(x: Tensor, axis: Axis, keepdims: bool) -> Tensor:
    return _reduce.all(functions.isnan(x), axis, keepdims=keepdims)


def nansum(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """sum() in which NaN counts as 0."""
    return _reduce.sum(_filled(asarray(x), 0.0), axis, keepdims=keepdims)


def nanprod(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """prod() in which NaN counts as 1."""
    return _reduce.prod(_filled(asarray(x), 1.0), axis, keepdims=keepdims)


def nanmean(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The mean of the elements that are not NaN."""
    x = _floats(x)
    count = _reduce.sum(functions.cast(functions.logical_not(functions.isnan(x)), float32), axis, keepdims=keepdims)
    return functions.cast(_reduce.sum(functions.cast(_filled(x, 0.0), float32), axis, keepdims=keepdims) / count, x.dtype)


def nanvar(x: Any, /, axis: Axis = None, *, correction: float = 0, keepdims: bool = False, ddof: float = 0) -> Tensor:
    """The variance of the elements that are not NaN, over their number less `correction`, which numpy calls ddof."""
    correction = correction or ddof
    x = functions.cast(x, float32) if not asarray(x).dtype.is_floating else asarray(x)
    known = functions.logical_not(functions.isnan(x))
    apart = functions.where(known, x - nanmean(x, axis, keepdims=True), 0.0)
    count = _reduce.sum(functions.cast(known, float32), axis, keepdims=keepdims) - correction
    found = _reduce.sum(functions.cast(apart * apart, float32), axis, keepdims=keepdims) / functions.maximum(count, 0.0)
    return functions.cast(functions.where(count <= 0, float("nan"), found), x.dtype)


def nanstd(x: Any, /, axis: Axis = None, *, correction: float = 0, keepdims: bool = False, ddof: float = 0) -> Tensor:
    """The standard deviation of the elements that are not NaN."""
    return functions.sqrt(nanvar(x, axis, correction=correction or ddof, keepdims=keepdims))


def nanmax(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The largest of the elements that are not NaN; NaN where there is none."""
    x = asarray(x)
    made = _reduce.max(_filled(x, float("-inf")), axis, keepdims=keepdims)
    return functions.where(_nothing(x, axis, keepdims), float("nan"), made) if x.dtype.is_floating else made


def nanmin(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The smallest of the elements that are not NaN; NaN where there is none."""
    x = asarray(x)
    made = _reduce.min(_filled(x, float("inf")), axis, keepdims=keepdims)
    return functions.where(_nothing(x, axis, keepdims), float("nan"), made) if x.dtype.is_floating else made
