"""Counts, ranks, transforms, small matrices, sparse matrices and whole numbers against numpy in double: odd sizes, no elements, NaN, ends of
ranges."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wt

type Numbers = np.ndarray[Any, Any]

RNG = np.random.default_rng(15)


def normal(*shape: int) -> Numbers:
    return RNG.standard_normal(shape).astype(np.float32)


def near(got: wt.Tensor, wanted: Numbers, size: float = 2e-5) -> None:
    found = got.numpy()
    assert found.shape == wanted.shape, f"{found.shape} instead of {wanted.shape}"
    scale = max(1.0, float(np.abs(np.nan_to_num(wanted)).max()) if wanted.size else 1.0)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=size * scale, equal_nan=True)


def pairs(x: Numbers) -> wt.Tensor:
    """Complex numbers as […, 2]."""
    return wt.array(np.stack([x.real, x.imag], -1).astype(np.float32))


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 1), (5, 31), (2, 3, 64)])
@pytest.mark.parametrize("q", [0.0, 0.13, 0.5, 0.999, 1.0])
def test_quantiles(shape: tuple[int, ...], q: float) -> None:
    x = normal(*shape)
    near(wt.quantile(wt.array(x), q, axis=-1), np.quantile(x.astype(np.float64), q, axis=-1), 1e-5)
    near(wt.median(wt.array(x), axis=0), np.median(x.astype(np.float64), axis=0), 1e-5)
    x[..., 0] = np.nan
    near(wt.quantile(wt.array(x), q, axis=-1), np.quantile(x, q, axis=-1))


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "nearest", "midpoint", "hazen", "weibull", "median_unbiased", "normal_unbiased",
                                    "inverted_cdf", "averaged_inverted_cdf", "interpolated_inverted_cdf", "closest_observation"])
def test_methods_of_quantiles(method: Any) -> None:
    for n in (1, 2, 5, 8):
        x = RNG.permutation(n * 3).reshape(3, n).astype(np.float32)
        for q in (0.0, 0.125, 0.3, 0.5, 0.75, 1.0):
            near(wt.quantile(wt.array(x), q, axis=1, method=method), np.quantile(x.astype(np.float64), q, axis=1, method=method), 1e-6)
            x[x % 5 == 0] = np.nan
            x[:, 0] = 1
            near(wt.nanquantile(wt.array(x), q, axis=1, method=method), np.nanquantile(x.astype(np.float64), q, axis=1, method=method), 1e-6)
    whole = wt.quantile(wt.array([5, 3, 16777217]), 1.0, method=method)
    assert whole.dtype == (wt.int32 if method in ("lower", "higher", "nearest", "inverted_cdf", "closest_observation") else wt.float32)


def test_gradients_of_determinants_without_an_inverse() -> None:
    for x, wanted in [([[0.0]], [[1.0]]), ([[1.0, 2.0], [2.0, 4.0]], [[4.0, -2.0], [-2.0, 1.0]]), (np.zeros((2, 3, 3)), np.zeros((2, 3, 3))),
                      ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])]:
        made = wt.grad(lambda a: wt.linalg.det(a).sum())(wt.array(x, "float32"))
        assert np.array_equal(made.numpy(), wanted), made


def test_logarithms_of_determinants() -> None:
    x = normal(3, 5, 5) * 1e-9
    wanted = np.linalg.slogdet(x.astype(np.float64))
    sign, size = wt.linalg.slogdet(wt.array(x))
    assert np.array_equal(sign.numpy(), wanted.sign)
    near(size, wanted.logabsdet, 1e-6)
    y = wt.array(normal(4, 4) + 4 * np.eye(4, dtype=np.float32))
    near(wt.grad(lambda a: wt.linalg.slogdet(a).logabsdet)(y), np.linalg.inv(y.numpy().astype(np.float64)).T)


def test_gradients_of_points_among_themselves() -> None:
    x = np.array([[0.0], [3.0], [4.0]], np.float32)
    made = wt.grad(lambda a: wt.knn(a, a, 2)[0].sum())(wt.array(x))
    assert made.numpy().ravel().tolist() == [-1, -1, 2]


def test_short_frames() -> None:
    for n in (1, 2, 3):  # a quarter of which is less than a sample
        x = normal(9)
        near(wt.istft(wt.stft(wt.array(x), n), n, 9), x)


def test_counts_and_runs() -> None:
    x = RNG.integers(0, 9, 1000).astype(np.int32)
    assert np.array_equal(wt.bincount(wt.array(x), count=9).numpy(), np.bincount(x, minlength=9))
    ends = np.array([0, 8, -1, 9, 2**31 - 1, -(2**31), 3], np.int32)
    assert wt.bincount(wt.array(ends), count=9).numpy().tolist() == [1, 0, 0, 1, 0, 0, 0, 0, 1]
    assert wt.bincount(wt.array(x[:0]), count=3).numpy().tolist() == [0, 0, 0]
    v = np.concatenate([normal(997), np.float32([-2, 2, np.nan, np.inf, -np.inf])])
    with np.errstate(invalid="ignore"):
        wanted = np.histogram(v[np.isfinite(v)], 13, (-2, 2))[0]
    assert np.array_equal(wt.histogram(wt.array(v), 13, (-2.0, 2.0))[0].numpy(), wanted)
    runs = np.repeat(RNG.integers(0, 3, 57), RNG.integers(1, 5, 57)).astype(np.int32)
    starts = np.flatnonzero(np.concatenate([[True], runs[1:] != runs[:-1]]))
    values, counts, inverse, count = wt.unique_consecutive(wt.array(runs))
    n = int(count)
    assert n == len(starts)
    assert np.array_equal(values.numpy()[:n], runs[starts])
    assert np.array_equal(counts.numpy()[:n], np.diff([*starts, len(runs)]))
    assert np.array_equal(values.numpy()[inverse.numpy()], runs)


def test_extremes_so_far_and_modes() -> None:
    x = RNG.integers(-5, 6, (4, 33)).astype(np.float32)
    values, places = wt.cummax_indices(wt.array(x), 1)
    assert np.array_equal(values.numpy(), np.maximum.accumulate(x, 1))
    last = [[max(j for j in range(i + 1) if row[j] == row[: i + 1].max()) for i in range(33)] for row in x]
    assert np.array_equal(places.numpy(), last)
    values, places = wt.mode(wt.array(x))
    for row, value, place in zip(x, values.numpy(), places.numpy(), strict=True):
        found, counts = np.unique(row, return_counts=True)
        assert value == found[counts.argmax()]
        assert place == np.flatnonzero(row == value)[-1]


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (2, 7, 11), (4, 13, 17), (2, 3, 4, 5)])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_transforms(shape: tuple[int, ...], norm: str) -> None:
    x = normal(*shape) + 1j * normal(*shape)
    size = 1e-5
    axes = (0, len(shape) - 1)
    got = wt.fftn(pairs(x), axis=axes, norm=norm)
    near(got, np.stack([(f := np.fft.fftn(x, axes=axes, norm=norm)).real, f.imag], -1), size)
    back = wt.ifftn(got, axis=axes, norm=norm)
    near(back, np.stack([x.real, x.imag], -1), size)
    half = np.fft.rfft2(x.real, norm=norm)
    near(wt.rfft2(wt.array(x.real.astype(np.float32)), norm=norm), np.stack([half.real, half.imag], -1), size)
    near(wt.irfft2(pairs(half), shape[-1], norm=norm), x.real, size)


def test_small_matrices() -> None:
    for n in (1, 2, 3, 5, 17, 33):
        a = normal(3, n, n) + n * np.eye(n, dtype=np.float32)
        b = normal(3, n, 4)
        spd = a @ a.swapaxes(1, 2) + np.eye(n, dtype=np.float32)
        wide = a.astype(np.float64)
        near(wt.linalg.cholesky(wt.array(spd)), np.linalg.cholesky(spd.astype(np.float64)), 1e-4)
        near(wt.linalg.solve(wt.array(a), wt.array(b)), np.linalg.solve(wide, b), 1e-4)
        near(wt.linalg.inv(wt.array(a)), np.linalg.inv(wide), 1e-4)
        near(wt.linalg.det(wt.array(a / n)), np.linalg.det(wide / n), 1e-4)
    assert np.isnan(wt.linalg.cholesky(wt.array(-np.eye(3, dtype=np.float32))).numpy()).any()
    assert not np.isfinite(wt.linalg.inv(wt.zeros((2, 2))).numpy()).any()
    assert wt.linalg.det(wt.zeros((4, 4))).item() == 0
    assert wt.linalg.solve(wt.zeros((0, 3, 3)), wt.zeros((0, 3, 2))).shape == (0, 3, 2)


@pytest.mark.parametrize("shape", [(1, 1), (5, 9), (31, 17), (40, 3)])
def test_sparse_matrices(shape: tuple[int, int]) -> None:
    dense = normal(*shape) * (RNG.random(shape) < 0.3)
    dense = dense.astype(np.float32)
    parts = wt.csr_from_dense(wt.array(dense))
    x, y = normal(shape[1], 6), normal(shape[0], 6)
    near(wt.csr_matmul(*parts, wt.array(x)), dense.astype(np.float64) @ x)
    near(wt.csr_add(*parts, wt.array(np.ones(shape, np.float32))), dense + 1.0)
    near(wt.csr_row_sums(parts[0], parts[1]), dense.astype(np.float64).sum(1))
    columns = wt.csr_transpose(*parts, shape[1])
    assert np.array_equal(wt.csr_to_dense(*columns, shape[0]).numpy(), dense.T)
    at = np.nonzero(dense)
    near(wt.csr_sampled_matmul(parts[1], parts[2], wt.array(y), wt.array(x)), (y.astype(np.float64) @ x.T)[at])
    soft = wt.csr_to_dense(wt.csr_softmax(parts[0], parts[1]), parts[1], parts[2], shape[1]).numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        powers = np.where(dense != 0, np.exp(dense.astype(np.float64)), 0)
        wanted = np.nan_to_num(powers / powers.sum(1, keepdims=True))
    np.testing.assert_allclose(soft, wanted, atol=1e-6)


def test_whole_numbers() -> None:
    x, w = (RNG.integers(-128, 128, s).astype(np.int8) for s in ((2, 5, 9, 7), (6, 5, 3, 2)))
    q = wt.conv_integer(wt.array(x), wt.array(w), x_zero=wt.array(np.int32(-3)), weight_zero=wt.array(np.int32(5)), stride=(2, 1), pad=(1, 0))
    wide = np.pad(x.astype(np.int64) + 3, ((0, 0), (0, 0), (1, 1), (0, 0)))
    wanted = np.zeros((2, 6, 5, 6), np.int64)
    for i in range(5):
        for j in range(6):
            window = wide[:, :, 2 * i:2 * i + 3, j:j + 2].reshape(2, -1)
            wanted[:, :, i, j] = window @ (w.astype(np.int64) - 5).reshape(6, -1).T
    assert np.array_equal(q.numpy(), wanted)
    # The ends of what an i32 holds.
    deep = wt.full((1, 140000), -128, dtype=wt.int8)
    assert wt.matmul_integer(deep, deep.T).item() == (140000 * 128 * 128 + 2**31) % 2**32 - 2**31
    halves = np.float32([0.5, 1.5, 2.5, -0.5, -1.5, 127.5, 128, -128.5, -129, 3e38, -3e38, np.nan])
    with np.errstate(invalid="ignore"):
        rounded = np.nan_to_num(np.clip(np.rint(halves), -128, 127)).astype(np.int8)
    assert np.array_equal(wt.quantize(wt.array(halves), wt.array(np.float32(1))).numpy(), rounded)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions(mode: str) -> None:
    for n, k in ((1, 1), (8, 3), (101, 30), (64, 64)):
        a, b = normal(n), normal(k)
        wanted = np.convolve(a.astype(np.float64), b, mode)  # type: ignore[call-overload]
        for method in ("direct", "fft"):
            near(wt.convolve(wt.array(a), wt.array(b), mode, method), wanted, 1e-5)


def test_exponentials() -> None:
    """As near for large numbers as for small ones."""
    x = np.concatenate([np.linspace(-87, 88.7, 5001), [0.0, -0.0, 1.0, 88.72283]]).astype(np.float32)
    wide = np.exp(x.astype(np.float64))
    assert np.max(np.abs(wt.exp(wt.array(x)).numpy() - wide) / wide) < 1e-6
    ends = np.float32([89, 1e4, np.inf, -104, -1e4, -np.inf, np.nan])
    assert np.array_equal(wt.exp(wt.array(ends)).numpy(), np.float32([np.inf, np.inf, np.inf, 0, 0, 0, np.nan]), equal_nan=True)


def test_uploads() -> None:
    """Elements on their way while the device works; the array may go away meanwhile."""
    work = wt.random.normal((64, 64))
    under_way = []
    for kind in ("float32", "float16", "int64", "uint8", "bool"):
        given = RNG.integers(0, 2, (300, 7)).astype(kind)
        under_way.append((wt.upload(given[:, ::2]), given[:, ::2].copy()))
        given[:] = 0
        work = wt.tanh(work @ work)
    work.eval()
    for upload, wanted in under_way:
        got = upload.get()
        assert got.dtype == wanted.dtype and upload.ready()
        np.testing.assert_array_equal(got.numpy(), wanted)
        with pytest.raises(ValueError, match="once"):
            upload.get()
    assert wt.upload([1.0, 2.0], "float16").get().tolist() == [1, 2] and wt.upload(np.zeros((0, 3))).get().shape == (0, 3)
    wt.upload(np.ones(10**6, np.float32))  # let go before it has arrived
    with pytest.raises(TypeError, match="upload"):
        wt.upload("nonsense")


def test_neighbours_and_ranks() -> None:
    """knn(), searchsorted() and top_k() against numpy in double: ties, NaN, ends of ranges, one element, all elements."""
    for m, n, d, k in ((1, 1, 1, 1), (5, 40, 3, 7), (33, 129, 17, 16), (4, 9, 2, 9)):
        queries, points = RNG.integers(-3, 4, (m, d)).astype(np.float32), RNG.integers(-3, 4, (n, d)).astype(np.float32)
        apart = ((queries[:, None].astype(np.float64) - points[None]) ** 2).sum(-1)
        for metric, score in (("euclidean", np.sqrt(apart)), ("inner", -(queries.astype(np.float64) @ points.T))):
            distances, places = wt.knn(wt.array(queries), wt.array(points), k, metric=metric)
            wanted = np.argsort(score, axis=1, kind="stable")[:, :k]  # of equals the first
            np.testing.assert_array_equal(places.numpy(), wanted)
            near(distances, np.take_along_axis(score if metric == "euclidean" else -score, wanted, 1), 1e-5)
    for kind in ("float32", "float16", "int32", "int64", "uint8", "int8", "uint32"):
        ends = [-np.inf, np.inf, np.nan] if kind[0] == "f" else [np.iinfo(kind).min, np.iinfo(kind).max]
        base = np.sort(np.array([*RNG.integers(0, 9, 20), *ends[:2]]).astype(kind))
        asked = np.array([*RNG.integers(0, 10, 30), *ends]).astype(kind)
        for side in ("left", "right"):
            got = wt.searchsorted(wt.array(base), wt.array(asked), side=side)
            np.testing.assert_array_equal(got.numpy(), np.searchsorted(base, asked, side=side), f"{kind} {side}")
        rows = np.stack([RNG.permutation(asked) for _ in range(3)])
        values, places = wt.top_k(wt.array(rows), 11)
        wanted = np.sort(rows, axis=1)[:, ::-1][:, :11]
        np.testing.assert_array_equal(values.numpy(), wanted, kind)
        np.testing.assert_array_equal(np.take_along_axis(rows, places.numpy().astype(np.int64), 1), wanted, kind)
        assert all(len(set(row)) == 11 for row in places.tolist())


def test_services() -> None:
    device = wt.Device()
    x = wt.ones((1000,), device=device)
    x.eval()
    report = wt.memory_report(device)
    assert report.asked >= 4000 and report.in_use >= report.asked and sum(used for _, used, _ in report.classes) >= 1
    events: list[wt.MemoryEvent] = []
    wt.set_memory_limit(1 << 20, events.append, 0.5, device=device)
    with pytest.raises(MemoryError, match="limit of 1048576 bytes"):
        wt.ones((1 << 20,), device=device).eval()
    assert events and events[-1].full and events[-1].limit == 1 << 20
    wt.set_memory_limit(0, device=device)
    for wrong in (-1, 1e9):
        with pytest.raises(ValueError, match="whole number"):
            wt.set_memory_limit(wrong, device=device)  # type: ignore[arg-type]
    assert wt.defragment(device) >= 0 and wt.memory_report(device).pooled == 0
    assert wt.device_hints(device).workgroup >= 32
    assert wt.supports(wt.softmax, ((8, 64), wt.float16), device=device)
    refused = wt.supports(lambda a, b: a @ b, ((2, 3), "f32"), ((2, 3), "f32"), device=device)
    assert not refused and "matmul" in refused.reason
