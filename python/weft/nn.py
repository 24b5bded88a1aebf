"""Layers with parameters, as PyTorch and MLX have them.

A Module's parameters are weft.variable()s: optimizers change them in place, also in compiled functions, where they are read at each call.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from . import _core
from . import _init as init
from ._activations import ELU, GELU, Flatten, Hardswish, Identity, LeakyReLU, LogSoftmax, Mish, ReLU, Sigmoid, SiLU, Softmax, Softplus, Tanh
from ._array import array
from ._attention import AttentionCache, Dropout, LayerNorm, MultiheadAttention, RMSNorm, TransformerBlock
from ._core import Tensor, functions
from ._layers import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, Embedding, Linear
from ._model import cross_entropy as _cross_entropy
from ._module import Module, need_counts, parameter, value_and_grad
from ._quantized import FakeQuantize, Observer, QuantizationAware, QuantizedConv, QuantizedLinear, convert, prepare_qat, quantize
from ._recurrent import GRU, LSTM, RNN
from ._types import float32, is_one, wholes

__all__ = ["AdaptiveAvgPool2d", "AttentionCache", "AvgPool2d", "BatchNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d",
           "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Dropout", "ELU", "Embedding", "FakeQuantize", "Flatten", "GELU",
           "GRU", "GroupNorm", "Hardswish", "Identity", "InstanceNorm", "LSTM", "Lambda", "LayerNorm", "LeakyReLU", "Linear", "LogSoftmax", "MLP",
           "MaxPool2d", "Mish", "Module", "MultiheadAttention", "Observer", "QuantizationAware", "QuantizedConv", "QuantizedLinear", "RMSNorm",
           "RNN", "ReLU", "Sequential", "SiLU", "Sigmoid", "Softmax", "Softplus", "Tanh", "TransformerBlock", "convert", "cross_entropy", "init",
           "parameter", "prepare_qat", "quantize", "value_and_grad"]

F = functions


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


class InstanceNorm(Module):
    """Each channel of each image of [N, C, …] with mean 0 and variance 1, then times weight plus bias."""

    def __init__(self, channels: int, eps: float = 1e-5) -> None:
        need_counts(self, channels=channels)
        self.weight, self.bias, self.eps = parameter(F.ones(channels)), parameter(F.zeros(channels)), eps

    def forward(self, x: Tensor) -> Tensor:
        return F.instance_norm(x, self.weight, self.bias, self.eps)


class Sequential(Module):
    """Layers (or functions) one after the other; their names are "0", "1", …."""

    _tells = False

    def __init__(self, *layers: Callable[[Tensor], Tensor]) -> None:
        for number, layer in enumerate(layers):
            if not callable(layer):
                raise TypeError(f"Sequential(): number {number} is {layer!r}; a layer or a function is needed.")
        self.layers = list(layers)

    def append(self, layer: Callable[[Tensor], Tensor]) -> Sequential:
        """Adds a layer at the end; gives the whole."""
        self.layers.append(layer)
        return self

    def children(self) -> Iterator[tuple[str, Module]]:
        """The layers that are modules, by their numbers."""
        return ((str(number), layer) for number, layer in enumerate(self.layers) if isinstance(layer, Module))

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, index: Any) -> Any:
        return Sequential(*self.layers[index]) if isinstance(index, slice) else self.layers[index]

    def __iter__(self) -> Iterator[Callable[[Tensor], Tensor]]:
        return iter(self.layers)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Lambda(Module):
    """Any function of a tensor as a layer."""

    _tells = False

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


class MLP(Sequential):
    """Linear layers of these widths with an activation between them, ReLU() unless another one is given."""

    def __init__(self, widths: Sequence[int], activation: Callable[[Tensor], Tensor] | None = None) -> None:
        if len(widths) < 2:
            raise ValueError(f"MLP() needs at least two widths, of what goes in and what comes out; it was given {list(widths)}.")
        layers: list[Callable[[Tensor], Tensor]] = []
        for before, behind in zip(widths[:-1], widths[1:], strict=True):
            layers += [*([activation or ReLU()] if layers else []), Linear(before, behind)]
        super().__init__(*layers)


class _Pool2d(Module):
    def __init__(self, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None, padding: int | Sequence[int] = 0) -> None:
        self.kernel = _pair(self, "kernel_size", kernel_size, 1)
        self.stride = self.kernel if stride is None else _pair(self, "stride", stride, 1)
        self.padding = _pair(self, "padding", padding, 0)


def _pair(module: Module, name: str, value: Any, least: int) -> list[int]:
    """One number for both dimensions of an image, or one for each."""
    try:
        made = wholes(value) * (2 if is_one(value) else 1)
    except TypeError:
        made = []
    if len(made) != 2 or min(made) < least:
        raise TypeError(f"{type(module).__name__}(): `{name}` is {value!r}; a whole number of at least {least} is needed, or two.")
    return made


class MaxPool2d(_Pool2d):
    """The largest element of each window."""

    def forward(self, x: Tensor) -> Tensor:
        return F.max_pool(x, self.kernel, stride=self.stride, pad=self.padding)


class AvgPool2d(_Pool2d):
    """The mean of each window."""

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool(x, self.kernel, stride=self.stride, pad=self.padding)


class AdaptiveAvgPool2d(Module):
    """Means of [N, C, height, width] over as many windows as are asked for, which are nearly equal: height and width become `output_size`."""

    def __init__(self, output_size: int | Sequence[int]) -> None:
        self.size = _pair(self, "output_size", output_size, 1)

    def forward(self, x: Tensor) -> Tensor:
        for axis, wanted in zip((2, 3), self.size, strict=True):
            x = F.mean(x, axis, True) if wanted == 1 else F.movedim(F.linear(F.movedim(x, [axis], [-1]), _means(wanted, x.shape[axis], x)), [-1], [axis])
        return x


def _means(wanted: int, extent: int, like: Tensor) -> Tensor:
    """The matrix that makes means of windows."""
    made = np.zeros((wanted, extent), np.float32)
    for row in range(wanted):
        first, last = row * extent // wanted, -(-(row + 1) * extent // wanted)
        made[row, first:last] = 1 / (last - first)
    return array(made, like.dtype, device=like.device)


def cross_entropy(logits: Tensor, labels: Any, label_smoothing: float = 0.0) -> Tensor:
    """The mean of -log(softmax(logits)[label]) over all rows, computed in float32."""
    return _cross_entropy(F.cast(logits, float32), labels, label_smoothing=label_smoothing)
