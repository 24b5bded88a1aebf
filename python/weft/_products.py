"""Products with numpy's parameters, over the described functions."""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ._array import array, asarray
from ._core import Tensor, functions
from ._types import boolean, is_one, result_type, wholes

__all__ = ["convolve", "dot", "einsum", "matmul", "tensordot", "vecdot"]


def matmul(x1: Any, x2: Any, /) -> Tensor:
    """The matrix product of the last two dimensions; the others are batches that broadcast. Vectors count as a row, or a column."""
    if type(x1) is Tensor and type(x2) is Tensor and (quick := x1._product(x2)) is not None:
        return quick
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


def tensordot(x1: Any, x2: Any, /, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    """The sum of products over the last dimensions of one and the first ones of another, or over pairs of dimensions."""
    if is_one(axes):
        return functions.tensordot(x1, x2, operator.index(axes))  # type: ignore[arg-type]
    left, right = (wholes(one) for one in axes)  # type: ignore[union-attr]
    return functions.tensordot_axes(x1, x2, left, right) if left or right else functions.tensordot(x1, x2, 0)


def einsum(subscripts: str, /, *operands: Any, optimize: Any = True) -> Tensor:
    """Sums of products by the letters of the dimensions: "ij,jk->ik" is the matrix product. The order of the products is always the best one that is
    found, whatever `optimize` says."""
    return functions.einsum(subscripts, operands)


def convolve(a: Any, b: Any, /, mode: Literal["full", "same", "valid"] = "full", method: Literal["auto", "direct", "fft"] = "auto") -> Tensor:
    """The convolution of vectors, whichever is longer, or of a […, n…] with b [k…] along the last axes: "full" with every place where they touch, "same"
    as long as the longer one, "valid" where they overlap whole. Of integers every digit is kept."""
    a, b = asarray(a), asarray(b)
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"convolve(): `mode` is {mode!r}; there are 'full', 'same' and 'valid'.")
    kind = result_type(a, b)
    a, b = functions.cast(a, kind), functions.cast(b, kind)
    if a.ndim == b.ndim == 1 and b.size > a.size:
        a, b = b, a
    if kind.is_floating:
        return functions.convolve(a, b, mode, method)
    if a.ndim != 1 or b.ndim != 1 or b.size == 0 or kind == boolean:
        raise ValueError(f"convolve() needs floats, or two vectors of integers; it was given {kind.name} of the shapes {a.shape} and {b.shape}.")
    more = b.size - 1
    places = np.arange(a.size + more)[:, None] + np.arange(b.size)
    rows = functions.take(functions.pad(a, [more], [more]), array(places.astype(np.int32), device=a.device), 0)
    full = functions.cast(functions.sum(rows * functions.flip(b, 0), -1), kind)
    if mode == "full":
        return full
    start, length = (more, a.size - more) if mode == "valid" else (more // 2, a.size)
    return functions.slice(full, 0, start, length)
