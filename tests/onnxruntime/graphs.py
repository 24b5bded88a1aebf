"""Random ONNX graphs, made node by node: ONNX Runtime's CPU computes each node as soon as it is chosen, so that shapes and elements are known."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime as ort
import wire
from wire import NUMBERS, attribute, graph, node, port, tensor

F32, F16, F64 = np.dtype(np.float32), np.dtype(np.float16), np.dtype(np.float64)
I64, I32, I16, I8 = (np.dtype(f"i{n}") for n in (8, 4, 2, 1))
U64, U32, U16, U8 = (np.dtype(f"u{n}") for n in (8, 4, 2, 1))
BOOL = np.dtype(np.bool_)
FLOATS, WHOLES, SMALL = [F32, F32, F32, F16], [I64, I32, U32, U8, I8], [U8, I8]
NUMERIC = [F32, F32, F16, I64, I32, U8, I8]
ANY = [*NUMERIC, BOOL, U32]
MOST = 1 << 14  # elements of a value
VERSIONS = [7, 8, 9, 10, 11, 12, 13, 13, 14, 15, 16, 17, 17, 18, 18, 19, 20, 20, 21, 21, 22, 23, 23]
MICROSOFT = "com.microsoft"
LEARNERS = "ai.onnx.ml"


@dataclass
class Value:
    name: str
    array: np.ndarray
    exact: bool  # multiples of 1/64 below 4096: rounding cannot decide which side of a step they are on
    wild: bool = False  # not to be computed with

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype


def is_exact(array: np.ndarray) -> bool:
    if array.dtype.kind != "f":
        return True
    scaled = array.astype(np.float64) * 64
    return bool(np.all(np.abs(scaled) < 1 << 18) and np.all(scaled == np.round(scaled)))


def plain(whole: bytes) -> ort.InferenceSession:
    """A session on the CPU that computes the nodes as they are."""
    chosen = ort.SessionOptions()
    chosen.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    chosen.intra_op_num_threads, chosen.log_severity_level = 1, 4
    return ort.InferenceSession(whole, chosen, providers=["CPUExecutionProvider"])


@dataclass
class Body:
    """A graph inside of a node, and the values of the graph around it that it reads."""

    data: bytes
    reads: list[Value]


class Maker:
    """A graph that grows."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self.opset = int(random.choice(VERSIONS))
        self.values: list[Value] = []
        self.nodes: list[bytes] = []
        self.constants: list[bytes] = []
        self.inputs: list[tuple[Value, bytes]] = []
        self.free: set[str] = set()  # inputs that may have other elements
        self.functions: list[bytes] = []
        self.named: set[str] = set()  # functions that are there once
        self.story: list[str] = []  # what was made, for messages
        self.refused: list[str] = []

    # Choices.
    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def whole(self, low: int, high: int) -> int:
        """A number from low up to and with high."""
        return int(self.random.integers(low, high + 1))

    def one(self, choices: Sequence) -> Any:
        return choices[int(self.random.integers(len(choices)))]

    def axis(self, rank: int) -> int:
        return self.whole(-rank, rank - 1) if rank else 0

    def axes(self, rank: int, least: int = 0) -> list[int]:
        chosen = self.random.permutation(rank)[:self.whole(min(least, rank), rank)]
        return [int(one) - (rank if self.chance(0.4) else 0) for one in chosen]

    def extents(self, low: int = 0, high: int = 4, most: int = 6) -> list[int]:
        out = [self.whole(1, most) for _ in range(self.whole(low, high))]
        if out and self.chance(0.04):
            out[self.whole(0, len(out) - 1)] = 0
        if out and self.chance(0.06):
            out[-1] = self.whole(20, 70)
        return out

    # Elements.
    def elements(self, dtype: np.dtype, shape: Sequence[int], low: float = -4, high: float = 4) -> np.ndarray:
        if dtype.kind == "b":
            return np.asarray(self.random.random(shape) < 0.5)
        if dtype.kind == "f":
            return np.asarray(np.round(self.random.uniform(low, high, shape) * 8) / 8).astype(dtype)
        if dtype.kind == "u":
            low = max(low, 0)
        if self.chance(0.15) and (low, high) in ((-4, 4), (0, 4)):
            info = np.iinfo(dtype)
            return np.asarray(self.random.choice(np.array([info.min, info.max, 0, 1, info.max - 1], dtype), shape))
        return np.asarray(self.random.integers(int(low), int(high) + 1, shape)).astype(dtype)

    def number(self) -> str:
        return f"v{len(self.values)}"

    def keep(self, value: Value) -> Value:
        self.values.append(value)
        return value

    def put(self, array: np.ndarray, constant: float = 0.4, free: bool = False) -> Value:
        """A new value: an input with extents that are fixed or named, a weight, or a constant of a node."""
        array = np.asarray(array)
        value = Value(self.number(), array, is_exact(array))
        if self.chance(constant):
            if self.chance(0.5):
                self.constants.append(tensor(value.name, array))
            else:
                self.nodes.append(node("Constant", [], [value.name], attribute("value", array)))
            return self.keep(value)
        named = self.chance(0.5)
        dims = [f"{value.name}_{d}" if named and self.chance(0.7) else extent for d, extent in enumerate(array.shape)]
        self.inputs.append((value, port(value.name, NUMBERS[array.dtype], dims)))
        if free:
            self.free.add(value.name)
        return self.keep(value)

    def fresh(self, dtype: np.dtype, shape: Sequence[int], low: float = -4, high: float = 4, constant: float = 0.25) -> Value:
        return self.put(self.elements(dtype, shape, low, high), constant, dtype.kind == "f")

    def listed(self, numbers: Sequence[int], dtype: np.dtype = I64) -> Value:
        """Numbers that shapes follow from: mostly constants, else inputs, or computed from the shapes of values."""
        array = np.array(numbers, dtype)
        if dtype == I64 and array.ndim == 1 and self.opset >= 13 and 0 < len(numbers) < 7 and self.chance(0.25):
            parts = []
            for one in numbers:
                where = [(v, d) for v in self.values for d, extent in enumerate(v.shape) if extent == one and not v.wild]
                if where and self.chance(0.8):
                    v, d = where[self.whole(0, len(where) - 1)]
                    shape = self.op("Shape", [v])
                    at = self.put(np.array([d], I64), 1.0)
                    cut = shape and self.op("Gather", [shape[0], at], axis=0)
                    if cut:
                        parts.append(cut[0])
                        continue
                parts.append(self.put(np.array([one], I64), 1.0))
            joined = self.op("Concat", parts, axis=0)
            if joined:
                return joined[0]
        return self.put(array, 0.8)

    def take(self, kinds: Sequence[np.dtype], low: int = 0, high: int = 4, test: Callable[[Value], bool] | None = None, exact: bool = False,
             make: Callable[[], Value] | None = None, again: float = 0.7) -> Value:
        """A value of the graph, or a new one."""
        fit = [v for v in self.values if not v.wild and v.dtype in kinds and low <= v.array.ndim <= high and (v.exact or not exact)
               and (test is None or test(v))]
        if fit and self.chance(again):
            return fit[max(self.whole(0, len(fit) - 1), self.whole(0, len(fit) - 1))]
        if make:
            return make()
        return self.fresh(self.one(kinds), self.extents(low, high))

    def like(self, value: Value, share: float = 0.6) -> Value:
        """One of the same type that broadcasts with it."""
        rank, shape = value.array.ndim, value.shape
        fit = [v for v in self.values if v.dtype == value.dtype and not v.wild and fits(v.shape, shape)]
        if fit and self.chance(share):
            return fit[self.whole(0, len(fit) - 1)]
        kept = list(shape[self.whole(0, rank):]) if rank and self.chance(0.4) else list(shape)
        kept = [1 if self.chance(0.25) else extent for extent in kept]
        if len(kept) == rank and rank < 4 and self.chance(0.1):
            kept.insert(0, self.whole(1, 3))
        return self.fresh(value.dtype, kept)

    # Nodes.
    def model(self, nodes: Sequence[bytes], inputs: Sequence[bytes], outputs: Sequence[bytes], constants: Sequence[bytes] = ()) -> bytes:
        sets = [(MICROSOFT, 1), (LEARNERS, 3), ("own", 1)]
        return wire.model(graph(nodes, inputs, outputs, constants), self.opset, sets) + b"".join(wire.text(25, one) for one in self.functions)

    def op(self, op: str, inputs: Sequence[Value | None], outputs: int | Sequence[bool] = 1, domain: str = "",
           **attributes: object) -> list[Value] | None:
        """Adds a node and gives its results; nothing where ONNX Runtime refuses it."""
        wanted = [True] * outputs if isinstance(outputs, int) else list(outputs)
        first = len(self.values)
        names = [f"v{first}_{k}" if on else "" for k, on in enumerate(wanted)]
        bodies = [one for one in attributes.values() if isinstance(one, Body)]
        written = [attribute(key, one.data if isinstance(one, Body) else one) for key, one in attributes.items() if one is not None]
        data = node(op, [one.name if one else "" for one in inputs], names, *written, domain=domain)
        reads = {one.name: one for one in [*(v for v in inputs if v), *(v for body in bodies for v in body.reads)]}
        told = {key: "a graph" if isinstance(one, Body) else one for key, one in attributes.items()}
        said = ", ".join(f"{one.dtype}{list(one.shape)}" if one else "-" for one in inputs)
        line = f"{op}({said}) {told} -> {[name for name in names if name]}, opset {self.opset}"
        try:
            known = {name: one for name, one in reads.items() if one.dtype == I64 and one.array.ndim < 2}
            open_ones = {name: one for name, one in reads.items() if name not in known}
            single = self.model([data], [port(name, NUMBERS[one.dtype], one.shape) for name, one in open_ones.items()],
                                [wire.text(1, name) for name in names if name], [tensor(name, one.array) for name, one in known.items()])
            results = plain(single).run(None, {name: one.array for name, one in open_ones.items()})
            results = [np.asarray(one) for one in results if isinstance(one, np.ndarray | np.generic)]
        except Exception as error:
            self.refused.append(f"{line}: {error}")
            return None
        if len(results) != sum(wanted) or any(one.dtype not in NUMBERS or one.size > MOST for one in results):
            return None
        self.nodes.append(data)
        self.story.append(line)
        made = iter(results)
        out = []
        for name in names:
            if not name:
                continue
            array = next(made)
            large = array.dtype.kind == "f" and array.size > 0 and not np.all(np.abs(array.astype(np.float64)) < 1e3)
            out.append(self.keep(Value(name, array, is_exact(array), bool(large))))
        return out

    def whole_model(self, results: Sequence[Value]) -> bytes:
        return self.model(self.nodes, [one for _, one in self.inputs], [wire.text(1, one.name) for one in results], self.constants)

    def given(self) -> dict[str, np.ndarray]:
        return {value.name: value.array for value, _ in self.inputs}

    def other(self) -> dict[str, np.ndarray]:
        """Other elements for the inputs that may have them."""
        return {value.name: self.elements(value.dtype, value.shape) if value.name in self.free else value.array for value, _ in self.inputs}


def fits(small: Sequence[int], large: Sequence[int]) -> bool:
    return len(small) <= len(large) and all(a in (1, b) for a, b in zip(reversed(small), reversed(large), strict=False))
