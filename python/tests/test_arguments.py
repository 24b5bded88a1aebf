"""Arguments of numpy's functions in the ways that people write them: by place, by numpy's names, and those that are seldom used."""
from __future__ import annotations

import numpy as np
import pytest
from expressions import check

import weft as wt

CASES: dict[str, list[str]] = {
    "sums": ["xp.sum(f, axis=0, where=b)", "xp.sum(f, where=f > 0, initial=2.5)", "xp.sum(i, initial=7)", "xp.prod(f, axis=1, where=b, initial=3.0)",
             "f.sum(where=b)", "f.sum(axis=1, initial=1.0)", "xp.sum(z, axis=0, initial=4.0)", "xp.sum(f, where=b[:1])", "xp.sum(f, where=False)"],
    "extremes": ["xp.max(f, axis=0, initial=0.25)", "xp.max(z, axis=0, initial=-2.0)", "xp.min(i, initial=1, where=b)", "f.max(initial=9.0)",
                 "xp.min(z, initial=3.0)", "xp.max(f, axis=1, where=b, initial=-1.0, keepdims=True)"],
    "truth": ["xp.any(f, axis=0, where=b)", "xp.all(f, where=b)", "xp.all(i, axis=1, where=i != 0, keepdims=True)", "b.any(where=f > 9)"],
    "means": ["xp.mean(f, axis=0, where=b)", "xp.mean(f, dtype='float32')", "xp.mean(i, dtype='float32', axis=0)", "f.mean(where=f > 0)", "xp.mean(i, where=b)",
              "xp.var(f, axis=1, where=f > -9)", "xp.std(f, where=b, axis=0)", "xp.std(f, axis=0, ddof=1, dtype='float32')", "f.var(where=b, axis=1)",
              "xp.nanvar(f, ddof=1)", "xp.nanstd(f, axis=0, ddof=1)"],
    "averages": ["xp.average(f, axis=1, keepdims=True)", "list(xp.average(f, 1, p[0], True))", "list(xp.average(f, returned=True))",
                 "xp.average(f, weights=p, keepdims=True)"],
    "running": ["xp.cumsum(i, 1, 'float32')", "xp.cumprod(f, axis=0, dtype='float32')", "f.cumsum(dtype='float32')", "xp.nancumsum(f, dtype='float32')"],
    "order": ["xp.sort(f, 0)", "xp.sort(f, kind='stable')", "xp.argsort(i, 0, 'stable')", "f.argsort(kind='mergesort', axis=1)",
              "xp.searchsorted(xp.sort(v), f, 'right')", "xp.partition(f, kth=1, axis=0)[1]", "xp.unique(u, axis=0)",
              "list(xp.unique(u % 2, True, axis=1))", "xp.unique(xp.asarray([xp.nan, xp.nan], dtype='float32'), equal_nan=False)",
              "xp.isin(i, [1, 2], True)", "xp.isin(i, [1, 2], False, True)"],
    "quantiles": [f"xp.quantile(f, {q}, axis={axis}, method='{method}')" for method in ("lower", "higher", "nearest", "midpoint")
                  for q, axis in ((0.3, 0), (0.5, None), (1, 1), (0, 1))]
                 + ["xp.quantile(f, [[0.1, 0.5], [0.9, 1.0]], axis=1)", "xp.percentile(f, q=[10, 50], axis=0)", "xp.quantile(f, q=0.25)",
                    "xp.quantile(i, 0.4, method='lower')", "xp.quantile(xp.where(b, f, xp.nan), 0.5, axis=0, method='higher')",
                    "xp.nanquantile(f, [[0.5], [0.1]], axis=0)", "xp.percentile(f, 100, method='nearest')"],
    "differences": ["xp.diff(f, 2)", "xp.diff(f, 1, 0)", "xp.diff(f, prepend=0.0)", "xp.diff(i, axis=0, append=3)", "xp.diff(f, prepend=0.0, append=f)",
                    "xp.diff(f, n=0, append=f)",
                    "xp.ediff1d(f, to_end=[9.0, 8.0], to_begin=1.0)", "list(xp.gradient(f, 0.5, 2.0))", "xp.gradient(f, axis=-1, edge_order=2)",
                    "list(xp.gradient(f, 3.0, axis=(1, 0)))", "xp.gradient(v, 2.0, edge_order=2)"],
    "new": ["xp.linspace(0, 1, 5, False)", "xp.linspace(start=0, stop=1, num=3)", "xp.linspace(v, 2.0, 3, axis=-1)", "xp.eye(3, 4, 1)",
            "xp.eye(2, 3, -1, 'int32')",
            "list(xp.meshgrid(v, v[:2], sparse=True))", "list(xp.meshgrid(v, v[:2], v[:3], sparse=True, indexing='ij'))", "list(xp.meshgrid(v, sparse=True))",
            "xp.arange(3, 8, 2, 'float16')", "xp.ones_like(f, shape=(2,))", "xp.full_like(i, 3, shape=2)", "xp.zeros_like(f, shape=())"],
    "numbers with axes": ["xp.argsort(s, axis=0)", "xp.argsort(s, axis=None)", "s.argmax(-1)", "xp.argmin(s, axis=0)", "xp.repeat(s, 2, axis=-1)"],
    "put in, taken out": ["xp.insert(f, [1, 2], 9.0, axis=1)", "xp.insert(f, [0, -1, 3], p[:, :3], axis=1)", "xp.insert(v, slice(0, 4, 2), [7.0, 8.0])",
                          "xp.insert(f, [1], p[:1], axis=0)", "xp.insert(i, xp.asarray([2, 2]), 5)", "xp.insert(f, [0], [[1.0], [2.0], [3.0]], axis=1)",
                          "xp.insert(v, [], 1.0)", "xp.delete(v, [])", "xp.delete(f, [], axis=1)"],
    "nothing to search": [f"xp.searchsorted(xp.asarray([], dtype='{kind}'), xp.asarray(values, dtype='{kind}'))".replace("values", values)
                          for kind in ("float32", "float16", "int16", "int8", "uint8", "int64") for values in ("2", "[[1, 2], [3, 4]]")],
    "moved": ["xp.moveaxis(f, source=0, destination=-1)", "xp.repeat(f, repeats=2, axis=0)", "xp.tile(f, reps=(2, 1))",
              "list(xp.split(f, indices_or_sections=2, axis=1))",
              "list(xp.split(f, [3, 1], axis=1))", "list(xp.split(v, [-1, 2, 9]))", "list(xp.array_split(v, indices_or_sections=3))",
              "xp.append(f, values=v)", "f.ravel('F')", "f.flatten('F')", "xp.reshape(f, (2, 6), 'F')",
              "f.reshape(6, 2, order='F')", "f.reshape((2, -1), order='F')"],
    "padded": ["xp.pad(f, 1, 'symmetric')", "xp.pad(f, ((0, 2), (5, 9)), mode='symmetric')", "xp.pad(f, 1, constant_values=(2, 3))",
               "xp.pad(f, ((1, 0), (2, 1)), constant_values=((1, 2), (3, 4)))", "xp.pad(i, pad_width=1, constant_values=-1)"],
    "taken": ["xp.take(f, indices=[0, 3], axis=1)", "xp.take(f, [5, -7], axis=0, mode='wrap')", "xp.take(f, [-3, 9], axis=1, mode='clip')",
              "f.take([1, 99], 1, mode='clip')", "xp.take_along_axis(f, indices=xp.argsort(f, axis=0), axis=0)",
              "xp.take_along_axis(f, xp.asarray([11, 0]), axis=None)"],
    "products": ["xp.tensordot(f, f.T, 1)", "xp.einsum('ij,kj->ik', f, p, optimize=True)", "xp.cov(f)", "xp.cov(f, rowvar=False)", "xp.cov(f, bias=True)",
                 "xp.cov(f, ddof=0)", "xp.cov(v)", "xp.cov(f[:1])", "xp.corrcoef(f[:1])", "xp.corrcoef(f, rowvar=False)"],
    "rounded": ["xp.round(f, 3)", "xp.round(f * 1e6, 2)", "xp.round(f * 1e-6, 8)", "xp.round(f * 100, -1)", "xp.round(f * 1e5, -3)"],
    "no axes": ["xp.flip(f, ())", "xp.squeeze(s, -1)", "xp.squeeze(s, axis=0)", "xp.linalg.vector_norm(f, axis=())",
                "xp.linalg.vector_norm(f, axis=(), ord=0, keepdims=True)"],
    "matrices": ["xp.linalg.multi_dot([f, f.T, p])", "xp.linalg.multi_dot([v, f.T, f, v])", "xp.linalg.multi_dot([f, v])",
                 *(f"xp.linalg.cond(w, {p})" for p in (None, 2, -2, 1, "xp.inf", "'fro'")), "xp.linalg.cond(xp.stack([w, w]))"],
    "numbers": ["xp.clip(f, a_min=-0.5, a_max=0.5)", "xp.clip(i, a_min=None, a_max=1)",
                "xp.array_equal(f / 0 - f / 0, f / 0 - f / 0, equal_nan=True)",
                "xp.array_equal(f, f, True)", "xp.array_equal(i, i, equal_nan=True)"],
}


@pytest.mark.filterwarnings("ignore")  # numpy has them for means of nothing
@pytest.mark.parametrize("group", CASES)
def test_arguments(group: str) -> None:
    check(CASES[group])


def test_what_cannot_be() -> None:
    x = wt.ones((2, 3))
    for call, words in [(lambda: wt.max(x, where=x > 0), "initial"), (lambda: wt.sum(x, where=wt.ones((4, 2, 3)) > 0), "where"),
                        (lambda: wt.take(x, [0], mode="bounce"), "bounce"), (lambda: wt.quantile(x, 0.5, method="odd"), "odd"),
                        (lambda: wt.gradient(x, edge_order=3), "edge_order"), (lambda: wt.gradient(x[:, :2], axis=1, edge_order=2), "at least 3"),
                        (lambda: wt.rollaxis(x, 0, 5), "place 5"),
                        (lambda: wt.pad(x, ((1, 2, 3),)), "pad_width"),
                        (lambda: x.ravel("Q"), "'Q'"), (lambda: wt.meshgrid([1], indexing="yx", sparse=True), "yx")]:
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(IndexError, match="not all"):
        wt.insert(x, [1, 9], 0.0)
    for call, words in [(lambda: wt.gcd(x, 2), "integers"), (lambda: wt.gradient(x, 1.0, 2.0, 3.0), "distance")]:
        with pytest.raises(TypeError, match=words):
            call()


def test_gradients_pass_where() -> None:
    x, mask = wt.array([[1.0, -2.0], [3.0, 4.0]]), wt.array([[True, False], [True, True]])
    np.testing.assert_allclose(wt.grad(lambda x: wt.mean(x, where=mask))(x).numpy(), [[1 / 3, 0], [1 / 3, 1 / 3]], rtol=1e-6)
    assert wt.grad(lambda x: wt.max(x, where=mask, initial=-9.0))(x).tolist() == [[0, 0], [0, 1]]
    got = wt.grad(lambda x: wt.pad(x, 1, "symmetric").sum())(x)
    np.testing.assert_array_equal(got.numpy(), np.full((2, 2), 4.0, np.float32))


def test_numpys_functions_stay_on_the_device() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    p = wt.array(x)
    for call in (lambda x: np.reshape(x, (3, 2)), lambda x: np.argsort(x, axis=0), lambda x: np.take(x, [0, 2], axis=1), lambda x: np.sum(x, where=x > 1),
                 lambda x: np.max(x, initial=9), lambda x: np.cumsum(x, axis=1), lambda x: np.repeat(x, 2, axis=0), lambda x: np.squeeze(x[None]),
                 lambda x: np.transpose(x), lambda x: np.searchsorted(x[0], x, "right"), lambda x: np.var(x, axis=0, ddof=1), lambda x: np.swapaxes(x, 0, 1)):
        assert isinstance(call(p), wt.Tensor)
        np.testing.assert_array_equal(call(p).numpy(), call(x))


def test_least_squares(rng: np.random.Generator) -> None:
    a, b, c = (rng.normal(size=shape).astype(np.float32) for shape in ((7, 3), (7,), (7, 2)))
    for right in (b, c):
        np.testing.assert_allclose(wt.linalg.lstsq(wt.array(a), wt.array(right)).numpy(), np.linalg.lstsq(a, right)[0], rtol=1e-3, atol=1e-4)


def test_more_decimals_than_there_are() -> None:
    for kind in ("float32", "float16", "bfloat16"):
        x = wt.array([0.0, 1.5, -2.25, 3e4, float("inf"), float("nan")], kind)
        for places in (20, 40, 400):
            np.testing.assert_array_equal(wt.round(x, places).numpy(), x.numpy())
    assert wt.round(wt.array([1e38, 5.0]), -38).tolist() == [pytest.approx(1e38), 0.0]


def test_choices() -> None:
    x, key = wt.array([[1, 2], [3, 4], [5, 6]]), wt.random.key(3)
    assert wt.random.choice(x, (4, 2), key=key).shape == (4, 2, 2) and {tuple(r) for r in wt.random.choice(x, 50).tolist()} == {(1, 2), (3, 4), (5, 6)}
    assert sorted(wt.random.choice(9, 9, replace=False).tolist()) == list(range(9)) and wt.random.choice(5).shape == ()
    assert set(wt.random.choice(3, 200, p=[0.5, 0.0, 0.5]).tolist()) == {0, 2} and sorted(wt.random.choice(3, 2, False, [0.5, 0, 0.5]).tolist()) == [0, 2]
    assert wt.random.choice(x, (0, 3)).shape == (0, 3, 2) and wt.array_equal(wt.random.choice(99, 5, key=key), wt.random.choice(99, 5, key=key))
    assert wt.compile(lambda: wt.random.choice(4, 3, replace=False))().shape == (3,)
    for call in (lambda: wt.random.choice(3, 4, replace=False), lambda: wt.random.choice(0, 2), lambda: wt.random.choice(3, p=[0.5, 0.5])):
        with pytest.raises(ValueError, match="choice"):
            call()


def test_diagonals_in_compiled_functions() -> None:
    def run(x: wt.Tensor) -> list[wt.Tensor]:
        filled, changed = x.copy(), x.copy()
        wt.fill_diagonal(filled, 7.0)
        wt.fill_diagonal(changed, x[0])
        return [filled, changed, wt.diagflat(x[0], -1)]

    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    filled, changed = x.copy(), x.copy()
    np.fill_diagonal(filled, 7)
    np.fill_diagonal(changed, x[0])
    for got, wanted in zip(wt.compile(run)(wt.array(x)), (filled, changed, np.diagflat(x[0], -1)), strict=True):
        np.testing.assert_array_equal(got.numpy(), wanted)
