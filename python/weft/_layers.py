"""Layers that multiply with a weight."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from . import _core, random
from ._core import Tensor, functions
from ._module import Module, need_counts, uniform
from ._types import is_one, wholes

F = functions


class Linear(Module):
    """x · weightᵀ + bias for x […, in_features]."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        need_counts(self, in_features=in_features, out_features=out_features)
        bound = 1 / math.sqrt(in_features)
        self.weight = uniform((out_features, in_features), bound)
        self.bias = uniform((out_features,), bound) if bias else None

    def with_weight(self, x: Tensor, weight: Tensor) -> Tensor:
        """What the layer gives with another weight."""
        return F.linear(x, weight, self.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.with_weight(x, self.weight)


class Embedding(Module):
    """Rows of a table by indices."""

    def __init__(self, count: int, width: int) -> None:
        need_counts(self, count=count, width=width)
        self.weight = _core.variable(random.normal((count, width)))

    def forward(self, indices: Tensor) -> Tensor:
        return F.take(self.weight, indices, 0)

    def as_linear(self, x: Tensor) -> Tensor:
        """x · tableᵀ: logits of the rows."""
        return F.linear(x, self.weight)


def _same(layer: str, padding: str, kernel: Sequence[int], stride: Any, dilation: Any) -> list[int]:
    """What is put around an image so that the result is as large ("same"), or nothing ("valid")."""
    apart = wholes(dilation) * (len(kernel) if is_one(dilation) else 1)
    whole = [step * (extent - 1) for step, extent in zip(apart, kernel, strict=True)]
    if padding == "valid":
        return [0] * len(kernel)
    if padding != "same" or any(s != 1 for s in wholes(stride)) or any(w % 2 for w in whole):
        raise ValueError(f"{layer}(): the padding is {padding!r}; there are numbers, 'valid', and for a stride of 1 and windows of odd extents 'same'.")
    return [w // 2 for w in whole]


class _Conv(Module):
    rank = 2
    transposed = False

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1,
                 padding: int | Sequence[int] | str = 0, dilation: int | Sequence[int] = 1, groups: int = 1, bias: bool = True) -> None:
        need_counts(self, in_channels=in_channels, out_channels=out_channels, groups=groups)
        kernel = wholes(kernel_size) * (self.rank if is_one(kernel_size) else 1)
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        bound = 1 / math.sqrt(max(1, in_channels // groups * math.prod(kernel)))
        self.weight = uniform((first, second // groups, *kernel), bound)
        self.bias = uniform((out_channels,), bound) if bias else None
        pad = _same(type(self).__name__, padding, kernel, stride, dilation) if isinstance(padding, str) else padding
        self.options: dict[str, Any] = {"stride": stride, "pad": pad, "dilation": dilation, "groups": groups}

    def with_weight(self, x: Tensor, weight: Tensor) -> Tensor:
        """What the layer gives with another weight."""
        function: Any = F.conv_transpose if self.transposed else F.conv
        made: Tensor = function(x, weight, self.bias, **self.options)
        return made

    def forward(self, x: Tensor) -> Tensor:
        return self.with_weight(x, self.weight)


class Conv1d(_Conv):
    """A convolution over [N, C, length]."""

    rank = 1


class Conv2d(_Conv):
    """A convolution over images [N, C, height, width]."""


class Conv3d(_Conv):
    """A convolution over [N, C, depth, height, width]."""

    rank = 3


class ConvTranspose1d(_Conv):
    """The transpose of Conv1d."""

    rank = 1
    transposed = True


class ConvTranspose2d(_Conv):
    """The transpose of Conv2d."""

    transposed = True


class ConvTranspose3d(_Conv):
    """The transpose of Conv3d."""

    rank = 3
    transposed = True
