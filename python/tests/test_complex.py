"""Complex numbers: operators and methods against numpy's, gradients and compiled functions, and what is refused."""
from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from expressions import check

import weft as wt

EXPRESSIONS = ["c + c", "c + 1.5", "2 - c", "c - 1j", "c - f", "c * c", "c * f", "np.asarray(3, 'f4') * c", "c / (c + 1)", "1 / (c + 2)", "c / p", "-c", "+c",
               "abs(c)", "xp.abs(c)", "np.abs(c)", "np.exp(c)", "np.multiply(c, c)", "c ** 0", "c ** 3", "(c + 3) ** 0.5", "(c + 3) ** -2",
               "c @ f.T", "c @ c.T", "c == c", "c != c[::-1]", "xp.angle(c)", "xp.angle(f)", "c.conj()", "c.real", "c.imag", "c.sum()", "c.sum(axis=0)",
               "c.mean(axis=(0, 1), keepdims=True)", "c[1]", "c[:, ::-1]", "c[b]", "c[None, ..., 0]", "c.T", "c.reshape(2, -1)", "c.transpose(1, 0)", "c.mT",
               "c[0] + c", "c[:0]", "c.shape", "c.ndim", "c.size", "len(c)", "[*c]", "complex(c[1, 1]).real", "bool(c[0, 0] == c[0, 0])"]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression(text: str) -> None:
    check([text.replace("np.", "__import__('numpy').")])


def test_values(rng: np.random.Generator) -> None:
    """Functions on numbers of any size, and the way to numpy and back."""
    z = np.array([0, 1, -1, 1j, -1j, 1e20 + 1e20j, -3 - 4j, 1e-20 - 2e-20j, -4 + 0j, -4 - 0j], np.complex64)
    c = wt.complex(z)
    np.testing.assert_array_equal(np.asarray(c), z)
    np.testing.assert_allclose(c.sqrt().numpy(), np.sqrt(z), rtol=1e-5)
    np.testing.assert_allclose(c[1:].log().numpy(), np.log(z[1:]), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose((c[1:] / c[1:]).numpy(), np.ones(9), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(c.abs().numpy(), np.abs(z), rtol=1e-5)
    for twin in (pickle.loads(pickle.dumps(c)), copy.deepcopy(c), wt.complex(c.real, c.imag), wt.view_as_complex(wt.view_as_real(c)), wt.complex(c)):
        np.testing.assert_array_equal(twin.numpy(), z)
    c[0], c[1:3] = 5j, wt.array([1.0, 2.0])
    assert c[:3].tolist() == [5j, 1, 2] and wt.complex(2).item() == 2 and wt.complex([1, 2j]).tolist() == [1, 2j]
    assert repr(wt.complex([1.5, 2j])) == "Complex([1.5+0.j, 0. +2.j])" and c.dtype == np.complex64


def test_tensors_beside() -> None:
    x, c = wt.array([1.0, 2.0]), wt.complex([1j, 2.0])
    assert (x * c).tolist() == [1j, 4] and (x - c).tolist() == [1 - 1j, 0] and (x[None] @ c).tolist() == [4 + 1j]
    assert (x / c).tolist() == [-1j, 1] and (x == c).tolist() == [False, True]


def test_compiled_and_differentiated(rng: np.random.Generator) -> None:
    x = wt.array(rng.normal(size=(2, 12)).astype(np.float32))
    low = wt.compile(lambda x: wt.fft.irfft(wt.fft.rfft(x) * (wt.arange(7) < 3), 12))
    wanted = np.fft.irfft(np.fft.rfft(x.numpy()) * (np.arange(7) < 3), 12)
    for _ in range(2):
        np.testing.assert_allclose(low(x).numpy(), wanted, rtol=1e-4, atol=1e-5)
    both = wt.compile(lambda z: z * z)(wt.complex([1 + 1j]))
    assert isinstance(both, wt.Complex) and both.tolist() == [2j]
    # Parseval: the squares of a transform are n times those of the signal.
    slope = wt.grad(lambda x: (abs(wt.fft.fft(x)) ** 2).sum())(x)
    np.testing.assert_allclose(slope.numpy(), 2 * 12 * x.numpy(), rtol=1e-4)


def test_pairs() -> None:
    """weft.fft() itself is of pairs, as in the other languages."""
    x = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
    np.testing.assert_allclose(wt.view_as_complex(wt.fft(x)).numpy(), np.fft.fft(x[..., 0] + 1j * x[..., 1]), rtol=1e-5)
    np.testing.assert_allclose(wt.view_as_complex(wt.fft(x, axis=0)).numpy(), np.fft.fft(x[..., 0] + 1j * x[..., 1], axis=0), rtol=1e-5)


def test_what_is_refused() -> None:
    x: Any
    c, x = wt.complex([1j, 2.0]), wt.ones((2, 3))
    for call, error, words in [(lambda: wt.array([1j]), TypeError, "weft.complex"), (lambda: wt.exp(c), TypeError, "weft.complex"),
                               (lambda: wt.fft.rfft(c), TypeError, "real"), (lambda: wt.fft.fft(x, 0), ValueError, "at least 1"),
                               (lambda: wt.fft.fft(x, axis=2), (ValueError, IndexError), "axis"), (lambda: wt.fft.fft(x, norm="odd"), ValueError, "odd"),
                               (lambda: wt.fft.fftn(x, s=(1, 2, 3)), ValueError, "lengths"), (lambda: wt.fft.fftn(x, axes=(0, -2)), ValueError, "twice"),
                               (lambda: wt.fft.irfft(wt.ones((2, 1))), ValueError, "at least 1"), (lambda: wt.view_as_complex(x), ValueError, "pairs"),
                               (lambda: wt.fft.fftfreq(0), ValueError, "at least 1"), (lambda: wt.complex(c, 1.0), TypeError, "complex itself"),
                               (lambda: wt.linalg.eig(x), ValueError, "square"), (lambda: hash(c), TypeError, "hash")]:
        with pytest.raises(error, match=words):
            call()
