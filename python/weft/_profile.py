"""How long everything takes."""
from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import _core
from ._core import Device, functions
from ._device import default_device, has_default_device, set_default_device

__all__ = ["Profile", "profile", "profiled_device"]


def profiled_device(adapter: str | int | None = None, safe: bool = False) -> Device:
    """A device that times each kernel and what the host does: `weft.set_default_device(weft.profiled_device())` at the start of a program."""
    return _core.profiled_device("" if adapter is None else str(adapter), safe)


class Profile:
    """What profile() found: `table` is a text, `trace` is for Perfetto."""

    def __init__(self) -> None:
        self.table = ""
        self.trace = ""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the trace to a file that Perfetto opens."""
        Path(path).write_text(self.trace)

    def __str__(self) -> str:
        return self.table


@contextmanager
def profile(path: str | os.PathLike[str] | None = None, *, device: Device | None = None) -> Iterator[Profile]:
    """Times what is computed in a `with` block, on a device of profiled_device(): shows a table at the end, or writes a trace to a file. Where no
    device has been used so far, such a one is opened and is the default one from then on."""
    if device is None and not has_default_device():
        set_default_device(profiled_device())
    on = device or default_device()
    found = Profile()
    on.synchronize()
    try:
        _core.take_profile(on)  # what was before
    except ValueError:  # nothing yet, or a device that does not time what it does: it says so now, not behind the block
        functions.add(functions.zeros(1, device=on), 1.0).eval()
        on.synchronize()
        _core.take_profile(on)
    yield found
    try:
        found.table, found.trace = _core.take_profile(on)
    except ValueError:
        found.table, found.trace = "Nothing was computed.", '{"traceEvents": []}'
    if path is None:
        print(found.table)
    else:
        found.save(path)
