"""The extension "linalg" of the Array API standard, as far as the device computes it: docs/python.md lists what is missing."""
from __future__ import annotations

from math import inf
from typing import Any, Literal

from ._array import asarray
from ._core import Tensor, functions
from ._described import cross, outer
from ._numpy import matmul, tensordot, vecdot
from ._shapes import Axis, matrix_transpose

__all__ = ["cholesky", "cross", "det", "diagonal", "inv", "matmul", "matrix_norm", "matrix_power", "matrix_transpose", "outer", "solve",
           "tensordot", "trace", "vecdot", "vector_norm"]


def cholesky(x: Any, /, *, upper: bool = False) -> Tensor:
    """The lower triangle L with L · Lᵀ = x, of symmetric matrices that are positive; or the upper one."""
    lower = functions.cholesky(x)
    return functions.transpose(lower) if upper else lower


def det(x: Any, /) -> Tensor:
    """The determinants of square matrices."""
    return functions.det(x)


def inv(x: Any, /) -> Tensor:
    """The inverses of square matrices."""
    return functions.inverse(x)


def solve(x1: Any, x2: Any, /) -> Tensor:
    """y with x1 · y = x2; x2 is a vector, or holds matrices."""
    a, b = asarray(x1), asarray(x2)
    if b.ndim == 1:
        return functions.squeeze_axes(functions.solve(a, functions.unsqueeze(b, -1)), -1)
    return functions.solve(a, b)


def diagonal(x: Any, /, *, offset: int = 0) -> Tensor:
    """The diagonals of matrices."""
    return functions.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sums of the diagonals of matrices."""
    made = functions.sum(diagonal(x, offset=offset), -1)
    return made if dtype is None else functions.cast(made, dtype)


def vector_norm(x: Any, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2) -> Tensor:
    """(Σ |x|^ord)^(1/ord) over some axes, or over all."""
    return functions.norm(x, ord, axis, keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: float | Literal["fro"] | None = "fro") -> Tensor:
    """The norms of matrices: "fro" the root of all squares, 1 and -1 the largest and the smallest sum of a column, inf and -inf of a row."""
    x = asarray(x)
    if ord in ("fro", None):
        return functions.norm(x, 2, (-2, -1), keepdims)
    if ord not in (1, -1, inf, -inf):
        raise NotImplementedError(f"matrix_norm(): there is no norm {ord!r}; there are 'fro', 1, -1, inf and -inf.")
    sums = functions.sum(functions.abs(x), -2 if ord in (1, -1) else -1, True)
    rest = -1 if ord in (1, -1) else -2
    made = functions.max(sums, rest, True) if ord in (1, inf) else functions.min(sums, rest, True)
    return made if keepdims else functions.squeeze_axes(made, (-2, -1))


def matrix_power(x: Any, n: int, /) -> Tensor:
    """x · x · … · x, n times; of the inverses for n below 0."""
    x = asarray(x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"matrix_power() needs square matrices; it was given the shape {x.shape}.")
    square, rest = (x, n) if n >= 0 else (inv(x), -n)
    made: Tensor | None = None
    while rest:
        if rest & 1:
            made = square if made is None else matmul(made, square)
        rest >>= 1
        square = matmul(square, square) if rest else square
    return functions.broadcast_to(functions.eye(x.shape[-1], None, 0, x.dtype, device=x.device), x.shape) if made is None else made
