"""The default device: where tensors are made when none is named."""
from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from . import _core
from ._core import Device

__all__ = ["default_device", "keep", "on", "set_default_device"]

_lock = threading.Lock()
_process: Device | None = None


@atexit.register
def _finish() -> None:
    """Lets a wait that was interrupted come to its end before the device is gone."""
    if _process is not None:
        try:
            _process.synchronize()
        except (RuntimeError, ValueError):
            pass  # the device was lost, or this is a fork of its process; whoever used it has been told


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_core.left_by_fork)


class _Threads(threading.local):
    def __init__(self) -> None:
        self.stack: list[Device] = []


_threads = _Threads()


def default_device() -> Device:
    """The device that tensors are made on when none is named: that of the innermost `with device:` of this thread, that of
    set_default_device(), or the best adapter of this machine, which is opened when it is first needed."""
    global _process
    if _threads.stack:
        return _threads.stack[-1]
    if _process is None:
        with _lock:
            if _process is None:
                _process = Device()
    return _process


def has_default_device() -> bool:
    """Whether default_device() has one to give without opening it."""
    return bool(_threads.stack) or _process is not None


def set_default_device(device: Device | str | int) -> None:
    """Makes a device the default one of all threads; a text or a number names an adapter."""
    global _process
    _process = device if isinstance(device, Device) else Device(device)


@contextmanager
def on(device: Device | str | int) -> Iterator[Device]:
    """`with weft.on("llvmpipe"):` opens an adapter and makes it the default one of this thread."""
    with device if isinstance(device, Device) else Device(device) as opened:
        yield opened


def keep(x: Any) -> None:
    """Keeps a copy of a tensor's elements in the host's memory, with which recovering a lost device brings it back. Keeping a
    variable again replaces them."""
    _core.keep(x)


def _enter(self: Device) -> Device:
    _threads.stack.append(self)
    return self


def _exit(self: Device, *_: Any) -> None:
    _threads.stack.pop()


def _recover(self: Device) -> None:
    from . import random  # which imports this module

    was_lost = _core.is_lost(self)
    try:
        _core.recover(self)
    finally:
        if was_lost and not _core.is_lost(self):
            random.after_loss(self)


def _repr(self: Device) -> str:
    return f"Device({self.name!r})"


Device.__enter__ = _enter  # type: ignore[method-assign]
Device.__exit__ = _exit  # type: ignore[method-assign]
Device.__repr__ = _repr  # type: ignore[method-assign,assignment]
Device.is_lost = property(lambda self: _core.is_lost(self))  # type: ignore[assignment]
Device.recover = _recover  # type: ignore[method-assign]
Device.recover_automatically = lambda self: _core.recover_automatically(self)  # type: ignore[method-assign]
Device.set_watchdog = lambda self, seconds: _core.set_watchdog(self, seconds)  # type: ignore[method-assign]
