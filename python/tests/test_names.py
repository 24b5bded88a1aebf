"""numpy's other functions, as expressions (expressions.py)."""
from __future__ import annotations

import inspect

import numpy as np
import pytest
from common import same
from expressions import check, check_change

import weft as wt
from weft import _more, _names, _search

CASES: dict[str, list[str]] = {
    "append": ["xp.append(v, 3.0)", "xp.append(f, p, axis=1)"], "argwhere": ["xp.argwhere(b)", "xp.argwhere(f)"],
    "array_split": ["list(xp.array_split(v, 3))", "list(xp.array_split(f, [1, 2], axis=1))", "list(xp.array_split(v, 7))"],
    "atleast_1d": ["xp.atleast_1d(s)", "list(xp.atleast_1d(s, f))"], "atleast_2d": ["xp.atleast_2d(v)", "xp.atleast_2d(s)"],
    "atleast_3d": ["xp.atleast_3d(s)", "xp.atleast_3d(v)", "xp.atleast_3d(f)", "xp.atleast_3d(f[None])"],
    "average": ["xp.average(f)", "xp.average(f, axis=1)", "xp.average(f, axis=1, weights=p[0])", "xp.average(f, weights=p)", "xp.average(i, axis=0)"],
    "cbrt": ["xp.cbrt(f)", "xp.cbrt(xp.asarray([27.0, -8.0, 0.0, float('inf'), 1e38, 1e-30], dtype='float32'))"],
    "column_stack": ["xp.column_stack([v, v])", "xp.column_stack([f.T, v])"], "compress": ["xp.compress([True, False, True], f, axis=0)",
                                                                                           "xp.compress([False, True], f)"],
    "convolve": [f"xp.convolve({a}, {b}, mode='{m}')" for a, b in (("v", "v[:2]"), ("v[:2]", "v"), ("v", "v[:3]"), ("i[0]", "i[1]"))
                 for m in ("full", "same", "valid")],
    "correlate": [f"xp.correlate({a}, {b}, mode='{m}')" for a, b in (("v", "v[:2]"), ("v[:2]", "v"), ("v", "v[:3]"), ("v[:3]", "v"), ("i[0]", "i[1]"))
                  for m in ("full", "same", "valid")],
    "deg2rad": ["xp.deg2rad(f)"], "rad2deg": ["xp.rad2deg(f)"],
    "delete": ["xp.delete(v, 1)", "xp.delete(f, [0, 2], axis=1)", "xp.delete(f, slice(1, None), axis=0)", "xp.delete(f, -1)"],
    "diag": ["xp.diag(v)", "xp.diag(v, 1)", "xp.diag(v, k=-2)", "xp.diag(f)", "xp.diag(f, 1)", "xp.diag(i[0])"],
    "digitize": ["xp.digitize(f, xp.sort(v))", "xp.digitize(f, xp.sort(v), right=True)", "xp.digitize(f, xp.flip(xp.sort(v)))",
                 "xp.digitize(xp.sort(v), xp.flip(xp.sort(v)), right=True)"],
    "divmod": ["list(xp.divmod(i, 3))", "list(xp.divmod(p, 0.7))"], "ediff1d": ["xp.ediff1d(f)"],
    "dsplit": ["list(xp.dsplit(f[None], 2))"], "hsplit": ["list(xp.hsplit(f, 2))", "list(xp.hsplit(v, [1]))"], "vsplit": ["list(xp.vsplit(f, 3))"],
    "dstack": ["xp.dstack([f, p])", "xp.dstack([v, v])"], "hstack": ["xp.hstack([f, p])", "xp.hstack([v, v])"], "vstack": ["xp.vstack([f, v])"],
    "flatnonzero": ["xp.flatnonzero(b)"], "fliplr": ["xp.fliplr(f)"], "flipud": ["xp.flipud(f)"],
    "fmax": ["xp.fmax(f, xp.where(b, f * float('nan'), p))", "xp.fmax(i, u)"], "fmin": ["xp.fmin(xp.where(b, f * float('nan'), p), f)"],
    "gradient": ["xp.gradient(v)", "xp.gradient(f, axis=0)", "list(xp.gradient(f))", "xp.gradient(v, 0.5)"], "heaviside": ["xp.heaviside(f, 0.5)"],
    "identity": ["xp.identity(3)"], "indices": ["xp.indices((2, 3))"],
    "insert": ["xp.insert(v, 1, 9.0)", "xp.insert(f, 2, 0.0, axis=1)", "xp.insert(f, -1, v, axis=0)"],
    "interp": ["xp.interp(f, xp.sort(v), v)", "xp.interp(f, xp.sort(v), v, left=-9.0, right=9.0)",
               "xp.interp(0.25, xp.asarray([0.0, 1.0]), xp.asarray([2.0, 4.0]))"],
    "intersect1d": ["xp.intersect1d(i, i[0])"], "setdiff1d": ["xp.setdiff1d(i, i[0])"], "union1d": ["xp.union1d(i, i[0] + 3)"],
    "isneginf": ["xp.isneginf(f / 0)"], "isposinf": ["xp.isposinf(f / 0)"], "logaddexp2": ["xp.logaddexp2(f, v)"], "logspace": ["xp.logspace(0, 2, 5)"],
    **{f"nan{n}": [f"xp.nan{n}(xp.where(b, f * float('nan'), f))", f"xp.nan{n}(xp.where(b, f * float('nan'), f), axis=0)", f"xp.nan{n}(i, axis=1)"]
       for n in ("max", "mean", "min", "prod", "std", "sum", "var")},
    "argpartition": ["xp.take_along_axis(f, xp.argpartition(f, 1, axis=0), axis=0)[1]"],
    "partition": ["xp.partition(f, 2, axis=1)[:, 2]", "xp.partition(i, 5, axis=None)[5]"],
    "bincount": ["xp.bincount(xp.ravel(u))", "xp.bincount(xp.ravel(u), minlength=9)", "xp.bincount(u[0], weights=v)", "xp.bincount(i[:0, 0])"],
    "histogram": ["list(xp.histogram(f, bins=4))", "list(xp.histogram(f))", "list(xp.histogram(i, bins=3, range=(-2, 2)))", "list(xp.histogram(z))",
                  "list(xp.histogram(f, bins=[-1.0, 0.0, 0.5, 1.0]))", "list(xp.histogram(v, bins=5, density=True))"],
    "block": ["xp.block([[f, f], [f, p]])", "xp.block([v, v])", "xp.block(f)", "xp.block([[v], [v]])"], "choose": ["xp.choose(u[0] % 2, [v, -v])"],
    "copy": ["xp.copy(f)"], "corrcoef": ["xp.corrcoef(f)", "xp.corrcoef(v)"], "diagflat": ["xp.diagflat(v)", "xp.diagflat(i, 1)", "xp.diagflat(v, -2)"],
    "float_power": ["xp.float_power(p, v)", "xp.float_power(u + 1, 2)"], "geomspace": ["xp.geomspace(1, 8, 4)", "xp.geomspace(-100, -1, 3, endpoint=False)"],
    "isscalar": ["xp.isscalar(3)", "xp.isscalar(f)"], "ix_": ["f[xp.ix_([0, 2], [1, 3])]", "f[xp.ix_([True, False, True], [3])]", "list(xp.ix_(i[0]))"],
    "ldexp": ["xp.ldexp(f, 3)", "xp.ldexp(f, i)", "xp.ldexp(xp.asarray([2.0, 1e-30], dtype='float32'), 127)"],
    "lexsort": ["xp.lexsort((u[0], u[1]))", "xp.lexsort((f[0], u[0] % 2))"], "modf": ["list(xp.modf(f * 3))", "list(xp.modf(p / 0))"],
    **{f"nan{n}": [f"xp.nan{n}(xp.where(b, f * float('nan'), f))", f"xp.nan{n}(f, axis=1)"] for n in ("argmax", "argmin", "cumsum", "cumprod", "median")},
    "nanquantile": ["xp.nanquantile(xp.where(b, f * float('nan'), f), 0.3, axis=0)", "xp.nanquantile(f, [0.0, 0.7], axis=1, keepdims=True)",
                    "xp.nanquantile(xp.where(b, f * float('nan'), f), 1.0)"], "nanpercentile": ["xp.nanpercentile(f, 20)", "xp.nanpercentile(i, 50, axis=0)"],
    "ndim": ["xp.ndim(f)", "xp.ndim(3)"], "shape": ["xp.shape(f)"], "size": ["xp.size(f)", "xp.size(f, 1)"],
    "polyval": ["xp.polyval(v, f)", "xp.polyval(i[0], i)"],
    "array_equiv": ["xp.array_equiv(v, xp.stack([v, v]))", "xp.array_equiv(f, v[:3])", "xp.array_equiv(f, f + 1)"],
    "extract": ["xp.extract(b, f)", "xp.extract(f > 9, f)"], "gcd": ["xp.gcd(i, 6)", "xp.gcd(u, u[::-1])"], "lcm": ["xp.lcm(i, i[::-1])"],
    "ravel_multi_index": ["xp.ravel_multi_index((xp.asarray([0, 2]), xp.asarray([1, 3])), (3, 4))"], "setxor1d": ["xp.setxor1d(i, i[0] + 2)"],
    "rollaxis": ["xp.rollaxis(f, 1)", "xp.rollaxis(xp.stack([f, p]), 0, 3)", "xp.rollaxis(xp.stack([f, p]), -1, 1)"],
    "trim_zeros": ["xp.trim_zeros(xp.asarray([0, 0, 1, 0, 2, 0]))", "xp.trim_zeros(xp.asarray([0, 1, 0]), 'f')", "xp.trim_zeros(v * 0)"],
    "trace": ["f.trace()", "xp.stack([f, p]).trace(axis1=1, axis2=2)", "xp.stack([f, p]).trace(1, 2, 0)"],
    "ptp": ["xp.ptp(f)", "xp.ptp(i, axis=0)"], "ravel": ["xp.ravel(f)"], "rot90": [f"xp.rot90(f, {k})" for k in range(-1, 5)],
    "select": ["xp.select([f > 1, f > 0], [f, p], -1.0)", "xp.select([b, i > 0], [1, i])"], "sinc": ["xp.sinc(f)", "xp.sinc(s)"],
    "trapezoid": ["xp.trapezoid(v)", "xp.trapezoid(f, axis=0)", "xp.trapezoid(f, xp.sort(v))", "xp.trapezoid(f, dx=0.5)"],
    "tril_indices": ["list(xp.tril_indices(3))", "list(xp.tril_indices(3, 1, 4))"], "triu_indices": ["list(xp.triu_indices(3, -1))"],
    "unique": ["xp.unique(i)", "list(xp.unique(i, return_index=True, return_inverse=True, return_counts=True))",
               "xp.unique(xp.asarray([1.0, float('nan'), float('nan')], dtype='float32'))"],
    "unravel_index": ["list(xp.unravel_index(xp.asarray([0, 5, 11]), (3, 4)))"], "vander": ["xp.vander(v)", "xp.vander(i[0], 3, increasing=True)"],
    "vdot": ["xp.vdot(f, p)", "xp.vdot(i, i)"],
    **{n: [f"xp.{n}(f / 4)"] for n in ("arcsin", "arccos", "arctan", "arcsinh", "arctanh", "absolute", "fix", "degrees", "radians")},
    **{n: [f"xp.{n}(f * 3)", f"xp.{n}(i)"] for n in ("fabs", "rint")},
    "arctan2": ["xp.arctan2(f, v)"], "arccosh": ["xp.arccosh(p + 1)"], "amax": ["xp.amax(f, axis=0)"], "amin": ["xp.amin(f)"], "invert": ["xp.invert(i)"],
    "around": ["xp.around(f * 100, -1)"], "round": ["xp.round(f, 1)", "xp.round(f * 100, -1)", "xp.round(i * 7, -1)", "xp.round(i, 2)"],
    "power": ["xp.power(p, 2)"], "mod": ["xp.mod(i, 3)"], "true_divide": ["xp.true_divide(f, p)"], "conjugate": ["xp.conjugate(f)"],
}
CHANGES = ["xp.put(x, [0, -1], 9.0)", "xp.put(x, [1, 2, 3], [1.0, 2.0])", "xp.put_along_axis(x, xp.argsort(x, axis=1)[:, :1], 0.0, axis=1)", "x.fill(3.0)",
           "x.put([1], 5.0)", "xp.fill_diagonal(x, 7.0)", "xp.fill_diagonal(x, xp.asarray([1.0, 2.0, 3.0]))"]


@pytest.mark.parametrize("name", CASES)
def test_name(name: str) -> None:
    check(CASES[name])


@pytest.mark.parametrize("text", CHANGES)
def test_changes(text: str) -> None:
    check_change(text)


def test_every_name_is_tested() -> None:
    assert {*_more.__all__, *_names.__all__, *_search.__all__} - set(CASES) == {"fill_diagonal", "put", "put_along_axis"}


def test_wrong_arguments_are_sentences() -> None:
    x = wt.ones((2, 3))
    for call, words in [(lambda: wt.rot90(x, axes=(0, 0)), "axes"), (lambda: wt.vsplit(wt.ones(3), 3), "dimensions"), (lambda: wt.diag(x[None]), "shape"),
                        (lambda: wt.correlate(x, x), "vectors"), (lambda: wt.convolve(x[0], x[0], mode="odd"), "odd"), (lambda: wt.select([], []), "select"),
                        (lambda: wt.gradient(wt.ones(1)), "at least 2"), (lambda: wt.array_split(x, 0), "at least 1"),
                        (lambda: wt.average(x, weights=wt.ones(5)), "weights"), (lambda: wt.interp(x, x, x), "vectors")]:
        with pytest.raises(ValueError, match=words):
            call()
    for call, words in [(lambda: wt.partition(x, 5), "element 5"), (lambda: wt.bincount([-1]), "-1"), (lambda: wt.histogram(x, 0), "at least 1"),
                        (lambda: wt.histogram(x, [1.0]), "edges"), (lambda: wt.block([[x], x]), "deep"), (lambda: wt.geomspace(-1, 1), "sign"),
                        (lambda: wt.ix_(x), "vectors"), (lambda: wt.lexsort([]), "one key"), (lambda: wt.compile(wt.bincount)(wt.array([1])), "count"),
                        (lambda: wt.compile(wt.histogram)(x), "range")]:
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(IndexError, match="insert"):
        wt.insert(wt.ones(3), 9, 1.0)


def test_numpys_own_functions() -> None:
    """np.exp(x) and its like stay on the device, sums and arrays of numpy beside a tensor too; with `out` numpy computes."""
    x = np.array([[0.5, 1.0], [2.0, 4.0]], np.float32)
    p = wt.array(x)
    for name in ("exp", "log", "sqrt", "sin", "arctan", "absolute", "negative", "square", "isnan", "floor", "rint", "degrees", "reciprocal", "tanh"):
        same(getattr(np, name)(p), getattr(np, name)(x), rtol=1e-4)
    for name in ("add", "subtract", "multiply", "true_divide", "power", "maximum", "less", "arctan2", "matmul", "floor_divide", "logaddexp"):
        same(getattr(np, name)(p, x), getattr(np, name)(x, x), rtol=1e-4)
        same(getattr(np, name)(x, p), getattr(np, name)(x, x), rtol=1e-4)
    same(np.add.reduce(p), np.add.reduce(x))
    same(np.maximum.reduce(p, axis=1), np.maximum.reduce(x, axis=1))
    same(np.round(p * 1.23, 1), np.round(x * np.float32(1.23), 1))
    same(np.cumsum(p, axis=1), np.cumsum(x, axis=1))
    same(np.clip(p, 1, 2), np.clip(x, 1, 2))
    y = x.copy()
    y += p
    assert isinstance(y, np.ndarray) and np.array_equal(y, x + x)
    assert isinstance(np.cbrt(x, out=np.empty_like(x)), np.ndarray) and isinstance(np.exp(p, out=np.empty_like(x)), np.ndarray)
    assert isinstance(np.multiply.outer(p, p), np.ndarray) and isinstance(np.spacing(p), np.ndarray)
    assert np.dtype(p.dtype.name) == np.float32 and np.dtype(wt.int8.__numpy_dtype__) == np.int8
    assert p.dtype == "float32" and p.dtype != "float16" and p.dtype == np.float32


def test_everything_explains_itself() -> None:
    """help() has something to say about each public function, class and method."""
    silent = [n for n in dir(wt) if not n.startswith("_") and callable(getattr(wt, n)) and not inspect.getdoc(getattr(wt, n))]
    silent += [f"Tensor.{n}" for n in dir(wt.Tensor) if not n.startswith("_") and not inspect.getdoc(getattr(wt.Tensor, n))]
    for module in (wt.nn, wt.optim, wt.data, wt.random, wt.linalg, wt.fft, wt.onnx):
        found = [(n, getattr(module, n)) for n in dir(module) if not n.startswith("_")]
        silent += [f"{module.__name__}.{n}" for n, value in found if callable(value) and not inspect.getdoc(value)]
    assert not silent
