"""Functions with numpy's habits, over the described ones; what is neither here nor in _shapes.py is a described function as it is."""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._array import array, asarray, to_numpy
from ._core import Device, Tensor, functions
from ._shapes import Axis, axis_of, concat, full, reshape
from ._types import boolean, result_type

__all__ = ["allclose", "argmax", "argmin", "argsort", "array_equal", "astype", "clip", "conj", "copysign", "cummax", "cummin", "cumprod", "cumsum",
           "cumulative_prod", "cumulative_sum", "diff", "divide", "dot", "einsum", "hypot", "imag", "isclose", "isin", "matmul", "nonzero", "positive",
           "pow", "prod", "real", "searchsorted", "signbit", "sort", "std", "sum", "take", "take_along_axis", "tensordot", "unique_all",
           "unique_counts", "unique_inverse", "unique_values", "var", "vecdot", "where"]


# Types and values.

def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Device | None = None) -> Tensor:
    """The values as another element type."""
    return functions.cast(asarray(x, device=device), dtype)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Tensor:
    """x, but at least `min` and at most `max`, where these are given; numbers or tensors."""
    x = asarray(x)
    if min is not None:
        x = functions.maximum(x, min)
    return x if max is None else functions.minimum(x, max)


def sum(x: Any, /, axis: Axis = None, *, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum over some axes, or over all."""
    return functions.sum(x if dtype is None else functions.cast(x, dtype), axis, keepdims)


def prod(x: Any, /, axis: Axis = None, *, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The product over some axes, or over all."""
    return functions.prod(x if dtype is None else functions.cast(x, dtype), axis, keepdims)


def argmax(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """Where the largest element lies, as int32: the first of equals."""
    return functions.argmax(x, axis if axis is None else operator.index(axis), keepdims)


def argmin(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """Where the smallest element lies, as int32: the first of equals."""
    return functions.argmin(x, axis if axis is None else operator.index(axis), keepdims)


def _running(name: str) -> Any:
    described = getattr(functions, name)

    def run(x: Any, /, axis: int | None = None, **choices: Any) -> Tensor:
        x = asarray(x)
        made: Tensor = described(reshape(x, -1), 0, **choices) if axis is None or x.ndim == 0 else described(x, axis, **choices)
        return made

    run.__name__ = run.__qualname__ = name
    run.__doc__ = str(described.__doc__) + "\n\nWithout an axis, along all elements in a row."
    return run


cumsum, cumprod, cummax, cummin = (_running(name) for name in ("cumsum", "cumprod", "cummax", "cummin"))


def _cumulative(function: Any, first: int) -> Any:
    def run(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
        x = asarray(x, dtype)
        if axis is None:
            if x.ndim > 1:
                raise ValueError(f"A tensor of {x.ndim} dimensions needs an axis.")
            axis = 0
        made: Tensor = function(x, axis)
        if not include_initial:
            return made
        place = axis_of(axis, x.ndim, "cumulative_sum")
        start = full((*made.shape[:place], 1, *made.shape[place + 1:]), first, made.dtype, device=made.device)
        return concat([start, made], axis=place)

    return run


cumulative_sum, cumulative_prod = _cumulative(cumsum, 0), _cumulative(cumprod, 1)


def sort(x: Any, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Tensor:
    """Elements in ascending order along an axis; equal ones keep their order."""
    return functions.sort(x, axis, descending)[0]


def argsort(x: Any, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Tensor:
    """The indices (int32) of sort()."""
    return functions.argsort(x, axis, descending)


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Tensor:
    """Where values belong in ascending elements, as int32."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted(): `side` is {side!r}; there are 'left' and 'right'.")
    base, values = asarray(x1), asarray(x2)
    kind = result_type(base, values)
    base, values = functions.cast(base, kind), functions.cast(values, kind)
    if sorter is not None:
        base = functions.take(base, asarray(sorter), 0)
    if values.ndim == 0:
        return functions.reshape(functions.searchsorted(base, functions.reshape(values, (1,)), side == "right"), ())
    return functions.searchsorted(base, values, side == "right")


def take(x: Any, indices: Any, /, axis: int | None = None) -> Tensor:
    """Elements along an axis by their numbers, or from all elements in a row; negative numbers count from the end."""
    x, places = asarray(x), asarray(indices)
    if axis is None:
        x, axis = reshape(x, -1), 0
    made: Tensor = x[(*[slice(None)] * axis_of(axis, x.ndim, "take"), places)]
    return made


def take_along_axis(x: Any, indices: Any, /, axis: int = -1) -> Tensor:
    """y[i, j, k] = x[i, indices[i, j, k], k] for axis 1, and so on."""
    return functions.take_along(x, indices, axis)


def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """x where a condition holds, else y; with the condition alone, where it holds, as nonzero()."""
    if x is None and y is None:
        return nonzero(condition)
    if isinstance(x, (bool, int, float)) and isinstance(y, (bool, int, float)):
        kind = result_type(x, y)
        x, y = array(x, kind), array(y, kind)
    return functions.where(asarray(condition), x, y)


def nonzero(x: Any, /) -> tuple[Tensor, ...]:
    """The indices (int32) of what is not 0, one tensor per dimension. Waits for the device."""
    x = asarray(x)
    if x.ndim == 0:
        raise ValueError("nonzero() needs a tensor with dimensions.")
    return tuple(array(i.astype(np.int32), device=x.device) for i in np.nonzero(to_numpy(x)))


def unique_values(x: Any, /) -> Tensor:
    """The different elements, in ascending order. Waits for the device."""
    x = asarray(x)
    return array(np.unique(to_numpy(x), equal_nan=False), x.dtype, device=x.device)


def unique_counts(x: Any, /) -> tuple[Tensor, Tensor]:
    """The different elements, and how often each is there. Waits for the device."""
    x = asarray(x)
    values, counts = np.unique(to_numpy(x), return_counts=True, equal_nan=False)
    return array(values, x.dtype, device=x.device), array(counts.astype(np.int32), device=x.device)


def unique_inverse(x: Any, /) -> tuple[Tensor, Tensor]:
    """The different elements, and for each element of x which one it is. Waits for the device."""
    x = asarray(x)
    values, inverse = np.unique(to_numpy(x), return_inverse=True, equal_nan=False)
    return array(values, x.dtype, device=x.device), array(inverse.reshape(x.shape).astype(np.int32), device=x.device)


def unique_all(x: Any, /) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The different elements, where each is first, which one each element is, and how often. Waits for the device."""
    x = asarray(x)
    values, first, inverse, counts = np.unique(to_numpy(x), return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
    rest = (array(a.astype(np.int32), device=x.device) for a in (first, inverse.reshape(x.shape), counts))
    return (array(values, x.dtype, device=x.device), *rest)  # type: ignore[return-value]


def diff(x: Any, /, *, axis: int = -1, n: int = 1) -> Tensor:
    """Differences of neighbours along an axis, n times."""
    made = asarray(x)
    place = axis_of(axis, made.ndim, "diff")
    for _ in range(n):
        count = made.shape[place] - 1
        if count < 0:
            break
        later, earlier = functions.slice(made, place, 1 if count else 0, count), functions.slice(made, place, 0, count)
        made = functions.not_equal(later, earlier) if made.dtype == boolean else later - earlier
    return made


# Products.

def matmul(x1: Any, x2: Any, /) -> Tensor:
    """The matrix product of the last two dimensions; the others are batches that broadcast. Vectors count as a row, or a column."""
    a, b = asarray(x1), asarray(x2)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("matmul() needs tensors with dimensions; * multiplies by a number.")
    kind = result_type(a, b)
    wide_a = functions.unsqueeze(a, 0) if a.ndim == 1 else a
    wide_b = functions.unsqueeze(b, 1) if b.ndim == 1 else b
    if wide_a.shape[-1] != wide_b.shape[-2]:
        raise ValueError(f"matmul(): shapes {a.shape} and {b.shape} do not fit: {wide_a.shape[-1]} columns and {wide_b.shape[-2]} rows.")
    if kind.is_floating or kind.is_quantized:
        made = functions.matmul(functions.cast(wide_a, kind) if not a.dtype.is_quantized else wide_a,
                                functions.cast(wide_b, kind) if not b.dtype.is_quantized else wide_b)
    else:  # sums of products, exactly
        made = functions.unsqueeze(functions.cast(wide_a, kind), -1) * functions.unsqueeze(functions.cast(wide_b, kind), -3)
        made = functions.any(made, -2) if kind == boolean else functions.cast(functions.sum(made, -2), kind)
    gone = [*([-2] if a.ndim == 1 else []), *([-1] if b.ndim == 1 else [])]
    return functions.squeeze_axes(made, gone) if gone else made


def dot(a: Any, b: Any, /) -> Tensor:
    """The product of two numbers or tensors, of two vectors (one number), or of matrices."""
    x, y = asarray(a), asarray(b)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    return matmul(x, y) if y.ndim <= 2 else functions.tensordot_axes(x, y, [-1], [-2])


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """Sums of products along an axis."""
    a, b = asarray(x1), asarray(x2)
    return functions.cast(functions.sum(a * b, axis), result_type(a, b))


def tensordot(x1: Any, x2: Any, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    """The sum of products over the last dimensions of one and the first ones of another, or over pairs of dimensions."""
    if isinstance(axes, int):
        return functions.tensordot(x1, x2, axes)
    return functions.tensordot_axes(x1, x2, *axes)


def einsum(subscripts: str, /, *operands: Any) -> Tensor:
    """Sums of products by the letters of the dimensions: "ij,jk->ik" is the matrix product."""
    return functions.einsum(subscripts, operands)


def var(x: Any, /, axis: Axis = None, *, correction: float = 0, keepdims: bool = False) -> Tensor:
    """The variance over some axes, or over all: the mean of the squared distances from the mean."""
    return functions.var(x, axis, correction=correction, keepdims=keepdims)


def std(x: Any, /, axis: Axis = None, *, correction: float = 0, keepdims: bool = False) -> Tensor:
    """The standard deviation, the square root of var()."""
    return functions.std(x, axis, correction=correction, keepdims=keepdims)


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Whether |a - b| <= atol + rtol * |b|. What is infinite is close to itself alone, and NaN to nothing, or with `equal_nan` to NaN."""
    close = functions.isclose(a, b, rtol, atol)
    return functions.logical_or(close, functions.logical_and(functions.isnan(a), functions.isnan(b))) if equal_nan else close


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements of two tensors are close to each other. Waits for the device."""
    return bool(functions.all(isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a: Any, b: Any) -> bool:
    """Whether two tensors have one shape and the same elements. Waits for the device."""
    x, y = asarray(a), asarray(b)
    return x.shape == y.shape and bool(functions.all(functions.equal(x, y)))


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Tensor:
    """Whether each element of x1 is one of x2."""
    a, b = asarray(x1), reshape(asarray(x2), -1)
    if b.size == 0:
        found = functions.zeros(a.shape, boolean, device=a.device)
    else:
        found = functions.any(functions.equal(functions.unsqueeze(a, -1), b), -1)
    return functions.logical_not(found) if invert else found


def hypot(x1: Any, x2: Any, /) -> Tensor:
    """The length sqrt(x1² + x2²), without overflow on the way."""
    a, b = functions.abs(asarray(x1)), functions.abs(asarray(x2))
    large, small = functions.maximum(a, b), functions.minimum(a, b)
    ratio = functions.where(large == 0, 0.0, small / functions.where(large == 0, 1.0, large))
    length = large * functions.sqrt(1.0 + ratio * ratio)
    return functions.where(functions.isinf(large), float("inf"), length)


def signbit(x: Any, /) -> Tensor:
    """Whether the sign is a minus, that of -0 too; of NaN it is none."""
    return functions.less(functions.atan2(x, -1.0), 0.0)  # the angle knows the sign of a zero


def copysign(x1: Any, x2: Any, /) -> Tensor:
    """The size of x1 with the sign of x2, that of -0 too."""
    a, b = asarray(x1), asarray(x2)
    kind = result_type(a, b, 0.5)
    size = functions.abs(functions.cast(a, kind))
    return functions.where(signbit(b), functions.neg(size), size)


def real(x: Any, /) -> Tensor:
    """x itself: there are no complex numbers."""
    return asarray(x)


def conj(x: Any, /) -> Tensor:
    """x itself: there are no complex numbers."""
    return asarray(x)


def imag(x: Any, /) -> Tensor:
    """0 everywhere: there are no complex numbers."""
    return functions.zeros_like(x)


def divide(x1: Any, x2: Any, /) -> Tensor:
    """x1 / x2; of integers in float32."""
    made: Tensor = asarray(x1) / x2 if not isinstance(x2, Tensor) else x1 / x2
    return made


def positive(x: Any, /) -> Tensor:
    """x itself."""
    return +asarray(x)


def pow(x1: Any, x2: Any, /) -> Tensor:
    """x1 to the power of x2; of integers an integer."""
    made: Tensor = asarray(x1) ** x2 if not isinstance(x2, Tensor) or isinstance(x1, Tensor) else x1**x2
    return made
