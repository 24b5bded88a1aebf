"""Functions with numpy's habits, over the described ones; what is neither here nor in _shapes.py is a described function as it is."""
from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from ._array import array, asarray, to_numpy
from ._core import Device, Tensor, functions
from ._shapes import axis_of, concat, full, reshape
from ._types import boolean, iinfo, result_type, to_dtype

__all__ = ["allclose", "argsort", "array_equal", "astype", "clip", "copysign", "cummax", "cummin", "cumprod", "cumsum", "cumulative_prod",
           "cumulative_sum", "diff", "divide", "floor_divide", "hypot", "isin", "left_shift", "nextafter", "nonzero", "positive", "pow", "remainder",
           "right_shift", "round", "searchsorted", "signbit", "sort", "take", "take_along_axis", "unique_all", "unique_counts", "unique_inverse",
           "unique_values", "where"]


# Types and values.

def nextafter(x1: Any, x2: Any, /) -> Tensor:
    """The next number of the type from x1 towards x2. The host computes it: waits for the device."""
    a, b = asarray(x1), asarray(x2)
    kind = result_type(a, b)
    if str(kind).rpartition(".")[2] not in ("float32", "float16"):
        raise TypeError(f"nextafter() needs float32 or float16; it was given {a.dtype} and {b.dtype}.")
    return array(np.nextafter(to_numpy(functions.cast(a, kind)), to_numpy(functions.cast(b, kind))), kind, device=a.device)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Device | None = None) -> Tensor:
    """The values as another element type; without `copy`, the tensor itself where it has that type."""
    x = asarray(x, device=device)
    return x if not copy and x.dtype == to_dtype(dtype) else functions.cast(x, dtype)


def round(x: Any, /, decimals: int = 0) -> Tensor:
    """The nearest whole number, or the nearest with so many decimals (tens for -1, and so on); of two, the even one."""
    x, places = asarray(x), operator.index(decimals)
    if places == 0 or (places > 0 and not x.dtype.is_floating):
        return functions.round(x)
    if x.dtype.is_floating:
        wide, factor = functions.cast(x, "float32"), 10.0 ** min(abs(places), 38)
        if places > 0:  # numbers with no more digits than that stay as they are, whatever comes of the product
            scaled = wide * factor
            made = functions.where(functions.abs(scaled) < 2.0**23, functions.round(scaled) / factor, wide)
        else:
            made = functions.round(wide / factor) * factor
        return functions.cast(made, x.dtype)
    factor = 10 ** -places
    if factor > iinfo(x.dtype).max:
        return functions.zeros_like(x)
    below = functions.floor_divide(x, factor)
    rest, half = x - below * factor, factor // 2
    up = functions.logical_or(rest > half, functions.logical_and(rest == half, functions.remainder(below, 2) == 1))
    whole: Tensor = functions.cast(below + functions.cast(up, x.dtype), x.dtype) * factor
    return whole


def _beyond(x: Tensor, bound: Any, sign: int) -> bool:
    """Whether a whole number of Python is no bound, because all elements of the type lie on one side of it."""
    if isinstance(bound, bool) or not isinstance(bound, int) or not x.dtype.is_integer:
        return False
    limits = iinfo(x.dtype)
    return bound < limits.min if sign < 0 else bound > limits.max


def clip(x: Any, /, min: Any = None, max: Any = None, *, a_min: Any = None, a_max: Any = None) -> Tensor:
    """x, but at least `min` and at most `max`, where these are given; numbers or tensors. numpy calls them a_min and a_max, too."""
    x, min, max = asarray(x), a_min if min is None else min, a_max if max is None else max
    if min is not None and not _beyond(x, min, -1):
        x = functions.maximum(x, min)
    return x if max is None or _beyond(x, max, 1) else functions.minimum(x, max)


# Running results and order.

def _running(name: str) -> Any:
    described = getattr(functions, name)

    def run(x: Any, /, axis: int | None = None, dtype: Any = None, **choices: Any) -> Tensor:
        x = asarray(x) if dtype is None else functions.cast(x, dtype)
        made: Tensor = described(reshape(x, -1), 0, **choices) if axis is None or x.ndim == 0 else described(x, axis, **choices)
        return made if dtype is None else functions.cast(made, dtype)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = str(described.__doc__) + "\n\nWithout an axis, along all elements in a row."
    return run


cumsum, cumprod, cummax, cummin = (_running(name) for name in ("cumsum", "cumprod", "cummax", "cummin"))


def _cumulative(function: Any, first: int) -> Any:
    def run(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Tensor:
        x = asarray(x, dtype)
        axis = axis if axis is None else operator.index(axis)
        if axis is None:
            if x.ndim > 1:
                raise ValueError(f"A tensor of {x.ndim} dimensions needs an axis.")
            axis = 0
        made: Tensor = function(x, axis)
        made = made if dtype is None else functions.cast(made, dtype)
        if not include_initial:
            return made
        place = axis_of(axis, x.ndim, "cumulative_sum")
        start = full((*made.shape[:place], 1, *made.shape[place + 1:]), first, made.dtype, device=made.device)
        return concat([start, made], axis=place)

    return run


cumulative_sum, cumulative_prod = _cumulative(cumsum, 0), _cumulative(cumprod, 1)
cumulative_sum.__doc__ = "Running sums along an axis, which only a vector may leave out; with `include_initial`, a 0 stands before them."
cumulative_prod.__doc__ = "Running products along an axis, which only a vector may leave out; with `include_initial`, a 1 stands before them."


def sort(x: Any, /, axis: int | None = -1, kind: str | None = None, *, descending: bool = False, stable: bool | None = True) -> Tensor:
    """Elements in ascending order along an axis, or all in a row; equal ones keep their order, whatever kind of sorting numpy is asked for."""
    return functions.sort(asarray(x).reshape(-1) if axis is None else x, -1 if axis is None else axis, descending)[0]


def argsort(x: Any, /, axis: int | None = -1, kind: str | None = None, *, descending: bool = False, stable: bool | None = True) -> Tensor:
    """The indices (int32) of sort()."""
    x = asarray(x)
    if x.ndim == 0 and axis in (0, -1):
        axis = None  # numpy lets a number have an order, which has one element
    return functions.argsort(reshape(x, -1) if axis is None else x, -1 if axis is None else axis, descending)


def searchsorted(x1: Any, x2: Any, /, side: str = "left", sorter: Any = None) -> Tensor:
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


def take(x: Any, /, indices: Any, axis: int | None = None, *, mode: str = "raise") -> Tensor:
    """Elements along an axis by their numbers, or from all elements in a row; negative numbers count from the end. Numbers outside are an error, or go
    round ("wrap"), or stop at the ends ("clip")."""
    x, places = asarray(x), asarray(indices)
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"take(): `mode` is {mode!r}; there are 'raise', 'wrap' and 'clip'.")
    if axis is None:
        x, axis = reshape(x, -1), 0
    if mode != "raise":
        last = x.shape[axis_of(axis, x.ndim, "take")] - 1
        places = clip(places, 0, last) if mode == "clip" else remainder(places, last + 1)
    made: Tensor = x[(*[slice(None)] * axis_of(axis, x.ndim, "take"), places)]
    return made


def take_along_axis(x: Any, /, indices: Any, axis: int | None = -1) -> Tensor:
    """y[i, j, k] = x[i, indices[i, j, k], k] for axis 1, and so on; without an axis, from all elements in a row."""
    return functions.take_along(reshape(x, -1), indices, 0) if axis is None else functions.take_along(x, indices, axis)


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


class UniqueCounts(NamedTuple):
    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    values: Tensor
    inverse_indices: Tensor


class UniqueAll(NamedTuple):
    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


def unique_counts(x: Any, /) -> UniqueCounts:
    """The different elements, and how often each is there. Waits for the device."""
    x = asarray(x)
    values, counts = np.unique(to_numpy(x), return_counts=True, equal_nan=False)
    return UniqueCounts(array(values, x.dtype, device=x.device), array(counts.astype(np.int32), device=x.device))


def unique_inverse(x: Any, /) -> UniqueInverse:
    """The different elements, and for each element of x which one it is. Waits for the device."""
    x = asarray(x)
    values, inverse = np.unique(to_numpy(x), return_inverse=True, equal_nan=False)
    return UniqueInverse(array(values, x.dtype, device=x.device), array(inverse.reshape(x.shape).astype(np.int32), device=x.device))


def unique_all(x: Any, /) -> UniqueAll:
    """The different elements, where each is first, which one each element is, and how often. Waits for the device."""
    x = asarray(x)
    values, first, inverse, counts = np.unique(to_numpy(x), return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
    rest = (array(a.astype(np.int32), device=x.device) for a in (first, inverse.reshape(x.shape), counts))
    return UniqueAll(array(values, x.dtype, device=x.device), *rest)


def diff(x: Any, /, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Differences of neighbours along an axis, n times; `prepend` and `append` stand before and behind x at first."""
    made = asarray(x)
    if n < 0:
        raise ValueError(f"diff(): differences cannot be taken {n} times.")
    place = axis_of(axis, made.ndim, "diff")
    if n == 0:
        return made
    if prepend is not None or append is not None:
        edge = (*made.shape[:place], 1, *made.shape[place + 1:])  # of which a number is one everywhere
        given = [p if p is None or p.ndim else functions.broadcast_to(p, edge) for p in (None if e is None else asarray(e) for e in (prepend, append))]
        made = concat([part for part in (given[0], made, given[1]) if part is not None], axis=place)
    for _ in range(n):
        count = made.shape[place] - 1
        if count < 0:
            break
        later, earlier = functions.slice(made, place, 1 if count else 0, count), functions.slice(made, place, 0, count)
        made = functions.not_equal(later, earlier) if made.dtype == boolean else later - earlier
    return made


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements of two tensors are close to each other. Waits for the device."""
    return bool(functions.all(functions.isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a: Any, b: Any, equal_nan: bool = False) -> bool:
    """Whether two tensors have one shape and the same elements; with `equal_nan`, NaN is the same as NaN. Waits for the device."""
    x, y = asarray(a), asarray(b)
    if x.shape != y.shape:
        return False
    same = functions.equal(x, y)
    if equal_nan:
        same = functions.logical_or(same, functions.logical_and(functions.isnan(x), functions.isnan(y)))
    return bool(functions.all(same))


def isin(x1: Any, x2: Any, /, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element of x1 is one of x2, or (`invert`) is not; that elements are unique changes nothing."""
    a, b = asarray(x1), reshape(asarray(x2), -1)
    if b.size == 0:
        found = functions.zeros(a.shape, boolean, device=a.device)
    elif b.size > 64:  # by search: every pair would be too many
        kind = result_type(a, b)
        kind = to_dtype("uint8") if kind == boolean else kind
        a, ordered = functions.cast(a, kind), functions.sort(functions.cast(b, kind), 0)[0]
        found = functions.equal(functions.take(ordered, clip(searchsorted(ordered, a), 0, b.size - 1), 0), a)
    else:
        found = functions.any(functions.equal(functions.unsqueeze(a, -1), b), -1)
    return functions.logical_not(found) if invert else found


def hypot(x1: Any, x2: Any, /) -> Tensor:
    """The length sqrt(x1² + x2²), without overflow on the way."""
    kind = result_type(asarray(x1), asarray(x2), 0.5)
    a, b = functions.abs(functions.cast(x1, kind)), functions.abs(functions.cast(x2, kind))
    large, small = functions.maximum(a, b), functions.minimum(a, b)
    ratio = functions.where(large == 0, 0.0, small / functions.where(large == 0, 1.0, large))
    length = large * functions.sqrt(1.0 + ratio * ratio)
    return functions.where(functions.logical_or(functions.isinf(a), functions.isinf(b)), float("inf"), length)


def signbit(x: Any, /) -> Tensor:
    """Whether the sign is a minus, that of -0 too; of NaN it is none."""
    return functions.less(functions.atan2(x, -1.0), 0.0)  # the angle knows the sign of a zero


def copysign(x1: Any, x2: Any, /) -> Tensor:
    """The size of x1 with the sign of x2, that of -0 too."""
    a, b = asarray(x1), asarray(x2)
    kind = result_type(a, b, 0.5)
    size = functions.abs(functions.cast(a, kind))
    return functions.where(signbit(b), functions.neg(size), size)


def _left(x1: Any, x2: Any) -> Any:
    """A number of Python's beside a tensor as it is, everything else as a tensor."""
    return x1 if isinstance(x2, Tensor) and isinstance(x1, (bool, int, float)) and not isinstance(x1, np.generic) else asarray(x1)


def divide(x1: Any, x2: Any, /) -> Tensor:
    """x1 / x2; of integers in float32."""
    made: Tensor = _left(x1, x2) / x2
    return made


def positive(x: Any, /) -> Tensor:
    """x itself."""
    return +asarray(x)


def pow(x1: Any, x2: Any, /) -> Tensor:
    """x1 to the power of x2; of integers an integer."""
    made: Tensor = _left(x1, x2) ** x2
    return made


def floor_divide(x1: Any, x2: Any, /) -> Tensor:
    """The largest whole number that is not above x1 / x2."""
    made: Tensor = _left(x1, x2) // x2
    return made


def remainder(x1: Any, x2: Any, /) -> Tensor:
    """x1 - floor_divide(x1, x2) · x2: what is left of a division, with the sign of x2."""
    made: Tensor = _left(x1, x2) % x2
    return made


def left_shift(x1: Any, x2: Any, /) -> Tensor:
    """Integers with their bits moved up by so many places: x1 · 2**x2."""
    made: Tensor = _left(x1, x2) << x2
    return made


def right_shift(x1: Any, x2: Any, /) -> Tensor:
    """Integers with their bits moved down by so many places; the sign stays."""
    made: Tensor = _left(x1, x2) >> x2
    return made
