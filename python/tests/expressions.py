"""The same expressions with numpy and with Weft.

f is a matrix of floats with 0, p one of floats above 0, v a vector of floats, i a matrix of int32, u one of uint8, b one of booleans, s a float
without dimensions, z a matrix without elements, w a symmetric positive matrix, c a complex one.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import weft as wt


def operands(xp: Any) -> dict[str, Any]:
    """The names that expressions may use, made by numpy or by Weft."""
    rng = np.random.default_rng(5)
    f = rng.normal(size=(3, 4)).astype(np.float32)
    f[1, 2] = 0
    square = rng.normal(size=(3, 3)).astype(np.float32)
    made = {"f": f, "p": np.abs(f) + np.float32(0.5), "v": rng.normal(size=4).astype(np.float32), "i": rng.integers(-4, 5, (3, 4)).astype(np.int32),
            "u": rng.integers(0, 5, (3, 4)).astype(np.uint8), "b": rng.integers(0, 2, (3, 4)).astype(bool), "s": np.asarray(0.75, np.float32),
            "z": np.zeros((0, 4), np.float32), "w": square @ square.T + 2 * np.eye(3, dtype=np.float32)}
    return {name: xp.asarray(value) for name, value in made.items()} | {"c": (wt.complex if xp is wt else np.asarray)(f + 1j * f[::-1])}


def compare(got: Any, wanted: Any) -> None:
    """The same values, shapes and types; numbers of Python and lists too."""
    if isinstance(wanted, list):
        assert len(got) == len(wanted)
        for g, w in zip(got, wanted, strict=True):
            compare(g, w)
        return
    if isinstance(wanted, (bool, tuple)):
        assert got == wanted
        return
    if isinstance(got, wt.Complex):
        assert np.iscomplexobj(wanted) and got.shape == np.shape(wanted)
        np.testing.assert_allclose(got.numpy(), wanted, rtol=2e-4, atol=2e-5)
        return
    if not isinstance(got, wt.Tensor):
        assert got == pytest.approx(float(wanted), rel=1e-6)
        return
    right = np.asarray(wanted)
    assert got.shape == right.shape
    narrower = {"float64": "float32", "int64": "int32", "uint64": "uint32"}  # numpy's default types; int64 is there where it is asked for
    assert got.dtype.name in (right.dtype.name, narrower.get(right.dtype.name))
    np.testing.assert_allclose(got.numpy().astype(np.float64), right.astype(np.float64), rtol=2e-4, atol=2e-5)


def check(texts: Iterable[str]) -> None:
    """Each expression, with `xp` for both."""
    for text in texts:
        with np.errstate(all="ignore"):
            wanted = eval(text, {"xp": np, **operands(np)})
        try:
            compare(eval(text, {"xp": wt, **operands(wt)}), wanted)
        except Exception as error:
            raise AssertionError(f"{text}: {error}") from error


def check_change(text: str) -> None:
    """A statement that changes x, a copy of the operand f, with `xp` for both."""
    results = []
    for xp, space in ((np, operands(np)), (wt, operands(wt))):
        x = space["f"].copy()
        exec(text, {"xp": xp, "x": x})
        results.append(x)
    compare(results[1], results[0])
