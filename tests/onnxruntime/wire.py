"""ONNX's files without its package: enough of the wire format to read tensors of test data and to write small models."""
from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

# Element types by their numbers; bfloat16 (16) has no type in numpy and is read as its bits.
TYPES: dict[int, type[np.generic]] = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_,
                                      10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64, 16: np.uint16}
BFLOAT16 = 16
NUMBERS = {np.dtype(kind): number for number, kind in TYPES.items() if number != BFLOAT16}


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message: their numbers, and numbers or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
            yield key >> 3, value
        elif key & 7 == 2:
            size, at = varint(data, at)
            yield key >> 3, data[at:at + size]
            at += size
        else:
            size = 8 if key & 7 == 1 else 4
            yield key >> 3, data[at:at + size]
            at += size


def part(data: bytes, number: int) -> bytes | None:
    """The last field of this number that has bytes."""
    found = [value for key, value in fields(data) if key == number and isinstance(value, bytes)]
    return found[-1] if found else None


def integers(value: int | bytes) -> list[int]:
    if isinstance(value, int):
        return [value]
    out, at = [], 0
    while at < len(value):
        one, at = varint(value, at)
        out.append(one)
    return out


def signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def read_tensor(data: bytes) -> tuple[np.ndarray, int]:
    """A tensor and the number of its type."""
    dims: list[int] = []
    kind, raw, numbers = 0, b"", []
    for key, value in fields(data):
        if key == 1:
            dims += [signed(one) for one in integers(value)]
        elif key == 2 and isinstance(value, int):
            kind = value
        elif key in (4, 9, 10) and isinstance(value, bytes):
            raw += value
        elif key in (5, 7, 11):
            numbers += [signed(one) for one in integers(value)]
    if kind not in TYPES:
        raise ValueError(f"elements of type {kind}")
    dtype = np.dtype(TYPES[kind])
    if numbers:
        bits = [one & ((1 << 8 * dtype.itemsize) - 1) for one in numbers]
        return np.array(bits, dtype=f"u{dtype.itemsize}").view(dtype).reshape(dims), kind
    return np.frombuffer(raw, dtype).reshape(dims), kind


def ports(model: Path, number: int) -> list[tuple[str, int]]:
    """Names and element types of a model's inputs (11) or results (12); type 0 for what is not a tensor."""
    graph = part(model.read_bytes(), 7) or b""
    out = []
    for key, value in fields(graph):
        if key == number and isinstance(value, bytes):
            kind = part(part(value, 2) or b"", 1)
            elements = next((one for field, one in fields(kind) if field == 1 and isinstance(one, int)), 0) if kind else 0
            out.append(((part(value, 1) or b"").decode(), elements))
    return out


def digits(value: int) -> bytes:
    rest = value & ((1 << 64) - 1)
    out = bytearray()
    while rest >= 0x80:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*out, rest])


def number(field: int, value: int) -> bytes:
    return digits(field << 3) + digits(value)


def text(field: int, value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return digits(field << 3 | 2) + digits(len(data)) + data


def tensor(name: str, values: np.ndarray) -> bytes:
    dims = b"".join(number(1, extent) for extent in values.shape)
    return dims + number(2, NUMBERS[values.dtype]) + text(8, name) + text(9, values.tobytes())


def port(name: str, kind: int, dims: Sequence[int | str] | None) -> bytes:
    shape = b"" if dims is None else text(2, b"".join(text(1, text(2, one) if isinstance(one, str) else number(1, one)) for one in dims))
    return text(1, name) + text(2, text(1, number(1, kind) + shape))


def attribute(name: str, value: int | float | str | Sequence[int] | Sequence[float] | Sequence[str] | bytes | np.ndarray) -> bytes:
    """A field of a node. Bytes are a graph, an array is a tensor."""
    if isinstance(value, bytes):
        body = text(6, value) + number(20, 5)
    elif isinstance(value, np.ndarray):
        body = text(5, tensor("", value)) + number(20, 4)
    elif isinstance(value, float):
        body = digits(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    elif isinstance(value, int):
        body = number(3, value) + number(20, 2)
    elif isinstance(value, str):
        body = text(4, value) + number(20, 3)
    elif value and isinstance(value[0], str):
        body = b"".join(text(9, one) for one in value) + number(20, 8)  # type: ignore[arg-type]
    elif value and isinstance(value[0], float):
        body = b"".join(digits(7 << 3 | 5) + struct.pack("<f", one) for one in value) + number(20, 6)
    else:
        body = b"".join(number(8, one) for one in value) + number(20, 7)  # type: ignore[arg-type]
    return text(5, text(1, name) + body)


def node(op: str, inputs: Sequence[str], outputs: Sequence[str], *attributes: bytes, domain: str = "") -> bytes:
    return (b"".join(text(1, one) for one in inputs) + b"".join(text(2, one) for one in outputs) + text(3, f"{op} of {outputs[0]}") + text(4, op)
            + b"".join(attributes) + (text(7, domain) if domain else b""))


def graph(nodes: Sequence[bytes], inputs: Sequence[bytes], outputs: Sequence[bytes], constants: Sequence[bytes] = ()) -> bytes:
    return (b"".join(text(1, one) for one in nodes) + text(2, "graph") + b"".join(text(5, one) for one in constants)
            + b"".join(text(11, one) for one in inputs) + b"".join(text(12, one) for one in outputs))


def model(whole: bytes, opset: int = 21, more: Sequence[tuple[str, int]] = ()) -> bytes:
    sets = b"".join(text(8, text(1, domain) + number(2, version)) for domain, version in [("", opset), *more])
    return number(1, 10) + text(7, whole) + sets
