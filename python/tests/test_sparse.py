"""Sparse matrices against dense ones of numpy."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from common import values

import weft as wt
from weft import sparse


def dense_of(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    x = values(rng, shape)
    x[rng.random(shape) < 0.7] = 0
    x[shape[0] // 2] = 0  # a row without elements
    return x


MAKERS: list[Any] = [sparse.csr_array, sparse.csc_array, sparse.coo_array, lambda x: sparse.bsr_array(x, blocksize=2)]


@pytest.mark.parametrize("make", MAKERS, ids=["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("shape", [(6, 10), (8, 2), (2, 4)])
def test_every_kind_is_the_dense_matrix(make: Any, shape: tuple[int, int], rng: np.random.Generator) -> None:
    x = dense_of(rng, shape)
    a = make(wt.array(x))
    assert sparse.issparse(a) and not sparse.issparse(wt.array(x)) and a.shape == shape and a.dtype == wt.float32 and str(shape) in repr(a)
    made = [sparse.csr_array(a), sparse.csc_array(a), sparse.coo_array(a), sparse.bsr_array(a, blocksize=2)]
    for other in (a, a.tocsr(), a.tocsc(), a.tocoo(), a.tobsr(2), a.T.T, *made):
        assert other.shape == shape
        np.testing.assert_array_equal(other.toarray().numpy(), x)
    np.testing.assert_array_equal(a.T.toarray().numpy(), x.T)
    right, left, vector = values(rng, (shape[1], 3)), values(rng, (4, shape[0])), values(rng, (shape[1],))
    for made, wanted in [(a @ wt.array(right), x @ right), (wt.array(left) @ a, left @ x), (a @ vector, x @ vector),
                         (a.T @ wt.array(left.T), x.T @ left.T), (a.sum(), x.sum()), (a.sum(0), x.sum(0)), (a.sum(axis=-1), x.sum(1)),
                         (a + wt.array(x), x + x), (a - 1.0, x - 1), (2.0 - a, 2 - x)]:
        np.testing.assert_allclose(made.numpy(), wanted, rtol=1e-4, atol=1e-5)
    for made, wanted in [(-a, -x), (abs(a), abs(x)), (a * 3.0, x * 3), (2.0 * a, x * 2), (a / 4.0, x / 4), (a + a, 2 * x), (a - a.tocsr(), 0 * x),
                         (a * wt.array(vector), x * vector), (a.multiply(wt.array(x)), x * x), (a.astype("float16").astype("float32"), x.astype("f2"))]:
        np.testing.assert_allclose(made.toarray().numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_places_that_come_twice_are_added_up() -> None:
    a = sparse.coo_array((wt.array([1.0, 2.0, 4.0]), ([1, 1, 0], [2, 2, 0])), (2, 3))
    assert a.nnz == 3 and a.toarray().tolist() == [[4, 0, 0], [0, 0, 3]]
    assert a.tocsr().sum_duplicates().data.tolist() == [4, 3]
    assert sparse.coo_array(([5.0], ([1], [0]))).shape == (2, 1)
    assert sparse.csr_array(([5.0], ([1], [0])), (4, 2)).indptr.tolist() == [0, 0, 1, 1, 1]


@pytest.mark.parametrize("make", MAKERS, ids=["csr", "csc", "coo", "bsr"])
def test_products_of_two(make: Any, rng: np.random.Generator) -> None:
    for shapes in (((6, 8), (8, 4)), ((2, 2), (2, 10))):
        x, y = (dense_of(rng, shape) for shape in shapes)
        made = make(wt.array(x)) @ make(wt.array(y))
        assert isinstance(made, sparse.csr_array) and made.shape == (x.shape[0], y.shape[1])
        np.testing.assert_allclose(made.toarray().numpy(), x @ y, rtol=1e-4, atol=1e-5)
        assert made.nnz == np.count_nonzero((x != 0).astype(int) @ (y != 0).astype(int)) or make is MAKERS[3]
    none = sparse.csr_array(wt.zeros((3, 5)))
    assert (none @ sparse.csr_array(wt.ones((5, 2)))).toarray().tolist() == [[0, 0]] * 3
    x = dense_of(rng, (6, 8))
    a = sparse.csr_array(wt.array(x))
    slope = wt.grad(lambda data: (a.with_data(data) @ a.T).sum())(a.data)
    assert np.abs(slope.numpy()).max() > 0
    np.testing.assert_allclose(a.with_data(slope).toarray().numpy(), np.where(x != 0, x.sum(0), 0), rtol=1e-4, atol=1e-5)


def test_masked_attention_and_its_gradient(rng: np.random.Generator) -> None:
    """softmax(q · kᵀ) at some places, times v, as with a dense mask."""
    q, k, v = (values(rng, (6, 4)) for _ in range(3))
    mask = rng.random((6, 6)) < 0.5
    mask[np.arange(6), np.arange(6)] = True
    places = sparse.csr_array(wt.array(mask.astype(np.float32)))

    def by_sparse(q: wt.Tensor, k: wt.Tensor, v: wt.Tensor) -> Any:
        return ((places.sampled_matmul(q, k).softmax() @ v) ** 2).sum()

    def by_dense(q: wt.Tensor, k: wt.Tensor, v: wt.Tensor) -> Any:
        return ((wt.softmax(wt.where(wt.array(mask), q @ k.T, -np.inf), axis=1) @ v) ** 2).sum()

    given = [wt.array(x) for x in (q, k, v)]
    one, two = (wt.value_and_grad(f, argnums=(0, 1, 2))(*given) for f in (by_sparse, by_dense))
    np.testing.assert_allclose(one[0].item(), two[0].item(), rtol=1e-5)
    for a, b in zip(one[1], two[1], strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


def test_gradients_reach_the_elements(rng: np.random.Generator) -> None:
    x = dense_of(rng, (4, 6))
    a, right = sparse.csr_array(wt.array(x)), wt.array(values(rng, (6, 2)))
    for kind in (a, a.tocoo(), a.tocsc(), a.tobsr(2)):
        slope = wt.grad(lambda data, kind=kind: (kind.with_data(data) @ right).sum())(kind.data)
        wanted = kind.with_data(slope).toarray().numpy()
        everywhere = np.broadcast_to(right.numpy().sum(1), (4, 6))
        stored = kind.with_data(wt.ones_like(kind.data)).toarray().numpy() != 0
        np.testing.assert_allclose(wanted, np.where(stored, everywhere, 0), rtol=1e-5)


@pytest.mark.parametrize("make", MAKERS, ids=["csr", "csc", "coo", "bsr"])
def test_products_element_by_element(make: Any, rng: np.random.Generator) -> None:
    x, y = (dense_of(rng, (6, 8)) for _ in range(2))
    x[0, 0], y[:2, :2] = np.inf, 0  # a place that only one has is none of the product's
    x[5, 7], y[5, 7] = 2, 3
    a, b = sparse.csr_array(wt.array(x)), make(wt.array(y))
    for made in (a * b, b.multiply(a)):
        assert isinstance(made, sparse.csr_array)
        np.testing.assert_allclose(made.toarray().numpy(), np.where(y == 0, 0, x) * y, rtol=1e-6)
    assert (a * sparse.csr_array(wt.array(y))).nnz == np.count_nonzero((x != 0) & (y != 0))
    assert (a * sparse.csr_array(wt.zeros((6, 8)))).nnz == 0
    slope = wt.grad(lambda data: (a.with_data(data) * b).sum())(a.data)
    np.testing.assert_allclose(a.with_data(slope).toarray().numpy(), np.where(x != 0, y, 0), rtol=1e-6)


def test_matrices_of_scipy_are_taken() -> None:
    class Foreign:
        """What scipy's matrices have in common."""

        data, indices, indptr, shape = np.array([1.0, 2.0]), np.array([2, 0], np.int64), np.array([0, 1, 2], np.int64), (2, 3)

        def tocsr(self) -> Foreign:
            return self

    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array):
        assert kind(Foreign()).toarray().tolist() == [[0, 0, 1], [2, 0, 0]]
    wide = Foreign()
    wide.shape = (2, 4)
    assert sparse.bsr_array(wide, blocksize=2).toarray().tolist() == [[0, 0, 1, 0], [2, 0, 0, 0]]


def test_what_does_not_fit_is_a_sentence() -> None:
    a = sparse.csr_array(wt.eye(4))
    cases: list[Any] = [
        (lambda: a @ sparse.csr_array(wt.eye(3)), ValueError, "cannot be multiplied"),
        (lambda: a * sparse.csr_array(wt.eye(3)), ValueError, "element by element"),
        (lambda: a @ wt.ones(3), ValueError, "not multiplied"),
        (lambda: wt.ones((2, 3)) @ a, ValueError, "left"), (lambda: a + sparse.csr_array(wt.eye(3)), ValueError, "cannot be added"),
        (lambda: a.with_data([1.0]), ValueError, "with_data"), (lambda: a.sum(2), ValueError, "axis"),
        (lambda: sparse.csr_array(([1.0], [0], [0, 1]), (3, 3)), ValueError, "starts"),
        (lambda: sparse.coo_array(([1.0], ([0], [0, 1])), (3, 3)), ValueError, "one length"),
        (lambda: sparse.coo_array(([1.0], ([3], [0])), (3, 3)), ValueError, "along an axis of 3"),
        (lambda: sparse.csc_array(([1.0], [-1], [0, 1, 1]), (5, 2)), ValueError, "along an axis of 5"),
        (lambda: sparse.csr_array(wt.ones(3)), ValueError, "matrix"), (lambda: sparse.bsr_array(wt.ones((3, 4))), ValueError, "16")]
    for call, error, words in cases:
        with pytest.raises(error, match=words):
            call()


def test_types_meet_as_those_of_tensors() -> None:
    x = np.array([[0, 2, 0], [1, 0, 3]], np.float32)
    half, full = sparse.csr_array(wt.array(x, "float16")), sparse.csr_array(wt.array(x))
    for made, wanted in [(half + full, 2 * x), (full - half, 0 * x), (half * full, x * x), (half @ full.T, x @ x.T), (half @ wt.array(x.T), x @ x.T),
                         (half @ np.array([[1], [2], [3]]), x @ [[1], [2], [3]]), (full @ wt.array(x.T, "float16"), x @ x.T),
                         (wt.array(x.T, "float16") @ full, x.T @ x), (half + x, 2 * x), (full + wt.array(x, "float16"), 2 * x)]:
        assert made.dtype == wt.float32
        np.testing.assert_array_equal((made if isinstance(made, wt.Tensor) else made.toarray()).numpy(), wanted)
    assert (half + 1).dtype == (half * 2.0).dtype == (half @ half.T).dtype == (half @ wt.array(x.T, "float16")).dtype == wt.float16


@pytest.mark.parametrize("make", MAKERS, ids=["csr", "csc", "coo", "bsr"])
def test_diagonals_means_powers_and_joining(make: Any, rng: np.random.Generator) -> None:
    x = dense_of(rng, (6, 4))
    a = make(wt.array(x))
    for got, wanted in [(a.diagonal(), np.diagonal(x)), (a.T.diagonal(), np.diagonal(x)), (a.mean(), x.mean()), (a.mean(0), x.mean(0)), (a.mean(-1), x.mean(1)),
                        (a.dot(wt.ones(4)), x.sum(1)), ((a**2).toarray(), x**2), (a.power(3).toarray(), x**3),
                        (sparse.vstack([a, x, a.T.T]).toarray(), np.vstack([x, x, x])), (sparse.hstack([a, a * 2.0]).toarray(), np.hstack([x, 2 * x]))]:
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-5, atol=1e-6)
    assert sparse.vstack([a.astype("float16"), a]).dtype == wt.float32
    with pytest.raises(ValueError, match="as many columns"):
        sparse.vstack([a, a.T])
    np.testing.assert_allclose(wt.grad(lambda d: (a.with_data(d).diagonal() ** 2).sum())(a.data).numpy().sum(), 2 * np.diagonal(x).sum(), rtol=1e-5)


@pytest.mark.parametrize("shape", [(3, None, 0), (3, 5, 1), (5, 3, -2), (2, 2, 4), (4, 4, -7), (0, 3, 0)])
def test_ones_on_diagonals(shape: tuple[int, int | None, int]) -> None:
    m, n, k = shape
    np.testing.assert_array_equal(sparse.eye_array(m, n, k=k).toarray().numpy(), np.eye(m, n, k))
