"""Making tensors, asking them, and handing them on."""
from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import numpy as np
import pytest
from common import TYPES, same, values

import weft as wt


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4), (1,) * 8])
def test_there_and_back(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    x = values(rng, shape, dtype)
    p = wt.array(x)
    assert (p.shape, p.ndim, p.size, p.dtype.name) == (shape, len(shape), x.size, dtype)
    assert p.nbytes == x.nbytes and p.itemsize == x.itemsize
    back = p.numpy()
    assert back.dtype == x.dtype
    np.testing.assert_array_equal(back, x)
    np.testing.assert_array_equal(np.asarray(p), x)
    np.testing.assert_array_equal(np.from_dlpack(p), x)
    np.testing.assert_array_equal(wt.from_dlpack(x).numpy(), x)
    assert p.tolist() == x.tolist()
    again = pickle.loads(pickle.dumps(p))
    assert again.dtype == p.dtype
    np.testing.assert_array_equal(again.numpy(), x)


@pytest.mark.parametrize(("given", "dtype"), [
    (1, "int32"), (True, "bool"), (2.5, "float32"), ([1, 2], "int32"), ([1, 2.0], "float32"), ([], "float32"), ([[]], "float32"), ([True, False], "bool"),
    (2**40, "int64"), ([1, -(2**40)], "int64"), (np.float64(1), "float32"), (np.float16(1), "float16"), (np.int8(1), "int8"), (range(3), "int32"),
    (np.arange(3), "int64"), (np.zeros(2), "float32"), ((1, 2), "int32"), ([np.float32(1), 2], "float32")])
def test_types_of_what_is_given(given: Any, dtype: str) -> None:
    p = wt.array(given)
    assert p.dtype.name == dtype
    np.testing.assert_array_equal(p.numpy(), np.asarray(given))


def test_layouts_of_numpy() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for view in (x.T, x[:, ::2], x[::-1], x[:, None, 1], np.broadcast_to(x[0], (5, 3, 4)), x.astype(">f4"), np.asfortranarray(x)):
        np.testing.assert_array_equal(wt.array(view).numpy(), view)


@pytest.mark.parametrize("given", ["text", b"bytes", None, object(), {1: 2}, 1 + 2j, np.zeros(2, complex), np.array(["a"]), np.zeros(2, np.uint64),
                                   np.zeros(2, np.uint64), [[1], [2, 3]], [None], np.array([object()]), 2**70, [2**64]])
def test_what_no_tensor_holds(given: Any) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        wt.array(given)


def test_given_types() -> None:
    for name in [*TYPES, "bfloat16"]:
        assert wt.array([0, 1], name).dtype.name == name
        assert wt.array([0.0, 1.0], getattr(wt, name)).dtype.name == name
        assert wt.zeros(2, dtype=name).dtype == getattr(wt, name)
    assert wt.array([1.7, -1.7], "int32").tolist() == [1, -1]
    assert wt.array([0, 2], bool).tolist() == [False, True]
    assert wt.array([1], float).dtype == wt.float32 and wt.array([1.5], int).dtype == wt.int32
    assert wt.array([1], np.float16).dtype == wt.float16 == np.float16
    assert wt.dtype("f32") == wt.float32 and repr(wt.float32) == "weft.float32" and wt.dtype("q4_0").is_quantized
    assert {wt.float32: 1}[wt.dtype("float32")] == 1 and wt.float32 != wt.float16 and wt.float32 is not None
    with pytest.raises(OverflowError):
        wt.array([300], "uint8")
    with pytest.raises(OverflowError):
        wt.array(-1, "uint32")
    for wrong in ("float64", np.float64, "nonsense", 7, complex):
        with pytest.raises(TypeError, match="type"):
            wt.zeros(2, dtype=wrong)


def test_numbers() -> None:
    x = wt.array(2.5)
    assert (float(x), int(x), bool(x), x.item(), complex(x)) == (2.5, 2, True, 2.5, 2.5)
    assert float(wt.array([[3]])) == 3 and [10, 20, 30][wt.array(1)] == 20 and f"{x:.2f}" == "2.50"
    assert isinstance(wt.array(1).item(), int) and isinstance(wt.array(True).item(), bool)
    assert wt.array([[1, 2], [3, 4]]).item(1, 0) == 3
    for wrong in (bool, float, int):
        with pytest.raises(ValueError, match="shape"):
            wrong(wt.ones(2))
    with pytest.raises(ValueError):
        bool(wt.ones(0))
    with pytest.raises(TypeError):
        [1][wt.array(0.0)]


def test_views_of_the_shape(rng: np.random.Generator) -> None:
    x = values(rng, (2, 3, 4))
    p = wt.array(x)
    same(p.T, x.T)
    same(p.mT, x.swapaxes(1, 2))
    same(p.reshape(4, -1), x.reshape(4, -1))
    same(p.reshape((-1,)), x.reshape(-1))
    same(p.transpose(1, 0, 2), x.transpose(1, 0, 2))
    same(p.permute(2, 0, 1), x.transpose(2, 0, 1))
    same(p.ravel(), x.ravel())
    same(p.swapaxes(0, -1), x.swapaxes(0, -1))
    same(p[:1].squeeze(), x[:1].squeeze())
    same(p[:1].squeeze(0), x[:1].squeeze(0))
    same(wt.array(3).T, np.array(3).T)
    for wrong in ((5, 5), (-1, -1), (7, -1), (-2, 12)):
        with pytest.raises(ValueError):
            p.reshape(wrong)
    with pytest.raises(ValueError):
        wt.ones(3).mT  # noqa: B018


def test_texts() -> None:
    assert repr(wt.array([1.5, 2])) == "tensor([1.5, 2. ], dtype=float32)"
    assert repr(wt.zeros((0, 3))) == "tensor([], shape=(0, 3), dtype=float32)"
    assert str(wt.array([True])) == "[ True]"
    assert "<table>" in wt.ones((3, 3))._repr_html_() and "…" in wt.ones((30, 30))._repr_html_() and "pre" in wt.ones((2, 2, 2))._repr_html_()
    assert "bfloat16" in repr(wt.ones(2, "bfloat16")) and "Device" in repr(wt.default_device())
    assert "axis" in str(wt.softmax.__doc__) and "sum" in str(wt.Tensor.sum.__doc__) and "numpy" in str(wt.__doc__)


def test_numpy_on_the_left(rng: np.random.Generator) -> None:
    x = values(rng, (3,))
    p = wt.array(x)
    for got in (x + p, x * p, np.float32(2) - p, x[:, None] / p, x < p, x @ p):
        assert isinstance(got, wt.Tensor)
    same(np.float32(2) - p, 2 - x)
    for function in (np.sum, np.mean, np.max, np.std, np.argmax, np.any):
        same(function(p), function(x))
        same(function(p, axis=0), function(x, axis=0))


def test_copies() -> None:
    x = wt.array([1.0, 2.0])
    other, deep = copy.copy(x), copy.deepcopy(x)
    x += 1
    assert other.tolist() == deep.tolist() == [1, 2] and x.tolist() == [2, 3]
    assert {x: 1}[x] == 1
    with pytest.raises(ValueError):
        np.asarray(x, copy=False)
    with pytest.raises(ValueError):
        wt.asarray([1], copy=False)
    assert wt.asarray(x) is x and wt.array(x) is not x


def test_devices(device: wt.Device) -> None:
    assert device is wt.default_device() or device.name == wt.default_device().name
    assert wt.ones(2).device.name == device.name
    second = wt.Device()
    with second as inner:
        assert wt.default_device() is inner
        x = wt.ones(2)
    assert wt.default_device() is not second
    y = x.to(device)
    assert (y + wt.ones(2)).tolist() == [2, 2]
    with pytest.raises(LookupError, match="nonsense"):
        wt.Device("nonsense")
    with pytest.raises(TypeError, match="device"):
        wt.zeros(2, device="llvmpipe")  # type: ignore[arg-type]
    second.synchronize()


def test_threads(rng: np.random.Generator) -> None:
    """Several threads build on the same tensors while others read: every sum comes out right."""
    x = values(rng, (64, 64))
    shared = wt.array(x)
    wrong: list[Exception] = []

    def work(number: int) -> None:
        try:
            for i in range(10):
                y = (shared * float(number) + shared).sum(axis=i % 2)
                np.testing.assert_allclose(y.numpy(), (x * number + x).sum(axis=i % 2), rtol=1e-3, atol=1e-3)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_limits_of_types() -> None:
    assert wt.finfo("float16").max == 65504 and wt.finfo(wt.float32).eps == 2.0**-23 and wt.iinfo("int8").min == -128
    assert wt.can_cast("int8", "int32") and not wt.can_cast("float32", "int32") and wt.isdtype(wt.int8, "integral")
    assert wt.result_type("int8", 1.5) == wt.float32 and wt.result_type("uint8", "int8") == wt.int16 and wt.result_type(1, 2) == wt.int32
