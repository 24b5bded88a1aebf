"""x[…] and x[…] = v against numpy."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from common import TYPES, same, values
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import weft as wt

INDICES: list[Any] = [
    0, -1, (1, 2), (0, -1, 1), slice(None), slice(1, None), slice(None, -1), slice(None, None, 2), slice(None, None, -1), slice(-1, 0, -2),
    slice(5, 2), (slice(None), 1), (Ellipsis, 0), (0, Ellipsis), None, (None, 0), (slice(1, 3), None, Ellipsis, slice(None, None, -2)),
    [0, 2], [[0, 1], [2, 3]], (slice(None), [1, 0]), ([0, 1], [1, 2]), ([0, 1], slice(None), [1, 0]), (slice(None), [1, 0], [0, 1]),
    (0, slice(None), [1, 0]), ([[0], [1]], [[1, 2]]), (Ellipsis, [0, -1]), [], (), Ellipsis, True, False, ([], [1]),
    np.array([True, False, True, True]), (slice(None), np.array([False, True, True])), np.array([-1, 0]), np.int64(1),
]


def data(dtype: str = "float32") -> np.ndarray[Any, Any]:
    return values(np.random.default_rng(3), (4, 3, 5), dtype)


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_get(index: Any) -> None:
    x = data()
    same(wt.array(x)[index], x[index])


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_set(index: Any) -> None:
    x = data()
    for value in (7, np.asarray(x[index]) * 2 + 1, np.float32(3)):
        p, wanted = wt.array(x), x.copy()
        p[index] = value
        wanted[index] = value
        same(p, wanted)


@pytest.mark.parametrize("dtype", TYPES)
def test_types(dtype: str) -> None:
    x = data(dtype)
    p = wt.array(x)
    for index in (1, slice(None, None, -2), [2, 0], np.array([True, False, True, False]), (Ellipsis, [1, 3])):
        same(p[index], x[index])
        q, y = wt.array(x), x.copy()
        q[index] = x[0, 0, 0]
        y[index] = x[0, 0, 0]
        assert q.dtype == p.dtype
        same(q, y)


@given(st.data())
def test_random_basic(draw: st.DataObject) -> None:
    shape = draw.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    index = draw.draw(hnp.basic_indices(shape, allow_newaxis=True))
    same(wt.array(x)[index], x[index])
    p, y = wt.array(x), x.copy()
    p[index] = -5
    y[index] = -5
    same(p, y)


@given(st.data())
def test_random_arrays(draw: st.DataObject) -> None:
    shape = draw.draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=5))
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    index = draw.draw(hnp.integer_array_indices(shape))
    same(wt.array(x)[index], x[index])
    same(wt.array(x)[tuple(wt.array(i) for i in index)], x[index])
    p, y = wt.array(x), x.copy()
    value = np.arange(x[index].size, dtype=np.float32).reshape(x[index].shape)
    p[index] = value
    y[index] = value
    same(p, y)


@given(hnp.arrays(bool, hnp.array_shapes(min_dims=0, max_dims=3, max_side=5)))
def test_random_masks(mask: np.ndarray[Any, Any]) -> None:
    x = np.arange(mask.size, dtype=np.int32).reshape(mask.shape)
    same(wt.array(x)[wt.array(mask)], x[mask])
    p, y = wt.array(x), x.copy()
    p[wt.array(mask)] = 0
    y[mask] = 0
    same(p, y)
    p[mask] = -x[mask]
    y[mask] = -x[mask]
    same(p, y)


def test_what_is_refused() -> None:
    x = wt.ones((4, 3))
    for index in (4, -5, (0, 3), (0, 0, 0), [4], ([0], [3]), np.ones(3, bool), (Ellipsis, Ellipsis), wt.array([9])):
        with pytest.raises(IndexError):
            x[index]
        with pytest.raises(IndexError):
            x[index] = 1
    for index in (1.0, "a", np.array([1.0]), object()):
        with pytest.raises(IndexError):
            x[index]
    with pytest.raises(ValueError, match="step"):
        x[::0]
    with pytest.raises(ValueError, match="assigned"):
        x[0] = wt.ones(4)
    with pytest.raises(ValueError, match="assigned"):
        x[[0, 1]] = wt.ones((3, 3))
    with pytest.raises(OverflowError):
        wt.ones(3, "uint8")[0] = 300


def test_assignment_does_not_reach_others() -> None:
    x = wt.zeros((2, 2))
    view, alias = x[0], x
    x[0] = 1
    assert view.tolist() == [0, 0]
    assert alias.tolist() == [[1, 1], [0, 0]]


def test_nothing_behind_the_end() -> None:
    x = wt.zeros((0, 5)).eval()
    assert x[:, -1].tolist() == [] and x[:, 4:].shape == (0, 1) and (x[:, 3] + 1).tolist() == [] and x[:, -1].sum().item() == 0
    assert wt.array(np.zeros((0, 5), np.int32))[:, -1].numpy().shape == (0,)
    assert wt.compile(lambda x: x * 2)(x[:, -1]).shape == (0,)


def test_in_compiled_functions() -> None:
    """Indices without values are looked up on the device."""
    x = wt.arange(12).reshape(3, 4)
    assert wt.compile(lambda x, i: x[i])(x, wt.array(2)).tolist() == [8, 9, 10, 11]
    assert wt.compile(lambda x, i: x[i, 1:])(x, wt.array([2, -3])).tolist() == [[9, 10, 11], [1, 2, 3]]
    assert wt.compile(lambda x, i: x[:, i, None])(x, wt.array([3])).tolist() == [[[3]], [[7]], [[11]]]
    assert wt.compile(lambda x, i, j: x[i, j])(x, wt.array([0, 1]), wt.array([1, -1])).tolist() == [1, 7]

    def change(x: wt.Tensor) -> wt.Tensor:
        x[1:, ::2] = 0
        x[x > 8] = -1
        return x

    assert wt.compile(change)(x).tolist() == [[0, 1, 2, 3], [0, 5, 0, 7], [0, -1, 0, -1]]
    assert x[2, 3].item() == 11
    with pytest.raises(IndexError, match="mask"):
        wt.compile(lambda x: x[x > 2])(x)


def test_iteration_and_membership() -> None:
    x = wt.array([[1, 2], [3, 4]])
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    assert len(x) == 2
    assert 3 in x and 9 not in x
    first, second = x
    assert second[0].item() == 3
    with pytest.raises(TypeError):
        len(wt.array(1))
    with pytest.raises(TypeError):
        iter(wt.array(1))
