"""Operations of the domain com.microsoft, for which ONNX has no tests: Weft against ONNX Runtime's CPU."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from provider import floats, on_cpu, on_weft, same
from wire import NUMBERS, attribute, graph, model, node, port, tensor

FLOAT, BYTE, SIGNED, INT, HALF = 1, 2, 3, 6, 10
STEP = 1.001  # of whole numbers: a last bit decides which of two neighbours is nearer
RANDOM = np.random.default_rng(11)


@dataclass
class Case:
    op: str
    inputs: Sequence[np.ndarray | None]  # None: left out
    attributes: dict[str, int | float | str | list[int] | list[float] | list[str] | np.ndarray] = field(default_factory=dict)
    outputs: Sequence[int] = (FLOAT,)  # element types; 0: left out
    constants: Sequence[int] = ()  # inputs whose elements are in the model
    tolerance: float = 1e-5
    domain: str = "com.microsoft"
    # What must come out, where ONNX Runtime's CPU does not know the operation: as numbers, or as another case that it knows.
    expected: Callable[[], Sequence[np.ndarray]] | None = None
    free: bool = False  # Extents of inputs have names: ONNX Runtime infers nothing from them.
    opset: int = 17
    valid: Callable[[list[np.ndarray]], Sequence[np.ndarray]] | None = None  # What of the results is anybody's promise.

    def check(self) -> None:
        given = self.given()
        must = self.expected() if self.expected else on_cpu(self.model(), given)
        found = on_weft(self.model()).run(None, given)
        if self.valid:
            must, found = self.valid(list(must)), self.valid(found)
        for got, wanted in zip(found, must, strict=True):
            same(got, wanted, self.tolerance)

    def names(self) -> list[str]:
        return ["" if value is None else f"x{i}" for i, value in enumerate(self.inputs)]

    def given(self) -> dict[str, np.ndarray]:
        return {name: value for i, (name, value) in enumerate(zip(self.names(), self.inputs, strict=True))
                if value is not None and i not in self.constants}

    def on_cpu(self) -> list[np.ndarray]:
        return on_cpu(self.model(), self.given())

    def model(self) -> bytes:
        names, results = self.names(), [f"y{i}" if kind else "" for i, kind in enumerate(self.outputs)]

        def extents(name: str, value: np.ndarray) -> list[int | str]:
            return [f"{name}{d}" if self.free else extent for d, extent in enumerate(value.shape)]

        body = graph([node(self.op, names, results, *[attribute(*one) for one in self.attributes.items()], domain=self.domain)],
                     [port(name, NUMBERS[value.dtype], extents(name, value)) for name, value in self.given().items()],
                     [port(name, kind, None) for name, kind in zip(results, self.outputs, strict=True) if kind],
                     [tensor(names[i], self.inputs[i]) for i in self.constants])  # type: ignore[arg-type]
        return model(body, self.opset, [("com.microsoft", 1), ("ai.onnx.ml", 3)])


def whole(low: int, high: int, kind: type[np.generic], *shape: int) -> np.ndarray:
    return RANDOM.integers(low, high, shape).astype(kind)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def cache(length: int, pairs: int) -> list[np.ndarray]:
    angles = np.arange(length)[:, None] / 10.0 ** (np.arange(pairs) / pairs)
    return [np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)]


def halves(*shape: int) -> np.ndarray:
    return floats(*shape).astype(np.float16)


def scale(value: float) -> np.ndarray:
    return np.array(value, np.float32)


def zero(value: int, kind: type[np.generic] = np.uint8) -> np.ndarray:
    return np.array(value, kind)


def bytes_of(*shape: int) -> np.ndarray:
    return whole(0, 256, np.uint8, *shape)


def signed(*shape: int) -> np.ndarray:
    return whole(-128, 128, np.int8, *shape)


def one_by_one(op: str, **attributes: int | float | str | list[int]) -> Callable[[], Case]:
    """An operation on bytes with a scale and a zero point, which gives bytes with others."""
    return lambda: Case(op, [bytes_of(2, 3, 8, 6), scale(0.0213), zero(121), scale(0.0177), zero(99)], attributes, (BYTE,), (1, 2, 3, 4), STEP)


def two_by_two(op: str, left: np.ndarray, right: np.ndarray) -> Callable[[], Case]:
    kind = left.dtype.type
    return lambda: Case(op, [left, scale(0.0123), zero(7, kind), right, scale(0.0231), zero(20, kind), scale(0.0317), zero(11, kind)], {},
                        (NUMBERS[left.dtype],), (1, 2, 4, 5, 6, 7), STEP)


def nbits(rows: int, depth: int, columns: int, block: int, bits: int, kind: type[np.floating], zeros: str = "", order: bool = False,
          tolerance: float = 1e-4) -> Callable[[], Case]:
    """MatMulNBits, with zero points that are all the default, or others, or floats, and an order of groups."""
    def made() -> Case:
        blocks = (depth + block - 1) // block
        scales = (RANDOM.random(columns * blocks) * 0.1 + 0.01).astype(kind)
        each = (blocks * bits + 7) // 8
        points = {"": None, "default": np.full(columns * each, 0x88 if bits == 4 else 0x80, np.uint8), "whole": bytes_of(columns * each),
                  "floats": (RANDOM.random(columns * blocks) * 16).astype(kind)}[zeros]
        groups = RANDOM.integers(0, blocks, blocks * block).astype(np.int32) if order else None
        constants = [1, 2, *([3] if points is not None else []), *([4] if order else [])]
        return Case("MatMulNBits", [floats(rows, depth).astype(kind), bytes_of(columns, blocks, block * bits // 8), scales, points, groups],
                    {"K": depth, "N": columns, "bits": bits, "block_size": block}, (NUMBERS[np.dtype(kind)],), constants, tolerance)
    return made


def ordered(case: Case) -> Case:
    """With what the operation says of zero points that an order of groups chooses; ONNX Runtime's CPU reads other ones."""
    x, weight, scales, points, groups = [value for value in case.inputs if value is not None]
    rows = len(weight)
    numbers, zeros = (np.stack([one & 15, one >> 4], -1).reshape(rows, -1).astype(np.float32) for one in (weight, points))
    case.expected = lambda: [x @ ((numbers - zeros[:, groups]) * scales.reshape(rows, -1)[:, groups]).T]
    return case


def packed_attention(parts: int) -> Case:
    """Queries, keys and values in one tensor, or keys and values in one, which ONNX Runtime's CPU takes one by one."""
    each = [floats(2, 4, 3, 8) for _ in range(3)]
    flat = [one.reshape(2, 4, 24) for one in each]
    bias = floats(72)
    apart = Case("MultiHeadAttention", [*flat, bias], {"num_heads": 3})
    packed = [np.stack(each, 3), None, None] if parts == 3 else [flat[0], np.stack(each[1:], 3), None]
    return Case("MultiHeadAttention", [*packed, bias], {"num_heads": 3}, expected=apart.on_cpu)


def attention_of_tokens(packed: bool) -> Case:
    """Three sequences of 1, 2 and 4 tokens without their padding."""
    where, ends = ints(0, 4, 5, 8, 9, 10, 11, 1, 2, 3, 6, 7).reshape(3, 4), ints(0, 1, 3, 7)
    tokens, bias = [floats(7, 12) for _ in range(3)], floats(36)

    def padded(x: np.ndarray) -> np.ndarray:
        out = np.zeros((12, 12), np.float32)
        out[where.ravel()[:7]] = x
        return out.reshape(3, 4, 12)

    def expected() -> list[np.ndarray]:
        whole = Case("MultiHeadAttention", [*map(padded, tokens), bias, ints(1, 2, 4)], {"num_heads": 3})
        return [whole.on_cpu()[0].reshape(12, 12)[where.ravel()[:7]]]

    given = [np.stack([one.reshape(7, 3, 4) for one in tokens], 2), None, None] if packed else tokens
    return Case("PackedMultiHeadAttention", [*given, bias, where, ends], {"num_heads": 3}, expected=expected)


def group_norm(skip: bool, last: bool, kind: type[np.floating] = np.float32) -> Case:
    x, gamma, beta, bias = floats(2, 4, 5, 8).astype(kind), floats(8), floats(8), floats(8).astype(kind)
    more = floats(2, 8).astype(kind)

    def expected() -> list[np.ndarray]:
        total = x.astype(np.float64) + (more[:, None, None] + bias if skip else 0)
        groups = total.reshape(2, 20, 4, 2)
        mean, spread = groups.mean((1, 3), keepdims=True), groups.var((1, 3), keepdims=True)
        y = ((groups - mean) / np.sqrt(spread + 1e-5)).reshape(total.shape) * gamma + beta
        return [laid(one).astype(kind) for one in ([y / (1 + np.exp(-y)), total] if skip else [y])]

    def laid(one: np.ndarray) -> np.ndarray:
        return one if last else np.ascontiguousarray(np.moveaxis(one, 3, 1))

    number = NUMBERS[np.dtype(kind)]
    inputs, results = ([laid(x), gamma, beta, more, bias], (number, number)) if skip else ([laid(x), gamma, beta], (number,))
    return Case("SkipGroupNorm" if skip else "GroupNorm", inputs, {"groups": 4, "activation": int(skip), "channels_last": int(last)}, results,
                tolerance=1e-5 if kind is np.float32 else 4e-3, expected=expected)


def nhwc_conv(groups: int) -> Case:
    x, w, bias = floats(1, 7, 6, 4), floats(8, 3, 2, 4 // groups), floats(8)
    shape: dict[str, int | float | str | list[int]] = {"pads": [1, 0, 1, 1], "strides": [2, 1], "group": groups}

    def expected() -> list[np.ndarray]:
        first = [np.ascontiguousarray(np.moveaxis(one, 3, 1)) for one in (x, w)]
        return [np.moveaxis(Case("Conv", [*first, bias], shape, domain="").on_cpu()[0], 1, 3)]

    # ONNX Runtime infers the extents of the result as if channels came first.
    return Case("NhwcConv", [x, w, bias], shape, constants=(1, 2), expected=expected, free=True)


def gather_blocks(at: np.ndarray, zeros: bool, bits: int = 4) -> Case:
    """Rows of a table of packed bytes."""
    table, blocks = bytes_of(9, 64 * bits // 8), 64 // 16
    points = [bytes_of(9, blocks * bits // 8)] if zeros else []
    return Case("GatherBlockQuantized", [table, at, floats(9, blocks), *points], {"bits": bits, "block_size": 16, "quantize_axis": 1, "gather_axis": 0},
                constants=(0, 2, *([3] if zeros else [])))


def lstm(columns: bool, direction: str = "forward") -> Case:
    """Close to what it approximates: ONNX Runtime quantizes its values as they go, which Weft does not."""
    n, inputs, hidden = (2 if direction == "bidirectional" else 1), 8, 16
    shape = (n, 4 * hidden) if columns else (n,)
    scales = [np.full(shape, one, np.float32) for one in (0.004, 0.003)]
    zeros = [np.full(shape, 0, np.int8)] * 2
    return Case("DynamicQuantizeLSTM", [floats(5, 2, inputs), signed(n, inputs, 4 * hidden), signed(n, hidden, 4 * hidden), floats(n, 8 * hidden), None,
                                        None, None, None, scales[0], zeros[0], scales[1], zeros[1]],
                {"hidden_size": hidden, "direction": direction}, (FLOAT, FLOAT, FLOAT), (1, 2, 8, 9, 10, 11), 0.03)


def embed(segments: bool, mask: bool, places: bool) -> Case:
    return Case("EmbedLayerNormalization", [
        whole(0, 20, np.int32, 2, 5), whole(0, 2, np.int32, 2, 5) if segments else None, floats(20, 16), floats(8, 16),
        floats(2, 16) if segments else None, floats(16), floats(16), np.array([[1] * 5, [1, 1, 1, 0, 0]], np.int32) if mask else None,
        whole(0, 8, np.int32, 2, 5) if places else None], {"epsilon": 1e-6}, (FLOAT, INT, FLOAT))


def bias_softmax(inner: int) -> Case:
    x, bias = floats(2, 3, 4, 5), floats(2, 1, 1, 5) if inner else floats(4, 5)

    def expected() -> list[np.ndarray]:
        powers = np.exp((x + bias).astype(np.float64))
        return [(powers / powers.sum((2, 3) if not inner else 3, keepdims=True)).astype(np.float32)]

    return Case("BiasSoftmax", [x, bias.reshape(2, 1, 5) if inner else bias], {"axis": 3 if inner else 2, "is_inner_broadcast": inner}, expected=expected)


def relative_bias(both_ways: int) -> Case:
    """T5's biases, by its own formula."""
    table, queries, keys = floats(16, 3), 6, 30

    def expected() -> list[np.ndarray]:
        way = np.arange(keys)[None, :] - np.arange(queries)[:, None]
        places, start = (8, (way > 0) * 8) if both_ways else (16, 0)
        way = np.abs(way) if both_ways else -np.minimum(way, 0)
        near = places // 2
        with np.errstate(divide="ignore", invalid="ignore"):
            far = near + (np.log(way / near) / np.log(20 / near) * (places - near)).astype(np.int64)
        return [table[start + np.where(way < near, way, np.minimum(far, places - 1))].transpose(2, 0, 1)[None]]

    return Case("RelativePositionBias", [table, np.array([queries]), np.array([keys])], {"max_distance": 20, "is_bidirectional": both_ways}, constants=(1, 2),
                expected=expected)


CASES: dict[str, Callable[[], Case]] = {
    "bias_gelu": lambda: Case("BiasGelu", [floats(3, 5, 7), floats(7)]),
    "gelu": lambda: Case("Gelu", [floats(3, 7)]),
    "fast_gelu": lambda: Case("FastGelu", [floats(3, 7), floats(7)]),
    "fast_gelu_without_bias": lambda: Case("FastGelu", [floats(3, 7)]),
    "quick_gelu": lambda: Case("QuickGelu", [floats(3, 7)], {"alpha": 1.5}),
    "skip_layer_norm": lambda: Case("SkipLayerNormalization", [floats(2, 3, 16), floats(2, 3, 16), floats(16), floats(16), floats(16)],
                                    {"epsilon": 1e-5}, (FLOAT, 0, 0, FLOAT)),
    "skip_layer_norm_plain": lambda: Case("SkipLayerNormalization", [floats(2, 3, 9), floats(2, 3, 9), floats(9)], {"epsilon": 1e-5}),
    "skip_simplified": lambda: Case("SkipSimplifiedLayerNormalization", [floats(2, 3, 16), floats(2, 3, 16), floats(16), floats(16)],
                                    {"epsilon": 1e-5}, (FLOAT, 0, 0, FLOAT)),
    "simplified_layer_norm": lambda: Case("SimplifiedLayerNormalization", [floats(4, 12), floats(12)], {"axis": -1, "epsilon": 1e-5}, domain=""),
    "rotary": lambda: Case("RotaryEmbedding", [floats(2, 4, 5, 8), whole(0, 5, np.int64, 2, 5), *cache(10, 4)]),
    "rotary_flat": lambda: Case("RotaryEmbedding", [floats(2, 5, 24), np.array([3], np.int64), *cache(10, 4)]),
    "rotary_interleaved": lambda: Case("RotaryEmbedding", [floats(2, 4, 5, 8), whole(0, 5, np.int64, 2, 5), *cache(10, 4)], {"interleaved": 1}),
    "attention": lambda: Case("Attention", [floats(2, 5, 12), floats(12, 36), floats(36)], {"num_heads": 3}),
    "attention_causal": lambda: Case("Attention", [floats(2, 5, 12), floats(12, 36), floats(36)], {"num_heads": 3, "unidirectional": 1}),
    "attention_lengths": lambda: Case("Attention", [floats(2, 5, 12), floats(12, 36), floats(36), ints(5, 3)], {"num_heads": 3}),
    "attention_mask": lambda: Case("Attention", [floats(2, 5, 12), floats(12, 36), floats(36), np.array([[1] * 5, [1, 1, 0, 1, 0]], np.int32)],
                                   {"num_heads": 3}),
    "attention_past": lambda: Case("Attention", [floats(2, 1, 12), floats(12, 36), floats(36), None, floats(2, 2, 3, 4, 4)],
                                   {"num_heads": 3, "unidirectional": 1}, (FLOAT, FLOAT)),
    "multi_head": lambda: Case("MultiHeadAttention", [floats(2, 4, 12), floats(2, 6, 12), floats(2, 6, 12), floats(36)], {"num_heads": 3}),
    "multi_head_bias": lambda: Case("MultiHeadAttention", [floats(2, 4, 12), floats(2, 6, 12), floats(2, 6, 12), None, None, floats(1, 3, 4, 6)],
                                    {"num_heads": 3, "scale": 0.25}),
    "group_query": lambda: Case("GroupQueryAttention", [floats(2, 3, 32), floats(2, 3, 16), floats(2, 3, 16), None, None, ints(2, 2), ints(3)],
                                {"num_heads": 4, "kv_num_heads": 2}, (FLOAT, FLOAT, FLOAT)),
    "group_query_rotary": lambda: Case(
        "GroupQueryAttention", [floats(2, 3, 64), floats(2, 3, 32), floats(2, 3, 32), None, None, ints(2, 2), ints(3), *cache(16, 8)],
        {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1}, (FLOAT, FLOAT, FLOAT)),
    "group_query_past": lambda: Case(
        "GroupQueryAttention", [floats(2, 1, 64), floats(2, 1, 32), floats(2, 1, 32), floats(2, 2, 5, 16), floats(2, 2, 5, 16), ints(5, 5), ints(6),
                                *cache(16, 8)], {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1}, (FLOAT, FLOAT, FLOAT)),
    "group_query_packed": lambda: Case("GroupQueryAttention", [floats(1, 4, 64), None, None, None, None, ints(3), ints(4)],
                                       {"num_heads": 4, "kv_num_heads": 2, "local_window_size": 2}, (FLOAT, FLOAT, FLOAT)),
    "matmul_nbits": lambda: Case("MatMulNBits", [floats(3, 70), whole(0, 256, np.uint8, 5, 3, 16), floats(15)],
                                 {"K": 70, "N": 5, "bits": 4, "block_size": 32}, constants=(1, 2), tolerance=1e-4),
    "matmul_nbits_zeros": lambda: Case("MatMulNBits", [floats(2, 3, 64), whole(0, 256, np.uint8, 5, 2, 16), floats(10), whole(0, 256, np.uint8, 5)],
                                       {"K": 64, "N": 5, "bits": 4, "block_size": 32}, constants=(1, 2, 3), tolerance=1e-4),
    "fused_matmul": lambda: Case("FusedMatMul", [floats(2, 4, 3), floats(2, 5, 4)], {"transA": 1, "transB": 1, "alpha": 0.5}),
    "fused_conv": lambda: Case("FusedConv", [floats(1, 3, 7, 7), floats(4, 3, 3, 3), floats(4)], {"activation": "Relu", "pads": [1, 1, 1, 1]}),
    "matmul_integer_to_float": lambda: Case(
        "MatMulIntegerToFloat", [whole(0, 256, np.uint8, 3, 8), whole(-128, 128, np.int8, 8, 5), np.array([0.1], np.float32),
                                 np.array([0.2], np.float32), np.array([7], np.uint8), np.array([0], np.int8), floats(5)], constants=(1,)),
    "dynamic_quantize_matmul": lambda: Case("DynamicQuantizeMatMul", [floats(3, 8), whole(0, 256, np.uint8, 8, 5), np.array([0.02], np.float32),
                                                                      np.array([128], np.uint8), floats(5)], tolerance=1e-3),
    "quantize_linear": lambda: Case("QuantizeLinear", [floats(3, 8), np.array(0.05, np.float32), np.array(128, np.uint8)], outputs=(2,)),
    "dequantize_linear": lambda: Case("DequantizeLinear", [whole(0, 256, np.uint8, 3, 8), np.array(0.05, np.float32), np.array(128, np.uint8)]),
    "qlinear_add": two_by_two("QLinearAdd", bytes_of(2, 3, 8), bytes_of(3, 1)),
    "qlinear_add_signed": two_by_two("QLinearAdd", signed(2, 3, 8), signed(2, 3, 8)),
    "qlinear_mul": two_by_two("QLinearMul", bytes_of(5, 7), bytes_of(7)),
    "qlinear_sigmoid": one_by_one("QLinearSigmoid"),
    "qlinear_leaky_relu": one_by_one("QLinearLeakyRelu", alpha=0.15),
    "qlinear_average_pool": one_by_one("QLinearAveragePool", kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]),
    "qlinear_average_pool_counting_pads": one_by_one("QLinearAveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
    "qlinear_average_pool_channels_last": one_by_one("QLinearAveragePool", kernel_shape=[2, 2], channels_last=1),
    "qlinear_global_average_pool": one_by_one("QLinearGlobalAveragePool"),
    "qlinear_global_average_pool_channels_last": one_by_one("QLinearGlobalAveragePool", channels_last=1),
    "qlinear_softmax": one_by_one("QLinearSoftmax", axis=-1, opset=13),
    "qlinear_softmax_of_opset_11": one_by_one("QLinearSoftmax", axis=1, opset=11),
    "qlinear_concat": lambda: Case("QLinearConcat", [scale(0.03), zero(9), bytes_of(2, 3), scale(0.021), zero(4), bytes_of(2, 5), scale(0.037), zero(200)],
                                   {"axis": 1}, (BYTE,), (0, 1, 3, 4, 6, 7), STEP),
    "qlinear_where": lambda: Case("QLinearWhere", [RANDOM.random((3, 4)) < 0.5, bytes_of(3, 4), scale(0.021), zero(4), bytes_of(4), scale(0.037),
                                                   zero(200), scale(0.031), zero(90)], {}, (BYTE,), (2, 3, 5, 6, 7, 8), STEP),
    "qlinear_reduce_mean": lambda: (lambda x: Case(
        "QLinearReduceMean", [x, scale(0.02), zero(7), scale(0.013), zero(11)], {"axes": [0, 2], "keepdims": 0}, (BYTE,), tolerance=STEP,
        expected=lambda: [np.clip(np.round((x.astype(float) - 7).mean((0, 2)) * 0.02 / 0.013) + 11, 0, 255).astype(np.uint8)]))(bytes_of(2, 3, 4)),
    "qgemm": lambda: Case("QGemm", [bytes_of(3, 8), scale(0.02), zero(7), signed(8, 5), scale(0.01), zero(0, np.int8), whole(-999, 999, np.int32, 5),
                                    scale(0.11), zero(99)], {"alpha": 0.7}, (BYTE,), (1, 2, 3, 4, 5, 6, 7, 8), STEP),
    "qgemm_columns": lambda: Case("QGemm", [bytes_of(8, 3), scale(0.02), zero(7), signed(5, 8), np.abs(floats(5)) * 0.01, np.zeros(5, np.int8)],
                                  {"transA": 1, "transB": 1}, constants=(1, 2, 3, 4, 5)),
    "qattention": lambda: Case("QAttention", [bytes_of(2, 5, 12), signed(12, 36), floats(36), scale(0.01), scale(0.01), ints(5, 3), zero(120),
                                              zero(0, np.int8)], {"num_heads": 3}, constants=(1, 3, 4, 6, 7)),
    "qattention_past": lambda: Case("QAttention", [bytes_of(2, 1, 12), signed(12, 36), floats(36), scale(0.01), np.abs(floats(36)) * 0.01, None, zero(120),
                                                   np.zeros(36, np.int8), floats(2, 2, 3, 4, 4)], {"num_heads": 3, "unidirectional": 1}, (FLOAT, FLOAT),
                                    (1, 3, 4, 6, 7)),
    "attention_ends_and_starts": lambda: Case("Attention", [floats(2, 5, 12), floats(12, 36), floats(36), ints(5, 4, 1, 0)], {"num_heads": 3}),
    "multi_head_packed": lambda: packed_attention(3),
    "multi_head_packed_keys": lambda: packed_attention(2),
    "attention_of_tokens": lambda: attention_of_tokens(False),
    "attention_of_packed_tokens": lambda: attention_of_tokens(True),
    "embed_layer_norm": lambda: embed(True, True, False),
    "embed_layer_norm_places": lambda: embed(False, False, True),
    "bias_add": lambda: (lambda x, b, s: Case("BiasAdd", [x, b, s], expected=lambda: [x + b + s]))(floats(2, 3, 8), floats(8), floats(2, 3, 8)),
    "group_norm": lambda: group_norm(False, True),
    "group_norm_channels_first": lambda: group_norm(False, False),
    "group_norm_half": lambda: group_norm(False, True, np.float16),
    "skip_group_norm": lambda: group_norm(True, True),
    "nhwc_conv": lambda: nhwc_conv(1),
    "nhwc_conv_groups": lambda: nhwc_conv(2),
    "dynamic_quantize_lstm": lambda: lstm(False),
    "dynamic_quantize_lstm_columns": lambda: lstm(True, "bidirectional"),
    "gather_blocks": lambda: gather_blocks(np.array([[0, 8, 3]], np.int64), False),
    "gather_blocks_zeros": lambda: gather_blocks(np.array([-1, 2], np.int64), True),
    "gather_blocks_bytes": lambda: gather_blocks(np.array([5, 5], np.int32), True, 8),
    "fused_matmul_batches": lambda: Case("FusedMatMul", [floats(4, 2, 3), floats(2, 3, 5)], {"transBatchA": 1}),
    "fused_matmul_both_batches": lambda: Case("FusedMatMul", [floats(3, 2, 4), floats(5, 2, 3)], {
        "transBatchA": 1, "transBatchB": 1, "transA": 1, "transB": 1}),
    "matmul_nbits_repacked": nbits(3, 64, 7, 32, 4, np.float32),
    "matmul_nbits_default_zeros": nbits(3, 96, 7, 32, 4, np.float32, "default"),
    "matmul_nbits_wide_blocks": nbits(1, 200, 6, 128, 4, np.float32, "whole"),
    "matmul_nbits_narrow_blocks": nbits(2, 48, 6, 16, 4, np.float32, "whole"),
    "matmul_nbits_float_zeros": nbits(2, 64, 6, 32, 4, np.float32, "floats"),
    "matmul_nbits_order": nbits(2, 64, 6, 32, 4, np.float32, order=True),
    "matmul_nbits_order_zeros": lambda: ordered(nbits(2, 64, 6, 32, 4, np.float32, "whole", order=True)()),
    "matmul_nbits_8": nbits(3, 70, 5, 32, 8, np.float32),
    "matmul_nbits_8_zeros": nbits(3, 64, 5, 32, 8, np.float32, "whole"),
    "matmul_nbits_half": nbits(3, 64, 7, 32, 4, np.float16, tolerance=4e-3),
    "matmul_nbits_half_zeros": nbits(20, 64, 7, 32, 4, np.float16, "whole", tolerance=1e-2),
    "matmul_nbits_half_8": nbits(3, 64, 7, 32, 8, np.float16, tolerance=4e-3),
    "skip_layer_norm_half": lambda: Case("SkipLayerNormalization", [halves(2, 3, 16), halves(2, 3, 16), halves(16), halves(16), halves(16)],
                                         {"epsilon": 1e-5}, (HALF, 0, 0, HALF), tolerance=4e-3),
    "skip_simplified_half": lambda: Case("SkipSimplifiedLayerNormalization", [halves(2, 3, 16), halves(2, 3, 16), halves(16), halves(16)],
                                         {"epsilon": 1e-5}, (HALF, 0, 0, HALF), tolerance=4e-3),
    "group_query_half": lambda: Case("GroupQueryAttention", [halves(2, 3, 32), halves(2, 3, 16), halves(2, 3, 16), None, None, ints(2, 2), ints(3)],
                                     {"num_heads": 4, "kv_num_heads": 2}, (HALF, HALF, HALF), tolerance=4e-3),
    "rotary_half": lambda: Case("RotaryEmbedding", [halves(2, 4, 5, 8), whole(0, 5, np.int64, 2, 5), *[one.astype(np.float16) for one in cache(10, 4)]],
                                outputs=(HALF,), tolerance=4e-3),
    "fast_gelu_half": lambda: Case("FastGelu", [halves(3, 7), halves(7)], outputs=(HALF,), tolerance=4e-3),
    "gelu_half": lambda: Case("Gelu", [halves(3, 7)], outputs=(HALF,), tolerance=4e-3),
    "transpose_matmul": lambda: Case("TransposeMatMul", [floats(2, 4, 3), floats(2, 5, 4)], {"transA": 1, "transB": 1, "alpha": 0.5}),
    "trilu": lambda: Case("Trilu", [floats(3, 5), np.array(1)], {"upper": 0}),
    "grid_sample": lambda: Case("GridSample", [floats(1, 2, 4, 5), floats(1, 3, 3, 2)], {"mode": "bicubic", "padding_mode": "reflection"}),
    "gather_nd": lambda: Case("GatherND", [floats(3, 4, 5), np.array([[0, 1], [2, 3]])]),
    "pad": lambda: Case("Pad", [floats(3, 4), np.array([1, 0, 0, 2]), np.array(2, np.float32)], {"mode": "constant"}, constants=(1,)),
    "range": lambda: Case("Range", [np.array(1, np.float32), np.array(5, np.float32), np.array(0.5, np.float32)]),
    "fused_gemm": lambda: Case("FusedGemm", [floats(3, 4), floats(5, 4), floats(5)], {"transB": 1, "activation": "LeakyRelu", "activation_alpha": 0.2}),
    "bias_softmax": lambda: bias_softmax(0),
    "bias_softmax_inner": lambda: bias_softmax(1),
    "cdist": lambda: Case("CDist", [floats(4, 3), floats(5, 3)], {"metric": "sqeuclidean"}, tolerance=1e-4),
    "cdist_euclidean": lambda: Case("CDist", [floats(4, 3), floats(5, 3)], {"metric": "euclidean"}, tolerance=1e-4),
    "inverse": lambda: Case("Inverse", [floats(2, 4, 4) + 4 * np.eye(4, dtype=np.float32)], tolerance=1e-4),
    "nhwc_max_pool": lambda: Case("NhwcMaxPool", [bytes_of(1, 7, 6, 3)], {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}, (BYTE,)),
    "qlinear_conv_channels_last": lambda: Case("QLinearConv", [
        bytes_of(1, 6, 5, 4), scale(0.02), zero(7), signed(3, 4, 3, 2), scale(0.01), zero(0, np.int8), scale(0.3), zero(99)],
        {"channels_last": 1, "pads": [1, 0, 1, 1]}, (BYTE,), (1, 2, 3, 4, 5, 6, 7), STEP),
    "relative_bias": lambda: relative_bias(0),
    "relative_bias_both_ways": lambda: relative_bias(1),
}
