"""The extension "linalg" of the Array API standard. The device computes it, but for decompositions: those wait for it, and have no gradients."""
from __future__ import annotations

import operator
from collections.abc import Sequence
from math import inf
from typing import Any, Literal

from ._array import asarray
from ._core import Tensor, functions
from ._decompositions import eig, eigh, eigvals, eigvalsh, matrix_rank, pinv, qr, slogdet, svd, svdvals
from ._described import cross, outer
from ._products import matmul, tensordot, vecdot
from ._reduce import over
from ._reduce import sum as _sum
from ._shapes import Axis, axis_of, matrix_transpose
from ._types import result_type, wholes

__all__ = ["cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matmul", "matrix_norm", "matrix_power",
           "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot",
           "trace", "vecdot", "vector_norm"]


def _floats(x: Any) -> Tensor:
    """Matrices as float32, in which the device computes."""
    return functions.cast(asarray(x), "float32")


def _as(made: Tensor, *given: Any) -> Tensor:
    """A result in the type of floats that were given."""
    kind = result_type(*(asarray(x) for x in given))
    return functions.cast(made, kind) if kind.is_floating else made


def cholesky(x: Any, /, *, upper: bool = False) -> Tensor:
    """The lower triangle L with L · Lᵀ = x, of symmetric matrices that are positive; or the upper one."""
    lower = _as(functions.cholesky(_floats(x)), x)
    return functions.transpose(lower) if upper else lower


def det(x: Any, /) -> Tensor:
    """The determinants of square matrices."""
    return _as(functions.det(_floats(x)), x)


def inv(x: Any, /) -> Tensor:
    """The inverses of square matrices."""
    return _as(functions.inverse(_floats(x)), x)


def solve(x1: Any, x2: Any, /) -> Tensor:
    """y with x1 · y = x2; x2 is a vector, or holds matrices."""
    a, b = _floats(x1), _floats(x2)
    made = functions.squeeze_axes(functions.solve(a, functions.unsqueeze(b, -1)), -1) if b.ndim == 1 else functions.solve(a, b)
    return _as(made, x1, x2)


def diagonal(x: Any, /, *, offset: int = 0) -> Tensor:
    """The diagonals of matrices."""
    return functions.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sums of the diagonals of matrices."""
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(x: Any, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2) -> Tensor:
    """(Σ |x|^ord)^(1/ord) over some axes, or over all."""
    return over(lambda x, axis, keepdims: functions.norm(x, ord, axis, keepdims), x, axis, keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro") -> Tensor:
    """The norms of matrices: "fro" the root of all squares, 1 and -1 the largest and the smallest sum of a column, inf and -inf of a row; 2, -2 and
    "nuc" the largest, the smallest and the sum of the singular values, which the host computes."""
    x = asarray(x)
    if ord in ("fro", None):
        return functions.norm(x, 2, (-2, -1), keepdims)
    if ord in (2, -2, "nuc"):
        sizes = svdvals(x)
        made = functions.sum(sizes, -1) if ord == "nuc" else functions.max(sizes, -1) if ord == 2 else functions.min(sizes, -1)
        return functions.reshape(made, (*made.shape, 1, 1)) if keepdims else made
    if ord not in (1, -1, inf, -inf):
        raise ValueError(f"matrix_norm(): there is no norm {ord!r}; there are 'fro', 'nuc', 1, -1, 2, -2, inf and -inf.")
    sums = functions.sum(functions.abs(x), -2 if ord in (1, -1) else -1, True)
    rest = -1 if ord in (1, -1) else -2
    made = functions.max(sums, rest, True) if ord in (1, inf) else functions.min(sums, rest, True)
    return made if keepdims else functions.squeeze_axes(made, (-2, -1))


def norm(x: Any, ord: float | Literal["fro", "nuc"] | None = None, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The norm of a vector (one axis), of matrices (two axes), or the root of the sum of all squares: numpy's function of this name."""
    x = asarray(x)
    if axis is None and ord is None:
        return functions.norm(x, 2, None, keepdims)
    axes = tuple(range(x.ndim)) if axis is None else tuple(wholes(axis))
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"norm(): {ord!r} is a norm of matrices; one axis is named.")
        return vector_norm(x, axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ValueError(f"norm() is of one axis or of two; there are {len(axes)}.")
    made = matrix_norm(functions.movedim(x, axes, (-2, -1)), keepdims=False, ord="fro" if ord is None else ord)
    for place in sorted(axis_of(a, x.ndim, "norm") for a in axes) if keepdims else ():
        made = functions.unsqueeze(made, place)
    return made


def cond(x: Any, p: float | Literal["fro", "nuc"] | None = None) -> Tensor:
    """How much a solution may change when the matrix does: the largest singular value over the smallest, or the norm of x times that of its inverse."""
    if p is None or p in (2, -2):
        values = svdvals(x)
        made: Tensor = values[..., 0] / values[..., -1]
        return 1.0 / made if p == -2 else made
    return matrix_norm(x, ord=p) * matrix_norm(inv(x), ord=p)


def lstsq(a: Any, b: Any, /, *, rtol: float | None = None) -> Tensor:
    """The x with the least sum of squares of a · x - b; of several the shortest. numpy gives residuals, rank and singular values behind it: these are
    a @ x - b, matrix_rank(a) and svdvals(a)."""
    b = asarray(b)
    made = matmul(pinv(_floats(a), rtol=rtol), functions.cast(b, "float32"))
    return _as(made, a, b)


def multi_dot(arrays: Sequence[Any], /) -> Tensor:
    """The product of several matrices in the order that needs the fewest operations; the first and the last may be vectors."""
    given = [asarray(a) for a in arrays]
    if len(given) < 2 or any(g.ndim != 2 for g in given[1:-1]) or any(g.ndim not in (1, 2) for g in given):
        raise ValueError(f"multi_dot() needs at least two matrices, or vectors at the ends; it was given the shapes {[g.shape for g in given]}.")
    letters = [chr(ord("a") + i) for i in range(len(given) + 1)]
    words = [f"{letters[i]}{letters[i + 1]}" for i in range(len(given))]
    if given[0].ndim == 1:
        words[0] = words[0][1]
    if given[-1].ndim == 1:
        words[-1] = words[-1][0]
    ends = (letters[0] if given[0].ndim == 2 else "") + (letters[-1] if given[-1].ndim == 2 else "")
    return functions.einsum(f"{','.join(words)}->{ends}", given)


def matrix_power(x: Any, n: int, /) -> Tensor:
    """x · x · … · x, n times; of the inverses for n below 0."""
    x = asarray(x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"matrix_power() needs square matrices; it was given the shape {x.shape}.")
    n = operator.index(n)
    square, rest = (x, n) if n >= 0 else (inv(x), -n)
    made: Tensor | None = None
    while rest:
        if rest & 1:
            made = square if made is None else matmul(made, square)
        rest >>= 1
        square = matmul(square, square) if rest else square
    return functions.broadcast_to(functions.eye(x.shape[-1], None, 0, x.dtype, device=x.device), x.shape) if made is None else made
