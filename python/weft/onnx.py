"""Models in ONNX files: `weft.onnx.load("model.onnx").run({"x": x})`."""
from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import _core
from ._core import Device, Tensor
from ._device import default_device

__all__ = ["Model", "Port", "load"]


@dataclass(frozen=True)
class Port:
    """An input or a result of a model. Extents are numbers, names that stand for one, or None; without a shape the file says none."""

    name: str
    type: str
    shape: tuple[int | str | None, ...] | None
    optional: bool


class Model:
    """A model, ready to run; it is compiled once for each set of shapes."""

    def __init__(self, model: _core.OnnxModel) -> None:
        self._model = model
        self.inputs = [Port(*port) for port in model.inputs()]
        self.outputs = [Port(*port) for port in model.outputs()]
        self.opsets = model.opsets()
        self.operations = model.operations()
        self.unsupported = model.unsupported()

    def shapes(self) -> dict[str, Port]:
        """The types and shapes of all values of the graph by name. Extents that follow from those that inputs leave open are formulas of their names:
        "batch", "2*sequence + 1". Nothing is computed."""
        return {name: Port(*port) for name, port in self._model.shapes().items()}

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Tensor]:
        """The results by name, of inputs by name."""
        return self._model.run(dict(inputs))

    def report(self) -> dict[str, Any]:
        """How the last call went: whether the whole graph was replayed, and if not, why."""
        return self._model.report()

    def dot(self) -> str:
        """The graph that was compiled last, in the DOT language."""
        return self._model.dot()

    def __repr__(self) -> str:
        names = ", ".join(p.name for p in self.inputs)
        return f"Model(inputs: {names}; outputs: {', '.join(p.name for p in self.outputs)}; {sum(self.operations.values())} operations)"


def load(source: str | os.PathLike[str] | bytes, *, device: Device | None = None) -> Model:
    """Reads a model from a file, or from bytes."""
    on = device or default_device()
    if isinstance(source, bytes):
        return Model(_core.load_onnx_bytes(on, source))
    if not os.path.exists(source):
        raise FileNotFoundError(f"onnx.load(): there is no file {os.fspath(source)}.")
    return Model(_core.load_onnx(on, os.fspath(source)))
