"""Attention of decoders with caches, and mixtures of experts, of the domain com.microsoft."""
from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from contrib import FLOAT, Case, cache, ints
from provider import floats


def decoder(past: int, total: int, lengths: Sequence[int], length: int, more: Sequence[np.ndarray | None] = (), **attributes: int | float) -> Case:
    """GroupQueryAttention of sequences with lengths of their own, and a cache of so many places; what lies behind a sequence in it means nothing."""
    batch = len(lengths)
    before = [floats(batch, 2, past, 16) for _ in range(2)] if past else [None, None]

    def valid(results: list[np.ndarray]) -> list[np.ndarray]:
        y, *caches = results
        if total != length:  # Of tokens behind a prompt's own there is garbage.
            return [y, *[one[b, :, :n + 1] for one in caches for b, n in enumerate(lengths)]]
        return [*[y[b, :n + 1] for b, n in enumerate(lengths)], *[one[b, :, :n + 1] for one in caches for b, n in enumerate(lengths)]]

    return Case("GroupQueryAttention", [floats(batch, length, 64), floats(batch, length, 32), floats(batch, length, 32), *before, ints(*lengths),
                                        np.array(total, np.int32), *cache(32, 8), *more], {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, **attributes},
                (FLOAT, FLOAT, FLOAT), valid=valid)


def sinks(softcap: float) -> Case:
    """A score of each head beside those of the keys, against what that means."""
    q, k, v, sink = floats(1, 3, 32), floats(1, 3, 16), floats(1, 3, 16), floats(4)

    def expected() -> list[np.ndarray]:
        heads = [one.reshape(3, -1, 8).transpose(1, 0, 2).astype(np.float64) for one in (q, k, v)]
        scores = heads[0] @ np.repeat(heads[1], 2, 0).transpose(0, 2, 1) / np.sqrt(8)
        scores = np.tanh(scores / softcap) * softcap if softcap else scores
        scores = np.where(np.tril(np.ones((3, 3))) > 0, scores, -np.inf)
        powers = np.exp(scores)
        shares = powers / (powers.sum(-1, keepdims=True) + np.exp(sink.astype(np.float64))[:, None, None])
        y = (shares @ np.repeat(heads[2], 2, 0)).transpose(1, 0, 2).reshape(1, 3, 32).astype(np.float32)
        return [y, *[one.reshape(1, 3, 2, 8).transpose(0, 2, 1, 3) for one in (k, v)]]

    return Case("GroupQueryAttention", [q, k, v, None, None, ints(2), np.array(3, np.int32), None, None, None, None, sink],
                {"num_heads": 4, "kv_num_heads": 2, "softcap": softcap}, (FLOAT, FLOAT, FLOAT), expected=expected)


def experts(activation: str, count: int, normalize: int, third: bool = False, fusion: int = 0) -> Case:
    """A mixture of 5 experts, against the same by numpy."""
    tokens, width, inner = 7, 8, 6
    x, router = floats(tokens, width), floats(tokens, 5)
    first, second = floats(5, inner * (2 if fusion else 1), width), floats(5, width, inner)
    biases = [floats(5, first.shape[1]), floats(5, width)]
    more = [floats(5, inner, width), floats(5, inner)] if third else [None, None]

    def expected() -> list[np.ndarray]:
        out = np.zeros((tokens, width))
        shares = np.exp(router.astype(np.float64))
        shares /= shares.sum(1, keepdims=True)
        for t in range(tokens):
            chosen = np.argsort(-shares[t])[:count]
            for e in chosen:
                h = first[e].astype(np.float64) @ x[t] + biases[0][e]
                gate, line = (h[::2], h[1::2]) if fusion == 1 else (h[:inner], h[inner:])
                act = {"relu": lambda z: np.maximum(z, 0), "silu": lambda z: z / (1 + np.exp(-z)), "identity": lambda z: z}
                y = gate / (1 + np.exp(-1.5 * gate)) * (line + 1) if fusion else act[activation](h)
                if third:
                    y = y * (more[0][e] @ x[t] + more[1][e])
                out[t] += shares[t, e] / (shares[t][chosen].sum() if normalize else 1) * (second[e] @ y + biases[1][e])
        return [out.astype(np.float32)]

    return Case("MoE", [x, router, first, biases[0], second, biases[1], *more], {
        "k": count, "activation_type": activation, "normalize_routing_weights": normalize,
        **({"swiglu_fusion": fusion, "activation_alpha": 1.5, "activation_beta": 1.0} if fusion else {})}, constants=(2, 3, 4, 5, *([6, 7] if third else [])),
        expected=expected, tolerance=1e-4)


CASES: dict[str, Callable[[], Case]] = {
    "group_query_prompt_of_two_lengths": lambda: decoder(0, 5, [2, 4], 5),
    "group_query_past_of_two_lengths": lambda: decoder(5, 6, [3, 5], 1),
    "group_query_buffer": lambda: decoder(9, 6, [5], 1),
    "group_query_buffer_of_two_lengths": lambda: decoder(9, 6, [3, 5], 1),
    "group_query_buffer_prompt": lambda: decoder(9, 4, [3], 4),
    "group_query_more_tokens": lambda: decoder(5, 8, [7], 3),
    "group_query_softcap": lambda: decoder(5, 8, [7], 3, softcap=1.5),
    "group_query_window": lambda: decoder(7, 8, [7], 1, local_window_size=3),
    "group_query_smooth": lambda: decoder(5, 6, [3, 5], 1, smooth_softmax=1),
    "group_query_bias": lambda: decoder(5, 8, [7], 3, [None, floats(1, 4, 3, 8)]),
    "group_query_places": lambda: decoder(0, 3, [2], 3, [np.array([[4, 5, 6]], np.int64)]),
    "group_query_sinks": lambda: sinks(0.0),
    "group_query_sinks_softcap": lambda: sinks(2.0),
    "attention_of_padding": lambda: Case("Attention", [floats(2, 5, 12), floats(12, 36), floats(36), np.array([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]], np.int32)],
                                         {"num_heads": 3, "unidirectional": 1}),
    "multi_head_of_padding": lambda: Case("MultiHeadAttention", [floats(2, 4, 12), floats(2, 4, 12), floats(2, 4, 12), None,
                                                                 np.array([[0, 0, 1, 1], [0, 0, 0, 0]], np.int32)], {"num_heads": 3}),
    "experts": lambda: experts("relu", 2, 0),
    "experts_one": lambda: experts("silu", 1, 1, True),
    "experts_normalized": lambda: experts("identity", 3, 1),
    "experts_interleaved": lambda: experts("swiglu", 2, 1, fusion=1),
    "experts_halves": lambda: experts("swiglu", 2, 1, fusion=2),
}
