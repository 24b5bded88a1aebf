"""Functions as layers."""
from __future__ import annotations

from typing import Any

from ._core import Tensor, functions
from ._module import Module

F = functions


class _Function(Module):
    """A function without parameters as a layer. It is kept by its name, so that models can be copied and pickled."""

    name = ""
    options: dict[str, Any] = {}

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = getattr(F, self.name)(x, **self.options)
        return made


class ReLU(_Function):
    """max(x, 0)."""

    name = "relu"


class GELU(_Function):
    """x times the share of normal numbers below it; with approximate="tanh" nearly so, by a hyperbolic tangent."""

    name = "gelu"

    def __init__(self, approximate: str = "none") -> None:
        if approximate not in ("none", "tanh"):
            raise ValueError(f"GELU(): `approximate` is {approximate!r}; there are 'none' and 'tanh'.")
        if approximate == "tanh":
            self.options = {"approximate": approximate}


class SiLU(_Function):
    """x · sigmoid(x)."""

    name = "silu"


class Mish(_Function):
    """x · tanh(softplus(x))."""

    name = "mish"


class Hardswish(_Function):
    """x · min(max(x + 3, 0), 6) / 6."""

    name = "hardswish"


class Softplus(_Function):
    """log(1 + exp(x))."""

    name = "softplus"


class Tanh(_Function):
    """The hyperbolic tangent."""

    name = "tanh"


class Sigmoid(_Function):
    """1 / (1 + exp(-x))."""

    name = "sigmoid"


class LeakyReLU(_Function):
    """x, and below 0 `negative_slope` times x."""

    name = "leaky_relu"

    def __init__(self, negative_slope: float = 0.01) -> None:
        self.options = {"slope": negative_slope}


class ELU(_Function):
    """x, and below 0 alpha · (exp(x) - 1)."""

    name = "elu"

    def __init__(self, alpha: float = 1.0) -> None:
        self.options = {"alpha": alpha}


class Softmax(_Function):
    """exp(x) over its sum along an axis, the last unless another one is given."""

    name = "softmax"

    def __init__(self, axis: int = -1) -> None:
        self.options = {"axis": axis}


class LogSoftmax(Softmax):
    """The logarithms of Softmax()."""

    name = "log_softmax"


class Identity(Module):
    """What it is given."""

    def forward(self, x: Tensor) -> Tensor:
        return x


class Flatten(Module):
    """[N, …] as [N, the product of the others]."""

    def forward(self, x: Tensor) -> Tensor:
        return F.flatten(x, 1, -1)
