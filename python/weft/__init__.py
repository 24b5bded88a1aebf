"""Weft: a tensor engine for every GPU that WebGPU reaches.

    import weft as wt

    x = wt.array([[1.0, 2.0], [3.0, 4.0]])
    print((x @ x.T).sum(axis=0))

Tensors have numpy's habits. Operations are noted down and run when a value is asked for; weft.compile() prepares a function to be run
often, weft.grad() differentiates one. The guide is docs/python.md.
"""
from __future__ import annotations

from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import _core
from ._array import *
from ._complex import *
from ._core import Device as Device
from ._core import Tensor as Tensor
from ._core import dtype as dtype
from ._described import *
from ._device import *
from ._files import *
from ._memory import *
from ._methods import install as _install
from ._model import *
from ._more import *
from ._names import *
from ._numpy import *
from ._products import *
from ._profile import *
from ._reduce import *
from ._rest import *
from ._search import *
from ._shapes import *
from ._standard import *
from ._transform import *
from ._tree import *
from ._types import *
from ._types import boolean as _boolean
from ._types import to_dtype as _to_dtype

_core.set_hooks(array, _to_dtype, default_device)
_install()

__version__ = _core.version()
__array_api_version__ = "2025.12"
newaxis = None
tensor = array
concatenate = concat
absolute, amax, amin, fix, around = abs, max, min, trunc, round
subtract, multiply, negative, true_divide, power, mod = sub, mul, neg, divide, pow, remainder
arcsin, arccos, arctan, arctan2, arcsinh, arccosh, arctanh = asin, acos, atan, atan2, asinh, acosh, atanh
bitwise_invert, bitwise_left_shift, bitwise_right_shift, invert = bitwise_not, left_shift, right_shift, bitwise_not
degrees, radians, conjugate = rad2deg, deg2rad, conj
topk = top_k
bool = _boolean

from . import data as data  # noqa: E402
from . import fft as fft  # noqa: E402
from . import linalg as linalg  # noqa: E402
from . import nn as nn  # noqa: E402
from . import onnx as onnx  # noqa: E402
from . import optim as optim  # noqa: E402
from . import random as random  # noqa: E402
from . import sparse as sparse  # noqa: E402


def _show_own_names() -> None:
    """What completion and dir() show of the modules below: their own names, not those that they import."""
    for module in (data, fft, linalg, nn, onnx, optim, random, sparse):
        listed = getattr(module, "__all__", None)
        own = [n for n, v in vars(module).items() if not n.startswith("_") and getattr(v, "__module__", "") == module.__name__]
        names = sorted(listed or own)
        setattr(module, "__dir__", lambda names=names: list(names))


_show_own_names()

if not _TYPE_CHECKING:
    import sys as _sys

    from ._called import name_functions as _name_functions
    from ._near import explain_missing as _explain_missing
    for _module in (_sys.modules[__name__], data, fft, linalg, nn, optim, random, sparse):
        _explain_missing(_module)
        _name_functions(_module)
    _name_functions(nn.init)
    del _module


del annotations
