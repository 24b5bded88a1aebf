"""What people try first when they come from numpy, PyTorch or JAX."""
from __future__ import annotations

import copy
import math
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from common import same

import weft as wt

WHOLE: dict[str, Callable[[Any], Any]] = {"np.int64": np.int64, "np.uint8": np.uint8, "an array": np.array, "a tensor": wt.array}
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
CALLS: dict[str, Callable[[wt.Tensor, Any], wt.Tensor]] = {
    "sum": lambda t, i: wt.sum(t, axis=(i(0), i(1))), "array_split": lambda t, i: wt.array_split(t, i(3), axis=i(2))[0],
    "split": lambda t, i: wt.split(t, i(2), axis=i(2))[1], "repeat": lambda t, i: wt.repeat(t, i(2), axis=i(1)), "tile": lambda t, i: wt.tile(t, i(2)),
    "roll": lambda t, i: wt.roll(t, i(1), axis=i(1)), "expand_dims": lambda t, i: wt.expand_dims(t, axis=i(1)),
    "squeeze": lambda t, i: wt.squeeze(t[:1], axis=i(0)), "zeros": lambda t, i: wt.zeros(i(3)), "full": lambda t, i: wt.full(i(3), 2),
    "arange": lambda t, i: wt.arange(i(1), i(9), i(3)), "median": lambda t, i: wt.median(t, axis=i(1)), "quantile": lambda t, i: wt.quantile(t, 0.5, axis=i(1)),
    "percentile": lambda t, i: wt.percentile(t, i(50)), "norm": lambda t, i: wt.linalg.norm(t, axis=i(1)),
    "tensordot": lambda t, i: wt.tensordot(t, t.T, axes=i(1)),
    "average": lambda t, i: wt.average(t, axis=i(1), weights=wt.ones(3)), "histogram": lambda t, i: wt.histogram(t, i(5))[0],
    "permutation": lambda t, i: wt.sort(wt.random.permutation(i(5))), "grad": lambda t, i: wt.grad(lambda a, b: (a * b).sum(), argnums=i(1))(t, t),
    "fftfreq": lambda t, i: wt.fft.fftfreq(i(4)), "nanquantile": lambda t, i: wt.nanquantile(t, 0.5, axis=i(2)),
    "delete": lambda t, i: wt.delete(t, i(1), axis=i(1)),
    "reshape": lambda t, i: wt.reshape(t, i(24)), "matrix_power": lambda t, i: wt.linalg.matrix_power(t[0, :3, :3], i(2))}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", WHOLE)
def test_whole_numbers_of_every_kind(name: str, kind: str) -> None:
    wanted, got = (CALLS[name](wt.array(X), convert) for convert in (int, WHOLE[kind]))
    assert got.dtype == wanted.dtype
    same(got, wanted.numpy())


def test_lists_as_arrays() -> None:
    assert wt.zeros(np.array([2, 3])).shape == wt.zeros(wt.array([2, 3])).shape == (2, 3)
    assert wt.reshape(wt.arange(6), np.array([3, 2])).shape == (3, 2) and [len(p) for p in wt.split(wt.arange(6), np.array([1, 4]))] == [1, 3, 2]
    assert wt.quantile(wt.arange(5), np.array([0.5, 0.25])).tolist() == [2, 1] and wt.quantile(wt.arange(5), np.float32(0.5)).item() == 2
    assert wt.nn.Linear(np.int64(3), np.int32(4)).weight.shape == (4, 3) and wt.nn.Conv2d(1, np.int64(2), np.int64(3)).weight.shape == (2, 1, 3, 3)
    assert wt.optim.SGD(wt.nn.Linear(1, 1), lr=np.float32(0.5)).lr == 0.5
    with pytest.raises(TypeError):
        wt.roll(wt.arange(3), 1.5)  # type: ignore[arg-type]


def test_what_the_suite_of_the_standard_found() -> None:
    assert isinstance(wt.broadcast_arrays(wt.ones(2), wt.ones((3, 1))), tuple) and isinstance(wt.meshgrid([1], [2]), tuple)
    assert wt.moveaxis(wt.ones((2, 3)), (), ()).shape == (2, 3)
    with pytest.raises(ValueError):
        wt.moveaxis(wt.ones((2, 3)), (0,), ())
    for made in (wt.zeros(2, dtype=None), wt.ones(2, dtype=None), wt.empty(2, dtype=None), wt.random.normal(2, dtype=None),
                 wt.random.uniform(0, 1, 2, dtype=None)):
        assert made.dtype == wt.float32 and made.shape == (2,)
    x = wt.ones(2)
    assert isinstance(wt.__array_namespace_info__().devices(), tuple) and wt.from_dlpack(x, copy=False) is x


def test_values_of_the_host() -> None:
    """Floats become whole numbers as on the device, whoever converts them."""
    for kind in ("uint8", "int8", "int32", "uint32", "int64"):
        floats = [-1.5, 2.75, 300.7, float("nan"), 1e30, -1e30, float("inf")]
        wanted = wt.array(floats).astype(kind).tolist()
        assert wt.array(floats, kind).tolist() == wt.array(np.array(floats), kind).tolist() == wanted
    for values in ([None, 1], ["a"], wt.complex([1j])):
        with pytest.raises(TypeError):
            wt.array(values)
    with pytest.raises(TypeError, match="Complex"):
        wt.exp(wt.complex([1j]))
    assert wt.array([[1, 2], [3, 4]]).item(3) == 4 and wt.array([[1, 2], [3, 4]]).item(-1) == 4 and wt.array([[1, 2], [3, 4]]).item(1, 0) == 3
    assert wt.arange(start=1, stop=4).tolist() == [1, 2, 3] and wt.linspace(0, 10, 4, dtype="int32").tolist() == [0, 3, 6, 10]
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="finite"):
            wt.arange(bad)


def test_what_numpy_has_and_the_device_has_not() -> None:
    pixels = np.array([[0, 65535], [7, 32768]], np.uint16)
    assert wt.array(pixels).dtype == wt.int32 and wt.array(pixels).tolist() == pixels.tolist() and wt.array(pixels, "float32").tolist() == pixels.tolist()
    assert wt.array(np.ones(2)).dtype == wt.float32 and (wt.ones(2, "int8") + pixels[0]).tolist() == [1, 65536]


def test_no_axes_nothing_and_nan() -> None:
    x = np.array([[1.0, np.nan, -2.0], [np.inf, 0.0, 3.0]], np.float32)
    for name in ("nansum", "nanprod", "nanmean", "nanvar", "nanmax", "nanmin", "average", "ptp"):
        with np.errstate(all="ignore"):
            same(getattr(wt, name)(wt.array(x), axis=()), getattr(np, name)(x, axis=()))
    same(wt.logsumexp(wt.array(x[:, 2]), axis=()), x[:, 2])
    same(wt.nanquantile(wt.array(x), 1.0, axis=()), x)
    base = np.array([0.0, 1.0, 1.0, np.nan, np.nan], np.float32)
    for side in ("left", "right"):
        for kind in ("float32", "float16"):
            places = np.array([np.nan, 1.0, 5.0, np.inf], kind)
            same(wt.searchsorted(wt.array(base, kind), wt.array(places), side=side), np.searchsorted(base.astype(kind), places, side=side))
    for function, kind in ((wt.cumulative_sum, "int8"), (wt.cumulative_prod, "int16"), (lambda x, dtype: x.cumsum(dtype=dtype), "uint8")):
        made = function(wt.array([100, 100, 1], "int8"), dtype=kind)
        assert made.dtype == kind and made.shape == (3,)
    flags = np.array([True, False])
    for got, wanted in [(flags // wt.array([True, True]), flags // np.array([True, True])), (flags << wt.array([True, True]), flags << np.array([True, True])),
                        (wt.remainder(flags, [True, True]), flags % np.array([True, True]))]:
        same(got, wanted)


@pytest.mark.parametrize("kind", ["float32", "float16", "int64", "int32", "uint8", "bool"])
def test_membership_in_long_lists(kind: str) -> None:
    rng = np.random.default_rng(4)
    a, b = (rng.integers(0, 200, shape).astype(kind) for shape in ((3, 40), (90,)))
    if kind == "float32":
        a[0, :3], b[:3] = (np.nan, -0.0, np.inf), (np.nan, 0.0, np.inf)
    for invert in (False, True):
        same(wt.isin(wt.array(a), wt.array(b), invert=invert), np.isin(a, b, invert=invert))
    same(wt.isin(wt.array(a[0, 5]), wt.array(b)), np.isin(a[0, 5], b))
    same(wt.isin(wt.array(a), wt.arange(100)), np.isin(a, np.arange(100)))


def test_signs_of_zero() -> None:
    x = np.array([-0.0, 0.0], np.float32)
    for name in ("sin", "tan", "tanh", "arcsinh", "arctanh", "arcsin", "arctan", "sinh", "cbrt", "expm1", "sqrt"):
        np.testing.assert_array_equal(np.signbit(getattr(wt, name)(wt.array(x)).numpy()), [True, False], err_msg=name)
    np.testing.assert_array_equal(np.signbit((wt.array(x) // wt.array([3.0, -3.0])).numpy()), [True, True])
    assert np.signbit((wt.array(-0.0) // -2.0).numpy()) == np.False_ and math.isnan((wt.array(0.0) // float("nan")).item())


def test_an_ellipsis_of_no_dimensions_keeps_arrays_apart() -> None:
    x = np.arange(24).reshape(2, 3, 4)
    for index in ((slice(None), [0, 1], ..., 2), (slice(None), np.array([[1]]), ..., np.array([0, 3])), ([1], slice(None), ..., 1)):
        same(wt.array(x)[index], x[index])
        p, y = wt.array(x), x.copy()
        p[index] = 7
        y[index] = 7
        same(p, y)


def test_matrices_of_any_numbers() -> None:
    whole = np.array([[2, 1], [1, 3]])
    for kind, close in (("int32", 1e-5), ("float16", 2e-3)):
        x = wt.array(whole, kind)
        same(wt.linalg.inv(x), np.linalg.inv(whole), rtol=close)
        same(wt.linalg.det(x), np.linalg.det(whole), rtol=close)
        same(wt.linalg.solve(x, wt.array([1, 2], kind)), np.linalg.solve(whole, [1, 2]), rtol=close)
        same(wt.linalg.cholesky(x), np.linalg.cholesky(whole), rtol=close)
        same(wt.linalg.eigvalsh(x), np.linalg.eigvalsh(whole), rtol=close)
        assert wt.linalg.inv(x).dtype == ("float16" if kind == "float16" else "float32")
    assert wt.linalg.trace(wt.array([[2**31 - 1, 0], [0, 1]]), dtype="int64").item() == 2**31
    with pytest.raises(ValueError, match="twice"):
        wt.einsum("ii->i", wt.ones((3, 1)))


def test_compiled_functions_take_arrays() -> None:
    f = wt.compile(lambda x, a: x * a)
    a = np.array([3.0, 4.0], np.float32)
    assert f(wt.array([1.0, 2.0]), a).tolist() == [3, 8]
    a[:] = 7  # not what was compiled
    assert f(wt.array([1.0, 2.0]), a).tolist() == [7, 14] and f(a, a).tolist() == [49, 49]
    f(wt.ones(2), wt.ones(2))
    assert f.report()["built"] == 1
    assert np.signbit([f(wt.array([1.0]), zero).item() for zero in (0.0, -0.0)]).tolist() == [False, True]
    nan = [f(wt.array([1.0]), float("nan")).item() for _ in range(3)]
    assert all(map(math.isnan, nan)) and len(f._made) == 4  # two tensors, 0.0, -0.0 and one NaN


def test_arguments_that_change_are_told() -> None:
    f = wt.compile(lambda x, rate: x * rate, most_variants=4)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for i in range(6):
            assert f(wt.ones(1), i * 0.5).item() == i * 0.5
        assert f(wt.ones(1), 0.0).item() == 0
    assert len(f._made) == 4 and "should be a tensor" in str(told[0].message)


def test_gradients_by_arrays() -> None:
    for x in (np.array([1.0, 2.0], np.float32), np.array([1.0, 2.0])):
        assert wt.grad(lambda x: (x**2).sum())(x).tolist() == [2, 4]
        assert wt.grad(lambda t: (t["a"] ** 2).sum())({"a": x})["a"].tolist() == [2, 4]
        assert wt.vjp(lambda x: x * x, x)[1](wt.ones(2))[0].tolist() == [2, 4]
    assert wt.grad(lambda x: x**2)(np.float32(2)).item() == 4
    with pytest.raises(ValueError, match="twice"):
        wt.grad(lambda x, y: x * y, argnums=(0, 0))(2.0, 3.0)
    with pytest.raises(TypeError, match="pair"):
        wt.grad(lambda x: x, has_aux=True)(2.0)


@pytest.mark.parametrize("compiled", [False, True])
def test_checkpoints_of_layers(compiled: bool) -> None:
    """Parameters that a function uses without being given them learn, and random numbers are the same the second time."""
    layer = wt.nn.Sequential(wt.nn.Linear(3, 8), wt.nn.Tanh(), wt.nn.Dropout(0.5), wt.nn.Linear(8, 2))
    x = wt.random.normal((4, 3)).eval()

    def slopes(function: Any) -> Any:
        def run(x: wt.Tensor) -> Any:
            return wt.nn.value_and_grad(layer, lambda: (function(x) ** 2).sum() + (function(x * 2) ** 2).sum())()[1]
        wt.random.seed(5)
        return (wt.compile(run) if compiled else run)(x)

    plain, again = slopes(layer), slopes(wt.checkpoint(layer))
    assert float(wt.abs(plain[0]).sum()) > 0
    for p, a in zip(plain, again, strict=True):
        same(a, p.numpy(), rtol=1e-4, atol=1e-5)
    by_name = wt.checkpoint(lambda x, scale=1.0: x * scale)
    assert wt.grad(lambda x: by_name(x, scale=3.0).sum())(wt.ones(2)).tolist() == [3, 3]
    assert wt.grad(lambda x: wt.checkpoint(lambda y: x * y * x)(x).sum())(wt.array([2.0])).tolist() == [12]  # given and used


def test_states_that_do_not_fit() -> None:
    model = wt.nn.Linear(2, 3)
    state = model.state_dict()
    model.load_state_dict({name: t.numpy() * 0 for name, t in state.items()})
    assert not model.weight.numpy().any()
    model.load_state_dict({name: t.tolist() for name, t in state.items()})
    assert wt.array_equal(model.weight, state["weight"])
    for wrong, error, words in [(None, TypeError, "dict"), (state | {"bias": wt.zeros(5)}, ValueError, "bias has shape"), ({}, ValueError, "missing")]:
        with pytest.raises(error, match=words):
            model.load_state_dict(wrong)
    optimizer = wt.optim.AdamW(model)
    kept = optimizer.state_dict()
    with pytest.raises(ValueError, match="0.0 has shape"):
        optimizer.load_state_dict(kept | {"0.0": wt.zeros(9)})
    with pytest.raises(ValueError, match="another optimizer"):
        optimizer.load_state_dict(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="dict"):
        wt.save("never.safetensors", [wt.ones(1)])  # type: ignore[arg-type]
    assert copy.deepcopy(optimizer).state_dict().keys() == kept.keys()


def test_threads_get_different_numbers() -> None:
    wt.random.seed(0)
    drawn: list[tuple[int, ...]] = []

    def work() -> None:
        for _ in range(30):
            drawn.append(tuple(wt.random.bits((2,)).tolist()))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    sys.setswitchinterval(before)
    assert len(drawn) == len(set(drawn)) == 180


def test_complex_roots_and_powers() -> None:
    z = np.array([1 + 1e-4j, -1 + 1e-4j, -1 - 1e-4j, 0, 3 + 4j, -4, 1e30 + 1e30j, 1e-30j], np.complex64)
    np.testing.assert_allclose(wt.complex(z).sqrt().numpy(), np.sqrt(z), rtol=1e-6)
    for exponent in (-3, -1, 0, 2, np.int64(3)):
        np.testing.assert_allclose((wt.complex(z[4:6]) ** exponent).numpy(), z[4:6] ** exponent, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint32", "uint8", "bool"])
def test_rows_of_every_type_are_copied(kind: str) -> None:
    table, rows = wt.arange(8).reshape(4, 2).astype(kind), wt.array([[1, 0], [0, 1]]).astype(kind)
    wanted = table.numpy()
    wanted[[2, 0]] = rows.numpy()
    got = wt.index_copy(table, wt.array([2, 0]), rows)
    assert got.dtype == kind
    same(got, wanted)
    same(wt.index_copy(table, wt.zeros(0, "int32"), rows[:0]), table.numpy())
    with pytest.raises(ValueError, match="Rows"):
        wt.index_copy(table, wt.array([2, 0]), rows[:1])


def test_profiles_say_at_once_what_they_cannot() -> None:
    entered = False
    with pytest.raises(ValueError, match="profiled_device"), wt.profile(device=wt.default_device()):
        entered = True
    assert not entered
    with wt.profiled_device() as device, wt.profile(device=device) as found:
        pass
    assert found.table  # nothing was computed, and that is no error


def test_names_of_other_libraries() -> None:
    for name, instead in (("cat", "concat"), ("randn", r"random\.normal"), ("jit", "compile"), ("float64", "float32")):
        with pytest.raises(AttributeError, match=instead):
            getattr(wt, name)
    with pytest.raises(AttributeError, match="ndim"):
        wt.ones(2).dim()
    assert not hasattr(wt, "softmaxx") and not hasattr(wt, "float64")
    for call, words in ((lambda: wt.sotfmax, "did you mean 'softmax'"), (lambda: wt.ones(2).summ, "did you mean 'sum'"),
                        (lambda: wt.nonsense, "attribute 'nonsense'$")):
        with pytest.raises(AttributeError, match=words):
            call()
    with pytest.raises(ValueError, match="drop_last"):
        wt.data.Loader(np.ones(3), batch_size=5)
    assert [x.shape for (x,) in wt.data.Loader(np.ones(3), batch_size=5, drop_last=False)] == [(3,)]


def test_rounding_whole_numbers_stays_in_their_range() -> None:
    for kind in ("int8", "uint8", "int16", "int32", "int64"):
        info = np.iinfo(kind)
        x = np.array([info.min, info.max, 0, 4, 5, 6, 14, 15, 25, 49, 50, 51, 94, 95, 99, 100, 105, 120], kind)
        for places in (-1, -2, -3):
            exact = [round(int(v), places) for v in x]  # of halves the even one
            fits = np.array([info.min <= v <= info.max for v in exact])
            got = wt.round(wt.array(x), places)
            assert got.dtype == wt.array(x).dtype
            np.testing.assert_array_equal(got.numpy()[fits], np.array(exact, object)[fits].astype(kind), f"{kind} {places}")


def test_shapes_as_numpy_has_them() -> None:
    x = np.arange(6).reshape(2, 3)
    for shift, axis in (((1, 2), None), ((1, 2), 0), ((1, 2), (0, 1)), (1, (0, 1)), ((1,), (0, 1)), (1, ()), ((), ())):
        np.testing.assert_array_equal(wt.roll(wt.array(x), shift, axis=axis).numpy(), np.roll(x, shift, axis=axis), f"{shift} {axis}")
    for axes in ((1,), (0, 1)):
        with pytest.raises(ValueError):
            wt.transpose(wt.arange(3), axes)
    assert wt.transpose(wt.arange(3), (0,)).shape == wt.arange(3).transpose(0).shape == (3,) and wt.transpose(wt.array(2.0), ()).shape == ()
    for start, stop, num in ((0, 10, 101), (0, 7, 71), (-3, 3, 43), (5, 0, 16), (0, 1, 1), (0, 1, 0)):
        for kind in ("int32", "int8", "bool"):
            same(wt.linspace(start, stop, num, dtype=kind), np.linspace(start, stop, num, dtype=kind))
    with pytest.raises(ValueError, match="-1 times"):
        wt.diff(wt.arange(3), n=-1)
    with pytest.raises(ValueError, match="ascend, or descend"):
        wt.digitize(wt.arange(3), [1, 3, 2])
    assert wt.digitize(wt.arange(4), [3, 1, 1]).tolist() == np.digitize(np.arange(4), [3, 1, 1]).tolist()


def test_ends_of_ranges() -> None:
    for kind in ("int8", "int16", "int32"):
        x = np.array([np.iinfo(kind).min, 3, -4], kind)
        np.testing.assert_allclose(wt.hypot(wt.array(x), wt.array(x)).numpy(), np.hypot(x.astype(float), x.astype(float)), rtol=1e-6)
        for number in (300, 2**31, -2**31, 2**40, -1):
            np.testing.assert_allclose((wt.array(x) / number).numpy(), x / number, rtol=1e-6)
            np.testing.assert_allclose((number / wt.array(x)).numpy(), number / x, rtol=1e-6)
    np.testing.assert_allclose((wt.array([1, 255], "uint8") / -1).numpy(), [-1, -255])
    assert (wt.array([True, False]) / 2**40).tolist() == pytest.approx([2.0**-40, 0])
    for name in ("sum", "prod", "mean", "max", "min", "any", "all", "std", "var", "nansum", "nanmean", "nanmax"):
        for axis in (0, -1):  # which numpy takes of a number, too
            assert getattr(wt, name)(wt.array(5.0), axis=axis).numpy() == getattr(np, name)(np.float32(5)), name
    with pytest.raises(ValueError):
        wt.sum(wt.array(5.0), axis=1)
