"""The Array API standard, function by function, as expressions (expressions.py): numpy's namespace follows the standard."""
from __future__ import annotations

import functools
import importlib.util
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from expressions import check, compare, operands

import weft as wt

UNARY_FLOATS = "acos asin atan atanh cos cosh exp expm1 sin sinh tan tanh asinh".split()
UNARY_ABOVE = "acosh log log1p log2 log10 sqrt reciprocal".split()
UNARY = "abs ceil floor trunc round sign square negative positive".split()
BINARY = "add subtract multiply maximum minimum floor_divide remainder".split()
BINARY_FLOATS = "atan2 copysign hypot logaddexp nextafter divide".split()
COMPARED = "equal not_equal less less_equal greater greater_equal".split()
CASES: dict[str, list[str]] = {
    **{n: [f"xp.{n}(f / 4)", f"xp.{n}(s / 8)", f"xp.{n}(z)"] for n in UNARY_FLOATS},
    **{n: [f"xp.{n}(p + 1)", f"xp.{n}(s + 1)", f"xp.{n}(z)"] for n in UNARY_ABOVE},
    **{n: [f"xp.{n}(f)", f"xp.{n}(i)", f"xp.{n}(s)", f"xp.{n}(z)"] for n in UNARY},
    **{n: [f"xp.{n}(f)", f"xp.{n}(i)", f"xp.{n}(f / xp.asarray(0.0, dtype='float32'))"] for n in ("isfinite", "isinf", "isnan")},
    **{n: [f"xp.{n}(f, v + 9)", f"xp.{n}(i, i + 7)", f"xp.{n}(u, u + 1)", f"xp.{n}(f, 2.0)", f"xp.{n}(2, i + 7)", f"xp.{n}(z, s)"] for n in BINARY},
    **{n: [f"xp.{n}(f, v)", f"xp.{n}(p, s)", f"xp.{n}(z, s)"] for n in BINARY_FLOATS},
    **{n: [f"xp.{n}(f, v)", f"xp.{n}(i, i[::-1])", f"xp.{n}(u, 3)", f"xp.{n}(s, f)"] for n in COMPARED},
    **{n: [f"xp.{n}(b, b[::-1])", f"xp.{n}(b, True)"] for n in ("logical_and", "logical_or", "logical_xor")},
    **{f"bitwise_{n}": [f"xp.bitwise_{n}(i, i[::-1])", f"xp.bitwise_{n}(u, 5)", f"xp.bitwise_{n}(b, b[::-1])"] for n in ("and", "or", "xor")},
    **{f"bitwise_{n}_shift": [f"xp.bitwise_{n}_shift(i, xp.abs(i))", f"xp.bitwise_{n}_shift(u, 2)"] for n in ("left", "right")},
    "bitwise_invert": ["xp.bitwise_invert(i)", "xp.bitwise_invert(b)"], "logical_not": ["xp.logical_not(b)"],
    "clip": ["xp.clip(f, -1, 1)", "xp.clip(i, 0, None)", "xp.clip(f, max=v)", "xp.clip(u, 1, 3)", "xp.clip(s, 0.0, 0.5)"],
    "pow": ["xp.pow(p, v)", "xp.pow(i, 3)", "xp.pow(2.0, v)", "xp.pow(u, u)"],
    "signbit": ["xp.signbit(f)", "xp.signbit(-z)", "xp.signbit(xp.asarray([-0.0, 0.0], dtype='float32'))"],
    "real": ["xp.real(f)", "xp.real(c)"], "imag": ["xp.imag(f)", "xp.imag(c)"], "conj": ["xp.conj(f)", "xp.conj(c)"],
    # Creation.
    "arange": ["xp.arange(5)", "xp.arange(2, 9, 3)", "xp.arange(5, 0, -2)", "xp.arange(0.0, 1.0, 0.25)", "xp.arange(3, dtype='int64')", "xp.arange(0)"],
    "asarray": ["xp.asarray(3)", "xp.asarray(2.5)", "xp.asarray(True)", "xp.asarray([[1, 2], [3, 4]])", "xp.asarray([1.0, 2.0], dtype='float32')",
                "xp.asarray(f, copy=True)"],
    "empty": ["xp.empty((2, 0))"], "empty_like": ["xp.empty_like(z)"],
    "eye": ["xp.eye(3)", "xp.eye(2, 4, k=1)", "xp.eye(3, k=-1, dtype='int32')", "xp.eye(0)"],
    "from_dlpack": ["xp.from_dlpack(xp.from_dlpack(f))", "xp.from_dlpack(xp.asarray(i))"],
    "full": ["xp.full((2, 3), 7)", "xp.full(4, 0.5)", "xp.full((), True)", "xp.full(2, 3, dtype='uint8')"],
    "full_like": ["xp.full_like(f, 2)", "xp.full_like(i, 3, dtype='float32')"],
    "linspace": ["xp.linspace(0, 1, 5)", "xp.linspace(2, -2, 4, endpoint=False)", "xp.linspace(3, 4, 1)", "xp.linspace(0, 1, 0)"],
    "meshgrid": ["list(xp.meshgrid(v, v[:2]))", "list(xp.meshgrid(v, v[:2], indexing='ij'))"],
    "ones": ["xp.ones((2, 3))", "xp.ones(3, dtype='bool')"], "ones_like": ["xp.ones_like(i)", "xp.ones_like(f, dtype='int8')"],
    "zeros": ["xp.zeros(4)", "xp.zeros((), dtype='int64')"], "zeros_like": ["xp.zeros_like(f)", "xp.zeros_like(b)"],
    "tril": ["xp.tril(f)", "xp.tril(f, k=-1)", "xp.tril(xp.stack([i, i]), k=1)"], "triu": ["xp.triu(f)", "xp.triu(i, k=1)"],
    # Types.
    "astype": ["xp.astype(f, 'int32')", "xp.astype(i, 'float32')", "xp.astype(f, 'bool')", "xp.astype(b, 'uint8')", "xp.astype(f, 'float32', copy=False)"],
    "broadcast_arrays": ["list(xp.broadcast_arrays(f, v, s))"], "broadcast_to": ["xp.broadcast_to(v, (2, 3, 4))", "xp.broadcast_to(s, (2,))"],
    "broadcast_shapes": ["xp.broadcast_shapes((3, 1), (4,), ())", "xp.broadcast_shapes((0, 1), (1, 5))"],
    "can_cast": [f"xp.can_cast('{a}', '{b}')" for a, b in map(str.split, (
        "int8 int16", "int16 int8", "uint8 int16", "uint32 int64", "uint32 int32", "float32 int32", "int32 float32", "int16 float32", "bool int8",
        "float16 float32", "int64 float32", "int8 float16", "int16 float16"))],
    "finfo": [f"xp.finfo('{t}').{a}" for t in ("float32", "float16") for a in ("bits", "eps", "max", "min", "smallest_normal")],
    "iinfo": [f"xp.iinfo('{t}').{a}" for t in ("int8", "uint8", "int64", "uint32") for a in ("bits", "max", "min")],
    "isdtype": [f"xp.isdtype({x}.dtype, {k})" for x in "fiub" for k in ("'bool'", "'integral'", "'signed integer'", "'unsigned integer'",
                "'real floating'", "'numeric'", "'complex floating'", "('bool', 'integral')", "f.dtype")],
    "result_type": ["xp.result_type(u, i) == i.dtype", "xp.result_type(f, 1.0) == f.dtype", "xp.result_type(u, 1) == u.dtype"],
    **{n: [f"xp.asarray([0, 1, 2], dtype=xp.{n})"] for n in "bool int8 int16 int32 int64 uint8 uint32 float32".split()},
    # Elements by index.
    "take": ["xp.take(f, xp.asarray([1, 0, 1]), axis=1)", "xp.take(v, xp.asarray([-1, 0]))", "xp.take(f, xp.asarray([], dtype='int32'), axis=0)"],
    "take_along_axis": ["xp.take_along_axis(f, xp.argsort(f, axis=0), axis=0)", "xp.take_along_axis(i, xp.argsort(i))"],
    # Products.
    "matmul": ["xp.matmul(f, f.mT)", "xp.matmul(f, v)", "xp.matmul(v, v)", "xp.matmul(i, i.T)", "xp.matmul(z, z.mT)", "xp.matmul(xp.stack([f, p]), f.T)"],
    "matrix_transpose": ["xp.matrix_transpose(f)", "xp.matrix_transpose(xp.stack([f, p]))"],
    "tensordot": ["xp.tensordot(f, f.T, axes=1)", "xp.tensordot(f, f, axes=2)", "xp.tensordot(v, v, axes=0)", "xp.tensordot(i, i, axes=((0, 1), (0, 1)))"],
    "vecdot": ["xp.vecdot(f, p)", "xp.vecdot(f, v)", "xp.vecdot(f, p, axis=0)"],
    # Shapes.
    "concat": ["xp.concat([f, p])", "xp.concat([f, i], axis=1)", "xp.concat([f, v], axis=None)", "xp.concat([z, z], axis=-1)"],
    "expand_dims": ["xp.expand_dims(f, axis=0)", "xp.expand_dims(v, axis=-1)", "xp.expand_dims(f, axis=(0, -1))"],
    "flip": ["xp.flip(f)", "xp.flip(f, axis=0)", "xp.flip(f, axis=(0, 1))"], "moveaxis": ["xp.moveaxis(xp.stack([f, p]), 0, -1)"],
    "permute_dims": ["xp.permute_dims(f, (1, 0))", "xp.permute_dims(xp.stack([f, p]), (-1, 0, 1))"],
    "repeat": ["xp.repeat(f, 2)", "xp.repeat(f, 3, axis=0)", "xp.repeat(v, xp.asarray([0, 1, 2, 1]))"],
    "reshape": ["xp.reshape(f, (4, 3))", "xp.reshape(f, (-1,))", "xp.reshape(s, (1, 1))", "xp.reshape(f, (2, -1, 3))", "xp.reshape(z, (5, 0))"],
    "roll": ["xp.roll(f, 2)", "xp.roll(f, -1, axis=1)", "xp.roll(f, (1, 2), axis=(0, 1))"],
    "squeeze": ["xp.squeeze(f[None], axis=0)", "xp.squeeze(f[None, :, None], axis=(0, 2))"],
    "stack": ["xp.stack([f, p])", "xp.stack([f, p], axis=-1)"], "tile": ["xp.tile(f, (2, 1))", "xp.tile(v, (2, 2, 1))", "xp.tile(f, (2,))"],
    "unstack": ["list(xp.unstack(f))", "list(xp.unstack(f, axis=1))"],
    # Search and order.
    "argmax": ["xp.argmax(f)", "xp.argmax(f, axis=1)", "xp.argmax(i, axis=0, keepdims=True)"], "argmin": ["xp.argmin(f)", "xp.argmin(f, axis=-1)"],
    "count_nonzero": ["xp.count_nonzero(f)", "xp.count_nonzero(b, axis=0)", "xp.count_nonzero(i, axis=1, keepdims=True)"],
    "nonzero": ["list(xp.nonzero(f))", "list(xp.nonzero(b))"],
    "searchsorted": ["xp.searchsorted(xp.sort(v), v)", "xp.searchsorted(xp.sort(v), v, side='right')", "xp.searchsorted(v, p, sorter=xp.argsort(v))",
                     "xp.searchsorted(xp.sort(v), 0.5)"],
    "where": ["xp.where(b, f, p)", "xp.where(b, f, 0.0)", "xp.where(b, 1, i)", "xp.where(f > 0, v, s)"],
    "isin": ["xp.isin(i, xp.asarray([1, 2]))", "xp.isin(i, [3], invert=True)"],
    "unique_all": ["list(xp.unique_all(i))"], "unique_counts": ["list(xp.unique_counts(u))"], "unique_inverse": ["list(xp.unique_inverse(i))"],
    "unique_values": ["xp.sort(xp.unique_values(i))",
                      "xp.unique_values(b)", "xp.unique_values(xp.asarray([0.0, float('nan'), float('nan')], dtype='float32'))"],
    "argsort": ["xp.argsort(f)", "xp.argsort(f, axis=None)", "xp.argsort(i, axis=0, stable=True)"],
    "sort": ["xp.sort(f)", "xp.sort(f, axis=None)", "xp.sort(i, axis=0)", "xp.sort(z)"],
    # Statistics.
    **{n: [f"xp.{n}(f)", f"xp.{n}(f, axis=0)", f"xp.{n}(i, axis=(0, 1))", f"xp.{n}(f, axis=1, keepdims=True)"] for n in ("max", "min", "sum", "prod")},
    "mean": ["xp.mean(f)", "xp.mean(f, axis=0)", "xp.mean(f, axis=(0, 1), keepdims=True)"],
    "std": ["xp.std(f)", "xp.std(f, axis=0, correction=1)", "xp.std(f, axis=1, keepdims=True)"],
    "var": ["xp.var(f)", "xp.var(f, axis=-1, correction=1.0)", "xp.var(f, axis=(0, 1), keepdims=True)"],
    "cumulative_sum": ["xp.cumulative_sum(v)", "xp.cumulative_sum(f, axis=1, include_initial=True)", "xp.cumulative_sum(i, axis=0, dtype='int64')"],
    "cumulative_prod": ["xp.cumulative_prod(v)", "xp.cumulative_prod(f, axis=0, include_initial=True)"],
    "all": ["xp.all(b)", "xp.all(f, axis=0)", "xp.all(z)"], "any": ["xp.any(b)", "xp.any(i, axis=1, keepdims=True)", "xp.any(z)"],
    "diff": ["xp.diff(v)", "xp.diff(f, axis=0, n=2)", "xp.diff(f, prepend=f[:, :1], append=f[:, :2])"],
    # The extension fft.
    **{f"fft.{n}": [f"xp.fft.{n}({x}{rest})" for x in "cfv" for rest in ("", ", n=5", ", n=2, norm='ortho'", ", norm='forward'", ", axis=0, n=3")]
       for n in ("fft", "ifft", "hfft", "irfft")},
    **{f"fft.{n}": [f"xp.fft.{n}({x}{rest})" for x in "fv" for rest in ("", ", n=5", ", n=2, norm='ortho'", ", norm='forward'", ", axis=0, n=3")]
       for n in ("rfft", "ihfft")},
    **{f"fft.{n}": [f"xp.fft.{n}({x}{rest})" for x in "cf" for rest in ("", ", s=(2, 6), axes=(0, 1)", ", axes=(0,), norm='ortho'", ", s=(3,), axes=(-1,)")]
       for n in ("fftn", "ifftn", "irfftn")},
    "fft.rfftn": ["xp.fft.rfftn(f)", "xp.fft.rfftn(f, s=(2, 6), axes=(1, 0))", "xp.fft.rfftn(f, axes=(0,), norm='forward')"],
    **{f"fft.{n}": [f"xp.fft.{n}({count}{rest})" for count in (1, 6, 7) for rest in ("", ", d=0.25")] for n in ("fftfreq", "rfftfreq")},
    **{f"fft.{n}": [f"xp.fft.{n}(f)", f"xp.fft.{n}(c, axes=1)", f"xp.fft.{n}(v)", f"xp.fft.{n}(i, axes=(0,))"] for n in ("fftshift", "ifftshift")},
    # The extension linalg.
    **{f"linalg.{n}": [f"xp.linalg.{n}(w)", f"xp.linalg.{n}(xp.stack([w, w]))"] for n in "cholesky det eigvalsh inv svdvals matrix_rank".split()},
    "linalg.cross": ["xp.linalg.cross(f[:, :3], p[:, :3])"], "linalg.diagonal": ["xp.linalg.diagonal(f)", "xp.linalg.diagonal(f, offset=1)"],
    "linalg.eig": ["xp.sort(xp.abs(xp.linalg.eig(w).eigenvalues))", "xp.sort(xp.linalg.eig(f[:, :3]).eigenvalues.imag)"],
    "linalg.eigvals": ["xp.sort(xp.linalg.eigvals(f[:, :3]).real)"],
    "linalg.eigh": ["xp.linalg.eigh(w).eigenvalues", "xp.abs(xp.linalg.eigh(w).eigenvectors)"], "linalg.matmul": ["xp.linalg.matmul(f, f.T)"],
    "linalg.matrix_norm": [f"xp.linalg.matrix_norm(f, ord={o})" for o in ("'fro'", "'nuc'", 1, -1, 2, -2, "xp.inf", "-xp.inf")],
    "linalg.matrix_power": ["xp.linalg.matrix_power(w, 3)", "xp.linalg.matrix_power(w, 0)", "xp.linalg.matrix_power(w, -1)"],
    "linalg.matrix_transpose": ["xp.linalg.matrix_transpose(f)"], "linalg.outer": ["xp.linalg.outer(v, v)"],
    "linalg.pinv": ["xp.linalg.pinv(f)", "xp.linalg.pinv(w)"], "linalg.qr": ["xp.abs(xp.linalg.qr(w).Q)", "xp.abs(xp.linalg.qr(f, mode='complete').R)"],
    "linalg.slogdet": ["xp.linalg.slogdet(w).sign", "xp.linalg.slogdet(w).logabsdet"], "linalg.solve": ["xp.linalg.solve(w, v[:3])", "xp.linalg.solve(w, f)"],
    "linalg.svd": ["xp.linalg.svd(w).S", "xp.abs(xp.linalg.svd(f, full_matrices=False).U)"], "linalg.tensordot": ["xp.linalg.tensordot(f, f, axes=2)"],
    "linalg.trace": ["xp.linalg.trace(w)", "xp.linalg.trace(f, offset=1)"], "linalg.vecdot": ["xp.linalg.vecdot(f, p)"],
    "linalg.vector_norm": ["xp.linalg.vector_norm(f)", "xp.linalg.vector_norm(f, axis=0, ord=1)", "xp.linalg.vector_norm(f, ord=xp.inf, keepdims=True)"],
}
OTHERS = {"e", "inf", "nan", "newaxis", "pi", "__array_namespace_info__"}  # tested below


@pytest.mark.parametrize("name", CASES)
def test_function(name: str) -> None:
    check(CASES[name])


def table() -> ModuleType:
    path = Path(__file__).resolve().parent.parent / "tools/array_api.py"
    spec = importlib.util.spec_from_file_location("array_api", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_name_is_tested() -> None:
    """What is listed as there has a case above."""
    standard = table()
    names = {n for group in standard.STANDARD for n in standard.names_of(group) if standard.there(n)}
    assert names - set(CASES) - OTHERS == set()


def test_what_a_namespace_says_of_itself() -> None:
    info = wt.__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 8}
    assert info.default_device() in info.devices() and info.default_dtypes()["real floating"] == wt.float32
    assert set(info.dtypes(kind="integral")) == {"int8", "int16", "int32", "int64", "uint8", "uint32"}
    assert "float16" not in info.dtypes() and info.dtypes(kind=("bool", "real floating")) == {"bool": wt.bool, "float32": wt.float32}
    assert (wt.e, wt.pi, wt.inf, wt.newaxis) == (np.e, np.pi, np.inf, None) and wt.nan != wt.nan and wt.__array_api_version__ == "2025.12"
    x, other = wt.ones((2, 3)), wt.Device()
    assert x.device == info.default_device() and hash(x.device) == hash(info.default_device()) and not x.device != wt.ones(1).device
    assert x.device != other and wt.ones(1, device=other).device == other and x.device != "cpu" and x.device is not None
    assert x.__array_namespace__(api_version="2025.12") is wt
    with pytest.raises(ValueError, match="1999"):
        x.__array_namespace__(api_version="1999.12")
    assert x.to_device(x.device).tolist() == x.tolist() and x.__dlpack_device__() == (1, 0)
    with pytest.raises(ValueError, match="dimensions"):
        wt.ones(3).mT  # noqa: B018


# The signatures of the standard. A name stands for an argument of the kind that the function takes (below).
SIGNATURES = """
arange(start, /, stop=None, step=1, *, dtype=None, device=None)   asarray(obj, /, *, dtype=None, device=None, copy=None)
empty(shape, *, dtype=None, device=None)   empty_like(x, /, *, dtype=None, device=None)   eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
from_dlpack(x, /, *, copy=None)   full(shape, fill_value, *, dtype=None, device=None)   full_like(x, /, fill_value, *, dtype=None, device=None)
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)   meshgrid(*arrays, indexing='xy')
ones(shape, *, dtype=None, device=None)   ones_like(x, /, *, dtype=None, device=None)
zeros(shape, *, dtype=None, device=None)   zeros_like(x, /, *, dtype=None, device=None)   tril(x, /, *, k=0)   triu(x, /, *, k=0)
astype(x, dtype, /, *, copy=True, device=None)   broadcast_arrays(*arrays)   broadcast_shapes(*shapes)   broadcast_to(x, /, shape)
can_cast(from_, to, /)   finfo(type, /)   iinfo(whole_type, /)   isdtype(dtype, kind)   result_type(*arrays)
clip(x, /, min=None, max=None)   take(x, indices, /, *, axis=None)   take_along_axis(x, places, /, *, axis=-1)
matmul(square, square, /)   matrix_transpose(x, /)   tensordot(square, square, /, *, axes=2)   vecdot(x1, x2, /, *, axis=-1)
concat(arrays, /, *, axis=0)   expand_dims(x, /, *, axis=0)   flip(x, /, *, axis=None)   moveaxis(x, source, destination, /)   permute_dims(x, /, axes)
repeat(x, repeats, /, *, axis=None)   reshape(x, /, shape, *, copy=None)   roll(x, /, shift, *, axis=None)   squeeze(thin, /, axis)
stack(arrays, /, *, axis=0)   tile(x, repetitions, /)   unstack(x, /, *, axis=0)
argmax(x, /, *, axis=None, keepdims=False)   argmin(x, /, *, axis=None, keepdims=False)   count_nonzero(x, /, *, axis=None, keepdims=False)
nonzero(x, /)   searchsorted(row, x, /, *, side='left', sorter=None)   where(condition, x1, x2, /)   isin(x1, x2, /, *, invert=False)
unique_all(row, /)   unique_counts(row, /)   unique_inverse(row, /)   unique_values(row, /)
argsort(x, /, *, axis=-1, descending=False, stable=True)   sort(x, /, *, axis=-1, descending=False, stable=True)
cumulative_prod(row, /, *, axis=None, dtype=None, include_initial=False)   cumulative_sum(row, /, *, axis=None, dtype=None, include_initial=False)
max(x, /, *, axis=None, keepdims=False)   min(x, /, *, axis=None, keepdims=False)   mean(x, /, *, axis=None, keepdims=False)
prod(x, /, *, axis=None, dtype=None, keepdims=False)   sum(x, /, *, axis=None, dtype=None, keepdims=False)
std(x, /, *, axis=None, correction=0.0, keepdims=False)   var(x, /, *, axis=None, correction=0.0, keepdims=False)
all(x, /, *, axis=None, keepdims=False)   any(x, /, *, axis=None, keepdims=False)   diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
linalg.cholesky(positive, /, *, upper=False)   linalg.cross(three, three, /, *, axis=-1)   linalg.diagonal(x, /, *, offset=0)
linalg.matrix_norm(x, /, *, keepdims=False, ord='fro')   linalg.matrix_power(square, n, /)   linalg.matrix_rank(x, /, *, rtol=None)
linalg.matmul(square, square, /)   linalg.matrix_transpose(x, /)   linalg.tensordot(square, square, /, *, axes=2)   linalg.vecdot(x1, x2, /, *, axis=-1)
linalg.outer(row, row, /)   linalg.pinv(x, /, *, rtol=None)   linalg.qr(x, /, *, mode='reduced')   linalg.solve(positive, row, /)
linalg.svd(x, /, *, full_matrices=True)   linalg.svdvals(x, /)   linalg.trace(x, /, *, offset=0, dtype=None)
linalg.vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
fft.fftfreq(n, /, *, d=1.0, dtype=None, device=None)   fft.rfftfreq(n, /, *, d=1.0, dtype=None, device=None)
fft.fftshift(x, /, *, axes=None)   fft.ifftshift(x, /, *, axes=None)
""" + "".join(f"linalg.{n}(positive, /)\n" for n in "det eig eigh eigvals eigvalsh inv slogdet".split()) \
    + "".join(f"fft.{n}(x, /, *, n=None, axis=-1, norm='backward')\n" for n in "fft ifft rfft irfft hfft ihfft".split()) \
    + "".join(f"fft.{n}(x, /, *, s=None, axes=None, norm='backward')\n" for n in "fftn ifftn rfftn irfftn".split())
ARGUMENTS: dict[str, object] = {
    "start": 0, "stop": 3, "num": 4, "obj": [1.0, 2.0], "shape": (2, 3), "fill_value": 3, "n_rows": 3, "dtype": "float32",
    "from_": "int8", "to": "int32", "type": "float32", "whole_type": "int8", "kind": "integral", "source": 0, "destination": 1, "axes": (1, 0),
    "repeats": 2, "shift": 1, "axis": 0, "repetitions": (2, 1), "n": 3}


def argument(name: str) -> object:
    x = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.5]], np.float32)
    values = {"x": x, "x1": x, "x2": x[::-1] + 2, "square": x @ x.T, "three": x, "positive": x @ x.T, "row": np.array([1.0, 2.0], np.float32),
              "thin": x[None], "condition": x > 0, "indices": np.array([1, 0]), "places": np.argsort(x), "whole": np.array([3, 4], np.int32)}
    if name == "arrays":
        return [wt.array(x), wt.array(x + 1)]
    if name == "shapes":
        return [(2, 1), (3,)]
    return ARGUMENTS[name] if name in ARGUMENTS and name not in values else wt.array(values[name])


def signature_of(parameters: str) -> inspect.Signature:
    space: dict[str, Any] = {}
    exec(f"def f({re.sub(r'^(\w+), (?=\1,)', r'\1, other_', parameters)}): ...", space)
    return inspect.signature(space["f"])


@functools.cache
def standard_signatures() -> dict[str, inspect.Signature]:
    found = {name: signature_of(parameters) for name, parameters in re.findall(r"(\w[\w.]*)\(([^)]*)\)", SIGNATURES)}
    two = {*BINARY, *BINARY_FLOATS, *COMPARED, "pow"}
    for name in table().names_of("Elementwise"):
        pair = name in two or (name.startswith(("logical_", "bitwise_")) and name not in ("logical_not", "bitwise_invert"))
        found.setdefault(name, signature_of("x1, x2, /" if pair else "x, /"))
    return found


@pytest.mark.parametrize("name", standard_signatures())
def test_signature(name: str) -> None:
    """Each parameter is taken as the standard has it, by place or by name, and its default is the standard's."""
    function = functools.reduce(getattr, name.split("."), wt)
    special = {"logical": "condition", "bitwise": "whole"}.get(name.partition("_")[0])
    least: list[Any] = []
    places: list[Any] = []
    either: dict[str, Any] = {}
    names: dict[str, Any] = {}
    for one in standard_signatures()[name].parameters.values():
        needed = one.default is one.empty
        if one.kind is one.VAR_POSITIONAL:
            least, places = argument(one.name), argument(one.name)  # type: ignore[assignment]
            continue
        value = argument(special or one.name.removeprefix("other_")) if needed and one.kind is not one.KEYWORD_ONLY else one.default
        least += [value] if needed else []
        places += [value] if one.kind is one.POSITIONAL_ONLY else []
        either |= {one.name: value} if one.kind is one.POSITIONAL_OR_KEYWORD else {}
        names |= {one.name: value} if one.kind is one.KEYWORD_ONLY else {}
    results = [function(*least), function(*places, *either.values(), **names), function(*places, **either, **names)]
    if name.startswith("empty"):
        results = [one.shape for one in results]
    for other in results[1:]:
        assert_equal(other, results[0])


def assert_equal(got: object, wanted: object) -> None:
    if isinstance(wanted, (tuple, list)):
        assert type(got) is type(wanted)
        for one, other in zip(got, wanted, strict=True):  # type: ignore[call-overload]
            assert_equal(one, other)
    elif isinstance(wanted, (wt.Tensor, wt.Complex)):
        assert type(got) is type(wanted)
        np.testing.assert_array_equal(got.numpy(), wanted.numpy())  # type: ignore[union-attr]
    else:
        assert got == wanted or type(got).__name__ in ("finfo", "iinfo")


def test_every_function_has_a_signature() -> None:
    standard = table()
    names = {n for group in standard.STANDARD for n in standard.names_of(group) if standard.there(n)}
    kinds = set(standard.STANDARD["Types"].split()[standard.STANDARD["Types"].split().index("bool"):])
    assert names - set(standard_signatures()) - OTHERS - kinds == set()


OPERATORS = ["f + p", "f - 1.0", "2 * f", "f / v", "i // 3", "i % 3", "p ** 2", "f @ f.T", "i & 3", "i | u", "i ^ 1", "u << 1", "i >> 1", "f == p", "f != v",
             "i < 2", "f <= v", "1 > f", "f >= s", "-f", "+f", "~i", "~b", "abs(f)", "1.0 / p", "2 ** xp.abs(i)", "5 // p", "7 % p", "bool(s)", "float(s)",
             "int(s)", "complex(s).real", "f[1]", "f[1, 2]", "f[:, 1:3]", "f[..., 0]", "f[None]", "f[::-1, ::2]", "f[b]",
             "f[xp.asarray([0, 2]), xp.asarray([1, 3])]", "f.T", "f.mT", "len([*f])", "f.shape", "f.ndim", "f.size"]


@pytest.mark.parametrize("text", OPERATORS)
def test_operator(text: str) -> None:
    check([text])


@pytest.mark.parametrize("text", [f"x {op}= {value}" for op in ("+", "-", "*", "/", "//", "**", "%") for value in ("2", "p")]
                         + [f"x {op}= 3" for op in ("&", "|", "^", "<<", ">>")] + ["x[0] = 5", "x[:, 1] = v[:3]", "x[x > 0] = 0", "x[1:, ::2] = 7"])
def test_change(text: str) -> None:
    name = "i" if any(op in text for op in "&|^<>") and "x[" not in text else "p"
    results = []
    for space in (operands(np), operands(wt)):
        space["x"] = space[name].copy()
        exec(text, {}, space)
        results.append(space["x"])
    compare(results[1], results[0])
