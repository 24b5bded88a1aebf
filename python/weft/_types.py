"""Element types: weft.float32 and so on, and what else may stand for one of them."""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ._core import Tensor, dtype, dtype_named
from ._core import promote as _promote

__all__ = ["bfloat16", "can_cast", "finfo", "float16", "float32", "iinfo", "int16", "int32", "int64", "int8", "isdtype",
           "promote_types", "result_type", "uint32", "uint8"]

# The names that numpy and PyTorch share, for those of the library.
LONG = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8",
        "u32": "uint32", "u8": "uint8", "bool": "bool"}
SHORT = {long: short for short, long in LONG.items()}


def _named(short: str) -> dtype:
    found = dtype_named(short)
    assert found is not None
    return found


float32, float16, bfloat16 = _named("f32"), _named("f16"), _named("bf16")
int64, int32, int16, int8 = _named("i64"), _named("i32"), _named("i16"), _named("i8")
uint32, uint8, boolean = _named("u32"), _named("u8"), _named("bool")
NEAREST = {"float64": "float32", "uint16": "int32", "uint64": "int64", "complex64": "a pair of float32", "complex128": "a pair of float32"}
WHOLE_BITS = {"f32": 24, "f16": 11, "bf16": 8}  # whole numbers of so many bits are exact
PYTHON: dict[Any, dtype] = {float: float32, int: int32, bool: boolean}
ALL = (float32, float16, bfloat16, int64, int32, int16, int8, uint32, uint8, boolean)


def is_one(value: Any) -> bool:
    """Whether something stands for one number, not for a list of them: those of Python and numpy, arrays and tensors without dimensions."""
    return isinstance(value, (int, float, np.generic)) or getattr(value, "ndim", None) == 0


def wholes(value: Any) -> list[int]:
    """One whole number or several, as Python's own."""
    return [operator.index(value)] if is_one(value) else [operator.index(v) for v in value]


def to_dtype(value: Any) -> dtype:
    """A dtype from one, from its name ("float32", "f32", "q4_0"), from numpy's, or from float, int and bool."""
    if isinstance(value, dtype):
        return value
    if isinstance(value, type) and value in PYTHON:
        return PYTHON[value]
    if isinstance(value, str):
        found = dtype_named(SHORT.get(value, value))
        if found is not None:
            return found
    try:
        name = np.dtype(value).name
    except TypeError:
        name = ""
    if name in SHORT:
        return _named(SHORT[name])
    known = ", ".join(SHORT)
    if name in NEAREST:
        raise TypeError(f"The device has no type {name}; {NEAREST[name]} is nearest.")
    raise TypeError(f"{value!r} is no type of elements; there are {known}, and the quantized types of GGUF files ('q4_0', …).")


def _asked(kind: Any, function: str) -> dtype:
    """The type whose limits are asked for, or that of a tensor."""
    try:
        return to_dtype(kind.dtype if isinstance(kind, Tensor) else kind)
    except TypeError as error:
        raise TypeError(f"{function}(): {error}") from None


def name_of(kind: dtype) -> str:
    return LONG.get(kind.short_name, kind.short_name)


def numpy_type(kind: dtype) -> np.dtype[Any] | None:
    """numpy's type for the same elements; it has none for bfloat16 and quantized types."""
    name = name_of(kind)
    return None if name == "bfloat16" or kind.is_quantized else np.dtype(name)


def _equal(self: dtype, other: object) -> bool:
    if isinstance(other, dtype):
        return self.short_name == other.short_name
    if other is None or isinstance(other, Tensor):
        return False
    try:
        return to_dtype(other).short_name == self.short_name
    except (TypeError, ValueError):
        return False


def _repr(self: dtype) -> str:
    return f"weft.{name_of(self)}"


def _reduce(self: dtype) -> Any:
    return dtype, (self.short_name,)


def _for_numpy(self: dtype) -> np.dtype[Any]:
    """numpy's type for the same elements: np.zeros(3, x.dtype)."""
    found = numpy_type(self)
    if found is None:
        raise TypeError(f"numpy has no type for {name_of(self)}.")
    return found


dtype.__eq__ = _equal  # type: ignore[method-assign,assignment]
dtype.__repr__ = _repr  # type: ignore[method-assign,assignment]
dtype.__reduce__ = _reduce  # type: ignore[method-assign,assignment]
dtype.__numpy_dtype__ = property(_for_numpy)  # type: ignore[attr-defined]
dtype.name = property(name_of)  # type: ignore[assignment]
dtype.kind = property(lambda self: "b" if self == boolean else "u" if self.is_unsigned else "i" if self.is_integer else "f")  # type: ignore[assignment]


def promote_types(a: Any, b: Any) -> dtype:
    """The type that holds the values of both (docs/types.md has the table)."""
    return _promote(to_dtype(a), to_dtype(b))


def result_type(*arrays_and_dtypes: Any) -> dtype:
    """The type of what an operation on these gives. Python's own numbers take the type of what stands beside them."""
    found: dtype | None = None
    numbers: list[Any] = []
    for item in arrays_and_dtypes:
        if isinstance(item, (bool, int, float)):
            numbers.append(item)
            continue
        kind = item.dtype if hasattr(item, "dtype") else item
        found = to_dtype(kind) if found is None else _promote(found, to_dtype(kind))
    if found is None:
        if not numbers:
            raise ValueError("result_type() needs at least one tensor, type or number.")
        kinds = {type(n) for n in numbers}
        return float32 if float in kinds else int32 if int in kinds else boolean
    for number in numbers:
        if isinstance(number, float) and not found.is_floating:
            found = float32
        elif not isinstance(number, bool) and found == boolean:
            found = int32
    return found


def can_cast(from_: Any, to: Any) -> bool:
    """Whether every value of one type is a value of another."""
    kind, target = to_dtype(from_.dtype if isinstance(from_, Tensor) else from_), to_dtype(to)
    if kind.is_integer and target.is_floating and 8 * kind.itemsize - (not kind.is_unsigned) > WHOLE_BITS[target.short_name]:
        return False
    return bool(_promote(kind, target) == target)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a type is another one, or of a kind: "bool", "integral", "signed integer", "unsigned integer", "real floating", "numeric"."""
    found = to_dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(found, one) for one in kind)
    groups = {"bool": found == boolean, "integral": found.is_integer, "signed integer": found.is_integer and not found.is_unsigned,
              "unsigned integer": found.is_integer and found.is_unsigned, "real floating": found.is_floating,
              "complex floating": False, "numeric": found.is_integer or found.is_floating}
    if isinstance(kind, str) and kind in groups:
        return groups[kind]
    return bool(found == to_dtype(kind))


class finfo:
    """The limits of a floating type."""

    def __init__(self, kind: Any) -> None:
        self.dtype = _asked(kind, "finfo")
        limits = {"f32": (32, 2.0**-23, float(np.finfo(np.float32).max), 2.0**-126), "f16": (16, 2.0**-10, 65504.0, 2.0**-14),
                  "bf16": (16, 2.0**-7, float.fromhex("0x1.fep127"), 2.0**-126)}
        if self.dtype.short_name not in limits:
            raise TypeError(f"finfo() needs a floating type, not {self.dtype!r}.")
        self.bits, self.eps, self.max, self.smallest_normal = limits[self.dtype.short_name]
        self.min, self.tiny = -self.max, self.smallest_normal

    def __repr__(self) -> str:
        return f"finfo({self.dtype!r}, bits={self.bits}, eps={self.eps}, min={self.min}, max={self.max})"


class iinfo:
    """The limits of an integer type."""

    def __init__(self, kind: Any) -> None:
        self.dtype = _asked(kind, "iinfo")
        if not self.dtype.is_integer:
            raise TypeError(f"iinfo() needs an integer type, not {self.dtype!r}.")
        info = np.iinfo(name_of(self.dtype))
        self.bits, self.min, self.max = info.bits, int(info.min), int(info.max)

    def __repr__(self) -> str:
        return f"iinfo({self.dtype!r}, bits={self.bits}, min={self.min}, max={self.max})"
