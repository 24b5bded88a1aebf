"""What a Tensor can do, beyond its operators: numpy's attributes and methods, printing, pickling."""
from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _core, _numpy, _shapes
from ._array import array, to_numpy
from ._core import Device, Tensor, functions
from ._index import get_item, set_item
from ._types import name_of


def _item(self: Tensor, *index: Any) -> Any:
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
    return (get_item(self, i) for i in range(self.shape[0]))


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


def _summary(self: Tensor) -> str:
    return np.array2string(to_numpy(self), separator=", ", prefix="tensor(")


def _repr(self: Tensor) -> str:
    try:
        shown = _summary(self) if self.size else f"[], shape={self.shape}"
    except Exception as error:  # a tensor without values, or on a device that was lost, has a name all the same
        return f"<tensor of shape {self.shape}, {name_of(self.dtype)}: {error}>"
    return f"tensor({shown}, dtype={name_of(self.dtype)})"


def _str(self: Tensor) -> str:
    return str(to_numpy(self))


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
    return +self


def _deepcopy(self: Tensor, memo: Any) -> Tensor:
    return _core.variable(+self) if self.is_variable else +self


def _to(self: Tensor, target: Any) -> Tensor:
    """The values as another element type, or on another device."""
    return array(self, device=target) if isinstance(target, Device) else functions.cast(self, target)


def _shape_arguments(shape: tuple[Any, ...]) -> Any:
    return shape[0] if len(shape) == 1 else shape


def _reshape(self: Tensor, *shape: Any) -> Tensor:
    return _shapes.reshape(self, _shape_arguments(shape))


def _transpose(self: Tensor, *axes: Any) -> Tensor:
    return _shapes.transpose(self, _shape_arguments(axes) if axes else None)


def _permute(self: Tensor, *axes: Any) -> Tensor:
    return _shapes.permute_dims(self, _shape_arguments(axes))


def _matmul(a: Any, b: Any) -> Tensor:
    return _numpy.matmul(a, b)


def _inplace_matmul(self: Tensor, other: Any) -> Tensor:
    self._replace(_numpy.matmul(self, other))
    return self


def _sort(self: Tensor, axis: int = -1, *, descending: bool = False) -> Tensor:
    return _numpy.sort(self, axis, descending=descending)


def _reduction(name: str) -> Any:
    """A reduction with numpy's parameters, so that np.sum(x) and its like stay on the device."""
    function = getattr(functions, name)

    def method(self: Tensor, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False) -> Tensor:
        if out is not None:
            raise TypeError(f"{name}() cannot write to `out`.")
        found: Tensor = function(self if dtype is None else functions.cast(self, dtype), axis, keepdims)
        return found

    method.__doc__ = function.__doc__
    return method


def _spread(name: str) -> Any:
    function = getattr(functions, name)

    def method(self: Tensor, axis: Any = None, dtype: Any = None, out: None = None, ddof: float = 0, keepdims: bool = False,
               *, correction: float = 0) -> Tensor:
        if out is not None:
            raise TypeError(f"{name}() cannot write to `out`.")
        found: Tensor = function(self if dtype is None else functions.cast(self, dtype), axis, correction=ddof or correction, keepdims=keepdims)
        return found

    method.__doc__ = function.__doc__
    return method


METHODS: dict[str, Any] = {name: _reduction(name) for name in ("sum", "mean", "max", "min", "prod", "any", "all")} | {
    "__getitem__": get_item, "__setitem__": set_item, "item": _item, "__bool__": _bool, "__len__": _len, "__iter__": _iter,
    "__contains__": _contains, "__float__": lambda self: float(_item(self)), "__int__": lambda self: int(_item(self)),
    "__complex__": lambda self: complex(_item(self)), "__index__": _index_value, "__hash__": lambda self: id(self) >> 4,
    "tolist": lambda self: to_numpy(self).tolist(), "numpy": to_numpy, "__array__": _array_protocol, "__dlpack__": _dlpack,
    "__dlpack_device__": lambda self: (1, 0), "__repr__": _repr, "__str__": _str, "__format__": _format, "_repr_html_": _repr_html,
    "__reduce__": _reduce, "__copy__": _copy, "__deepcopy__": _deepcopy, "copy": _copy, "to": _to, "astype": lambda self, dtype: functions.cast(self, dtype),
    "reshape": _reshape, "view": _reshape, "transpose": _transpose, "permute": _permute, "ravel": lambda self: _shapes.reshape(self, -1),
    "flatten": lambda self: _shapes.reshape(self, -1), "squeeze": lambda self, axis=None: _shapes.squeeze(self, axis),
    "swapaxes": lambda self, a, b: functions.swapaxes(self, a, b), "repeat": lambda self, repeats, axis=None: _shapes.repeat(self, repeats, axis),
    "clip": lambda self, min=None, max=None: _numpy.clip(self, min, max), "take": lambda self, indices, axis=None: _numpy.take(self, indices, axis),
    "cumsum": lambda self, axis=None: _numpy.cumsum(self, axis), "cumprod": lambda self, axis=None: _numpy.cumprod(self, axis),
    "var": _spread("var"), "std": _spread("std"), "argmax": lambda self, axis=None, out=None, *, keepdims=False: _numpy.argmax(self, axis, keepdims=keepdims),
    "argmin": lambda self, axis=None, out=None, *, keepdims=False: _numpy.argmin(self, axis, keepdims=keepdims),
    "sort": _sort, "argsort": lambda self, axis=-1, *, descending=False: _numpy.argsort(self, axis, descending=descending),
    "nonzero": lambda self: _numpy.nonzero(self), "dot": lambda self, other: _numpy.dot(self, other), "round": lambda self: functions.round(self),
    "__round__": lambda self, digits=None: functions.round(self) if digits is None else functions.round(self * 10.0**digits) / 10.0**digits,
    "__trunc__": lambda self: int(_item(self)), "diagonal": lambda self, offset=0, axis1=0, axis2=1: functions.diagonal(self, offset, axis1, axis2),
    "trace": lambda self, offset=0: functions.trace(self, offset), "__matmul__": _matmul, "__rmatmul__": lambda self, other: _numpy.matmul(other, self),
    "__imatmul__": _inplace_matmul, "__divmod__": lambda self, other: (self // other, self % other),
    "__rdivmod__": lambda self, other: (other // self, other % self),
    "T": property(lambda self: _shapes.transpose(self)), "mT": property(lambda self: functions.transpose(self)),
    "itemsize": property(lambda self: self.dtype.itemsize), "nbytes": property(lambda self: self.size * self.dtype.itemsize // self.dtype.block),
    "__array_priority__": 1000, "__array_ufunc__": None, "__array_namespace__": lambda self, *, api_version=None: __import__("weft"),
    "to_device": lambda self, device, /, *, stream=None: array(self, device=device),
}


# What others have, and what is there instead.
HINTS = {"backward": "wt.grad and wt.value_and_grad make functions that compute gradients", "requires_grad": "wt.grad says by what gradients are taken",
         "requires_grad_": "wt.grad says by what gradients are taken", "cuda": "tensors are on a device when they are made; wt.Device opens another one",
         "cpu": "numpy() gives the elements", "size_": "size and shape are attributes", "unsqueeze_": "x[None] and unsqueeze() give new tensors",
         "at": "x[index] = value changes elements", "block_until_ready": "eval() computes, and numpy() waits", "data": "numpy() gives the elements"}


def _missing(self: Tensor, name: str) -> Any:
    hint = f"; {HINTS[name]}" if name in HINTS else ""
    raise AttributeError(f"A tensor has no attribute '{name}'{hint}.", name=name, obj=self)


def install() -> None:
    """Gives the class its methods: the compiled part has only what must be quick."""
    Tensor.__getattr__ = _missing  # type: ignore[attr-defined]
    for name, method in METHODS.items():
        if callable(method) and not isinstance(method, type):
            method.__name__ = name
        setattr(Tensor, name, method)
