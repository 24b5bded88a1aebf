"""Comparison with numpy."""
from __future__ import annotations

from typing import Any

import numpy as np

import weft as wt

FLOATS = ["float32", "float16"]
INTEGERS = ["int64", "int32", "int16", "int8", "uint32", "uint8"]
TYPES = [*FLOATS, *INTEGERS, "bool"]


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str = "float32") -> np.ndarray[Any, Any]:
    """Elements of a type: small ones, and now and then the ends of its range."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind in "iu":
        made = rng.integers(0 if kind.kind == "u" else -9, 10, shape).astype(kind)
        ends = np.array([np.iinfo(kind).min, np.iinfo(kind).max], kind)
        return np.where(rng.random(shape) < 0.05, rng.choice(ends, shape), made)
    return rng.normal(size=shape).astype(kind)


def same(got: Any, wanted: Any, *, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """The same shape and the same values; types may differ where the device has no double and no int64 by default."""
    wanted = np.asarray(wanted)
    assert isinstance(got, wt.Tensor)
    assert got.shape == wanted.shape, f"shape {got.shape}, wanted {wanted.shape}"
    mine = got.numpy()
    if wanted.dtype.kind == "b":
        assert mine.dtype == bool, f"{mine.dtype}, wanted bool"
    if wanted.dtype.kind in "biu" and mine.dtype.kind in "biu":
        np.testing.assert_array_equal(mine, wanted)
    else:
        if wanted.dtype == np.float16:
            rtol, atol = 4e-3, 4e-3
        np.testing.assert_allclose(mine.astype(np.float64), wanted.astype(np.float64), rtol=rtol, atol=atol)
