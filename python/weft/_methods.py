"""What a Tensor can do, beyond its operators: numpy's attributes and methods, printing, pickling."""
from __future__ import annotations

import html
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import numpy as np

from . import _core
from ._array import array, to_numpy
from ._called import named
from ._core import Device, Tensor, functions
from ._index import get_item, set_item
from ._near import near
from ._numpy_methods import METHODS as NUMPY_METHODS
from ._types import is_one, name_of
from ._ufuncs import array_ufunc


def _item(self: Tensor, *index: Any) -> Any:
    """The only element, or the one at an index, as a number of Python's own. Waits for the device."""
    if len(index) == 1 and is_one(index[0]):  # counted along all elements, as numpy does
        return _item(get_item(functions.reshape(self, (self.size,)), index[0]))
    if index:
        return _item(get_item(self, index if len(index) > 1 else index[0]))
    if self.size != 1:
        raise ValueError(f"item() needs a tensor with one element; this one has shape {self.shape}.")
    return to_numpy(self).reshape(-1)[0].item()


def _bool(self: Tensor) -> bool:
    if self.size != 1:
        raise ValueError(f"A tensor of shape {self.shape} is neither true nor false; use any() or all().")
    return bool(_item(self))


def _index_value(self: Tensor) -> int:
    if self.size != 1 or not self.dtype.is_integer:
        raise TypeError(f"Only an integer tensor with one element is a whole number; this one is {name_of(self.dtype)} of shape {self.shape}.")
    return int(_item(self))


def _len(self: Tensor) -> int:
    if self.ndim == 0:
        raise TypeError("len() of a tensor without dimensions.")
    return int(self.shape[0])


def _iter(self: Tensor) -> Iterator[Tensor]:
    if self.ndim == 0:
        raise TypeError("A tensor without dimensions cannot be gone through.")
    return (self._row(i) for i in range(self.shape[0]))


def _contains(self: Tensor, value: Any) -> bool:
    return bool(_item(functions.any(self == value))) if self.size else False


def _array_protocol(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    if copy is False:
        raise ValueError("The elements lie on the device: numpy can only have a copy of them.")
    values = to_numpy(self)
    return values if dtype is None else values.astype(dtype, copy=False)


def _dlpack(self: Tensor, **options: Any) -> Any:
    if options.get("copy") is False:
        raise BufferError("The elements lie on the device: only a copy of them can be had.")
    options.pop("copy", None)
    return to_numpy(self).__dlpack__(**options)


def _corners(self: Tensor) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
    """What is shown of a tensor, and numpy's options for it: of a large one only what stands at the ends of its dimensions comes from the device."""
    options = np.get_printoptions()
    if self.size <= options["threshold"]:
        return to_numpy(self), {}
    ends, part = int(options["edgeitems"]), self
    for axis, extent in enumerate(self.shape):
        if extent > 2 * ends + 1:  # one more than is shown, so that numpy sees that something is left out
            first, last = functions.slice(part, axis, 0, ends + 1), functions.slice(part, axis, extent - ends, ends)
            part = functions.concat([first, last], axis)
    return to_numpy(part), {"threshold": 0}


def _summary(self: Tensor) -> str:
    values, options = _corners(self)
    return np.array2string(values, separator=", ", prefix="tensor(", **options)


def _repr(self: Tensor) -> str:
    try:
        shown = _summary(self) if self.size else f"[], shape={self.shape}"
    except Exception as error:  # a tensor without values, or on a device that was lost, has a name all the same
        return f"<tensor of shape {self.shape}, {name_of(self.dtype)}: {error}>"
    return f"tensor({shown}, dtype={name_of(self.dtype)})"


def _str(self: Tensor) -> str:
    values, options = _corners(self)
    return np.array2string(values, **options) if options else str(values)


def _format(self: Tensor, spec: str) -> str:
    return format(_item(self), spec) if self.size == 1 and spec else format(_str(self), spec)


def _repr_html(self: Tensor) -> str:
    """A table for notebooks: matrices by cells, everything else as text."""
    head = f"<small>tensor of shape {self.shape}, {name_of(self.dtype)}, on {html.escape(self.device.name)}</small>"
    if self.ndim not in (1, 2) or self.size == 0:
        return f"<div>{head}<pre>{html.escape(_str(self))}</pre></div>"
    rows, columns = (1, self.shape[0]) if self.ndim == 1 else self.shape
    part = functions.reshape(self, (rows, columns))[:12, :12]
    values = to_numpy(part)
    more = "<td>…</td>" if columns > 12 else ""
    body = "".join("<tr>" + "".join(f"<td>{v:.6g}</td>" if values.dtype.kind == "f" else f"<td>{v}</td>" for v in row) + more + "</tr>" for row in values)
    return f"<div>{head}<table>{body}{'<tr><td>…</td></tr>' if rows > 12 else ''}</table></div>"


def rebuild(values: np.ndarray[Any, Any], kind: str, variable: bool) -> Tensor:
    """A tensor from what pickle keeps of it."""
    made = array(values, kind)
    return _core.variable(made) if variable else made


def _reduce(self: Tensor) -> Any:
    if self.dtype.is_quantized:
        raise TypeError(f"A tensor of {name_of(self.dtype)} cannot be pickled; save() writes it to a GGUF file.")
    return rebuild, (to_numpy(self), name_of(self.dtype), self.is_variable)


def _copy(self: Tensor) -> Tensor:
    """A tensor with the same elements; changing one of them in place leaves the other as it is."""
    return +self


def _deepcopy(self: Tensor, memo: Any) -> Tensor:
    return _core.variable(+self) if self.is_variable else +self


def _to(self: Tensor, target: Any) -> Tensor:
    """The values as another element type, or on another device."""
    return array(self, device=target) if isinstance(target, Device) else functions.cast(self, target)


def _tolist(self: Tensor) -> Any:
    """The elements as nested lists of Python's own numbers. Waits for the device."""
    return to_numpy(self).tolist()


def _to_bytes(self: Tensor) -> bytes:
    """The elements as they lie in an array of numpy. Waits for the device."""
    return to_numpy(self).tobytes()


def _to_device(self: Tensor, device: Device, /, *, stream: None = None) -> Tensor:
    """A copy on another device."""
    return array(self, device=device)


def _namespace(self: Tensor, *, api_version: str | None = None) -> Any:
    """The module weft, which the Array API standard asks for; another version of the standard than 2021.12 to 2025.12 is refused."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        raise ValueError(f"There is no version {api_version!r} of the Array API standard here; 2025.12 is the latest.")
    return __import__("weft")


METHODS: dict[str, Any] = NUMPY_METHODS | {
    "__getitem__": get_item, "__setitem__": set_item, "item": _item, "__bool__": _bool, "__len__": _len, "__iter__": _iter,
    "__contains__": _contains, "__float__": lambda self: float(_item(self)), "__int__": lambda self: int(_item(self)),
    "__complex__": lambda self: complex(_item(self)), "__index__": _index_value, "__hash__": lambda self: id(self) >> 4,
    "tolist": _tolist, "tobytes": _to_bytes, "numpy": to_numpy, "__array__": _array_protocol, "__dlpack__": _dlpack,
    "__dlpack_device__": lambda self: (1, 0), "__repr__": _repr, "__str__": _str, "__format__": _format, "_repr_html_": _repr_html,
    "__reduce__": _reduce, "__copy__": _copy, "__deepcopy__": _deepcopy, "copy": _copy, "to": _to, "to_device": _to_device,
    "__trunc__": lambda self: int(_item(self)),
    "itemsize": property(lambda self: self.dtype.itemsize, doc="The bytes of an element; of quantized types those of a block."),
    "nbytes": property(lambda self: self.size * self.dtype.itemsize // self.dtype.block, doc="The bytes of all elements."),
    "__array_priority__": 1000, "__array_ufunc__": array_ufunc, "__array_namespace__": _namespace,
}


# What others have, and what is there instead.
HINTS = {"dim": "ndim is the number of dimensions", "expand": "wt.broadcast_to() repeats", "numel": "size is the number of elements",
         "backward": "wt.grad and wt.value_and_grad make functions that compute gradients",
         **dict.fromkeys(("grad", "requires_grad", "requires_grad_"), "wt.grad says by what gradients are taken"),
         **dict.fromkeys(("cuda", "is_cuda", "is_leaf"), "tensors are on a device when they are made; wt.Device opens another one"),
         **dict.fromkeys(("cpu", "data"), "numpy() gives the elements"), "at": "x[index] = value changes elements",
         "block_until_ready": "eval() computes, and numpy() waits", "clone": "copy() gives another tensor",
         "contiguous": "the elements of a tensor always lie in their order", "strides": "the elements of a tensor always lie in their order",
         **dict.fromkeys(("float", "half", "double", "long", "int", "short", "bool", "type", "bfloat16"), "astype() gives other types: x.astype(wt.float16)"),
         **dict.fromkeys(("matmul", "mm", "bmm", "mv"), "x @ y multiplies matrices"),
         **dict.fromkeys(("add", "sub", "mul", "div", "pow", "neg"), "operators do it: x + y, x * y, x ** 2"),
         **dict.fromkeys(("add_", "sub_", "mul_", "div_"), "operators do it in place: x += y"),
         **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), "operators compare: x == y, x < y"),
         **dict.fromkeys(("zero_", "copy_", "fill_"), "x[...] = value changes all elements"),
         "clamp": "clip() keeps elements between two numbers", "norm": "wt.linalg.norm() is one", "masked_fill": "wt.where(mask, value, x) is the same",
         "gather": "wt.take_along_axis() is one", "scatter": "wt.put_along_axis() changes elements, and wt.scatter_add() adds to them",
         "index_select": "wt.take(x, indices, axis=0) is one", "topk": "wt.top_k() is one", "chunk": "wt.array_split() makes parts",
         "split": "wt.split() makes parts", "unbind": "wt.unstack() makes parts",
         "flat": "ravel() gives the elements in a row, and x.item(i) one of them", "view_as": "reshape() takes the other's shape"}


def _missing(self: Tensor, name: str) -> Any:
    hint = f"; {HINTS[name]}." if name in HINTS else near(name, dir(Tensor)) or "."
    raise AttributeError(f"A tensor has no attribute '{name}'{hint}")


def install() -> None:
    """Gives the class its methods: the compiled part has only what must be quick."""
    Tensor.__getattr__ = _missing  # type: ignore[attr-defined]
    for name, method in METHODS.items():
        if isinstance(method, FunctionType):
            method.__name__, method.__qualname__ = name, f"Tensor.{name}"
            if not name.startswith("_"):
                method = named(method, name, "weft")
                method.__qualname__ = f"Tensor.{name}"
        setattr(Tensor, name, method)
