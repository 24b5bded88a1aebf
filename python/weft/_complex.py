"""Complex numbers as two tensors: what transforms and eigenvalues give. The device has no complex type; everything here is arithmetic of parts."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ._array import asarray
from ._core import Device, Tensor, functions
from ._numpy import hypot
from ._products import matmul
from ._reduce import mean as _mean
from ._reduce import sum as _sum
from ._shapes import Axis, permute_dims, stack
from ._types import is_one

__all__ = ["Complex", "abs", "angle", "complex", "conj", "imag", "real", "view_as_complex", "view_as_real"]

NUMBERS = (bool, int, float, np.bool, np.integer, np.floating)
OPERATORS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "matmul": "@", "equal": "==", "not_equal": "!="}
METHODS = {"absolute": "abs", "conjugate": "conj", "exp": "exp", "log": "log", "sqrt": "sqrt", "negative": "__neg__"}


@dataclasses.dataclass(eq=False, repr=False, slots=True)
class Complex:
    """Complex numbers: the tensors `real` and `imag`, of one shape and type.

    weft.complex(values) makes one of numbers, arrays or two tensors. Operators take tensors, numbers and each other; compiled functions take and
    give it, and gradients flow through its parts.
    """

    real: Tensor
    imag: Tensor

    __array_priority__ = 2000  # before tensors: x * z is z's to compute
    __hash__ = None  # type: ignore[assignment]

    # What it is.

    @property
    def shape(self) -> tuple[int, ...]:
        return self.real.shape

    @property
    def ndim(self) -> int:
        return self.real.ndim

    @property
    def size(self) -> int:
        return self.real.size

    @property
    def dtype(self) -> np.dtype[np.complex64]:
        """numpy's complex64: the parts are at most float32."""
        return np.dtype(np.complex64)

    @property
    def device(self) -> Device:
        return self.real.device

    def numpy(self) -> np.ndarray[Any, Any]:
        """The numbers as an array of numpy, complex64. Waits for the device."""
        made = np.empty(self.shape, np.complex64)
        made.real, made.imag = self.real.numpy(), self.imag.numpy()
        return made

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("A Complex lies on the device; numpy needs a copy of it.")
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """numpy's own functions: np.abs(z), np.add(a, z) and their like here, the others by numpy."""
        name = ufunc.__name__
        if method == "__call__" and not options:
            if name in OPERATORS:
                return _by_operator(OPERATORS[name], *inputs)
            if name in METHODS:
                return getattr(self, METHODS[name])()
        return getattr(ufunc, method)(*(np.asarray(i) if isinstance(i, (Complex, Tensor)) else i for i in inputs), **options)

    def tolist(self) -> Any:
        return self.numpy().tolist()

    def item(self) -> Any:
        return self.numpy().item()

    def __complex__(self) -> Any:
        return self.item()

    def __repr__(self) -> str:
        return np.array2string(self.numpy(), separator=", ", prefix="Complex(").join(("Complex(", ")"))

    def __len__(self) -> int:
        return len(self.real)

    def __iter__(self) -> Iterator[Complex]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Complex:
        return Complex(self.real[index], self.imag[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        given = complex(value)
        self.real[index], self.imag[index] = given.real, given.imag

    def __bool__(self) -> bool:
        return bool(self.item())

    # Arithmetic.

    def __add__(self, other: Any) -> Complex:
        b = _operand(other)
        return Complex(*_alike(self.real + b.real, self.imag + b.imag)) if isinstance(b, Complex) else Complex(*_alike(self.real + b, self.imag))

    def __sub__(self, other: Any) -> Complex:
        made: Complex = self + -_operand(other)
        return made

    def __rsub__(self, other: Any) -> Complex:
        made: Complex = -self + other
        return made

    def __mul__(self, other: Any) -> Complex:
        b = _operand(other)
        if isinstance(b, Complex):
            return Complex(self.real * b.real - self.imag * b.imag, self.real * b.imag + self.imag * b.real)
        return Complex(self.real * b, self.imag * b)

    def __truediv__(self, other: Any) -> Complex:
        b = _operand(other)
        return self * b._reciprocal() if isinstance(b, Complex) else Complex(self.real / b, self.imag / b)

    def __rtruediv__(self, other: Any) -> Complex:
        made: Complex = self._reciprocal() * other
        return made

    def __pow__(self, exponent: Any) -> Complex:
        if isinstance(exponent, (int, np.integer)) and -16 <= exponent <= 16:
            made = Complex(functions.ones_like(self.real), functions.zeros_like(self.imag))
            for _ in range(-int(exponent) if exponent < 0 else int(exponent)):
                made = made * self
            return made._reciprocal() if exponent < 0 else made
        b = _operand(exponent)
        power: Complex = (self.log() * b).exp()
        return power

    def __matmul__(self, other: Any) -> Complex:
        b = _operand(other)
        if isinstance(b, Complex):
            return Complex(matmul(self.real, b.real) - matmul(self.imag, b.imag), matmul(self.real, b.imag) + matmul(self.imag, b.real))
        return Complex(matmul(self.real, b), matmul(self.imag, b))

    def __rmatmul__(self, other: Any) -> Complex:
        return complex(other) @ self

    def __neg__(self) -> Complex:
        return Complex(-self.real, -self.imag)

    def __pos__(self) -> Complex:
        return Complex(+self.real, +self.imag)

    def __abs__(self) -> Tensor:
        return hypot(self.real, self.imag)

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]
        b = complex(other)
        return functions.logical_and(functions.equal(self.real, b.real), functions.equal(self.imag, b.imag))

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]
        return functions.logical_not(self == other)

    __radd__ = __add__
    __rmul__ = __mul__

    def _reciprocal(self) -> Complex:
        """1 / z, without overflow on the way."""
        size = functions.maximum(functions.abs(self.real), functions.abs(self.imag))
        a, b = self.real / size, self.imag / size
        length = (a * a + b * b) * size
        return Complex(a / length, -b / length)

    def abs(self) -> Tensor:
        """The lengths."""
        return hypot(self.real, self.imag)

    def angle(self) -> Tensor:
        """The angles, from -π to π."""
        return functions.atan2(self.imag, self.real)

    def conj(self) -> Complex:
        """The same numbers with the other sign of the imaginary part."""
        return Complex(self.real, -self.imag)

    def exp(self) -> Complex:
        """e to the power of each."""
        size = functions.exp(self.real)
        return Complex(size * functions.cos(self.imag), size * functions.sin(self.imag))

    def log(self) -> Complex:
        """The logarithms: those of the lengths, and the angles."""
        return Complex(functions.log(self.abs()), self.angle())

    def sqrt(self) -> Complex:
        """The roots whose real part is not below 0."""
        length = functions.abs(self.real)
        larger = functions.sqrt(length / 2 + self.abs() / 2)  # of the two parts; the other one follows without a difference of near numbers
        other = functions.where(larger == 0, 0.0, functions.abs(self.imag) / functions.where(larger == 0, 1.0, larger) / 2)
        right = self.real >= 0
        a, b = functions.where(right, larger, other), functions.where(right, other, larger)
        return Complex(a, functions.where(functions.atan2(self.imag, -1.0) < 0, -b, b))  # the angle knows the sign of a zero

    def sum(self, axis: Axis = None, keepdims: bool = False) -> Complex:
        """The sums along axes, or of all."""
        return self._each(lambda x: _sum(x, axis=axis, keepdims=keepdims))

    def mean(self, axis: Axis = None, keepdims: bool = False) -> Complex:
        """The means along axes, or of all."""
        return self._each(lambda x: _mean(x, axis=axis, keepdims=keepdims))

    # Shapes.

    def _each(self, function: Callable[[Tensor], Tensor]) -> Complex:
        return Complex(function(self.real), function(self.imag))

    def reshape(self, *shape: Any) -> Complex:
        """The numbers in another shape."""
        return self._each(lambda x: x.reshape(*shape))

    def transpose(self, *axes: Any) -> Complex:
        """The axes in another order, or in the opposite one."""
        order = axes[0] if len(axes) == 1 and not is_one(axes[0]) else axes or tuple(reversed(range(self.ndim)))
        return self._each(lambda x: permute_dims(x, tuple(order)))

    @property
    def T(self) -> Complex:
        return self.transpose()

    @property
    def mT(self) -> Complex:
        return self._each(lambda x: x.mT)

    def eval(self) -> Complex:
        """Computes both parts now."""
        self.real.eval()
        self.imag.eval()
        return self


def _alike(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Both with the shape and the type of what they make together."""
    if a.shape != b.shape:
        a, b = functions.broadcast_to(a, _larger(a, b)), functions.broadcast_to(b, _larger(a, b))
    return (a, b) if a.dtype == b.dtype else (_float(a), _float(b))


def _larger(a: Tensor, b: Tensor) -> tuple[int, ...]:
    return tuple(np.broadcast_shapes(a.shape, b.shape))


def _float(x: Tensor) -> Tensor:
    return x if x.dtype.name == "float32" else functions.cast(x, "float32")


def _operand(value: Any) -> Any:
    """A real number or tensor as it is, everything complex as a Complex."""
    if isinstance(value, (Complex, Tensor, *NUMBERS)):
        return value
    made = complex(value)
    return made.real if np.isrealobj(value) else made


def _by_operator(symbol: str, a: Any, b: Any) -> Any:
    left, right = complex(a), _operand(b)
    return {"+": lambda: left + right, "-": lambda: left - right, "*": lambda: left * right, "/": lambda: left / right, "@": lambda: left @ right,
            "==": lambda: left == right, "!=": lambda: left != right}[symbol]()


def complex(real: Any, imag: Any = None) -> Complex:
    """Complex numbers of a real and an imaginary part (numbers, arrays, tensors), or of one argument: a number, a list or an array of numpy."""
    if isinstance(real, Complex):
        if imag is not None:
            raise TypeError("complex(): the real part is complex itself.")
        return real
    if imag is None and not isinstance(real, Tensor):
        found = np.asarray(real)
        if found.dtype.kind == "c":
            return Complex(asarray(found.real.astype(np.float32)), asarray(found.imag.astype(np.float32)))
    a = _float(asarray(real))
    return Complex(a, functions.zeros_like(a)) if imag is None else Complex(*_alike(a, _float(asarray(imag))))


def view_as_complex(x: Any, /) -> Complex:
    """Complex numbers of pairs […, 2]: what stft() and transforms of pairs give."""
    x = asarray(x)
    if x.ndim == 0 or x.shape[-1] != 2:
        raise ValueError(f"view_as_complex() needs pairs […, 2]; it was given the shape {x.shape}.")
    return Complex(x[..., 0], x[..., 1])


def view_as_real(z: Any, /) -> Tensor:
    """Pairs […, 2] of the real and the imaginary parts."""
    given = complex(z)
    return stack([given.real, given.imag], axis=-1)


def abs(x: Any, /) -> Tensor:
    """The absolute values; of complex numbers their lengths."""
    return x.abs() if isinstance(x, Complex) else functions.abs(x)


def angle(x: Any, /) -> Tensor:
    """The angles of complex numbers, from -π to π; of others 0 or π."""
    return complex(x).angle()


def real(x: Any, /) -> Tensor:
    """The real parts: of what is not complex, x itself."""
    return x.real if isinstance(x, Complex) else asarray(x)


def imag(x: Any, /) -> Tensor:
    """The imaginary parts: of what is not complex, 0 everywhere."""
    return x.imag if isinstance(x, Complex) else functions.zeros_like(x)


def conj(x: Any, /) -> Any:
    """Complex numbers with the other sign of the imaginary part; others as they are."""
    return x.conj() if isinstance(x, Complex) else asarray(x)
