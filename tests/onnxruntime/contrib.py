"""Operations of the domain com.microsoft, for which ONNX has no tests: Weft against ONNX Runtime's CPU."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from provider import floats, on_cpu, on_weft, same
from wire import NUMBERS, attribute, graph, model, node, port, tensor

FLOAT, HALF = 1, 10
RANDOM = np.random.default_rng(11)


@dataclass
class Case:
    op: str
    inputs: Sequence[np.ndarray | None]  # None: left out
    attributes: dict[str, int | float | str | list[int]] = field(default_factory=dict)
    outputs: Sequence[int] = (FLOAT,)  # element types; 0: left out
    constants: Sequence[int] = ()  # inputs whose elements are in the model
    tolerance: float = 1e-5
    domain: str = "com.microsoft"

    def check(self) -> None:
        names = ["" if value is None else f"x{i}" for i, value in enumerate(self.inputs)]
        results = [f"y{i}" if kind else "" for i, kind in enumerate(self.outputs)]
        given = {name: value for i, (name, value) in enumerate(zip(names, self.inputs, strict=True)) if value is not None and i not in self.constants}
        body = graph([node(self.op, names, results, *[attribute(*one) for one in self.attributes.items()], domain=self.domain)],
                     [port(name, NUMBERS[value.dtype], value.shape) for name, value in given.items()],
                     [port(name, kind, None) for name, kind in zip(results, self.outputs, strict=True) if kind],
                     [tensor(names[i], self.inputs[i]) for i in self.constants])  # type: ignore[arg-type]
        whole = model(body, 17, [("com.microsoft", 1)])
        for got, must in zip(on_weft(whole).run(None, given), on_cpu(whole, given), strict=True):
            same(got, must, self.tolerance)


def whole(low: int, high: int, kind: type[np.generic], *shape: int) -> np.ndarray:
    return RANDOM.integers(low, high, shape).astype(kind)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def cache(length: int, pairs: int) -> list[np.ndarray]:
    angles = np.arange(length)[:, None] / 10.0 ** (np.arange(pairs) / pairs)
    return [np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)]


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
}
