"""numpy's own functions on tensors: np.exp(x) is weft.exp(x), and so on."""
from __future__ import annotations

from typing import Any

import numpy as np

from ._core import Tensor

# Names that numpy has for others.
OTHER_NAMES = {"arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh",
               "power": "pow", "absolute": "abs", "invert": "bitwise_invert", "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift",
               "conjugate": "conj", "degrees": "rad2deg", "radians": "deg2rad"}
REDUCTIONS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any"}


def _here(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, Tensor) else value


def array_ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
    """A function of numpy's on tensors and others: on the device where weft has it. With `out`, an array of numpy, numpy computes into it."""
    import weft
    if out is None and not options and method == "__call__":
        own = getattr(weft, OTHER_NAMES.get(ufunc.__name__, ufunc.__name__), None)
        if own is not None:
            return own(*inputs)
    if out is None and method == "reduce" and ufunc.__name__ in REDUCTIONS and set(options) <= {"axis", "keepdims"}:
        return getattr(weft, REDUCTIONS[ufunc.__name__])(inputs[0], axis=options.get("axis", 0), keepdims=options.get("keepdims", False))
    targets = out if isinstance(out, tuple) else (out,)
    if any(isinstance(target, Tensor) for target in targets):
        return NotImplemented
    named = {name: _here(value) for name, value in options.items()} | ({} if out is None else {"out": out})
    return getattr(ufunc, method)(*map(_here, inputs), **named)
