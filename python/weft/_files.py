"""Files of tensors, and kernels of one's own."""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

from . import _core
from ._core import Device, Tensor
from ._device import default_device
from ._types import wholes

__all__ = ["Kernel", "load", "save"]


def save(path: str | os.PathLike[str], tensors: Mapping[str, Any], texts: Mapping[str, str] | None = None) -> None:
    """Writes tensors by name, and texts beside them, to a file whose name ends with ".safetensors" or ".gguf"."""
    if not isinstance(tensors, Mapping):
        raise TypeError(f"save() needs a dict of tensors by name; it was given a {type(tensors).__name__}.")
    _core.save(os.fspath(path), dict(tensors), dict(texts or {}))


@overload
def load(path: str | os.PathLike[str], *, with_texts: Literal[False] = ..., device: Device | None = None) -> dict[str, Tensor]: ...
@overload
def load(path: str | os.PathLike[str], *, with_texts: Literal[True], device: Device | None = None) -> tuple[dict[str, Tensor], dict[str, str]]: ...
def load(path: str | os.PathLike[str], *, with_texts: bool = False, device: Device | None = None) -> Any:
    """Reads the tensors of a safetensors or GGUF file by name; quantized ones stay as they are. With `with_texts` its texts too."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"load(): there is no file {os.fspath(path)}.")
    found, texts = _core.load(device or default_device(), os.fspath(path))
    return (found, texts) if with_texts else found


class Kernel:
    """A WGSL kernel of one's own. Tensors are bound as @group(0) @binding(0), (1), … in the order of the call; scalars follow in a uniform."""

    def __init__(self, wgsl: str, *, writes: Sequence[bool], entry: str = "main", label: str = "user kernel", scalars: int = 0,
                 constants: Mapping[str, float] | None = None, device: Device | None = None) -> None:
        self._kernel = _core.kernel(device or default_device(), wgsl, list(writes), entry, label, scalars, list((constants or {}).items()))

    def __call__(self, tensors: Sequence[Tensor], workgroups: int | Sequence[int], scalars: Sequence[int] = ()) -> None:
        """Runs the kernel. `writes` said which of the tensors it changes: these must have been computed (eval())."""
        self._kernel.run(list(tensors), wholes(workgroups), list(scalars))
