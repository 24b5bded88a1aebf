"""Tensors from what Python and numpy have, and the way back."""
from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._core import Device, Tensor, dtype
from ._device import default_device
from ._types import float32, name_of, numpy_type, to_dtype

__all__ = ["array", "asarray", "from_dlpack", "from_numpy"]

MOST_DIMENSIONS = 8
# What numpy has and the device does not, and what it becomes.
NARROWED = {"float64": "float32", "uint16": "int32"}


def _upload(values: np.ndarray[Any, Any], kind: dtype, device: Device) -> Tensor:
    flat = np.ascontiguousarray(values).reshape(-1)
    return _core.upload(device, kind, values.shape, flat.view(np.uint8))


def _prepared(values: np.ndarray[Any, Any], kind: dtype | None) -> tuple[np.ndarray[Any, Any], dtype, dtype]:
    """The elements as they go to the device, their type there, and the type that is wanted: float32 goes where numpy has no such type."""
    name = values.dtype.name
    if values.dtype.kind == "c":
        raise TypeError(f"array(): a tensor holds no numbers of {name}; weft.complex() makes a weft.Complex of them.")
    if kind is None:
        try:
            kind = to_dtype(NARROWED.get(name, name))
        except TypeError:
            raise TypeError(f"An array of {name} has no counterpart on the device; convert it first, to float32 or int64, say.") from None
    if kind.is_quantized:
        raise TypeError(f"Values cannot be made {name_of(kind)}: load() reads quantized tensors from GGUF files.")
    if name == "bfloat16" and name_of(kind) == "bfloat16":
        return values.view(np.uint16), kind, kind
    if values.dtype.kind not in "biuf" and name != "bfloat16":
        raise TypeError(f"An array of {name} cannot become {name_of(kind)}.")
    target = numpy_type(kind)
    if target is not None and target.kind in "iu" and values.dtype.kind == "f":  # as the device converts: NaN is 0, others stop at the range
        values = _within(values, target)
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(np.float32 if target is None else target, copy=False), float32 if target is None else kind, kind


def _within(values: np.ndarray[Any, Any], target: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Floats as whole numbers of a type."""
    ends = np.iinfo(target)
    wide = np.nan_to_num(values.astype(np.float64), nan=0.0)
    made = np.where(wide >= ends.max, 0.0, np.maximum(wide, ends.min)).astype(target)  # the largest int64 is no double
    return np.where(wide >= ends.max, target.type(ends.max), made)


def _from_numpy(values: np.ndarray[Any, Any], kind: dtype | None, device: Device) -> Tensor:
    ready, held, wanted = _prepared(values, kind)
    made = _upload(ready, held, device)
    return made if held == wanted else _core.functions.cast(made, wanted)


def _from_python(values: Any, kind: dtype | None) -> np.ndarray[Any, Any]:
    """Numbers and nested lists. Python's own integers become int32 where they fit."""
    target = numpy_type(kind) if kind is not None else None
    depth, inner = 0, values
    while isinstance(inner, (list, tuple)) and len(inner) and depth <= MOST_DIMENSIONS:
        depth, inner = depth + 1, inner[0]
    if depth > MOST_DIMENSIONS:
        raise ValueError(f"array(): lists are nested more than {MOST_DIMENSIONS} deep; a tensor has at most {MOST_DIMENSIONS} dimensions.")
    try:
        made = np.array(values, dtype=target if target is not None and target.kind in "iu" and _is_whole(values) else None)
    except OverflowError:
        assert kind is not None and target is not None
        limits = np.iinfo(target)
        raise OverflowError(f"array(): {_shown(values)} is not within the range of {name_of(kind)}, {limits.min} to {limits.max}.") from None
    except ValueError:
        raise ValueError(f"array(): the lists in {_shown(values)} have different lengths; a tensor needs equal ones.") from None
    if kind is None and made.dtype == np.int64 and not _holds_arrays(values):
        limits = np.iinfo(np.int32)
        if made.size == 0 or (made.min() >= limits.min and made.max() <= limits.max):
            return made.astype(np.int32)
    if made.dtype == object or (kind is None and made.dtype == np.uint64):
        if made.dtype == object and made.size and all(isinstance(v, (int, float)) for v in made.reshape(-1)):
            raise OverflowError("A number is too large for every integer type.")
        if made.dtype == np.uint64:
            raise OverflowError("A number is too large for int64, the widest integer type.")
    return made


def _shown(values: Any) -> str:
    text = repr(values)
    return text if len(text) <= 60 else text[:57] + "…"


def _is_whole(values: Any) -> bool:
    return np.asarray(values).dtype.kind in "biuO"


def _holds_arrays(values: Any) -> bool:
    while isinstance(values, (list, tuple)):
        if not values:
            return False
        values = values[0]
    return isinstance(values, (np.ndarray, np.generic, Tensor))


def array(obj: Any, dtype: Any = None, *, device: Device | None = None, copy: bool | None = None) -> Tensor:
    """A tensor with the values of a number, nested lists, an array of numpy, or anything with __array__ or __dlpack__.

    Whole numbers of Python become int32 (int64 where they do not fit), others float32; arrays keep their type, but float64 becomes
    float32. With a device, a tensor is copied to it.
    """
    kind = to_dtype(dtype) if dtype is not None else None
    if copy is False and not isinstance(obj, Tensor):
        raise ValueError("array(): values of the host cannot go to the device without a copy.")
    if isinstance(obj, Tensor):
        moved = obj if device is None else array(to_numpy(obj), obj.dtype, device=device)
        return +moved if kind is None else _core.functions.cast(moved, kind)
    return _from_numpy(_on_host(obj, kind, "array"), kind, device if device is not None else default_device())


def _on_host(obj: Any, kind: dtype | None, function: str) -> np.ndarray[Any, Any]:
    """What is no tensor as an array of numpy."""
    if isinstance(obj, (str, bytes)) or obj is None:
        raise TypeError(f"{function}(): {obj!r} is nothing that a tensor can hold.")
    if isinstance(obj, (np.ndarray, np.generic)):
        return np.asarray(obj)
    if hasattr(obj, "__array__"):
        return np.asarray(obj.__array__())
    if hasattr(obj, "__dlpack__"):
        return np.from_dlpack(obj)
    if hasattr(obj, "real") and isinstance(obj.real, Tensor):
        raise TypeError(f"{function}(): a weft.Complex is no tensor; take its parts, `real` and `imag`, or its methods.")
    if isinstance(obj, (bool, int, float, list, tuple, range)):
        values = _from_python(obj, kind)
        return values.astype(np.float32) if values.dtype == np.float64 and values.size == 0 and kind is None else values
    values = np.asarray(obj)
    if values.dtype == object:
        raise TypeError(f"{function}(): an object of type {type(obj).__name__} is nothing that a tensor can hold.")
    return values


def host_values(obj: Any, of_type: Any, function: str) -> tuple[np.ndarray[Any, Any], dtype]:
    """A copy of the elements as they go to the device, row by row, and their type."""
    kind = to_dtype(of_type) if of_type is not None else None
    ready, held, wanted = _prepared(_on_host(obj, kind, function), kind)
    if held != wanted:
        raise TypeError(f"{function}(): numpy has no elements of {name_of(wanted)}; convert the tensor afterwards.")
    return np.array(ready, order="C"), held


def asarray(obj: Any, dtype: Any = None, *, device: Device | None = None, copy: bool | None = None) -> Tensor:
    """The same as array(), but a tensor stays the same object when nothing has to change."""
    if isinstance(obj, Tensor) and not copy and (dtype is None or to_dtype(dtype) == obj.dtype) and device is None:
        return obj
    return array(obj, dtype, device=device, copy=copy)


def from_numpy(values: np.ndarray[Any, Any], *, device: Device | None = None) -> Tensor:
    """A tensor with the elements of an array of numpy."""
    return array(values, device=device)


def from_dlpack(x: Any, /, *, device: Device | None = None, copy: bool | None = None) -> Tensor:
    """A tensor with the elements of whatever speaks DLPack and lies in the host's memory: they are copied."""
    if copy is False and isinstance(x, Tensor) and device in (None, x.device):
        return x
    if copy is False:
        raise ValueError("from_dlpack(): values of the host cannot go to the device without a copy.")
    return array(x if isinstance(x, Tensor) else np.from_dlpack(x), device=device)


def to_numpy(self: Tensor) -> np.ndarray[Any, Any]:
    """The elements as an array of numpy, which owns them. bfloat16 and quantized types come as float32. Waits for the device."""
    values = self._host()
    return values.astype(np.float16) if name_of(self.dtype) == "float16" else values
