"""What the tests of the C API share: the device, arrays in buffers with guards round them, and expected errors."""
import ctypes as c
import unittest

import numpy as np
import weft
from weft import lib

DEVICE = weft.Device()
FLOATS = {"f32": (np.float32, 2e-6), "f16": (np.float16, 1e-3), "bf16": (np.uint16, 8e-3)}


def to_bits(values: np.ndarray, dtype: str) -> np.ndarray:
    """Values as the elements that a buffer holds; bf16 is rounded to nearest even."""
    if dtype != "bf16":
        return values.astype(weft.NUMPY[dtype])
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bits(bits: np.ndarray, dtype: str) -> np.ndarray:
    if dtype != "bf16":
        return bits.astype(np.float64)
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def element(dtype: str):
    return np.uint16 if dtype == "bf16" else weft.NUMPY[dtype]


class Place:
    """A strided array in a buffer of its own, with elements before, behind and between that nobody may change."""

    def __init__(self, values, dtype="f32", offset=3, pad=0, order=None, tail=5):
        values = np.asarray(values, np.float64)
        order = order if order is not None else list(range(values.ndim))  # order[0] is outermost in memory
        strides, step = [0] * values.ndim, 1
        for position, dim in enumerate(reversed(order)):
            strides[dim] = step
            step *= values.shape[dim] + (pad if position == 0 else 0)
        self.shape, self.strides, self.offset, self.dtype = values.shape, strides, offset, dtype
        self.memory = np.full(offset + max(step, 1) + tail, 77, element(dtype))
        self.window(self.memory)[...] = to_bits(values, dtype)
        self.buffer = DEVICE.buffer(self.memory)

    def window(self, memory):
        size = memory.itemsize
        return np.lib.stride_tricks.as_strided(memory[self.offset:], self.shape, [s * size for s in self.strides])

    @property
    def exact(self) -> np.ndarray:
        """The values after rounding to the type."""
        return from_bits(self.window(self.memory), self.dtype)

    def array(self):
        pad = weft.MAX_RANK - len(self.shape)
        return weft.Array(self.buffer.handle, weft.DTYPES.index(self.dtype), len(self.shape), self.offset,
                          (c.c_int64 * 8)(*self.shape, *[0] * pad), (c.c_int64 * 8)(*self.strides, *[0] * pad))

    def read(self) -> np.ndarray:
        """The values now; fails when something outside of them changed."""
        now = self.buffer.read(self.memory.dtype, self.memory.shape)
        got = self.window(now).copy()
        self.window(now)[...] = self.window(self.memory)
        assert np.array_equal(now, self.memory), "memory outside of the array changed"
        return from_bits(got, self.dtype)


class Case(unittest.TestCase):
    def fails(self, status, part, function, *arguments, **named):
        """A call must fail with that status and a message that contains the part."""
        with self.assertRaises(weft.Error) as caught:
            function(*arguments, **named)
        self.assertEqual(caught.exception.status, status, str(caught.exception))
        self.assertIn(part, str(caught.exception))

    def close(self, got, wanted, dtype="f32", scale=None, loose=1.0):
        """Equal within the precision of the type, relative to the largest value (or `scale`)."""
        wanted = np.asarray(wanted, np.float64)
        self.assertEqual(np.shape(got), wanted.shape)
        if wanted.size:
            scale = scale or max(1.0, float(np.abs(wanted).max()))
            error = float(np.abs(np.asarray(got, np.float64) - wanted).max())
            self.assertLessEqual(error, FLOATS[dtype][1] * scale * loose)


__all__ = ["Case", "DEVICE", "Place", "c", "lib", "np", "weft", "to_bits", "from_bits", "FLOATS"]
