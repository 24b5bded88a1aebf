"""New tensors and other shapes, with numpy's parameters, over the described functions."""
from __future__ import annotations

import operator
from collections.abc import Sequence
from math import ceil, isfinite
from math import prod as product
from typing import Any

import numpy as np

from ._array import array, asarray
from ._core import Device, Tensor, device_hints, functions
from ._device import default_device
from ._types import boolean, float32, int32, int64, is_one, result_type, to_dtype, wholes

__all__ = ["arange", "broadcast_arrays", "broadcast_shapes", "concat", "empty", "empty_like", "expand_dims", "eye", "flip", "full", "full_like",
           "linspace", "matrix_transpose", "meshgrid", "moveaxis", "ones", "ones_like", "pad", "permute_dims", "repeat", "reshape", "roll", "split", "squeeze",
           "stack", "tile", "transpose", "tri", "tril", "triu", "unstack", "zeros", "zeros_like"]

Axis = int | Sequence[int] | None


def axis_of(axis: Any, ndim: int, function: str) -> int:
    """An axis counted from the front."""
    place = operator.index(axis)
    if not -max(ndim, 1) <= place < max(ndim, 1):
        raise ValueError(f"{function}(): there is no axis {place} in a tensor of {ndim} dimensions.")
    return place % max(ndim, 1)


def _kind(dtype: Any, shape: Any, function: str) -> Any:
    """The type of new elements. PyTorch takes extents one by one, and the second would be a type here."""
    if isinstance(dtype, int) and not isinstance(dtype, bool):
        raise TypeError(f"{function}(): a shape is one argument, ({shape}, {dtype}, …), and {dtype} is no type of elements.")
    return float32 if dtype is None else dtype


def _default(value: Any) -> Any:
    return boolean if isinstance(value, (bool, np.bool_)) else int32 if isinstance(value, (int, np.integer)) else float32


# New tensors.

def full(shape: int | Sequence[int], fill_value: Any, dtype: Any = None, *, device: Device | None = None) -> Tensor:
    """A tensor of equal elements, in the type of the value unless another one is given; or values that are repeated to a shape."""
    if isinstance(fill_value, (list, tuple, np.ndarray, Tensor)):  # repeated, as numpy does it
        one = asarray(fill_value, dtype, device=device)
        return functions.broadcast_to(one, shape)
    if not isinstance(fill_value, (bool, int, float, np.generic)):
        raise TypeError(f"full(): the value is {fill_value!r}; a number is needed.")
    kind = to_dtype(dtype) if dtype is not None else _default(fill_value)
    if kind == int64 or (kind == int32 and not isinstance(fill_value, float) and abs(int(fill_value)) >= 2**31):
        one = array(int(fill_value), kind if dtype is not None else None, device=device)
        return functions.broadcast_to(one, shape)
    return functions.full(shape, float(fill_value), kind, device=device)


def zeros(shape: int | Sequence[int], dtype: Any = None, *, device: Device | None = None) -> Tensor:
    """A tensor of zeros, float32 where no type is named."""
    return functions.zeros(shape, _kind(dtype, shape, "zeros"), device=device)


def ones(shape: int | Sequence[int], dtype: Any = None, *, device: Device | None = None) -> Tensor:
    """A tensor of ones, float32 where no type is named."""
    return functions.ones(shape, _kind(dtype, shape, "ones"), device=device)


def empty(shape: int | Sequence[int], dtype: Any = None, *, device: Device | None = None) -> Tensor:
    """A tensor whose elements are not said; here they are 0."""
    return functions.zeros(shape, _kind(dtype, shape, "empty"), device=device)


def full_like(x: Any, fill_value: Any, dtype: Any = None, *, device: Device | None = None, shape: int | Sequence[int] | None = None) -> Tensor:
    """Equal elements in the shape (unless another one is given) and the type of another tensor."""
    x = asarray(x)
    return full(x.shape if shape is None else shape, fill_value, x.dtype if dtype is None else dtype, device=device or x.device)


def zeros_like(x: Any, dtype: Any = None, *, device: Device | None = None, shape: int | Sequence[int] | None = None) -> Tensor:
    """Zeros in the shape (unless another one is given) and the type of another tensor."""
    return functions.zeros_like(x, dtype) if device is None and shape is None else full_like(x, 0, dtype, device=device, shape=shape)


def ones_like(x: Any, dtype: Any = None, *, device: Device | None = None, shape: int | Sequence[int] | None = None) -> Tensor:
    """Ones in the shape (unless another one is given) and the type of another tensor."""
    return functions.ones_like(x, dtype) if device is None and shape is None else full_like(x, 1, dtype, device=device, shape=shape)


def empty_like(x: Any, dtype: Any = None, *, device: Device | None = None, shape: int | Sequence[int] | None = None) -> Tensor:
    """The shape and the type of another tensor; the elements are not said, and are 0 here."""
    return zeros_like(x, dtype, device=device, shape=shape)


def arange(start: float, stop: float | None = None, step: float = 1, dtype: Any = None, *, device: Device | None = None) -> Tensor:
    """start, start + step, … before stop; with one number, 0, 1, … before it."""
    if stop is None:
        start, stop = 0, start
    for value in (start, stop, step):
        if not is_one(value):
            raise TypeError(f"arange(): {value!r} is no number.")
        if not isfinite(value):
            raise ValueError(f"arange(): the numbers are {start}, {stop} and {step}; they must be finite.")
    start, stop, step = (v.item() if hasattr(v, "item") else v for v in (start, stop, step))
    if step == 0:
        raise ValueError("arange(): the step is 0.")
    whole = all(isinstance(v, (int, np.integer)) for v in (start, stop, step))
    kind = to_dtype(dtype) if dtype is not None else int32 if whole else float32
    count = max(0, -((int(start) - int(stop)) // int(step))) if whole else max(0, ceil((stop - start) / step))
    if count * kind.itemsize > 2**28 and count * kind.itemsize > (largest := device_hints(device or default_device())["max_buffer_bytes"]):
        raise MemoryError(f"arange(): {count} elements of {kind.itemsize} bytes are more than a buffer of this device has, {largest} bytes.")
    if whole and (kind == int64 or max(abs(start), abs(stop)) >= 2**31):
        return array(np.arange(start, stop, step, dtype=np.int64), kind if dtype is not None else None, device=device)
    if kind == boolean:
        return array(np.arange(start, stop, step).astype(bool), device=device)
    if kind.is_integer and not whole:
        return array(np.arange(start, stop, step), kind, device=device)
    return functions.arange(count, float(start), float(step), kind, device=device)


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, *, dtype: Any = None, device: Device | None = None, axis: int = 0) -> Tensor:
    """`num` numbers at equal distances from start to stop, for those of tensors along a new dimension, the first unless `axis` says another one;
    without `endpoint`, stop would be the next one."""
    if axis != 0:
        return moveaxis(linspace(start, stop, num, endpoint, dtype=dtype, device=device), 0, axis)
    kind = to_dtype(dtype) if dtype is not None else float32
    whole, many = kind.is_integer or kind == boolean, (list, tuple, np.ndarray, Tensor)
    if whole and (isinstance(start, many) or isinstance(stop, many)):  # as numpy: the largest whole numbers below
        return functions.cast(functions.floor(linspace(start, stop, num, endpoint, device=device)), kind)
    if whole:  # in doubles, where a whole number is one
        return array(np.linspace(start, stop, num, endpoint=endpoint, dtype=str(kind).rpartition(".")[2]), kind, device=device)
    if isinstance(start, many) or isinstance(stop, many):
        first, last = broadcast_arrays(start, stop)
        parts = functions.reshape(functions.linspace(0.0, 1.0, num, endpoint, float32, device=first.device), (num, *[1] * first.ndim))
        return functions.cast(first + (last - first) * parts, kind)
    return functions.linspace(float(start), float(stop), num, endpoint, kind, device=device)


def eye(n_rows: int, n_cols: int | None = None, /, k: int = 0, dtype: Any = None, *, device: Device | None = None) -> Tensor:
    """A matrix with 1 on a diagonal (0 the main one, 1 the one above it) and 0 elsewhere."""
    return functions.eye(n_rows, n_cols, k, float32 if dtype is None else dtype, device=device)


def tri(n_rows: int, n_cols: int | None = None, k: int = 0, dtype: Any = None, *, device: Device | None = None) -> Tensor:
    """A matrix with 1 on and below a diagonal."""
    return functions.tri(n_rows, n_cols, k, float32 if dtype is None else dtype, device=device)


def _square(x: Any) -> Tensor:
    """A vector as the rows of a square matrix, as numpy has it."""
    x = asarray(x)
    return functions.broadcast_to(x, (x.shape[0], x.shape[0])) if x.ndim == 1 else x


def tril(x: Any, /, k: int = 0) -> Tensor:
    """Matrices with 0 above a diagonal: 0 the main one, 1 the one above it."""
    return functions.tril(_square(x), k)


def triu(x: Any, /, k: int = 0) -> Tensor:
    """Matrices with 0 below a diagonal: 0 the main one, 1 the one above it."""
    return functions.triu(_square(x), k)


def meshgrid(*arrays: Any, indexing: str = "xy", sparse: bool = False) -> tuple[Tensor, ...]:
    """Each of some vectors along a dimension of its own and repeated along those of the others; with `sparse` it has an extent of 1 there."""
    if not arrays:
        return ()
    vectors = [reshape(a, -1) for a in arrays]
    if not sparse:
        return tuple(functions.meshgrid(vectors, indexing))
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid(): `indexing` is {indexing!r}; there are 'xy' and 'ij'.")
    places = [1, 0, *range(2, len(vectors))] if indexing == "xy" and len(vectors) > 1 else range(len(vectors))
    return tuple(functions.reshape(v, tuple(v.size if d == place else 1 for d in range(len(vectors)))) for v, place in zip(vectors, places, strict=True))


# Shapes.

def reshape(x: Any, /, shape: int | Sequence[int], order: str = "C", *, copy: bool | None = None) -> Tensor:
    """The same elements with another shape of as many; one extent may be -1 and follows from the others. They are read and put row by row (order "C"), or
    with the first dimension going fastest ("F")."""
    x = asarray(x)
    extents = wholes(shape)
    if order == "F":
        return transpose(reshape(transpose(x), extents[::-1]))
    if order not in ("C", "A"):
        raise ValueError(f"reshape(): `order` is {order!r}; there are 'C' and 'F'.")
    if extents.count(-1) > 1:
        raise ValueError(f"reshape(): more than one extent of {tuple(extents)} is -1.")
    if -1 in extents:
        known = -product(extents)
        if known == 0 or x.size % known:
            raise ValueError(f"reshape(): a tensor of shape {x.shape} cannot have the shape {tuple(extents)}.")
        extents[extents.index(-1)] = x.size // known
    return functions.reshape(x, extents)


def permute_dims(x: Any, /, axes: Sequence[int]) -> Tensor:
    """Dimensions in another order: result dimension i is dimension axes[i]."""
    return functions.permute(x, axes) if asarray(x).ndim else asarray(x)


def transpose(x: Any, /, axes: Sequence[int] | None = None) -> Tensor:
    """Dimensions in another order, in reverse order when none is given. mT swaps the last two."""
    x = asarray(x)
    order = tuple(range(x.ndim))[::-1] if axes is None else tuple(wholes(axes))
    return x if order == tuple(range(x.ndim)) else functions.permute(x, order)


def matrix_transpose(x: Any, /) -> Tensor:
    """The last two dimensions swapped."""
    return functions.transpose(x)


def squeeze(x: Any, /, axis: Axis = None) -> Tensor:
    """Without the dimensions of extent 1, or without those that are named."""
    if axis is None or (is_one(axis) and operator.index(axis) in (0, -1) and asarray(x).ndim == 0):  # type: ignore[arg-type]
        return functions.squeeze(x)
    return functions.squeeze_axes(x, wholes(axis)) if is_one(axis) or len(axis) else asarray(x)  # type: ignore[arg-type]


def flip(x: Any, /, axis: Axis = None) -> Tensor:
    """Elements in reverse order along some axes, or along all."""
    return asarray(x) if isinstance(axis, (tuple, list)) and not axis else functions.flip(x, axis)


def expand_dims(x: Any, /, axis: Axis = 0) -> Tensor:
    """With dimensions of extent 1 that are then at these places."""
    x = asarray(x)
    axes = [] if axis is None else wholes(axis)
    places = sorted(axis_of(a, x.ndim + len(axes), "expand_dims") for a in axes)
    if len(set(places)) != len(places):
        raise ValueError(f"expand_dims(): an axis of {tuple(axes)} is named twice.")
    made: Tensor = x
    for place in places:
        made = functions.unsqueeze(made, place)
    return made


def moveaxis(x: Any, /, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Some dimensions at other places; the others keep their order."""
    places = wholes(source), wholes(destination)
    return functions.movedim(x, *places) if any(places) else asarray(x)


def broadcast_arrays(*arrays: Any) -> tuple[Tensor, ...]:
    """All with the shape that they have together."""
    tensors = [asarray(a) for a in arrays]
    shape = np.broadcast_shapes(*(t.shape for t in tensors))
    return tuple(functions.broadcast_to(t, shape) for t in tensors)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that these have together."""
    return np.broadcast_shapes(*shapes)


def _alike(arrays: Sequence[Any], function: str) -> list[Tensor]:
    tensors = [asarray(a) for a in arrays]
    if not tensors:
        raise ValueError(f"{function}() needs at least one tensor.")
    kind = result_type(*tensors)
    return [functions.cast(t, kind) for t in tensors]


def concat(arrays: Sequence[Any], /, axis: int | None = 0) -> Tensor:
    """Tensors one after the other along an axis; with None, all their elements in a row."""
    tensors = _alike(arrays, "concat")
    if axis is None:
        return functions.concat([functions.flatten(t) if t.ndim else functions.reshape(t, (1,)) for t in tensors], 0)
    return functions.concat(tensors, axis)


def stack(arrays: Sequence[Any], /, axis: int = 0) -> Tensor:
    """Tensors of one shape along a new dimension."""
    return functions.stack(_alike(arrays, "stack"), axis)


def unstack(x: Any, /, axis: int = 0) -> tuple[Tensor, ...]:
    """The parts of a tensor along an axis, without it."""
    x = asarray(x)
    place = axis_of(axis, x.ndim, "unstack")
    return tuple(functions.squeeze_axes(functions.slice(x, place, i, 1), place) for i in range(x.shape[place]))


def split(x: Any, /, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    """Equal parts of a dimension (a number), or the parts between some places (a list)."""
    x = asarray(x)
    if is_one(indices_or_sections):
        return functions.split(x, operator.index(indices_or_sections), axis)  # type: ignore[arg-type]
    extent = x.shape[axis_of(axis, x.ndim, "split")]
    places = [min(max(p + extent if p < 0 else p, 0), extent) for p in wholes(indices_or_sections)]
    if places != sorted(places):  # numpy has parts of no elements there
        along = axis_of(axis, x.ndim, "split")
        return [functions.slice(x, along, start, max(stop - start, 0)) for start, stop in zip([0, *places], [*places, extent], strict=True)]
    return functions.split_at(x, places, axis)


def repeat(x: Any, /, repeats: int | Sequence[int], axis: int | None = None) -> Tensor:
    """Each element so often in a row: all as often as one number says, or each as often as its own."""
    x = asarray(x)
    if axis is None or (x.ndim == 0 and axis in (0, -1)):
        x, axis = reshape(x, -1), 0
    times = wholes(np.asarray(repeats) if isinstance(repeats, Tensor) else repeats)
    if any(r < 0 for r in times):
        raise ValueError(f"repeat(): repetitions must be at least 0; they are {repeats}.")
    return functions.repeat_interleave(x, times[0], axis) if len(times) == 1 else functions.repeat_interleave_each(x, times, axis)


def tile(x: Any, /, reps: int | Sequence[int]) -> Tensor:
    """The tensor as a whole repeated along each dimension, so often."""
    x = asarray(x)
    times = wholes(reps)
    times = [1] * (x.ndim - len(times)) + times
    if x.ndim < len(times):
        x = functions.reshape(x, (*[1] * (len(times) - x.ndim), *x.shape))
    return functions.tile(x, times) if x.ndim else x


def roll(x: Any, /, shift: int | Sequence[int], axis: Axis = None) -> Tensor:
    """Elements moved by so many places; what leaves at one end comes in at the other."""
    x = asarray(x)
    shifts = wholes(shift)
    if axis is None:
        return functions.reshape(functions.roll(reshape(x, -1), [sum(shifts)]), x.shape)
    axes = wholes(axis)
    if len(shifts) == 1 or len(axes) == 1:  # one of them serves all of the others
        count = max(len(shifts), len(axes)) if shifts and axes else 0
        shifts, axes = (many * count if len(many) == 1 else many for many in (shifts, axes))
    if len(shifts) != len(axes):
        raise ValueError(f"roll(): there are {len(shifts)} shifts and {len(axes)} axes.")
    places = [0] * x.ndim
    for s, a in zip(shifts, axes, strict=True):
        places[axis_of(a, x.ndim, "roll")] += s
    return functions.roll(x, places)


def _padded(x: Tensor, low: list[int], high: list[int], values: Any) -> Tensor:
    """With constants, which may be others before and behind, and along each dimension."""
    if is_one(values):
        return functions.pad(x, low, high, values)
    for axis, pair in enumerate(np.broadcast_to(np.asarray(values), (x.ndim, 2)).tolist()):
        for value, ends in zip(pair, ((low[axis], 0), (0, high[axis])), strict=True):
            before, behind = ([count if d == axis else 0 for d in range(x.ndim)] for count in ends)
            x = functions.pad(x, before, behind, value)
    return x


def pad(x: Any, /, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Tensor:
    """Elements before and after a tensor: pad_width is one number, a pair, or a pair for each dimension. Modes: "constant", "edge",
    "reflect", "symmetric", "wrap"."""
    x = asarray(x)
    try:
        pairs = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2)).tolist() if x.ndim else []
    except ValueError:
        raise ValueError(f"pad(): `pad_width` is {pad_width}; a tensor of {x.ndim} dimensions takes a number, a pair, or a pair for each.") from None
    low, high = [p[0] for p in pairs], [p[1] for p in pairs]
    if mode == "constant":
        return _padded(x, low, high, constant_values)
    if mode == "symmetric":  # as reflect, but the element at the end is there twice
        for axis, pair in enumerate(pairs):
            places = np.pad(np.arange(x.shape[axis], dtype=np.int32), pair, "symmetric")
            x = functions.take(x, array(places, device=x.device), axis) if any(pair) else x
        made: Tensor = x
        return made
    edges: dict[str, Any] = {"edge": "replicate", "reflect": "reflect", "wrap": "circular"}
    if mode not in edges:
        raise ValueError(f"pad(): `mode` is {mode!r}; there are 'constant', 'edge', 'reflect', 'symmetric' and 'wrap'.")
    return functions.pad_edge(x, low, high, edges[mode])
