"""Still more of numpy's functions, made of the others: order, blocks, statistics with NaN left out, parts of numbers, and what is asked of arrays."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._array import array, asarray, to_numpy
from ._core import Tensor, functions
from ._model import median, quantile
from ._names import _filled, _floats, diag
from ._numpy import argsort, cumprod, cumsum, sort, where
from ._reduce import argmax, argmin
from ._shapes import Axis, axis_of, concat, reshape, stack
from ._types import float32, is_one, isdtype, result_type, wholes

__all__ = ["argpartition", "array_equiv", "block", "choose", "copy", "corrcoef", "diagflat", "fabs", "fill_diagonal", "float_power", "gcd", "geomspace",
           "isscalar", "ix_", "lcm", "ldexp", "lexsort", "modf", "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmedian", "nanpercentile",
           "nanquantile", "ndim", "partition", "polyval", "rint", "rollaxis", "shape", "size", "trim_zeros"]


# What is asked of arrays.

def ndim(x: Any, /) -> int:
    """How many dimensions there are."""
    return asarray(x).ndim


def shape(x: Any, /) -> tuple[int, ...]:
    """The extents of the dimensions."""
    return asarray(x).shape


def array_equiv(a: Any, b: Any, /) -> bool:
    """Whether two tensors have the same elements once they are broadcast to one shape. Waits for the device."""
    x, y = asarray(a), asarray(b)
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return bool(functions.all(functions.equal(x, y)))


def size(x: Any, /, axis: int | None = None) -> int:
    """How many elements there are, or how many along an axis."""
    x = asarray(x)
    return int(x.size if axis is None else x.shape[axis_of(axis, x.ndim, "size")])


def isscalar(x: Any, /) -> bool:
    """Whether something is a number of Python or numpy, and no tensor."""
    return bool(np.isscalar(x))


def copy(x: Any, /) -> Tensor:
    """Another tensor with the same elements."""
    return array(x)


# Order.

def partition(x: Any, /, kth: int, axis: int | None = -1) -> Tensor:
    """The elements with the kth at its place in the order, smaller ones before it: all of them in order, which is no slower here."""
    return _ordered(sort, x, kth, axis, "partition")


def argpartition(x: Any, /, kth: int, axis: int | None = -1) -> Tensor:
    """The indices (int32) of partition()."""
    return _ordered(argsort, x, kth, axis, "argpartition")


def _ordered(order: Any, x: Any, kth: int, axis: int | None, name: str) -> Tensor:
    x = reshape(x, -1) if axis is None else asarray(x)
    place = axis_of(-1 if axis is None else axis, x.ndim, name)
    if not -x.shape[place] <= kth < x.shape[place]:
        raise ValueError(f"{name}(): there is no element {kth} among {x.shape[place]}.")
    made: Tensor = order(x, axis=place)
    return made


def lexsort(keys: Any, /, axis: int = -1) -> Tensor:
    """The indices (int32) that order by the last of several keys, then by the one before it, and so on."""
    rows = [asarray(key) for key in keys]
    if not rows:
        raise ValueError("lexsort() needs at least one key.")
    places = argsort(rows[0], axis=axis)
    for key in rows[1:]:
        places = functions.take_along(places, argsort(functions.take_along(key, places, axis), axis=axis), axis)
    return places


# Blocks and choices.

def ix_(*places: Any) -> tuple[Tensor, ...]:
    """Index arrays that take every combination: x[ix_([0, 2], [1, 3])] has 2 rows and 2 columns. Of masks the places that hold."""
    made = []
    for number, given in enumerate(places):
        x = asarray(given)
        if x.ndim != 1:
            raise ValueError(f"ix_() needs vectors; argument {number} has the shape {x.shape}.")
        if isdtype(x.dtype, "bool"):
            x = array(np.flatnonzero(to_numpy(x)).astype(np.int32), device=x.device)
        elif x.size == 0:
            x = functions.cast(x, "int32")
        made.append(reshape(x, tuple(-1 if i == number else 1 for i in range(len(places)))) if x.size else
                    reshape(x, tuple(0 if i == number else 1 for i in range(len(places)))))
    return tuple(made)


def block(parts: Any, /) -> Tensor:
    """Tensors in nested lists as one: the innermost lists side by side along the last dimension, the ones around them along the one before, …"""
    depth = 0
    level = parts
    while isinstance(level, list):
        if not level:
            raise ValueError("block(): a list is empty.")
        depth, level = depth + 1, level[0]

    def most(part: Any) -> int:
        return max(map(most, part)) if isinstance(part, list) else asarray(part).ndim

    dimensions = max(most(parts), depth)

    def joined(part: Any, inside: int) -> Tensor:
        if isinstance(part, list) != (inside > 0):
            raise ValueError("block(): the lists are not equally deep.")
        if not isinstance(part, list):
            x = asarray(part)
            return functions.reshape(x, (*[1] * (dimensions - x.ndim), *x.shape))
        return concat([joined(p, inside - 1) for p in part], axis=-inside)

    return joined(parts, depth)


def choose(places: Any, choices: Sequence[Any], /) -> Tensor:
    """choices[places[i]][i] for every i; the choices broadcast, and a place outside of them is an IndexError. Waits for the device."""
    given = asarray(places)
    found = to_numpy(given)
    if found.size and (found.min() < 0 or found.max() >= len(choices)):
        raise IndexError(f"choose(): there are {len(choices)} choices; {found.min()} to {found.max()} are chosen.")
    made = asarray(choices[0])
    for number, choice in enumerate(choices):
        made = where(given == number, choice, made)
    return made


def diagflat(x: Any, /, k: int = 0) -> Tensor:
    """A matrix with all elements of x on a diagonal, and zeros elsewhere."""
    return diag(reshape(x, -1), k)


def fill_diagonal(x: Tensor, value: Any, /) -> None:
    """Changes a matrix: its main diagonal has a value, or the values of a vector."""
    if x.ndim != 2:
        raise ValueError(f"fill_diagonal() needs a matrix; it was given the shape {x.shape}.")
    given, count = asarray(value), min(x.shape)
    if given.ndim:
        given = functions.cast(given[:count], x.dtype)
        given = functions.unsqueeze(functions.pad(given, [0], [x.shape[0] - given.shape[0]]), 1)
    x[...] = where(functions.eye(x.shape[0], x.shape[1], 0, "bool", device=x.device), value if given.ndim == 0 else given, x)


def trim_zeros(x: Any, /, trim: str = "fb") -> Tensor:
    """A vector without the zeros in front ("f") and at its end ("b"). Waits for the device."""
    x = asarray(x)
    if x.ndim != 1:
        raise ValueError(f"trim_zeros() needs a vector; it was given the shape {x.shape}.")
    there = np.flatnonzero(to_numpy(x))
    first = int(there[0]) if "f" in trim.lower() and there.size else 0
    made: Tensor = x[first:0 if there.size == 0 else int(there[-1]) + 1 if "b" in trim.lower() else x.shape[0]]
    return made


def rollaxis(x: Any, /, axis: int, start: int = 0) -> Tensor:
    """A dimension before another one: moveaxis() by an older name."""
    x = asarray(x)
    place = axis_of(axis, x.ndim, "rollaxis")
    if not -x.ndim <= start <= x.ndim:
        raise ValueError(f"rollaxis(): there is no place {start} among {x.ndim} dimensions.")
    before = start + x.ndim if start < 0 else start
    return functions.movedim(x, [place], [before - 1 if place < before else before])


# Numbers.

def fabs(x: Any, /) -> Tensor:
    """The size of each number, as a float."""
    return functions.abs(_floats(x))


def rint(x: Any, /) -> Tensor:
    """The nearest whole number, as a float; of two, the even one."""
    return functions.round(_floats(x))


def gcd(x1: Any, x2: Any, /) -> Tensor:
    """The greatest common divisor of integers. The host computes it: waits for the device."""
    return _of_integers(np.gcd, x1, x2)


def lcm(x1: Any, x2: Any, /) -> Tensor:
    """The least common multiple of integers. The host computes it: waits for the device."""
    return _of_integers(np.lcm, x1, x2)


def _of_integers(function: Any, x1: Any, x2: Any) -> Tensor:
    a, b = asarray(x1), asarray(x2)
    kind = result_type(a, b)
    if not kind.is_integer:
        raise TypeError(f"{function.__name__}() needs integers; it was given {a.dtype} and {b.dtype}.")
    return array(function(to_numpy(functions.cast(a, kind)), to_numpy(functions.cast(b, kind))), kind, device=a.device)


def float_power(x1: Any, x2: Any, /) -> Tensor:
    """x1 to the power of x2, in floats."""
    return functions.pow(_floats(x1), _floats(x2))


def modf(x: Any, /) -> tuple[Tensor, Tensor]:
    """What is behind the point, and the whole number, both towards 0."""
    x = _floats(x)
    whole = functions.trunc(x)
    return functions.where(functions.isinf(x), 0.0, x - whole), whole


def ldexp(x: Any, exponents: Any, /) -> Tensor:
    """x times 2 to the power of an exponent."""
    x, places = _floats(x), asarray(exponents)
    half = functions.cast(places // 2, x.dtype)  # in two steps: the power itself may be no finite number
    made: Tensor = x * functions.exp2(half) * functions.exp2(functions.cast(places, x.dtype) - half)
    return made


def geomspace(start: float, stop: float, num: int = 50, *, endpoint: bool = True) -> Tensor:
    """Numbers from start to stop, each the same multiple of the one before it."""
    if start * stop <= 0:
        raise ValueError(f"geomspace() goes between numbers of one sign; it was given {start} and {stop}.")
    return array(np.geomspace(start, stop, num, endpoint=endpoint), float32)


def polyval(p: Any, x: Any, /) -> Tensor:
    """The polynomial p[0] xⁿ⁻¹ + … + p[n - 1] at x."""
    factors, at = asarray(p), asarray(x)
    made = functions.zeros_like(at)
    for k in range(factors.shape[0]):
        made = made * at + factors[k]
    return made


def corrcoef(x: Any, /, *, rowvar: bool = True) -> Tensor:
    """How the rows of x (or with rowvar=False its columns) go together, from -1 to 1: the covariances over the products of the deviations."""
    x = _floats(x)
    x = x if rowvar or x.ndim < 2 else functions.transpose(x)
    apart = x - functions.mean(x, -1, True)
    if x.ndim == 1 or x.shape[0] == 1:
        return functions.ones((), x.dtype, device=x.device)
    sums = functions.matmul(apart, functions.transpose(apart))
    spread = functions.sqrt(functions.diagonal(sums))
    return functions.clamp(sums / functions.outer(spread, spread), -1, 1)


# NaN left out.

def nanargmax(x: Any, /, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The place (int32) of the largest element that is not NaN."""
    return argmax(_filled(asarray(x), float("-inf")), axis=axis, keepdims=keepdims)


def nanargmin(x: Any, /, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The place (int32) of the smallest element that is not NaN."""
    return argmin(_filled(asarray(x), float("inf")), axis=axis, keepdims=keepdims)


def nancumsum(x: Any, /, axis: int | None = None, dtype: Any = None) -> Tensor:
    """cumsum() in which NaN counts as 0."""
    made: Tensor = cumsum(_filled(asarray(x), 0.0), axis, dtype)
    return made


def nancumprod(x: Any, /, axis: int | None = None, dtype: Any = None) -> Tensor:
    """cumprod() in which NaN counts as 1."""
    made: Tensor = cumprod(_filled(asarray(x), 1.0), axis, dtype)
    return made


# Of Hyndman and Fan: the shares that the places of elements lie at.
ALPHA_BETA = {"hazen": (0.5, 0.5), "weibull": (0.0, 0.0), "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
              "interpolated_inverted_cdf": (0.0, 1.0)}


def _places(counts: np.ndarray[Any, Any], q: float, method: str) -> np.ndarray[Any, Any]:
    """Where a share of so many ascending elements lies by a method of quantile(), between two places where it is no whole number."""
    linear, steps = q * (counts - 1), counts * q - 1
    if method in ALPHA_BETA:
        alpha, beta = ALPHA_BETA[method]
        at = counts * q + (alpha + q * (1 - alpha - beta)) - 1
    elif method == "averaged_inverted_cdf":
        at = np.where(steps == np.floor(steps), steps + 0.5, np.floor(steps) + 1)
    elif method == "closest_observation":
        low = np.floor(steps - 0.5)
        at = np.where((low == steps - 0.5) & (low % 2 == 1), low, low + 1)
    else:
        ways = {"linear": linear, "lower": np.floor(linear), "higher": np.ceil(linear), "nearest": np.rint(linear),
                "midpoint": (np.floor(linear) + np.ceil(linear)) / 2, "inverted_cdf": np.ceil(steps)}
        if method not in ways:
            raise ValueError(f"nanquantile(): there is no method {method!r}; there are {', '.join(map(repr, [*ways, *ALPHA_BETA]))}, "
                             "'averaged_inverted_cdf' and 'closest_observation'.")
        at = ways[method]
    return np.clip(at, 0, np.maximum(counts - 1, 0))


def nanquantile(x: Any, /, q: Any, axis: Axis = None, keepdims: bool = False, *, method: str = "linear") -> Tensor:
    """quantile() of the elements that are not NaN, by the same methods; NaN where there is none."""
    x = asarray(x)
    if not x.dtype.is_floating:
        return quantile(x, q, axis, keepdims, method=method)
    if not is_one(q):
        shares = np.asarray(to_numpy(q) if isinstance(q, Tensor) else q, np.float64)
        parts = stack([nanquantile(x, float(share), axis, keepdims, method=method) for share in shares.reshape(-1)])
        return reshape(parts, (*shares.shape, *parts.shape[1:]))
    if not 0 <= float(q) <= 1:
        raise ValueError(f"nanquantile(): `q` is {q}; it must lie between 0 and 1.")
    axes = tuple(range(x.ndim)) if axis is None else tuple(wholes(axis))
    gone = sorted(axis_of(a, x.ndim, "nanquantile") for a in axes)
    rows = functions.movedim(x, gone, range(x.ndim - len(gone), x.ndim)) if gone else x
    rows = reshape(rows, (*(e for a, e in enumerate(x.shape) if a not in gone), -1))
    ascending = sort(rows, axis=-1)  # NaN comes last
    count = functions.sum(functions.cast(functions.logical_not(functions.isnan(rows)), "int32"), -1, True)
    # In double for each count that there can be, since whole places decide.
    at = _places(np.arange(rows.shape[-1] + 1, dtype=np.float64), float(q), method)

    def of_count(values: np.ndarray[Any, Any], kind: Any) -> Tensor:
        return functions.take(array(values.astype(kind), device=x.device), count, 0)

    below, above = (functions.take_along(ascending, of_count(i, np.int32), -1) for i in (np.floor(at), np.ceil(at)))
    between = functions.where(above == below, below, below + (above - below) * of_count(at - np.floor(at), np.float32))  # of two infinities, that one
    made = functions.squeeze_axes(functions.cast(between, x.dtype), -1)
    return reshape(made, tuple(1 if a in gone else e for a, e in enumerate(x.shape))) if keepdims else made


def nanpercentile(x: Any, /, q: Any, axis: Axis = None, keepdims: bool = False, *, method: str = "linear") -> Tensor:
    """nanquantile() of a share in hundredths."""
    share = float(q) / 100 if is_one(q) else np.asarray(to_numpy(q) if isinstance(q, Tensor) else q, np.float64) / 100
    return nanquantile(x, share, axis, keepdims, method=method)


def nanmedian(x: Any, /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """median() of the elements that are not NaN; NaN where there is none."""
    x = asarray(x)
    return nanquantile(x, 0.5, axis, keepdims) if x.dtype.is_floating else median(x, axis, keepdims)
