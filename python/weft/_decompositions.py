"""Decompositions of matrices, which the host computes with numpy (but for slogdet()): they wait for the device, and no gradient flows through them."""
from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from ._array import array, asarray, to_numpy
from ._complex import Complex
from ._core import Tensor, functions
from ._types import isdtype


class EigResult(NamedTuple):
    eigenvalues: Complex
    eigenvectors: Complex


class EighResult(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor


class QRResult(NamedTuple):
    Q: Tensor
    R: Tensor


class SlogdetResult(NamedTuple):
    sign: Tensor
    logabsdet: Tensor


class SVDResult(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor


def _matrices(x: Any, name: str, square: bool = False) -> tuple[Tensor, np.ndarray[Any, Any]]:
    """Matrices as a tensor, and as doubles."""
    x = asarray(x)
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        raise ValueError(f"{name}() needs {'square ' if square else ''}matrices; it was given the shape {x.shape}.")
    if not isdtype(x.dtype, ("real floating", "integral")):
        raise TypeError(f"{name}() needs numbers; it was given {x.dtype}.")
    x = x if x.dtype.is_floating else functions.cast(x, "float32")
    return x, to_numpy(x).astype(np.float64)


def _like(x: Tensor, values: Any) -> Tensor:
    return array(np.asarray(values, np.float32), x.dtype, device=x.device)


def _complex_like(x: Tensor, values: Any) -> Complex:
    return Complex(_like(x, np.real(values)), _like(x, np.imag(values)))


def eig(x: Any, /) -> EigResult:
    """The eigenvalues of square matrices, and their vectors as columns; both are complex, real ones too."""
    x, values = _matrices(x, "eig", True)
    found = np.linalg.eig(values)
    return EigResult(_complex_like(x, found.eigenvalues), _complex_like(x, found.eigenvectors))


def eigvals(x: Any, /) -> Complex:
    """The eigenvalues of square matrices, as complex numbers."""
    x, values = _matrices(x, "eigvals", True)
    return _complex_like(x, np.linalg.eigvals(values))


def eigh(x: Any, /) -> EighResult:
    """The eigenvalues of symmetric matrices, ascending, and their vectors as columns."""
    x, values = _matrices(x, "eigh", True)
    found = np.linalg.eigh(values)
    return EighResult(_like(x, found.eigenvalues), _like(x, found.eigenvectors))


def eigvalsh(x: Any, /) -> Tensor:
    """The eigenvalues of symmetric matrices, ascending."""
    x, values = _matrices(x, "eigvalsh", True)
    return _like(x, np.linalg.eigvalsh(values))


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Tensor:
    """How many singular values are larger than the largest times rtol (by default the larger extent times the type's precision)."""
    x, values = _matrices(x, "matrix_rank")
    sizes = np.linalg.svdvals(values)
    part = max(x.shape[-2:]) * np.finfo(np.float32).eps if rtol is None else np.asarray(rtol, np.float64)[..., None]
    largest = sizes.max(axis=-1, keepdims=True, initial=0)
    return array(np.count_nonzero(sizes > largest * part, axis=-1).astype(np.int32), device=x.device)


def pinv(x: Any, /, *, rtol: Any = None) -> Tensor:
    """The pseudo-inverses of matrices; smaller singular values than the largest times rtol count as 0."""
    x, values = _matrices(x, "pinv")
    part = max(x.shape[-2:]) * np.finfo(np.float32).eps if rtol is None else np.asarray(rtol, np.float64)
    return _like(x, np.linalg.pinv(values, rcond=part))


def qr(x: Any, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Orthonormal columns Q and an upper triangle R with Q · R = x."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr(): the mode {mode!r} is neither 'reduced' nor 'complete'.")
    x, values = _matrices(x, "qr")
    found = np.linalg.qr(values, mode=mode)
    return QRResult(_like(x, found.Q), _like(x, found.R))


def slogdet(x: Any, /) -> SlogdetResult:
    """The signs of determinants, and the logarithms of their absolute values. The device computes them, and gradients flow to the latter."""
    x = asarray(x)
    return SlogdetResult(*functions.slogdet(x if x.dtype.is_floating else functions.cast(x, "float32")))


def svd(x: Any, /, *, full_matrices: bool = True) -> SVDResult:
    """U, the singular values S from the largest on, and Vh with U · diag(S) · Vh = x."""
    x, values = _matrices(x, "svd")
    found = np.linalg.svd(values, full_matrices=full_matrices)
    return SVDResult(_like(x, found.U), _like(x, found.S), _like(x, found.Vh))


def svdvals(x: Any, /) -> Tensor:
    """The singular values of matrices, from the largest on."""
    x, values = _matrices(x, "svdvals")
    return _like(x, np.linalg.svdvals(values))
