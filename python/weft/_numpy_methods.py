"""Methods of a Tensor that numpy's arrays have, with numpy's parameters, so that np.sum(x) and its like stay on the device."""
from __future__ import annotations

from typing import Any

from . import _numpy, _products, _reduce, _search, _shapes
from ._core import Tensor, functions


def _no_out(out: None, name: str) -> None:
    if out is not None:
        raise TypeError(f"{name}() cannot write to `out`; it gives a new tensor.")


# Shapes.

def _shape_arguments(shape: tuple[Any, ...]) -> Any:
    return shape[0] if len(shape) == 1 else shape


def reshape(self: Tensor, *shape: Any, order: str = "C", copy: bool | None = None) -> Tensor:
    """The same elements with another shape of as many; one extent may be -1 and follows from the others. With the order "F" the first dimension goes
    fastest."""
    return _shapes.reshape(self, _shape_arguments(shape), order)


def transpose(self: Tensor, *axes: Any) -> Tensor:
    """Dimensions in another order, in reverse order when none is given. mT swaps the last two."""
    return _shapes.transpose(self, _shape_arguments(axes) if axes else None)


def permute(self: Tensor, *axes: Any) -> Tensor:
    """Dimensions in another order: result dimension i is dimension axes[i]."""
    return _shapes.permute_dims(self, _shape_arguments(axes))


def ravel(self: Tensor, order: str = "C") -> Tensor:
    """All elements in a row: the last dimension first (order "C"), or the first one first ("F")."""
    return _shapes.reshape(self, -1, "C" if order == "K" else order)


def squeeze(self: Tensor, axis: Any = None) -> Tensor:
    """Without the dimensions of extent 1, or without those that are named."""
    return _shapes.squeeze(self, axis)


def swapaxes(self: Tensor, axis1: int, axis2: int) -> Tensor:
    """Two dimensions in each other's place."""
    return functions.swapaxes(self, axis1, axis2)


def repeat(self: Tensor, repeats: Any, axis: int | None = None) -> Tensor:
    """Each element so often in a row."""
    return _shapes.repeat(self, repeats, axis)


def diagonal(self: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonal of two dimensions, as the last one."""
    return functions.diagonal(self, offset, axis1, axis2)


# Types and elements.

def astype(self: Tensor, dtype: Any, copy: bool = True) -> Tensor:
    """The values as another element type; without `copy`, the tensor itself where it has that type."""
    return _numpy.astype(self, dtype, copy=copy)


def clip(self: Tensor, min: Any = None, max: Any = None, out: None = None) -> Tensor:
    """At least `min` and at most `max`, where these are given."""
    _no_out(out, "clip")
    return _numpy.clip(self, min, max)


def round(self: Tensor, decimals: int = 0, out: None = None) -> Tensor:
    """Rounded to whole numbers, or to so many decimals; halves to the even neighbour."""
    _no_out(out, "round")
    return _numpy.round(self, decimals)


def __round__(self: Tensor, digits: int | None = None) -> Tensor:
    return _numpy.round(self, digits or 0)


def fill(self: Tensor, value: Any) -> None:
    """Makes all elements equal to a value, in place."""
    self[...] = value


def put(self: Tensor, indices: Any, values: Any) -> None:
    """Changes elements, numbered in a row, in place."""
    _search.put(self, indices, values)


def take(self: Tensor, indices: Any, axis: int | None = None, out: None = None, mode: str = "raise") -> Tensor:
    """Elements along an axis by their numbers, or from all elements in a row; negative numbers count from the end."""
    _no_out(out, "take")
    return _numpy.take(self, indices, axis, mode=mode)


def conj(self: Tensor) -> Tensor:
    """The tensor itself: there are no complex numbers."""
    return self


# Reductions.

def _reduction(name: str) -> Any:
    function = getattr(_reduce, name)

    def method(self: Tensor, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, **choices: Any) -> Tensor:
        _no_out(out, name)
        found: Tensor = function(self, axis, dtype=dtype, keepdims=keepdims, **choices)
        return found

    method.__doc__ = function.__doc__
    return method


def _choice(name: str) -> Any:
    """max() and its like, which have no type to compute in."""
    function = getattr(_reduce, name)

    def method(self: Tensor, axis: Any = None, out: None = None, keepdims: bool = False, **choices: Any) -> Tensor:
        _no_out(out, name)
        found: Tensor = function(self, axis, keepdims, **choices)
        return found

    method.__doc__ = function.__doc__
    return method


def _spread(name: str) -> Any:
    function = getattr(_reduce, name)

    def method(self: Tensor, axis: Any = None, dtype: Any = None, out: None = None, ddof: float = 0, keepdims: bool = False,
               *, correction: float = 0, where: Any = None) -> Tensor:
        _no_out(out, name)
        found: Tensor = function(self, axis, correction=ddof or correction, keepdims=keepdims, dtype=dtype, where=where)
        return found

    method.__doc__ = function.__doc__
    return method


def argmax(self: Tensor, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Tensor:
    """Where the largest element lies, as int32: the first of equals."""
    _no_out(out, "argmax")
    return _reduce.argmax(self, axis, keepdims=keepdims)


def argmin(self: Tensor, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Tensor:
    """Where the smallest element lies, as int32: the first of equals."""
    _no_out(out, "argmin")
    return _reduce.argmin(self, axis, keepdims=keepdims)


def cumsum(self: Tensor, axis: int | None = None, dtype: Any = None, out: None = None) -> Tensor:
    """Running sums along an axis; without one, along all elements in a row."""
    _no_out(out, "cumsum")
    found: Tensor = _numpy.cumsum(self, axis, dtype)
    return found


def cumprod(self: Tensor, axis: int | None = None, dtype: Any = None, out: None = None) -> Tensor:
    """Running products along an axis; without one, along all elements in a row."""
    _no_out(out, "cumprod")
    found: Tensor = _numpy.cumprod(self, axis, dtype)
    return found


def trace(self: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The sums of a diagonal of the matrices that two axes span."""
    return functions.trace(self, offset, axis1, axis2)


# Order.

def sort(self: Tensor, axis: int | None = -1, kind: str | None = None, order: None = None, *,
         descending: bool = False, stable: bool | None = True) -> Tensor:
    """A tensor with the elements in ascending order along an axis. Other than numpy's, it changes nothing in place."""
    return _numpy.sort(self, axis, descending=descending)


def argsort(self: Tensor, axis: int | None = -1, kind: str | None = None, order: None = None, *,
            descending: bool = False, stable: bool | None = True) -> Tensor:
    """The indices (int32) of sort()."""
    return _numpy.argsort(self, axis, descending=descending)


def searchsorted(self: Tensor, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    """Where values belong among the elements, which are ascending, as int32."""
    return _numpy.searchsorted(self, v, side=side, sorter=sorter)


def nonzero(self: Tensor) -> tuple[Tensor, ...]:
    """The indices (int32) of what is not 0, one tensor per dimension. Waits for the device."""
    return _numpy.nonzero(self)


# Products.

def dot(self: Tensor, other: Any) -> Tensor:
    """The product of two numbers or tensors, of two vectors (one number), or of matrices."""
    return _products.dot(self, other)


def _matmul(self: Tensor, other: Any) -> Any:
    if type(other) is not Tensor and getattr(other, "__array_priority__", 0) > 1000:
        return NotImplemented  # a Complex computes it
    return _products.matmul(self, other)


def _inplace_matmul(self: Tensor, other: Any) -> Tensor:
    self._replace(_products.matmul(self, other))
    return self


METHODS: dict[str, Any] = {name: _reduction(name) for name in ("sum", "mean", "prod")} | {
    name: _choice(name) for name in ("max", "min", "any", "all")} | {name: _spread(name) for name in ("var", "std")} | {
    function.__name__: function for function in (
        reshape, transpose, permute, ravel, squeeze, swapaxes, repeat, diagonal, astype, clip, round, __round__, fill, put, take, conj, argmax, argmin,
        cumsum, cumprod, trace, sort, argsort, searchsorted, nonzero, dot)} | {
    "flatten": lambda self, order="C": ravel(self, order), "view": lambda self, *shape: reshape(self, *shape),
    "__matmul__": _matmul, "__rmatmul__": lambda self, other: _products.matmul(other, self),
    "__imatmul__": _inplace_matmul, "__divmod__": lambda self, other: (self // other, self % other),
    "__rdivmod__": lambda self, other: (other // self, other % self),
    "T": property(lambda self: _shapes.transpose(self), doc="The dimensions in reverse order."),
    "mT": property(lambda self: functions.transpose(self), doc="The last two dimensions swapped."),
    "real": property(lambda self: self, doc="The tensor itself: its numbers are real."),
    "imag": property(lambda self: functions.zeros_like(self), doc="0 everywhere: its numbers are real."),
}
METHODS["flatten"].__doc__, METHODS["view"].__doc__ = ravel.__doc__, reshape.__doc__
