"""New values for parameters, in place: weft.nn.init.kaiming_normal_(layer.weight). Weights are [out, in, …], as in Linear and the convolutions."""
from __future__ import annotations

import math
from typing import Any

from . import _core, random
from ._core import Tensor, functions

__all__ = ["constant_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_", "truncated_normal_", "uniform_", "xavier_normal_", "xavier_uniform_",
           "zeros_"]


def _set(parameter: Tensor, values: Any) -> Tensor:
    if not parameter.is_variable:
        raise TypeError("What is given new values is a variable: a parameter of a module, or what weft.variable() makes.")
    _core.assign([parameter], [functions.cast(values, parameter.dtype)])
    return parameter


def _fans(parameter: Tensor, function: str) -> tuple[int, int]:
    """How many elements each result is a sum of, and how many results each element is part of."""
    if parameter.ndim < 2:
        raise ValueError(f"{function}() needs a weight [out, in, …]; it was given the shape {parameter.shape}.")
    window = math.prod(parameter.shape[2:])
    return max(1, parameter.shape[1] * window), max(1, parameter.shape[0] * window)


def constant_(parameter: Tensor, value: float) -> Tensor:
    """One value everywhere."""
    return _set(parameter, functions.full(parameter.shape, value, "float32", device=parameter.device))


def zeros_(parameter: Tensor) -> Tensor:
    """0 everywhere."""
    return constant_(parameter, 0.0)


def ones_(parameter: Tensor) -> Tensor:
    """1 everywhere."""
    return constant_(parameter, 1.0)


def uniform_(parameter: Tensor, low: float = 0.0, high: float = 1.0) -> Tensor:
    """Numbers from low up to high."""
    return _set(parameter, random.uniform(low, high, parameter.shape))


def normal_(parameter: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Normal numbers."""
    return _set(parameter, random.normal(parameter.shape, mean=mean, std=std))


def truncated_normal_(parameter: Tensor, std: float = 1.0) -> Tensor:
    """Normal numbers within two deviations of 0."""
    return _set(parameter, random.truncated_normal(-2.0, 2.0, parameter.shape) * std)


def xavier_uniform_(parameter: Tensor, gain: float = 1.0) -> Tensor:
    """Uniform within ±gain · sqrt(6 / (in + out)) (Glorot)."""
    bound = gain * math.sqrt(6 / sum(_fans(parameter, "xavier_uniform_")))
    return uniform_(parameter, -bound, bound)


def xavier_normal_(parameter: Tensor, gain: float = 1.0) -> Tensor:
    """Normal with a deviation of gain · sqrt(2 / (in + out)) (Glorot)."""
    return normal_(parameter, 0.0, gain * math.sqrt(2 / sum(_fans(parameter, "xavier_normal_"))))


def kaiming_uniform_(parameter: Tensor) -> Tensor:
    """Uniform within ±sqrt(6 / in) (He), for layers before relu."""
    bound = math.sqrt(6 / _fans(parameter, "kaiming_uniform_")[0])
    return uniform_(parameter, -bound, bound)


def kaiming_normal_(parameter: Tensor) -> Tensor:
    """Normal with a deviation of sqrt(2 / in) (He), for layers before relu."""
    return normal_(parameter, 0.0, math.sqrt(2 / _fans(parameter, "kaiming_normal_")[0]))
