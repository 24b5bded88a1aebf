"""What the memory of a device is used for, how much of it may be, and what a device can do."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core
from ._array import host_values
from ._core import Device, Tensor, Upload, dtype
from ._device import default_device
from ._types import to_dtype

__all__ = ["DeviceHints", "MemoryEvent", "MemoryReport", "Support", "defragment", "device_hints", "memory_report", "set_memory_limit", "supports",
           "upload"]


@dataclass(frozen=True)
class MemoryReport:
    """Where the bytes of a device's buffers are."""

    in_use: int  #: of buffers that tensors and compiled functions hold
    asked: int  #: of these, what was asked for; the rest is rounding to sizes that meet again
    pooled: int  #: kept for reuse
    peak: int  #: most in use so far
    staging: int  #: of buffers that the host reads results from
    limit: int  #: what set_memory_limit() was given; 0: none
    fragmentation: float  #: the share of all bytes on the device that hold nothing
    classes: list[tuple[int, int, int]]  #: for each size: its bytes, how many are used, how many are kept for reuse


@dataclass(frozen=True)
class MemoryEvent:
    """What the listener of a limit is told."""

    full: bool  #: a buffer does not fit and is tried once more after the call; else much of the limit is in use now
    in_use: int
    pooled: int
    limit: int
    asked: int  #: bytes of the buffer that this is about


@dataclass(frozen=True)
class DeviceHints:
    """What a device is and what it is good at, for sizes of one's own kernels and batches."""

    workgroup: int  #: invocations of a workgroup that suit most kernels
    most_invocations: int
    workgroup_bytes: int
    most_workgroups: int
    subgroup_min: int
    subgroup_max: int
    binding_alignment: int
    most_bindings: int
    max_binding_bytes: int
    max_buffer_bytes: int
    processors: int  #: an estimate for devices that are not known, as the next four
    memory_rate: float  #: bytes per nanosecond
    cache_bytes: int
    launch_bytes: int  #: bytes read in the time that a launch costs
    f16_rate: float
    matrix_units: bool


@dataclass(frozen=True)
class Support:
    """Whether a device computes something; true where it does."""

    supported: bool
    reason: str  #: why not: the sentence that the call would raise
    dispatches: int  #: kernel launches of one call

    def __bool__(self) -> bool:
        return self.supported


def memory_report(device: Device | None = None) -> MemoryReport:
    """Where the bytes of a device's buffers are."""
    return MemoryReport(**_core.memory_report(device or default_device()))


def defragment(device: Device | None = None) -> int:
    """Gives all buffers that nothing holds back to the driver, once what is queued is done; how many bytes these were."""
    return _core.defragment(device or default_device())


def set_memory_limit(bytes: int, listener: Callable[[MemoryEvent], Any] | None = None, near: float = 0.9, *, device: Device | None = None) -> None:
    """Buffers of the device may have so many bytes in all (0: as many as it has): unused ones make way, and then calls raise MemoryError.
    `listener` is called when the share `near` of the limit is in use, once until it is less again, and when a buffer does not fit. It may
    let tensors go, and must not compute anything."""
    if not isinstance(bytes, (int, np.integer)) or not 0 <= bytes < 2**64:
        raise ValueError(f"set_memory_limit(): `bytes` is {bytes!r}; a whole number of at least 0 is needed.")
    told = None if listener is None else (lambda *event: listener(MemoryEvent(*event)))
    _core.set_memory_limit(device or default_device(), int(bytes), told, near)


def device_hints(device: Device | None = None) -> DeviceHints:
    """What a device is and what it is good at."""
    return DeviceHints(**_core.device_hints(device or default_device()))


def supports(function: Callable[..., Tensor], *inputs: Tensor | tuple[Sequence[int], dtype | str], device: Device | None = None) -> Support:
    """Whether a function of tensors can be computed on the device with inputs of these shapes and types: tensors, or (shape, dtype). It is
    written down and planned; nothing is compiled or run: `supports(wt.softmax, ((8, 64), wt.float16))`."""
    types = [(x.dtype, x.shape) if isinstance(x, Tensor) else (to_dtype(x[1]), tuple(x[0])) for x in inputs]
    try:
        return Support(*_core.supports(device or default_device(), types, lambda given: function(*given)))
    except (ValueError, TypeError, LookupError, NotImplementedError, MemoryError) as error:  # what the function itself refuses
        return Support(False, str(error), 0)


def upload(values: Any, dtype: Any = None, *, device: Device | None = None) -> Upload:
    """Begins to bring the elements of an array to the device, by a thread of its own beside what Python and the device do: `get()` of the result
    waits and gives the tensor, `ready()` says whether it would wait. The elements are those of now: the array may change afterwards."""
    found, kind = host_values(values, dtype, "upload")
    return _core.start_upload(device or default_device(), kind, found.shape, found.reshape(-1).view(np.uint8))
