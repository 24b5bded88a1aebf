"""Operators against numpy: every type with every type, numbers of Python on both sides, in place, comparisons."""
from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from common import FLOATS, INTEGERS, TYPES, same, values

import weft as wt

ARITHMETIC = [operator.add, operator.sub, operator.mul]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
BITS = [operator.and_, operator.or_, operator.xor]
# Where the device has no type that holds both, it takes the next best one (docs/types.md).
SHAPES = [((), ()), ((3,), ()), ((2, 3), (3,)), ((2, 1), (1, 3)), ((0, 3), (3,)), ((4, 1, 2), (3, 1))]


def wanted_type(a: str, b: str) -> np.dtype[Any]:
    return np.dtype(wt.promote_types(a, b).name)


PAIRS = [(a, b) for i, a in enumerate(TYPES) for b in TYPES[i:]]


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_two_types(a: str, b: str, rng: np.random.Generator) -> None:
    all_of_them = a == b or {a, b} in ({"int32", "float32"}, {"uint32", "int64"}, {"bool", "int8"})
    x, y = values(rng, (2, 5), a), values(rng, (5,), b)
    p, q = wt.array(x), wt.array(y)
    kind = wanted_type(a, b)
    with np.errstate(all="ignore"):
        for op in ARITHMETIC if all_of_them else ARITHMETIC[:1]:
            if kind.kind == "b" and op is operator.sub:
                with pytest.raises(NotImplementedError, match="booleans"):
                    op(p, q)
                continue
            got = op(p, q)
            assert got.dtype == kind
            same(got, op(x.astype(kind), y.astype(kind)), rtol=1e-4)
        for op in COMPARISONS if all_of_them else COMPARISONS[2:3]:
            same(op(p, q), op(x.astype(kind), y.astype(kind)))
        if kind.kind in "biu" and all_of_them:
            for op in BITS:
                same(op(p, q), op(x.astype(kind), y.astype(kind)))
        same(p / q, (x.astype(np.float32) / y.astype(np.float32)).astype(np.float16 if kind == np.float16 else np.float32), rtol=1e-3)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_divided(dtype: str, rng: np.random.Generator) -> None:
    x, y = values(rng, (60,), dtype), values(rng, (60,), dtype)
    y[y == 0] = 3
    if np.dtype(dtype).kind == "i":
        y[y == -1] = 7
    same(wt.array(x) // wt.array(y), x // y)
    same(wt.array(x) % wt.array(y), x % y)
    same(wt.array(x) // 5, x // 5)
    same(wt.array(x) % 5, x % 5)
    quotient, rest = divmod(wt.array(x), 7)
    same(quotient, x // 7)
    same(rest, x % 7)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_powers_and_shifts(dtype: str, rng: np.random.Generator) -> None:
    x = values(rng, (40,), dtype)
    for exponent in (0, 1, 2, 3, 7):
        same(wt.array(x) ** exponent, x**exponent)
    exponents = rng.integers(0, 7, 40).astype(dtype)
    same(wt.array(x) ** wt.array(exponents), x**exponents)
    same(2 ** wt.array(exponents), np.array(2, dtype) ** exponents)
    places = rng.integers(0, 7, 40).astype(dtype)
    same(wt.array(x) << wt.array(places), x << places)
    same(wt.array(x) >> wt.array(places), x >> places)
    same(wt.array(x) >> 2, x >> np.array(2, dtype))
    same(~wt.array(x), ~x)
    if np.dtype(dtype).kind == "i":
        with pytest.raises(ValueError, match="negative"):
            wt.array(x) ** -1
        with pytest.raises(ValueError, match="negative"):
            wt.array(x) ** wt.array(-exponents - 1)


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats(dtype: str, rng: np.random.Generator) -> None:
    x, y = values(rng, (40,), dtype), values(rng, (40,), dtype)
    p, q = wt.array(x), wt.array(y)
    same(p // q, x // y)
    same(p % q, x % y, atol=1e-4)
    same(abs(p) ** q, abs(x) ** y, rtol=1e-4)
    same(p**2, x**2)
    same(2**p, 2**x)
    same(1 / p, 1 / x)
    same(3.0 / p, (3.0 / x).astype(dtype))
    same(-p, -x)
    same(abs(p), abs(x))
    same(+p, x)


@pytest.mark.parametrize("number", [2, -3, 0, True, 2.5, 0.0, float("inf"), float("nan")])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int64", "int8", "bool"])
def test_numbers(dtype: str, number: Any, rng: np.random.Generator) -> None:
    x = values(rng, (6,), dtype)
    p = wt.array(x)
    real = isinstance(number, float) and np.dtype(dtype).kind in "biu"
    whole = dtype == "bool" and isinstance(number, int) and not isinstance(number, bool)
    z = x.astype(np.float32) if real else x.astype(np.int32) if whole else x
    n = np.array(number, z.dtype)[()]
    with np.errstate(all="ignore"):
        for op in [*ARITHMETIC, *COMPARISONS]:
            if op is operator.sub and z.dtype == bool:
                continue
            same(op(p, number), op(z, n), rtol=1e-3)
            same(op(number, p), op(n, z), rtol=1e-3)


def test_numbers_keep_the_type() -> None:
    for dtype in TYPES:
        x = wt.ones(3, dtype)
        if dtype != "bool":
            assert (x + 1).dtype == (1 + x).dtype == (x * 2).dtype == dtype or x.dtype == np.dtype(dtype)
            assert (x + 1).dtype == x.dtype
        assert (x + True).dtype == x.dtype
    assert (wt.ones(3, "int32") + 1.0).dtype == wt.float32
    assert (wt.ones(3, "bool") + 1).dtype == wt.int32
    assert (wt.ones(3, "float16") * 2.5).dtype == wt.float16


def test_numbers_out_of_range() -> None:
    x = wt.array([1, 2], "uint8")
    for number in (300, -1):
        with pytest.raises(OverflowError, match=str(number)):
            x + number
    assert (x < 300).tolist() == [True, True]
    assert (x > -1).tolist() == [True, True]
    assert (x == 2**70).tolist() == [False, False]
    assert (x < 2**70).tolist() == [True, True]
    assert (wt.array([2**31 - 1]) + 1).tolist() == [-(2**31)]
    assert (wt.array([1.0]) * 1e300).tolist() == [float("inf")]
    assert (wt.array([1.0], "float16") + 1e6).tolist() == [float("inf")]


def test_wide_integers() -> None:
    big = 2**62 + 1
    x = wt.array([big, -big, 0])
    assert x.dtype == wt.int64
    assert (x + 1).tolist() == [big + 1, -big + 1, 1]
    assert (x - (2**60 + 3)).tolist() == [big - 2**60 - 3, (-big - 2**60 - 3), -(2**60) - 3]
    assert (x == big).tolist() == [True, False, False]
    assert (x // 3).tolist() == [big // 3, -big // 3, 0]
    assert (x % 1000).tolist() == [big % 1000, -big % 1000, 0]
    assert wt.array([2**63 - 1]).item() == 2**63 - 1
    assert wt.array([-(2**63)]).item() == -(2**63)


@pytest.mark.parametrize("shapes", SHAPES)
def test_broadcasting(shapes: tuple[tuple[int, ...], tuple[int, ...]], rng: np.random.Generator) -> None:
    x, y = (values(rng, s) for s in shapes)
    same(wt.array(x) + wt.array(y), x + y)
    same(wt.array(y) < wt.array(x), y < x)
    same(x * wt.array(y), x * y)
    same(wt.array(x) - y, x - y)


def test_in_place(rng: np.random.Generator) -> None:
    x = values(rng, (2, 3))
    p = wt.array(x)
    same_object, q = p, +p
    p += 1
    p *= wt.array([1.0, 2.0, 3.0])
    p -= x
    p /= 2
    assert same_object is p
    same(p, ((x + 1) * np.array([1, 2, 3]) - x) / 2)
    same(q, x)
    i = wt.array([7, 8, 9])
    i //= 2
    i %= 3
    i <<= 2
    i |= 1
    i ^= 2
    i &= 15
    same(i, ((np.array([7, 8, 9]) // 2 % 3 << 2 | 1) ^ 2) & 15)
    i **= 2
    with pytest.raises(TypeError, match="i32"):
        i += 1.5
    with pytest.raises(ValueError, match="shape"):
        i += wt.ones((2, 3), "int32")
    half = wt.ones(2, "float16")
    half += wt.ones(2)
    assert half.dtype == wt.float16


def test_what_is_refused() -> None:
    x = wt.ones(3)
    for other in ("text", None, object(), {1: 2}):
        with pytest.raises(TypeError):
            x + other
        assert (x == other) is False
    for op in (*BITS, operator.lshift, operator.rshift):
        with pytest.raises(TypeError, match="integers"):
            op(x, x)
    with pytest.raises(TypeError):
        operator.invert(x)
    with pytest.raises(TypeError):
        -wt.ones(3, "bool")
    with pytest.raises(ValueError, match="broadcast"):
        x + wt.ones(4)


def test_matmul(rng: np.random.Generator) -> None:
    for a, b in [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
                 ((5, 1, 2, 3), (4, 3, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 3))]:
        x, y = values(rng, a), values(rng, b)
        same(wt.array(x) @ wt.array(y), x @ y)
        same(x @ wt.array(y), x @ y)
        i, j = (v.astype(np.int32) for v in (x * 10, y * 10))
        same(wt.array(i) @ wt.array(j), i @ j)
    with pytest.raises(ValueError, match="fit"):
        wt.ones((2, 3)) @ wt.ones((2, 3))
    with pytest.raises(ValueError):
        wt.ones(()) @ wt.ones(3)


def test_signs_of_zero() -> None:
    x = np.array([0.0, -0.0, 1.0, -1.0], np.float32)
    for got, wanted in [(wt.array(x) * 2, x * 2), (wt.array(x) * -1, x * -1), (-wt.array(x), -x), (wt.array(x) / 2, x / 2)]:
        np.testing.assert_array_equal(np.signbit(got.numpy()), np.signbit(wanted))


def test_special_numbers() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0], np.float32)
    with np.errstate(all="ignore"):
        for op in [*ARITHMETIC, *COMPARISONS, operator.truediv]:
            same(op(wt.array(x[:, None]), wt.array(x)), op(x[:, None], x))
