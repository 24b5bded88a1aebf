#!/usr/bin/env python3
"""Networks of known shapes as ONNX files with random weights in f16: onnx_models.py FOLDER [BATCH…] writes them all.

Needs nothing but Python itself, so that it runs on any machine. ResNet-50 and MobileNetV3-Large have their norms folded into the
convolutions, as exporters do it; BERT-base takes 128 tokens, ViT-B/16 a picture of 224 x 224.
"""
import math
import random
import struct
import sys
from dataclasses import dataclass, field
from pathlib import Path

F16, I64 = 10, 7


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(key: int, value: int) -> bytes:
    return varint(key << 3) + varint(value)


def text(key: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(key << 3 | 2) + varint(len(data)) + data


@dataclass
class Tensor:
    kind: int
    dims: list[int]
    data: bytes


@dataclass
class Node:
    op: str
    inputs: list[str]
    output: str
    attributes: dict[str, int | float | list[int]]


@dataclass
class Graph:
    """A network while it is put together."""
    name: str
    inputs: dict[str, tuple[int, list[int]]] = field(default_factory=dict)
    weights: dict[str, Tensor] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    output: str = ""
    draw: random.Random = field(default_factory=lambda: random.Random(7))

    def weight(self, *dims: int, fan_in: int = 0) -> str:
        """Random numbers of about 1/sqrt(fan_in), both signs."""
        exponent = 15 - round(math.log2(fan_in or math.prod(dims[1:]) or 1) / 2)
        table = bytes(byte & 0x83 | exponent << 2 for byte in range(256))
        data = bytearray(self.draw.randbytes(2 * math.prod(dims)))
        data[1::2] = data[1::2].translate(table)
        return self.constant(F16, list(dims), bytes(data))

    def constant(self, kind: int, dims: list[int], data: bytes) -> str:
        name = f"w{len(self.weights)}"
        self.weights[name] = Tensor(kind, dims, data)
        return name

    def half(self, value: float) -> str:
        return self.constant(F16, [], struct.pack("<e", value))

    def halves(self, count: int, value: float) -> str:
        return self.constant(F16, [count], struct.pack("<e", value) * count)

    def longs(self, *values: int) -> str:
        return self.constant(I64, [len(values)], struct.pack(f"<{len(values)}q", *values))

    def add(self, op: str, *inputs: str, **attributes: int | float | list[int]) -> str:
        self.output = f"v{len(self.nodes)}"
        self.nodes.append(Node(op, list(inputs), self.output, attributes))
        return self.output

    def conv(self, x: str, into: int, out: int, size: int, stride: int = 1, group: int = 1) -> str:
        side = (size - 1) // 2
        return self.add("Conv", x, self.weight(out, into // group, size, size), self.weight(out, fan_in=4096), kernel_shape=[size, size],
                        strides=[stride, stride], pads=[side] * 4, group=group)

    def linear(self, x: str, into: int, out: int) -> str:
        return self.add("Add", self.add("MatMul", x, self.weight(into, out, fan_in=into)), self.weight(out, fan_in=4096))

    def norm(self, x: str, width: int) -> str:
        return self.add("LayerNormalization", x, self.halves(width, 1), self.halves(width, 0), axis=-1, epsilon=1e-5)


def attention(g: Graph, x: str, batch: int, tokens: int, width: int, heads: int) -> str:
    def split(y: str, *order: int) -> str:
        return g.add("Transpose", g.add("Reshape", y, g.longs(batch, tokens, heads, width // heads)), perm=list(order))

    q, k, v = (g.linear(x, width, width) for _ in range(3))
    scores = g.add("MatMul", split(q, 0, 2, 1, 3), split(k, 0, 2, 3, 1))
    share = g.add("Softmax", g.add("Div", scores, g.half(math.sqrt(width // heads))), axis=-1)
    mixed = g.add("Transpose", g.add("MatMul", share, split(v, 0, 2, 1, 3)), perm=[0, 2, 1, 3])
    return g.linear(g.add("Reshape", mixed, g.longs(batch, tokens, width)), width, width)


def gelu(g: Graph, x: str) -> str:
    part = g.add("Add", g.add("Erf", g.add("Div", x, g.half(math.sqrt(2)))), g.half(1))
    return g.add("Mul", g.add("Mul", x, part), g.half(0.5))


def resnet50(batch: int) -> Graph:
    g = Graph("ResNet-50", {"x": (F16, [batch, 3, 224, 224])})
    x = g.add("Relu", g.conv("x", 3, 64, 7, 2))
    x = g.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    into = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            step = stride if block == 0 else 1
            y = g.add("Relu", g.conv(x, into, width, 1))
            y = g.add("Relu", g.conv(y, width, width, 3, step))
            y = g.conv(y, width, 4 * width, 1)
            side = g.conv(x, into, 4 * width, 1, step) if block == 0 else x
            x = g.add("Relu", g.add("Add", y, side))
            into = 4 * width
    x = g.add("Flatten", g.add("GlobalAveragePool", x), axis=1)
    g.add("Gemm", x, g.weight(1000, 2048), g.weight(1000, fan_in=4096), transB=1)
    return g


# Kernel, width inside, width out, squeeze-and-excitation, hard swish, stride.
MOBILE = [(3, 16, 16, 0, 0, 1), (3, 64, 24, 0, 0, 2), (3, 72, 24, 0, 0, 1), (5, 72, 40, 1, 0, 2), (5, 120, 40, 1, 0, 1), (5, 120, 40, 1, 0, 1),
          (3, 240, 80, 0, 1, 2), (3, 200, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1), (3, 480, 112, 1, 1, 1), (3, 672, 112, 1, 1, 1),
          (5, 672, 160, 1, 1, 2), (5, 960, 160, 1, 1, 1), (5, 960, 160, 1, 1, 1)]


def mobilenet(batch: int) -> Graph:
    g = Graph("MobileNetV3-Large", {"x": (F16, [batch, 3, 224, 224])})
    x, into = g.add("HardSwish", g.conv("x", 3, 16, 3, 2)), 16
    for size, inside, out, squeeze, swish, stride in MOBILE:
        act = "HardSwish" if swish else "Relu"
        y = g.add(act, g.conv(x, into, inside, 1)) if inside != into else x
        y = g.add(act, g.conv(y, inside, inside, size, stride, inside))
        if squeeze:
            less = (inside // 4 + 4) // 8 * 8
            s = g.add("Relu", g.conv(g.add("GlobalAveragePool", y), inside, less, 1))
            y = g.add("Mul", y, g.add("HardSigmoid", g.conv(s, less, inside, 1), alpha=1 / 6, beta=0.5))
        y = g.conv(y, inside, out, 1)
        x, into = g.add("Add", x, y) if stride == 1 and into == out else y, out
    x = g.add("HardSwish", g.conv(x, into, 960, 1))
    x = g.add("Flatten", g.add("GlobalAveragePool", x), axis=1)
    x = g.add("HardSwish", g.add("Gemm", x, g.weight(1280, 960), g.weight(1280, fan_in=4096), transB=1))
    g.add("Gemm", x, g.weight(1000, 1280), g.weight(1000, fan_in=4096), transB=1)
    return g


def bert(batch: int) -> Graph:
    tokens, width = 128, 768
    g = Graph("BERT-base", {"ids": (I64, [batch, tokens])})
    x = g.add("Add", g.add("Gather", g.weight(30522, width), "ids", axis=0), g.weight(tokens, width))
    x = g.norm(x, width)
    for _ in range(12):
        x = g.norm(g.add("Add", attention(g, x, batch, tokens, width, 12), x), width)
        y = g.linear(gelu(g, g.linear(x, width, 4 * width)), 4 * width, width)
        x = g.norm(g.add("Add", y, x), width)
    return g


def vit(batch: int) -> Graph:
    tokens, width = 197, 768
    g = Graph("ViT-B/16", {"x": (F16, [batch, 3, 224, 224])})
    x = g.add("Conv", "x", g.weight(width, 3, 16, 16), g.weight(width, fan_in=4096), kernel_shape=[16, 16], strides=[16, 16], pads=[0] * 4, group=1)
    x = g.add("Transpose", g.add("Reshape", x, g.longs(batch, width, tokens - 1)), perm=[0, 2, 1])
    first = g.add("Expand", g.weight(1, 1, width), g.longs(batch, 1, width))
    x = g.add("Add", g.add("Concat", first, x, axis=1), g.weight(1, tokens, width))
    for _ in range(12):
        x = g.add("Add", attention(g, g.norm(x, width), batch, tokens, width, 12), x)
        y = g.linear(gelu(g, g.linear(g.norm(x, width), width, 4 * width)), 4 * width, width)
        x = g.add("Add", y, x)
    x = g.add("Gather", g.norm(x, width), g.constant(I64, [], struct.pack("<q", 0)), axis=1)
    g.add("Gemm", x, g.weight(1000, width), g.weight(1000, fan_in=4096), transB=1)
    return g


NETWORKS = {"resnet50": resnet50, "mobilenetv3": mobilenet, "bert-base": bert, "vit-b-16": vit}


def encoded(g: Graph) -> bytes:
    def attribute(name: str, value: int | float | list[int]) -> bytes:
        if isinstance(value, list):
            return text(1, name) + b"".join(number(8, one) for one in value) + number(20, 7)
        if isinstance(value, float):
            return text(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
        return text(1, name) + number(3, value) + number(20, 2)

    def port(name: str, kind: int, dims: list[int] | None) -> bytes:
        shape = b"" if dims is None else text(2, b"".join(text(1, number(1, extent)) for extent in dims))
        return text(1, name) + text(2, text(1, number(1, kind) + shape))

    body = [text(1, b"".join(text(1, one) for one in node.inputs) + text(2, node.output) + text(4, node.op) +
                 b"".join(text(5, attribute(*one)) for one in node.attributes.items())) for node in g.nodes]
    body += [text(2, g.name)]
    body += [text(5, b"".join(number(1, extent) for extent in one.dims) + number(2, one.kind) + text(8, name) + text(9, one.data))
             for name, one in g.weights.items()]
    body += [text(11, port(name, kind, dims)) for name, (kind, dims) in g.inputs.items()]
    body += [text(12, port(g.output, F16, None))]
    return number(1, 8) + text(2, "weft") + text(7, b"".join(body)) + text(8, number(2, 17))


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for batch in [int(one) for one in sys.argv[2:]] or [1, 16]:
        for name, make in NETWORKS.items():
            (folder / f"{name}-{batch}.onnx").write_bytes(encoded(make(batch)))


if __name__ == "__main__":
    main()
