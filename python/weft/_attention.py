"""Layers that look at sequences, with the parts and names that they have in the other languages of Weft."""
from __future__ import annotations

from typing import Any

from ._core import Tensor, functions
from ._layers import Linear
from ._module import Module, dropped, need_counts, parameter

F = functions


class LayerNorm(Module):
    """The last dimension with mean 0 and variance 1, then times weight plus bias."""

    def __init__(self, width: int, eps: float = 1e-5, bias: bool = True) -> None:
        self.weight, self.eps = parameter(F.ones(width)), eps
        self.bias = parameter(F.zeros(width)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """The last dimension divided by the root of its mean square, times weight."""

    def __init__(self, width: int, eps: float = 1e-5) -> None:
        self.weight, self.eps = parameter(F.ones(width)), eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight, self.eps)


class Dropout(Module):
    """In training, leaves out elements at random and scales the others up."""

    def __init__(self, p: float = 0.5) -> None:
        if not 0 <= p < 1:
            raise ValueError(f"Dropout(): p is {p}; it must be at least 0 and less than 1.")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        return dropped(x, self.p)


class AttentionCache:
    """Keys and values [batch, key heads, positions, size] of the positions so far, for a model that goes on token by token. Empty at first."""

    def __init__(self) -> None:
        self.k: Tensor | None = None
        self.v: Tensor | None = None

    def __len__(self) -> int:
        return 0 if self.k is None else self.k.shape[2]


class MultiheadAttention(Module):
    """Attention of sequences [batch, positions, width] to themselves, in several heads.

    `kv_heads` heads of keys and values are each shared by several of queries (0: as many as heads). With `causal` a position sees itself and what came
    before it, with a `window` only so many of these; with a `rope_base` queries and keys turn with their position.
    """

    def __init__(self, width: int, heads: int, causal: bool = False, bias: bool = True, *, kv_heads: int = 0, window: int = 0,
                 rope_base: float = 0.0) -> None:
        need_counts(self, width=width, heads=heads)
        kv_heads = kv_heads or heads
        if kv_heads < 0 or width % heads or heads % kv_heads:
            raise ValueError(f"MultiheadAttention() cannot divide a width of {width} into {heads} heads with {kv_heads} heads of keys and values.")
        self.heads, self.kv_heads, self.causal, self.window, self.rope_base = heads, kv_heads, causal, window, rope_base
        inner = width // heads * kv_heads
        self.q_proj, self.k_proj, self.v_proj = (Linear(width, out, bias) for out in (width, inner, inner))
        self.out_proj = Linear(width, width, bias)

    def _split(self, x: Tensor, heads: int, first: int, turns: bool) -> Tensor:
        parts: Tensor = F.reshape(x, (*x.shape[:2], heads, x.shape[2] // heads))
        if turns and self.rope_base > 0:
            parts = F.rope(parts, first=first, base=self.rope_base)
        return F.permute(parts, (0, 2, 1, 3))

    def forward(self, x: Tensor, mask: Any = None, cache: AttentionCache | None = None) -> Tensor:
        """A mask, [positions, keys] or [batch, heads, positions, keys], is added to the products of queries and keys. Positions in a cache come before
        these, which are put there too."""
        if x.ndim != 3:
            raise ValueError(f"MultiheadAttention needs [batch, positions, width]; it was given the shape {x.shape}.")
        first = len(cache) if cache is not None else 0
        q = self._split(self.q_proj(x), self.heads, first, True)
        k, v = self._split(self.k_proj(x), self.kv_heads, first, True), self._split(self.v_proj(x), self.kv_heads, first, False)
        if cache is not None:
            if cache.k is not None and cache.v is not None:
                k, v = F.concat([cache.k, k], 2), F.concat([cache.v, v], 2)
            cache.k, cache.v = k, v
        mixed = F.attention(q, k, v, mask, causal=self.causal, window=self.window)
        made: Tensor = self.out_proj(F.reshape(F.permute(mixed, (0, 2, 1, 3)), x.shape))
        return made


class TransformerBlock(Module):
    """x + attention(norm(x)), then that + mlp(norm(that)).

    `hidden` is the width inside the MLP (0: four times the width); with `gated` it is silu(x · gate) * (x · up) instead of gelu(x · up), and with
    `rms` norms are RMS norms. The others are those of MultiheadAttention.
    """

    def __init__(self, width: int, heads: int, causal: bool = True, dropout: float = 0.0, *, bias: bool = True, kv_heads: int = 0, window: int = 0,
                 rope_base: float = 0.0, hidden: int = 0, gated: bool = False, rms: bool = False, eps: float = 1e-5) -> None:
        norm, hidden = RMSNorm if rms else LayerNorm, hidden or 4 * width
        self.attention_norm: Module = norm(width, eps)
        self.attention = MultiheadAttention(width, heads, causal, bias, kv_heads=kv_heads, window=window, rope_base=rope_base)
        self.mlp_norm: Module = norm(width, eps)
        self.gate = Linear(width, hidden, bias) if gated else None
        self.up, self.down = Linear(width, hidden, bias), Linear(hidden, width, bias)
        self.attention_dropout, self.mlp_dropout = Dropout(dropout), Dropout(dropout)

    def forward(self, x: Tensor, mask: Any = None, cache: AttentionCache | None = None) -> Tensor:
        x = x + self.attention_dropout(self.attention(self.attention_norm(x), mask, cache))
        normed = self.mlp_norm(x)
        inner = F.gelu(self.up(normed)) if self.gate is None else F.swiglu(self.gate(normed), self.up(normed))
        made: Tensor = x + self.mlp_dropout(self.down(inner))
        return made
