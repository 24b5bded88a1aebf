"""Layers with parameters, as PyTorch and MLX have them.

A Module's parameters are weft.variable()s: optimizers change them in place, also in compiled functions, where they are read at each call.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _core
from ._core import Tensor, functions
from ._layers import Conv1d, Conv2d, Conv3d, ConvTranspose2d, Embedding, Linear
from ._model import cross_entropy as _cross_entropy
from ._module import Module, dropped, need_counts, parameter, value_and_grad
from ._quantized import FakeQuantize, Observer, QuantizationAware, QuantizedConv, QuantizedLinear, convert, prepare_qat, quantize
from ._recurrent import GRU, LSTM, RNN
from ._types import float32

__all__ = ["AvgPool2d", "BatchNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d",
           "Dropout", "Embedding", "FakeQuantize", "Flatten", "GELU", "GRU", "GroupNorm", "LSTM", "LayerNorm", "Linear", "MaxPool2d", "Module",
           "MultiHeadAttention", "Observer", "QuantizationAware", "QuantizedConv", "QuantizedLinear", "RMSNorm", "RNN", "ReLU", "Sequential", "SiLU",
           "Sigmoid", "Tanh", "TransformerBlock", "convert", "cross_entropy", "parameter", "prepare_qat", "quantize", "value_and_grad"]

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


class GroupNorm(Module):
    """Groups of channels of [N, C, …], each with mean 0 and variance 1; the channels may lie along another axis (-1: [N, …, C])."""

    def __init__(self, groups: int, channels: int, eps: float = 1e-5, axis: int = 1) -> None:
        need_counts(self, groups=groups, channels=channels)
        self.weight, self.bias = parameter(F.ones(channels)), parameter(F.zeros(channels))
        self.groups, self.eps, self.axis = groups, eps, axis

    def forward(self, x: Tensor) -> Tensor:
        return F.group_norm(x, self.groups, self.weight, self.bias, self.eps, self.axis)


class BatchNorm(Module):
    """Each channel of [N, C, …] with mean 0 and variance 1: in training of the batch, later of all that was seen."""

    def __init__(self, channels: int, eps: float = 1e-5, momentum: float = 0.1) -> None:
        self.weight, self.bias = parameter(F.ones(channels)), parameter(F.zeros(channels))
        self.eps, self.momentum = eps, momentum
        self.buffer("running_mean", F.zeros(channels))
        self.buffer("running_var", F.ones(channels))

    running_mean: Tensor
    running_var: Tensor

    def forward(self, x: Tensor) -> Tensor:
        made, mean, var = F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, training=self.training,
                                       momentum=self.momentum, eps=self.eps)
        if self.training and mean is not None and var is not None:
            _core.assign([self.running_mean, self.running_var], [mean.detach(), var.detach()])
        return made


BatchNorm1d = BatchNorm2d = BatchNorm3d = BatchNorm


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


class Sequential(Module):
    """Layers (or functions) one after the other."""

    def __init__(self, *layers: Callable[[Tensor], Tensor]) -> None:
        self.layers = list(layers)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class _Function(Module):
    """A function without parameters as a layer. It is kept by its name, so that models can be copied and pickled."""

    name = ""

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = getattr(F, self.name)(x)
        return made


class ReLU(_Function):
    """max(x, 0)."""

    name = "relu"


class GELU(_Function):
    """x times the share of normal numbers below it."""

    name = "gelu"


class SiLU(_Function):
    """x · sigmoid(x)."""

    name = "silu"


class Tanh(_Function):
    """The hyperbolic tangent."""

    name = "tanh"


class Sigmoid(_Function):
    """1 / (1 + exp(-x))."""

    name = "sigmoid"


class Flatten(Module):
    """[N, …] as [N, the product of the others]."""

    def forward(self, x: Tensor) -> Tensor:
        return F.flatten(x, 1, -1)


class _Pool2d(Module):
    def __init__(self, kernel_size: int, stride: int | None = None, padding: int = 0) -> None:
        need_counts(self, kernel_size=kernel_size)
        self.kernel, self.stride, self.padding = [kernel_size] * 2, [stride or kernel_size] * 2, [padding] * 2


class MaxPool2d(_Pool2d):
    """The largest element of each window."""

    def forward(self, x: Tensor) -> Tensor:
        return F.max_pool(x, self.kernel, stride=self.stride, pad=self.padding)


class AvgPool2d(_Pool2d):
    """The mean of each window."""

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool(x, self.kernel, stride=self.stride, pad=self.padding)


class MultiHeadAttention(Module):
    """Attention with several heads over x [N, tokens, width]; with `causal`, no token sees those behind it."""

    def __init__(self, width: int, heads: int, causal: bool = False, bias: bool = False) -> None:
        if width % heads:
            raise ValueError(f"MultiHeadAttention(): a width of {width} cannot be divided among {heads} heads.")
        self.heads, self.causal = heads, causal
        self.inputs, self.output = Linear(width, 3 * width, bias), Linear(width, width, bias)

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        parts = self.inputs(x).reshape(batch, tokens, 3, self.heads, width // self.heads).transpose(2, 0, 3, 1, 4)
        y = F.attention(parts[0], parts[1], parts[2], causal=self.causal)
        made: Tensor = self.output(y.transpose(0, 2, 1, 3).reshape(batch, tokens, width))
        return made


class TransformerBlock(Module):
    """Attention and two linear layers, each after a norm and beside a way round."""

    def __init__(self, width: int, heads: int, causal: bool = True, dropout: float = 0.0) -> None:
        self.norm1, self.norm2 = LayerNorm(width), LayerNorm(width)
        self.attention = MultiHeadAttention(width, heads, causal)
        self.up, self.down, self.dropout = Linear(width, 4 * width), Linear(4 * width, width), Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.dropout(self.attention(self.norm1(x)))
        made: Tensor = x + self.dropout(self.down(F.gelu(self.up(self.norm2(x)))))
        return made


def cross_entropy(logits: Tensor, labels: Any, label_smoothing: float = 0.0) -> Tensor:
    """The mean of -log(softmax(logits)[label]) over all rows, computed in float32."""
    return _cross_entropy(F.cast(logits, float32), labels, label_smoothing=label_smoothing)
