"""Functions against numpy, name by name: values, axes from both ends, empty and 0-d tensors, types."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from common import TYPES, same, values
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import weft as wt

UNARY = ["exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "square", "abs", "sign", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos",
         "atan", "asinh", "acosh", "atanh", "floor", "ceil", "trunc", "round", "isnan", "isinf", "isfinite", "negative", "positive", "reciprocal",
         "logical_not", "exp2"]
BINARY = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder", "floor_divide", "atan2", "logaddexp", "equal", "not_equal", "less",
          "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor", "fmod", "pow"]
NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "atan2": "arctan2",
         "pow": "power"}
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 2.5, 3.5, 1e-6, 80.0, np.inf, -np.inf, np.nan], np.float32)


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, rng: np.random.Generator) -> None:
    function = getattr(np, NUMPY.get(name, name))
    with np.errstate(all="ignore"):
        same(getattr(wt, name)(wt.array(SPECIAL)), function(SPECIAL), rtol=3e-4, atol=1e-6)
        x = values(rng, (3, 7))
        same(getattr(wt, name)(wt.array(x).T), function(x.T), rtol=3e-4, atol=1e-6)
        whole = np.arange(-3, 4, dtype=np.int32)
        if name not in ("reciprocal", "square"):
            wanted = function(whole)
            same(getattr(wt, name)(wt.array(whole)), wanted if wanted.dtype.kind in "biu" else function(whole.astype(np.float32)), rtol=3e-4, atol=1e-6)
        same(getattr(wt, name)(wt.zeros((0, 2))), function(np.zeros((0, 2), np.float32)))


@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, rng: np.random.Generator) -> None:
    function, mine = getattr(np, NUMPY.get(name, name)), getattr(wt, name)
    with np.errstate(all="ignore"):
        a = SPECIAL[SPECIAL != 0] if name == "atan2" else SPECIAL  # the sign of 0 may be lost on the way
        same(mine(wt.array(a[:, None]), wt.array(a)), function(a[:, None], a), rtol=1e-4, atol=1e-5)
        x, y = values(rng, (4, 1)), values(rng, (3,))
        x = np.abs(x) if name == "pow" else x
        same(mine(wt.array(x), wt.array(y)), function(x, y), rtol=1e-4, atol=1e-5)
        same(mine(wt.array(x), 2.0), function(x, np.float32(2)), rtol=1e-4, atol=1e-5)
        same(mine(2.0, wt.array(y)), function(np.float32(2), y), rtol=1e-4, atol=1e-5)
        same(mine(x, y), function(x, y), rtol=1e-4, atol=1e-5)


def test_remainders() -> None:
    """Quotients that round to a whole number, large ones, and numbers without a quotient."""
    a = np.array([1.0, -1.0, 0.3, 1e6, 123456.7, 7.0, -7.5, 1e-6, 2.0**20], np.float32)
    b = np.array([0.1, -0.1, 1e-6, -1e10, 3.0, 0.7, np.inf, -np.inf], np.float32)
    for name in ("floor_divide", "remainder", "fmod"):
        same(getattr(wt, name)(wt.array(a[:, None]), wt.array(b)), getattr(np, name)(a[:, None], b), rtol=1e-4, atol=1e-10)
    assert (wt.array([True, False]) // wt.array([True])).dtype == wt.int8 and (wt.array([True]) << wt.array([True])).tolist() == [2]


def test_reductions_over_no_axes() -> None:
    x = np.array([[1.0, -2.0], [0.0, 4.0]], np.float32)
    for name in ("sum", "prod", "max", "min", "mean", "any", "all", "var", "std", "count_nonzero"):
        same(getattr(wt, name)(wt.array(x), axis=()), getattr(np, name)(x, axis=()))
    assert wt.sum(wt.array([200, 100], "uint8"), dtype="uint8").tolist() == 44 and wt.array([200, 100], "uint8").sum(dtype="uint8").dtype == wt.uint8
    same(wt.clip(wt.array([1, 9], "uint8"), -5, 300), np.array([1, 9], "uint8"))
    same(wt.tril(wt.array([1.0, 2.0])), np.tril([1.0, 2.0]))
    same(wt.linspace([0.0, 1.0], 3.0, 4), np.linspace([0.0, 1.0], 3.0, 4))
    same(wt.full((2, 2), [1, 2]), np.full((2, 2), [1, 2]))
    for ord, axis in ((None, None), (1, 0), (None, 1), ("nuc", (0, 1)), (2, None), (None, (1, 0))):
        for keepdims in (False, True):
            same(wt.linalg.norm(wt.array(x), ord, axis, keepdims), np.linalg.norm(x, ord, axis, keepdims))


REDUCTIONS = ["sum", "mean", "max", "min", "prod", "any", "all", "var", "std"]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("axis", [None, 0, -1, 1, (0, 2), (-1, 0, 1)])
def test_reductions(name: str, axis: Any, rng: np.random.Generator) -> None:
    x = values(rng, (2, 3, 4))
    for keepdims in (False, True):
        wanted = getattr(np, name)(x, axis=axis, keepdims=keepdims)
        same(getattr(wt, name)(wt.array(x), axis=axis, keepdims=keepdims), wanted, rtol=1e-4, atol=1e-5)
        same(getattr(wt.array(x), name)(axis=axis, keepdims=keepdims), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all", "mean", "argmax", "argmin"])
def test_reductions_of_types(name: str, dtype: str, rng: np.random.Generator) -> None:
    x = values(rng, (3, 5), dtype)
    if dtype == "float16" and name in ("sum", "prod", "mean"):
        same(getattr(wt, name)(wt.array(x), axis=1), getattr(np, name)(x.astype(np.float32), axis=1), rtol=5e-3, atol=5e-3)
        return
    for axis in (None, 0, -1):
        wanted = getattr(np, name)(x, axis=axis)
        got = getattr(wt, name)(wt.array(x), axis=axis)
        if name in ("sum", "prod") and wanted.dtype.kind in "iu":  # modulo the width of the type
            wanted = wanted.astype(got.numpy().dtype)
        same(got, wanted, rtol=1e-4)


def test_reductions_of_nothing() -> None:
    x = wt.zeros((0, 3))
    assert wt.sum(x).item() == 0 and wt.prod(x).item() == 1 and wt.all(x).item() is True and wt.any(x).item() is False
    assert wt.sum(x, axis=0).tolist() == [0, 0, 0] and wt.sum(x, axis=1).shape == (0,)
    assert math.isnan(wt.mean(x).item())
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ValueError):
            getattr(wt, name)(x)
        assert getattr(wt, name)(x, axis=1).shape == (0,)
    assert wt.sum(wt.array(5)).item() == 5 and wt.max(wt.array(2.5)).item() == 2.5 and wt.argmax(wt.array(3.0)).item() == 0


def test_nan_in_reductions() -> None:
    x = np.array([[1.0, np.nan, 3.0], [np.inf, 2.0, -np.inf]], np.float32)
    for name in ("sum", "max", "min", "argmax", "argmin", "mean", "any"):
        with np.errstate(all="ignore"):
            same(getattr(wt, name)(wt.array(x), axis=1), getattr(np, name)(x, axis=1))


@pytest.mark.parametrize("dtype", TYPES)
def test_moving_elements(dtype: str, rng: np.random.Generator) -> None:
    x = values(rng, (2, 3, 4), dtype)
    p = wt.array(x)
    same(wt.flip(p), np.flip(x))
    same(wt.flip(p, axis=1), np.flip(x, axis=1))
    same(wt.roll(p, 1, axis=-1), np.roll(x, 1, axis=-1))
    same(wt.roll(p, 5), np.roll(x, 5))
    same(wt.roll(p, (1, -2), axis=(0, 2)), np.roll(x, (1, -2), axis=(0, 2)))
    same(wt.tile(p, (2, 1)), np.tile(x, (2, 1)))
    same(wt.repeat(p, 2), np.repeat(x, 2))
    same(wt.repeat(p, [1, 0, 2], axis=1), np.repeat(x, [1, 0, 2], axis=1))
    same(wt.concat([p, p[:, :1]], axis=1), np.concatenate([x, x[:, :1]], axis=1))
    same(wt.concat([p, p], axis=None), np.concatenate([x, x], axis=None))
    same(wt.stack([p, p], axis=-1), np.stack([x, x], axis=-1))
    same(wt.pad(p, 1), np.pad(x, 1))
    same(wt.pad(p, ((0, 1), (1, 0), (2, 2)), mode="edge"), np.pad(x, ((0, 1), (1, 0), (2, 2)), mode="edge"))
    same(wt.tril(p), np.tril(x))
    same(wt.triu(p, 1), np.triu(x, 1))
    same(wt.take(p, [1, 0, -1], axis=2), np.take(x, [1, 0, -1], axis=2))
    same(wt.take(p, [[5, 0]]), np.take(x, [[5, 0]]))
    same(wt.diagonal(p), np.diagonal(x))
    same(wt.moveaxis(p, 0, -1), np.moveaxis(x, 0, -1))
    same(wt.expand_dims(p, (0, -1)), np.expand_dims(x, (0, -1)))
    same(wt.broadcast_to(p[0], (5, 3, 4)), np.broadcast_to(x[0], (5, 3, 4)))
    for got, wanted in zip(wt.split(p, [1, 3], axis=2), np.split(x, [1, 3], axis=2), strict=True):
        same(got, wanted)
    for got, wanted in zip(wt.unstack(p, axis=1), [x[:, i] for i in range(3)], strict=True):
        same(got, wanted)
    same(wt.where(p != 0, p, wt.zeros_like(p)), np.where(x != 0, x, np.zeros_like(x)))
    if dtype != "bool":
        same(wt.sort(p, axis=1), np.sort(x, axis=1))
        same(wt.argsort(p), np.argsort(x, stable=True))
        same(wt.clip(p, 1, 3), np.clip(x, 1, 3))
    if dtype not in ("bool", "float16"):
        with np.errstate(all="ignore"):
            wanted = np.cumsum(x, axis=1)
            got = wt.cumsum(p, axis=1)
            same(got, wanted.astype(got.numpy().dtype) if wanted.dtype.kind in "iu" else wanted, rtol=1e-4)
    same(wt.nonzero(p)[1], np.nonzero(x)[1])
    same(wt.unique_values(p), np.unique(x))
    same(wt.count_nonzero(p, axis=0), np.count_nonzero(x, axis=0))


def test_creation() -> None:
    for arguments in [(5,), (2, 7), (0, 10, 3), (10, 0, -3), (5, 5), (3, 0), (0.0, 1.0, 0.25), (1.5,), (-3,)]:
        same(wt.arange(*arguments), np.arange(*arguments))
    same(wt.arange(2**40, 2**40 + 3), np.arange(2**40, 2**40 + 3))
    same(wt.arange(0, 5, dtype="float16"), np.arange(0, 5, dtype="float16"))
    same(wt.linspace(0, 1, 5), np.linspace(0, 1, 5))
    same(wt.linspace(0, 1, 5, endpoint=False), np.linspace(0, 1, 5, endpoint=False))
    same(wt.linspace(3, 3, 1), np.linspace(3, 3, 1))
    same(wt.eye(3, 4, k=1), np.eye(3, 4, k=1))
    same(wt.eye(2, dtype="int32"), np.eye(2, dtype="int32"))
    same(wt.full((2, 3), 7), np.full((2, 3), 7))
    same(wt.full((), 2.5), np.full((), 2.5))
    same(wt.full(2, True), np.full(2, True))
    same(wt.full(2, 2**62 + 1, "int64"), np.full(2, 2**62 + 1))
    same(wt.full(2, float("nan")), np.full(2, np.nan))
    same(wt.ones((2, 0)), np.ones((2, 0)))
    same(wt.zeros_like(wt.ones(3, "int8")), np.zeros(3, "int8"))
    same(wt.full_like(wt.ones(3, "int8"), 4), np.full(3, 4, "int8"))
    for got, wanted in zip(wt.meshgrid(wt.arange(2), wt.arange(3)), np.meshgrid(np.arange(2), np.arange(3)), strict=True):
        same(got, wanted)
    with pytest.raises(ValueError):
        wt.arange(0, 5, 0)


def test_products(rng: np.random.Generator) -> None:
    a, b, v = values(rng, (2, 3, 4)), values(rng, (4, 5)), values(rng, (4,))
    p, q, u = (wt.array(t) for t in (a, b, v))
    same(wt.einsum("bij,jk->bik", p, q), np.einsum("bij,jk->bik", a, b), rtol=1e-4, atol=1e-5)
    same(wt.tensordot(p, q, axes=1), np.tensordot(a, b, axes=1), rtol=1e-4, atol=1e-5)
    same(wt.tensordot(p, p, axes=([0, 1], [0, 1])), np.tensordot(a, a, axes=([0, 1], [0, 1])), rtol=1e-4, atol=1e-5)
    same(wt.dot(p, u), a @ v, rtol=1e-4, atol=1e-5)
    same(wt.outer(u, u), np.outer(v, v))
    same(wt.vecdot(p, u), (a * v).sum(-1), rtol=1e-4, atol=1e-5)
    same(wt.kron(q, q[:2, :2]), np.kron(b, b[:2, :2]))
    same(wt.cross(wt.array([1.0, 2, 3]), wt.array([3.0, 1, 2])), np.cross([1.0, 2, 3], [3.0, 1, 2]))
    same(wt.trace(q[:4, :4]), np.trace(b[:4, :4]), rtol=1e-4)
    same(wt.diff(u), np.diff(v))
    same(wt.diff(p, axis=1, n=2), np.diff(a, axis=1, n=2), rtol=1e-4, atol=1e-5)
    same(wt.cumulative_sum(u, include_initial=True), np.concatenate([[0], np.cumsum(v)]), rtol=1e-4, atol=1e-5)
    same(wt.searchsorted(wt.array([1, 2, 4]), wt.array([0, 2, 5]), side="right"), np.searchsorted([1, 2, 4], [0, 2, 5], side="right"))
    assert wt.allclose(p, p + 1e-9) and not wt.allclose(p, p + 1) and wt.array_equal(p, p) and not wt.array_equal(p, q)


def test_the_rest_of_the_standard(rng: np.random.Generator) -> None:
    x, y = values(rng, (3, 4)), values(rng, (4,))
    same(wt.hypot(wt.array(x), wt.array(y)), np.hypot(x, y))
    big = np.array([3e30, 0.0, np.inf], np.float32)
    same(wt.hypot(wt.array(big), wt.array(np.array([4e30, 0.0, 1.0], np.float32))), np.hypot(big, np.array([4e30, 0, 1], np.float32)))
    i = rng.integers(0, 5, (3, 4))
    same(wt.isin(wt.array(i), [1, 3]), np.isin(i, [1, 3]))
    same(wt.isin(wt.array(i), [], invert=True), np.isin(i, [], invert=True))
    for got, wanted in zip(wt.unique_all(wt.array(i)), np.unique_all(i), strict=True):
        same(got, wanted)
    assert set(wt.unique_all(wt.array(i))._asdict()) == set(np.unique_all(i)._asdict())
    same(wt.unique_counts(wt.array(i)).counts, np.unique_counts(i).counts)
    same(wt.unique_inverse(wt.array(i)).inverse_indices, np.unique_inverse(i).inverse_indices)
    same(wt.diff(wt.array(x), n=2, prepend=wt.zeros((3, 1)), append=wt.ones((3, 2))), np.diff(x, n=2, prepend=np.zeros((3, 1)), append=np.ones((3, 2))),
         rtol=1e-4, atol=1e-5)
    for to in (np.float32(0), np.float32(np.inf), np.float32(np.nan)):
        assert np.array_equal(wt.nextafter(wt.array(x), wt.array(to)).numpy(), np.nextafter(x, to), equal_nan=True)
    assert wt.nextafter(wt.array(1.0, "float16"), wt.array(2.0, "float16")).numpy() == np.nextafter(np.float16(1), np.float16(2))
    with pytest.raises(TypeError, match="nextafter"):
        wt.nextafter(wt.array(1), wt.array(2))
    same(wt.take_along_axis(wt.array(x), wt.argsort(wt.array(x)), axis=-1), np.sort(x))
    assert wt.ones(1).__array_namespace__() is wt


STEPS = ["+", "-", "*", "max", "exp", "sum", "T", "slice", "reshape", "where", "neg", "concat", "flip", "mean", "index", "compare"]


@given(st.data())
def test_random_programs(draw: st.DataObject) -> None:
    """A few steps of a program, on numpy and on the device."""
    shape = draw.draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    dtype = draw.draw(st.sampled_from(["float32", "int32", "int64", "uint8", "bool"]))
    x = values(np.random.default_rng(draw.draw(st.integers(0, 9))), shape, dtype)
    p = wt.array(x)
    with np.errstate(all="ignore"):
        for step in draw.draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=6)):
            x, p = run_step(step, x, p)
            if x.dtype == np.float64:
                x = x.astype(np.float32)
            same(p, x, rtol=1e-3, atol=1e-3)
            x = x.astype(p.numpy().dtype)  # the device has narrower results of some steps


def run_step(step: str, x: Any, p: Any) -> tuple[Any, Any]:
    number = x.dtype.kind != "b"
    match step:
        case "+": return x + x, p + p
        case "-": return (x - x[..., :1], p - p[..., :1]) if number and x.ndim else (x, p)
        case "*": return x * np.array(3, x.dtype) if number else x & x, p * 3 if number else p & p
        case "max": return (x.max(axis=0), wt.max(p, axis=0)) if x.ndim and x.shape[0] else (x, p)
        case "exp": return np.tanh(x.astype(np.float32)), wt.tanh(p)
        case "sum":
            got = wt.sum(p, axis=-1) if x.ndim else p
            return (np.asarray(x.sum(axis=-1)).astype(got.numpy().dtype) if x.ndim else x), got
        case "T": return x.T, p.T
        case "slice": return (x[::-2], p[::-2]) if x.ndim else (x, p)
        case "reshape": return x.reshape(-1), p.reshape(-1)
        case "where": return np.where(x > 0, x, np.zeros_like(x)), wt.where(p > 0, p, wt.zeros_like(p))
        case "neg": return (-x, -p) if number else (~x, ~p)
        case "concat": return (np.concatenate([x, x]), wt.concat([p, p])) if x.ndim else (x, p)
        case "flip": return np.flip(x), wt.flip(p)
        case "mean": return (x.astype(np.float32).mean(axis=0), wt.mean(p, axis=0)) if x.ndim and x.shape[0] else (x, p)
        case "index": return (x[[0, -1, 0]], p[[0, -1, 0]]) if x.ndim and x.shape[0] else (x, p)
        case _: return x > np.array(1, x.dtype), p > 1


def test_medians_and_quantiles() -> None:
    x = np.array([[7, 1, 4, 2], [9, 3, 3, 8], [0, 5, 6, 6]])
    same(wt.median(wt.array(x)), np.float32(np.median(x)))
    same(wt.median(wt.array(x), axis=(0, 1), keepdims=True), np.median(x, axis=(0, 1), keepdims=True))
    same(wt.quantile(wt.array(x), [0.1, 0.75], axis=0), np.quantile(x, [0.1, 0.75], axis=0))
    same(wt.percentile(wt.array(x), 30), np.float32(np.percentile(x, 30)))
    for wrong in (2.0, -0.1):
        with pytest.raises(ValueError, match="quantile"):
            wt.quantile(wt.array(x), wrong)


def test_functions_of_models(rng: np.random.Generator) -> None:
    x = values(rng, (2, 3, 4))
    first = wt.group_norm(wt.array(np.moveaxis(x, -1, 1)), 2)
    same(wt.group_norm(wt.array(x), 2, axis=-1), np.moveaxis(first.numpy(), 1, -1))
    same(wt.nn.GroupNorm(2, 4, axis=-1)(wt.array(x)), np.moveaxis(first.numpy(), 1, -1))
    with pytest.raises(ValueError, match="batch"):
        wt.group_norm(wt.array(x), 2, axis=0)
    logits = values(rng, (4, 3))
    labels = [2, 0, -1, 1]
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    rows = np.array([-0.8 * logs[i, max(label, 0)] - 0.2 * logs[i].mean() for i, label in enumerate(labels)])
    counted = np.array([0, 1, 3])
    same(wt.cross_entropy(logits, labels, label_smoothing=0.2), np.float32(rows[counted].mean()))
    same(wt.nn.cross_entropy(wt.array(logits), labels, label_smoothing=0.2), np.float32(rows[counted].mean()))
    assert wt.one_hot([1, 3, -1], 3).tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    a, b = np.arange(4), np.arange(4, 8)
    for name in ("hstack", "vstack"):
        same(getattr(wt, name)([a, b]), getattr(np, name)([a, b]))
        same(getattr(wt, name)([a[None], b[None]]), getattr(np, name)([a[None], b[None]]))
    same(wt.ravel(x), x.ravel())
    assert wt.allclose([1.0, np.nan], [1.0, np.nan], equal_nan=True) and not wt.allclose([1.0, np.nan], [1.0, np.nan])


def test_decompositions(rng: np.random.Generator) -> None:
    near: dict[str, float] = {"rtol": 1e-4, "atol": 1e-4}
    a = values(rng, (2, 4, 3))
    p, square = wt.array(a), a.swapaxes(-1, -2) @ a
    for mode in ("reduced", "complete"):
        q, r = wt.linalg.qr(p, mode=mode)  # type: ignore[arg-type]
        same(q @ r, a, **near)
        assert q.shape == np.linalg.qr(a, mode=mode).Q.shape
    u, s, vh = wt.linalg.svd(p, full_matrices=False)
    same((u * s[:, None, :]) @ vh, a, **near)
    assert wt.linalg.svd(p).U.shape == (2, 4, 4)
    same(wt.linalg.svdvals(p), np.linalg.svdvals(a), **near)
    found = wt.linalg.eigh(wt.array(square))
    same(found.eigenvectors * found.eigenvalues[:, None, :] @ found.eigenvectors.mT, square, **near)
    same(wt.linalg.eigvalsh(wt.array(square)), np.linalg.eigvalsh(square), **near)
    same(wt.linalg.slogdet(wt.array(square)).logabsdet, np.linalg.slogdet(square).logabsdet, **near)
    same(wt.linalg.pinv(p) @ p, np.broadcast_to(np.eye(3, dtype=np.float32), (2, 3, 3)), **near)
    same(wt.linalg.matrix_rank(wt.array(square[:, :, :1] * square[:, :1])), np.array([1, 1]))
    for ord in (2, -2, "nuc"):
        same(wt.linalg.matrix_norm(p, ord=ord, keepdims=True), np.linalg.matrix_norm(a, ord=ord, keepdims=True), **near)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"eigh\(\) needs square matrices"):
        wt.linalg.eigh(p)
    with pytest.raises(TypeError, match=r"qr\(\) needs numbers"):
        wt.linalg.qr(wt.ones((2, 2), "bool"))


def test_linalg(rng: np.random.Generator) -> None:
    a = values(rng, (2, 3, 3)) + 3 * np.eye(3, dtype=np.float32)
    b = values(rng, (2, 3, 2))
    p = wt.array(a)
    near = {"rtol": 1e-4, "atol": 1e-4}
    same(wt.linalg.inv(p), np.linalg.inv(a), **near)
    same(wt.linalg.det(p), np.linalg.det(a), **near)
    same(wt.linalg.solve(p, wt.array(b)), np.linalg.solve(a, b), **near)
    same(wt.linalg.solve(p[0], wt.array(b[0, :, 0])), np.linalg.solve(a[0], b[0, :, 0]), **near)
    same(wt.linalg.trace(p), np.trace(a, axis1=1, axis2=2), **near)
    same(wt.linalg.diagonal(p, offset=1), np.diagonal(a, 1, 1, 2))
    square = a @ a.swapaxes(-1, -2)
    same(wt.linalg.cholesky(wt.array(square)), np.linalg.cholesky(square), rtol=1e-3, atol=1e-3)
    same(wt.linalg.cholesky(wt.array(square), upper=True), np.linalg.cholesky(square).swapaxes(-1, -2), rtol=1e-3, atol=1e-3)
    for ord in ("fro", 1, -1, np.inf, -np.inf):
        same(wt.linalg.matrix_norm(p, ord=ord), np.linalg.norm(a, ord, (-2, -1)), **near)
        same(wt.linalg.matrix_norm(p, ord=ord, keepdims=True), np.linalg.norm(a, ord, (-2, -1), keepdims=True), **near)
    same(wt.linalg.vector_norm(p, axis=(0, 2), ord=3), (np.abs(a) ** 3).sum((0, 2)) ** (1 / 3), **near)
    for n in (-2, 0, 1, 5):
        same(wt.linalg.matrix_power(p * 0.3, n), np.linalg.matrix_power(a * np.float32(0.3), n), rtol=1e-3, atol=1e-3)
    with pytest.raises(ValueError, match="matrix_norm"):
        wt.linalg.matrix_norm(p, ord=3)
