"""Fourier transforms: the extension "fft" of the Array API standard with numpy's parameters. Results that are complex are a weft.Complex.

The device computes them, and gradients flow through. weft.fft(x) itself, called, transforms pairs of numbers […, 2], as in the other languages.
"""
from __future__ import annotations

import operator
import sys
import types
from collections.abc import Sequence
from typing import Any

from ._array import asarray
from ._complex import Complex, complex, conj, view_as_complex, view_as_real
from ._core import Device, Tensor, functions
from ._shapes import Axis, axis_of, roll
from ._types import wholes

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft", "irfft2", "irfftn", "rfft",
           "rfft2", "rfftfreq", "rfftn"]

OPPOSITE = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _norm(norm: str | None, name: str) -> str:
    chosen = "backward" if norm is None else norm
    if chosen not in OPPOSITE:
        raise ValueError(f"{name}(): there is no norm {norm!r}; there are 'backward', 'ortho' and 'forward'.")
    return chosen


def _axes(shape: tuple[int, ...], s: Sequence[int | None] | None, axes: Sequence[int] | None, name: str) -> tuple[int, ...]:
    """The axes of a transform: those that are named, as many of the last as `s` has, or all."""
    if axes is None:
        count = len(shape) if s is None else len(s)
        if count > len(shape):
            raise ValueError(f"{name}(): there are {count} lengths and {len(shape)} axes.")
        return tuple(range(len(shape) - count, len(shape)))
    if s is not None and len(s) != len(axes):
        raise ValueError(f"{name}(): there are {len(s)} lengths for {len(axes)} axes.")
    found = tuple(axis_of(a, len(shape), name) for a in axes)
    if len(set(found)) != len(found):
        raise ValueError(f"{name}(): the axes {tuple(axes)} have one twice.")
    return found


def _fit(x: Tensor, axis: int, n: int | None, name: str) -> Tensor:
    """x with n elements along an axis: cut, or with zeros behind."""
    old = x.shape[axis]
    n = old if n is None or n == -1 else n
    if n < 1:
        raise ValueError(f"{name}(): a transform needs at least 1 element along each axis; axis {axis} shall have {n}.")
    if n <= old:
        return x[(slice(None),) * axis + (slice(n),)] if n < old else x
    return functions.pad(x, [0] * x.ndim, [n - old if a == axis else 0 for a in range(x.ndim)])


def _real(x: Any, name: str) -> Tensor:
    if isinstance(x, Complex) or getattr(getattr(x, "dtype", None), "kind", "") == "c":
        raise TypeError(f"{name}() is of real numbers; it was given complex ones.")
    made = asarray(x)
    return made if made.dtype.name == "float32" else functions.cast(made, "float32")


def _complex(x: Any) -> Complex:
    made = complex(x)
    return made if made.real.dtype.name == "float32" else Complex(functions.cast(made.real, "float32"), functions.cast(made.imag, "float32"))


def _whole(x: Any, s: Sequence[int | None] | None, axes: Sequence[int] | None, norm: str | None, name: str, inverse: bool) -> Complex:
    z, chosen = _complex(x), _norm(norm, name)
    along = _axes(z.shape, s, axes, name)
    for axis, n in zip(along, s or [None] * len(along), strict=True):
        z = Complex(_fit(z.real, axis, n, name), _fit(z.imag, axis, n, name))
    if not along:
        return z
    return view_as_complex((functions.ifftn if inverse else functions.fftn)(view_as_real(z), along, chosen))


def fftn(x: Any, s: Sequence[int | None] | None = None, axes: Sequence[int] | None = None, norm: str | None = "backward") -> Complex:
    """The transform along several axes, or along all; `s` are the lengths that x is cut or filled up to."""
    return _whole(x, s, axes, norm, "fftn", False)


def ifftn(x: Any, s: Sequence[int | None] | None = None, axes: Sequence[int] | None = None, norm: str | None = "backward") -> Complex:
    """The inverse of fftn()."""
    return _whole(x, s, axes, norm, "ifftn", True)


def rfftn(x: Any, s: Sequence[int | None] | None = None, axes: Sequence[int] | None = None, norm: str | None = "backward") -> Complex:
    """fftn() of real numbers, with half of the elements (n / 2 + 1) along the last of the axes."""
    return _of_real(x, s, axes, norm, "rfftn")


def _of_real(x: Any, s: Sequence[int | None] | None, axes: Sequence[int] | None, norm: str | None, name: str) -> Complex:
    given, chosen = _real(x, name), _norm(norm, name)
    along = _axes(given.shape, s, axes, name)
    if not along:
        raise ValueError(f"{name}() needs at least one axis.")
    for axis, n in zip(along, s or [None] * len(along), strict=True):
        given = _fit(given, axis, n, name)
    return view_as_complex(functions.rfftn(given, along, chosen))


def irfftn(x: Any, s: Sequence[int | None] | None = None, axes: Sequence[int] | None = None, norm: str | None = "backward") -> Tensor:
    """The inverse of rfftn(); without `s` the last of the axes has 2 (m - 1) elements, where x has m."""
    return _to_real(x, s, axes, norm, "irfftn")


def _to_real(x: Any, s: Sequence[int | None] | None, axes: Sequence[int] | None, norm: str | None, name: str) -> Tensor:
    z, chosen = _complex(x), _norm(norm, name)
    along = _axes(z.shape, s, axes, name)
    if not along:
        raise ValueError(f"{name}() needs at least one axis.")
    lengths = list(s or [None] * len(along))
    last = lengths[-1]
    n = 2 * (z.shape[along[-1]] - 1) if last is None or last == -1 else last
    if n < 1:
        raise ValueError(f"{name}(): a transform needs at least 1 element along each axis; axis {along[-1]} shall have {n}.")
    for axis, length in zip(along, [*lengths[:-1], n // 2 + 1], strict=True):
        z = Complex(_fit(z.real, axis, length, name), _fit(z.imag, axis, length, name))
    return functions.irfftn(view_as_real(z), n, along, chosen)


def fft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Complex:
    """The transform along an axis; x is cut or filled up with zeros to n elements."""
    return _whole(x, None if n is None else [n], [axis], norm, "fft", False)


def ifft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Complex:
    """The inverse of fft()."""
    return _whole(x, None if n is None else [n], [axis], norm, "ifft", True)


def rfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Complex:
    """The first n / 2 + 1 elements of the transform of real numbers; the others mirror them."""
    return _of_real(x, None if n is None else [n], [axis], norm, "rfft")


def irfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Tensor:
    """The n real numbers whose rfft() is x; without n there are 2 (m - 1), where x has m."""
    return _to_real(x, None if n is None else [n], [axis], norm, "irfft")


def hfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Tensor:
    """The real transform of a signal of which x is one half; the other one mirrors it."""
    return _to_real(conj(_complex(x)), None if n is None else [n], [axis], OPPOSITE[_norm(norm, "hfft")], "hfft")


def ihfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Complex:
    """The inverse of hfft()."""
    return _of_real(x, None if n is None else [n], [axis], OPPOSITE[_norm(norm, "ihfft")], "ihfft").conj()


def fft2(x: Any, s: Sequence[int | None] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = "backward") -> Complex:
    """fftn() along two axes."""
    return _whole(x, s, axes, norm, "fft2", False)


def ifft2(x: Any, s: Sequence[int | None] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = "backward") -> Complex:
    """The inverse of fft2()."""
    return _whole(x, s, axes, norm, "ifft2", True)


def rfft2(x: Any, s: Sequence[int | None] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = "backward") -> Complex:
    """rfftn() along two axes."""
    return _of_real(x, s, axes, norm, "rfft2")


def irfft2(x: Any, s: Sequence[int | None] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = "backward") -> Tensor:
    """The inverse of rfft2()."""
    return _to_real(x, s, axes, norm, "irfft2")


def _frequencies(places: Tensor, n: int, d: float, dtype: Any) -> Tensor:
    made = places / (n * d)
    return made if dtype is None else functions.cast(made, dtype)


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Device | None = None) -> Tensor:
    """The frequencies of the elements of fft() of n samples that are d apart."""
    n = operator.index(n)
    if n < 1:
        raise ValueError(f"fftfreq() needs at least 1 sample; n is {n}.")
    return _frequencies(asarray([*range((n + 1) // 2), *range(-(n // 2), 0)], "float32", device=device), n, d, dtype)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Device | None = None) -> Tensor:
    """The frequencies of the elements of rfft() of n samples that are d apart."""
    n = operator.index(n)
    if n < 1:
        raise ValueError(f"rfftfreq() needs at least 1 sample; n is {n}.")
    return _frequencies(asarray([*range(n // 2 + 1)], "float32", device=device), n, d, dtype)


def _shift(x: Any, axes: Axis, name: str, back: bool) -> Any:
    given = x if isinstance(x, Complex) or getattr(getattr(x, "dtype", None), "kind", "") != "c" else complex(x)
    if isinstance(given, Complex):
        return Complex(_shift(given.real, axes, name, back), _shift(given.imag, axes, name, back))
    made = asarray(given)
    along = tuple(range(made.ndim)) if axes is None else tuple(wholes(axes))
    for axis in along:
        extent = made.shape[axis_of(axis, made.ndim, name)]
        made = roll(made, -(extent // 2) if back else extent // 2, axis=axis)
    return made


def fftshift(x: Any, axes: Axis = None) -> Any:
    """The element of frequency 0 in the middle."""
    return _shift(x, axes, "fftshift", False)


def ifftshift(x: Any, axes: Axis = None) -> Any:
    """The inverse of fftshift()."""
    return _shift(x, axes, "ifftshift", True)


class _Callable(types.ModuleType):
    """The module as the function of the reference."""

    def __call__(self, x: Any, axis: int = -1) -> Tensor:
        return functions.fft(x, axis)


sys.modules[__name__].__class__ = _Callable
