"""Reductions with numpy's parameters, over the described ones."""
from __future__ import annotations

import operator
from typing import Any

from ._array import asarray
from ._core import Tensor, functions
from ._shapes import Axis, full
from ._types import boolean, float32, is_one

__all__ = ["all", "any", "argmax", "argmin", "count_nonzero", "logsumexp", "max", "mean", "min", "prod", "std", "sum", "var"]


def over(function: Any, x: Any, axis: Any, keepdims: bool, **choices: Any) -> Tensor:
    """A reduction. Over no axes at all, `axis=()`, each element is reduced by itself."""
    if is_one(axis) and operator.index(axis) in (0, -1) and asarray(x).ndim == 0:
        axis = ()  # numpy lets a number have one axis here
    if isinstance(axis, (tuple, list)) and not axis:
        x, axis, keepdims = functions.unsqueeze(x, 0), 0, False
    made: Tensor = function(x, axis, keepdims=keepdims, **choices)
    return made


def _chosen(x: Tensor, where: Any, neutral: Any, name: str) -> Tensor:
    """x with a neutral value in the places that do not count."""
    if where is None or where is True:
        return x
    mask = functions.cast(asarray(where), boolean)
    found: Tensor = functions.where(mask, x, neutral)
    if found.shape != x.shape:
        raise ValueError(f"{name}(): `where` of shape {mask.shape} does not fit a tensor of shape {x.shape}.")
    return found


def _counted(function: Any, neutral: int, join: Any, x: Any, axis: Axis, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Tensor:
    x = asarray(x) if dtype is None else functions.cast(x, dtype)
    made = over(function, _chosen(x, where, bool(neutral) if x.dtype == boolean else neutral, function.__name__), axis, keepdims)
    made = made if initial is None else join(made, initial)
    return made if dtype is None else functions.cast(made, dtype)  # which goes round the range of the type


def sum(x: Any, /, axis: Axis = None, *, dtype: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Tensor:
    """The sum over some axes, or over all; of those elements that count, where `where` says it, beginning with `initial`, computed in `dtype`."""
    return _counted(functions.sum, 0, operator.add, x, axis, dtype, keepdims, initial, where)


def prod(x: Any, /, axis: Axis = None, *, dtype: Any = None, keepdims: bool = False, initial: Any = None, where: Any = None) -> Tensor:
    """The product over some axes, or over all; of those elements that count, where `where` says it, beginning with `initial`, computed in `dtype`."""
    return _counted(functions.prod, 1, operator.mul, x, axis, dtype, keepdims, initial, where)


def _extreme(function: Any, pair: Any, x: Any, axis: Axis, keepdims: bool, initial: Any, where: Any) -> Tensor:
    x, name = asarray(x), function.__name__
    if initial is None:
        if where is not None and where is not True:
            raise ValueError(f"{name}() needs `initial` beside `where`: what it gives where nothing counts.")
        return over(function, x, axis, keepdims)
    x = _chosen(x, where, initial, name)
    if x.size == 0:
        return full(over(functions.any, x, axis, keepdims).shape, initial, x.dtype, device=x.device)
    return functions.cast(pair(over(function, x, axis, keepdims), initial), x.dtype)


def max(x: Any, /, axis: Axis = None, keepdims: bool = False, *, initial: Any = None, where: Any = None) -> Tensor:
    """The largest element over some axes, or over all; NaN where one is among them. `initial` is the least that it gives, and what it gives where
    `where` lets nothing count."""
    return _extreme(functions.max, functions.maximum, x, axis, keepdims, initial, where)


def min(x: Any, /, axis: Axis = None, keepdims: bool = False, *, initial: Any = None, where: Any = None) -> Tensor:
    """The smallest element over some axes, or over all; NaN where one is among them. `initial` is the most that it gives, and what it gives where
    `where` lets nothing count."""
    return _extreme(functions.min, functions.minimum, x, axis, keepdims, initial, where)


def any(x: Any, /, axis: Axis = None, keepdims: bool = False, *, where: Any = None) -> Tensor:
    """Whether any element is not 0, over some axes or over all; of those elements that count, where `where` says it."""
    return over(functions.any, x if where is None else _chosen(functions.not_equal(x, 0), where, False, "any"), axis, keepdims)


def all(x: Any, /, axis: Axis = None, keepdims: bool = False, *, where: Any = None) -> Tensor:
    """Whether no element is 0, over some axes or over all; of those elements that count, where `where` says it."""
    return over(functions.all, x if where is None else _chosen(functions.not_equal(x, 0), where, True, "all"), axis, keepdims)


def count_nonzero(x: Any, /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """How many elements are not 0, over some axes or over all, as int32."""
    return over(functions.count_nonzero, x, axis, keepdims)


def logsumexp(x: Any, /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """log(Σ exp(x)) over some axes or over all, without overflow."""
    return over(functions.logsumexp, x, axis, keepdims)


def _known(x: Tensor, where: Any, axis: Axis, keepdims: bool, name: str) -> Tensor:
    """How many elements count."""
    made: Tensor = sum(_chosen(functions.ones_like(x, float32), where, 0.0, name), axis, keepdims=keepdims)
    return made


def mean(x: Any, /, axis: Axis = None, keepdims: bool = False, *, dtype: Any = None, where: Any = None) -> Tensor:
    """The mean over some axes, or over all; of those elements that count, where `where` says it, computed in `dtype`."""
    x = asarray(x) if dtype is None else functions.cast(x, dtype)
    if where is None or where is True:
        made = over(functions.mean, x, axis, keepdims)
    else:
        wide = functions.cast(x, float32)
        made = sum(_chosen(wide, where, 0.0, "mean"), axis, keepdims=keepdims) / _known(wide, where, axis, keepdims, "mean")
        made = functions.cast(made, x.dtype) if x.dtype.is_floating else made
    return made if dtype is None else functions.cast(made, dtype)


def var(x: Any, /, axis: Axis = None, *, correction: float = 0, keepdims: bool = False, ddof: float = 0, dtype: Any = None, where: Any = None) -> Tensor:
    """The variance over some axes, or over all: the mean of the squared distances from the mean. The number of elements that it is divided by is
    less by `correction`, which numpy calls ddof. `where` says which elements count, `dtype` in which type to compute."""
    x = asarray(x) if dtype is None else functions.cast(x, dtype)
    if where is None or where is True:
        return over(functions.var, x, axis, keepdims, correction=correction or ddof)
    wide = functions.cast(x, float32)
    apart = _chosen(wide - mean(wide, axis, True, where=where), where, 0.0, "var")
    rest = functions.maximum(_known(wide, where, axis, keepdims, "var") - (correction or ddof), 0.0)
    made: Tensor = sum(functions.square(apart), axis, keepdims=keepdims) / rest
    return functions.cast(made, x.dtype) if x.dtype.is_floating else made


def std(x: Any, /, axis: Axis = None, *, correction: float = 0, keepdims: bool = False, ddof: float = 0, dtype: Any = None, where: Any = None) -> Tensor:
    """The standard deviation, the square root of var()."""
    if where is not None and where is not True:
        return functions.sqrt(var(x, axis, correction=correction or ddof, keepdims=keepdims, dtype=dtype, where=where))
    x = asarray(x) if dtype is None else functions.cast(x, dtype)
    return over(functions.std, x, axis, keepdims, correction=correction or ddof)


def _along(x: Any, axis: Any) -> int | None:
    """The axis; of a number, which numpy lets have one, none."""
    place = None if axis is None else operator.index(axis)
    return None if place in (0, -1) and asarray(x).ndim == 0 else place


def argmax(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """Where the largest element lies, as int32: the first of equals."""
    return functions.argmax(x, _along(x, axis), keepdims)


def argmin(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """Where the smallest element lies, as int32: the first of equals."""
    return functions.argmin(x, _along(x, axis), keepdims)
