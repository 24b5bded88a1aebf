"""numpy as the reference of random programs: the same expressions, floats computed in double, types by the table of docs/types.md.

A Ref holds numpy's values and the name of Weft's type. Floats are kept as doubles that the type holds; "float64" is not rounded at all,
which numeric gradients are made with. `loose` says how far a result may lie from the reference beyond the rounding of its type.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
TYPES_MD = Path(__file__).resolve().parents[2] / "docs/types.md"
LONG = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u32": "uint32",
        "u8": "uint8", "bool": "bool"}
FLOATS = ("float32", "float16", "bfloat16", "float64")
EPS = {"float64": 0.0, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
LARGEST = {"float32": float(np.finfo(np.float32).max), "float16": 65504.0, "bfloat16": float.fromhex("0x1.fep127"), "float64": np.inf}


def _table() -> dict[tuple[str, str], str]:
    """What two types make, as docs/types.md has it."""
    text = TYPES_MD.read_text().split("## Two types in one operation")[1].split("\n\n- **")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    names = rows[0][1:]
    found = {}
    for row in rows[2:]:
        for name, cell in zip(names, row[1:], strict=True):
            if cell:
                found[LONG[row[0]], LONG[name]] = found[LONG[name], LONG[row[0]]] = LONG[cell]
    return found


PROMOTED = _table()


def promote(a: str, b: str) -> str:
    return "float64" if "float64" in (a, b) else PROMOTED[a, b]


def is_float(kind: str) -> bool:
    return kind in FLOATS


def _rounded(values: Array, kind: str) -> Array:
    with np.errstate(all="ignore"):
        if kind == "float64":
            return values.astype(np.float64)
        if kind == "bfloat16":
            bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
            near = ((bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)).astype(np.uint32) << np.uint32(16)
            return np.where(np.isnan(values), np.nan, near.view(np.float32)).astype(np.float64).reshape(values.shape)
        if is_float(kind):
            return values.astype(kind).astype(np.float64)
        if values.dtype.kind == "f" and kind != "bool":  # floats stop at the range of the type
            ends = np.iinfo(kind)
            cut = np.clip(np.trunc(np.nan_to_num(values, nan=0.0)), float(ends.min), float(ends.max))
            wide = np.where(cut >= 2.0**63, ends.max, np.where(cut >= 2.0**63, 0, cut).astype(np.int64))
            return np.where(cut >= float(ends.max), ends.max, wide).astype(kind)
        return values.astype(kind)


class Ref:
    """A value of the reference."""

    __array_ufunc__ = None

    def __init__(self, values: Any, kind: str, loose: Any = 0.0) -> None:
        self.v, self.kind, self.loose = _rounded(np.asarray(values), kind), kind, loose

    @property
    def shape(self) -> tuple[int, ...]:
        return self.v.shape

    @property
    def ndim(self) -> int:
        return self.v.ndim

    @property
    def mT(self) -> Ref:
        if self.ndim < 2:
            raise ValueError("too few dimensions")
        return Ref(np.swapaxes(self.v, -1, -2), self.kind)

    @property
    def T(self) -> Ref:
        return Ref(self.v.T, self.kind)

    def __getitem__(self, index: Any) -> Ref:
        return Ref(self.v[_plain(index)], self.kind)

    def __setitem__(self, index: Any, value: Any) -> None:
        given = _rounded(value.v, self.kind) if isinstance(value, Ref) else value
        self.v[_plain(index)] = given
        self.v = _rounded(self.v, self.kind)

    def copy(self) -> Ref:
        return Ref(self.v.copy(), self.kind)

    def __neg__(self) -> Ref:
        return XP.negative(self)

    def __abs__(self) -> Ref:
        return XP.abs(self)

    def __invert__(self) -> Ref:
        if is_float(self.kind):
            raise TypeError("bits of floats")
        return Ref(~self.v, self.kind)


def _plain(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(_plain(i) for i in index)
    return index.v if isinstance(index, Ref) else index


def kind_of(*values: Any) -> str:
    """The type in which an operation on these computes."""
    kind = ""
    for value in values:
        if isinstance(value, Ref):
            kind = promote(kind, value.kind) if kind else value.kind
    for value in values:
        if isinstance(value, float) and not is_float(kind):
            kind = "float32"
        elif isinstance(value, int) and not isinstance(value, bool) and kind == "bool":
            kind = "int32"
    return kind


def numbers(value: Any, kind: str) -> Array:
    """A value as numpy computes with it."""
    if isinstance(value, Ref):
        return _rounded(value.v, kind)
    if not is_float(kind) and kind != "bool" and not isinstance(value, bool):
        ends = np.iinfo(kind)
        if not ends.min <= value <= ends.max:
            raise OverflowError("out of range")
    return _rounded(np.asarray(float(value)) if is_float(kind) else np.asarray(value), kind)


def _elementwise(function: Callable[..., Any], kind: str, result: str | None, values: Sequence[Any], loose: float = 0.0) -> Ref:
    with np.errstate(all="ignore"):
        made = function(*(numbers(v, kind) for v in values))
    return Ref(made, result or kind, loose)


def binary(name: str, result: str | None = None, loose: float = 0.0) -> staticmethod[[Any, Any], Ref]:
    function = getattr(np, name)

    def run(a: Any, b: Any) -> Ref:
        kind = kind_of(a, b)
        if name in ("true_divide", "arctan2", "logaddexp", "copysign") and not is_float(kind):
            kind = "float32"
        if name == "subtract" and kind == "bool":
            raise TypeError("booleans have no difference")
        if name.startswith("bitwise") or name.endswith("shift"):
            if is_float(kind):
                raise TypeError("bits of floats")
        return _elementwise(function, kind, result, (a, b), loose)

    return staticmethod(run)


def unary(name: str, loose: float = 0.0, floats: bool = True, result: str | None = None) -> staticmethod[[Any], Ref]:
    function = getattr(np, name)

    def run(x: Ref) -> Ref:
        kind = "float32" if floats and not is_float(x.kind) else x.kind
        return _elementwise(function, kind, result, (x,), loose)

    return staticmethod(run)


SUMS = {"bool": "int32", "int8": "int32", "int16": "int32", "uint8": "uint32"}


def _sum_kind(kind: str) -> str:
    return SUMS.get(kind, kind)


def _mean_kind(kind: str) -> str:
    return kind if is_float(kind) else "float32"


def _size_error(x: Array, **over: Any) -> Any:
    """How far sums in float32 may be off."""
    with np.errstate(all="ignore"):
        return np.abs(np.nan_to_num(x.astype(np.float64), posinf=0, neginf=0)).sum(**over) * 2e-6


class Space:
    """What stands for `xp` in a program."""

    add, subtract, multiply, divide = binary("add"), binary("subtract"), binary("multiply"), binary("true_divide", loose=1e-6)
    maximum, minimum, remainder, fmod = binary("maximum"), binary("minimum"), binary("remainder"), binary("fmod")
    floor_divide, atan2, logaddexp = binary("floor_divide"), binary("arctan2", loose=1e-5), binary("logaddexp", loose=1e-5)
    equal, not_equal, less = binary("equal", "bool"), binary("not_equal", "bool"), binary("less", "bool")
    less_equal, greater, greater_equal = binary("less_equal", "bool"), binary("greater", "bool"), binary("greater_equal", "bool")
    logical_and, logical_or, logical_xor = binary("logical_and", "bool"), binary("logical_or", "bool"), binary("logical_xor", "bool")
    bitwise_and, bitwise_or, bitwise_xor = binary("bitwise_and"), binary("bitwise_or"), binary("bitwise_xor")
    left_shift, right_shift, copysign = binary("left_shift"), binary("right_shift"), binary("copysign")
    logical_not, isnan, isinf, isfinite = (unary(n, floats=False, result="bool") for n in ("logical_not", "isnan", "isinf", "isfinite"))
    abs, negative, square = unary("abs", floats=False), unary("negative", floats=False), unary("square", floats=False)
    sign, floor, ceil, trunc, round = (unary(n, floats=False) for n in ("sign", "floor", "ceil", "trunc", "round"))

    def __init__(self) -> None:
        for name, of_numpy in FLOAT_FUNCTIONS.items():
            setattr(self, name, unary(of_numpy, 3e-5))

    def array(self, values: Any, kind: str) -> Ref:
        return Ref(values, kind)

    def astype(self, x: Ref, kind: str) -> Ref:
        return Ref(x.v, kind)

    def sigmoid(self, x: Ref) -> Ref:
        return _elementwise(lambda v: 1 / (1 + np.exp(-v)), _mean_kind(x.kind), None, (x,), 3e-5)

    def relu(self, x: Ref) -> Ref:
        return _elementwise(lambda v: np.maximum(v, np.zeros((), v.dtype)), x.kind, None, (x,))

    def where(self, condition: Ref, a: Any, b: Any) -> Ref:
        kind = kind_of(a, b)
        return Ref(np.where(condition.v != 0, numbers(a, kind), numbers(b, kind)), kind)

    def clip(self, x: Ref, low: Any, high: Any) -> Ref:
        return XP.minimum(XP.maximum(x, low), high)

    def isclose(self, a: Ref, b: Ref, equal_nan: bool = False) -> Ref:
        kind = kind_of(a, b)
        kind = kind if is_float(kind) else "float32"
        with np.errstate(all="ignore"):
            return Ref(np.isclose(numbers(a, kind), numbers(b, kind), equal_nan=equal_nan), "bool")

    # Reductions.

    def _reduced(self, name: str, x: Ref, kind: str, **options: Any) -> Ref:
        over = {k: v for k, v in options.items() if k in ("axis", "keepdims")}
        with np.errstate(all="ignore"):
            values = x.v.astype(kind) if not is_float(kind) else x.v.astype(np.float64)
            return Ref(getattr(np, name)(values, **options), kind, _size_error(x.v, **over) if is_float(kind) else 0.0)

    def sum(self, x: Ref, **options: Any) -> Ref:
        return self._reduced("sum", x, _sum_kind(x.kind), **options)

    def mean(self, x: Ref, **options: Any) -> Ref:
        return self._reduced("mean", x, _mean_kind(x.kind), **options)

    def var(self, x: Ref, axis: Any = None, correction: float = 0, keepdims: bool = False) -> Ref:
        made = self._reduced("var", x, _mean_kind(x.kind), axis=axis, ddof=correction, keepdims=keepdims)
        made.loose = np.nan_to_num(np.abs(made.v)) * 1e-4 + 1e-5
        return made

    def std(self, x: Ref, axis: Any = None, correction: float = 0, keepdims: bool = False) -> Ref:
        made = self._reduced("std", x, _mean_kind(x.kind), axis=axis, ddof=correction, keepdims=keepdims)
        made.loose = np.nan_to_num(np.abs(made.v)) * 1e-3 + 3e-3
        return made

    def prod(self, x: Ref, **options: Any) -> Ref:
        made = self._reduced("prod", x, _sum_kind(x.kind), **options)
        made.loose = np.nan_to_num(np.abs(made.v), posinf=0) * 1e-5 if is_float(x.kind) else 0.0
        return made

    def _kept(self, name: str, x: Ref, **options: Any) -> Ref:
        with np.errstate(all="ignore"):
            return Ref(getattr(np, name)(x.v, **options), x.kind)

    def max(self, x: Ref, **options: Any) -> Ref:
        return self._kept("max", x, **options)

    def min(self, x: Ref, **options: Any) -> Ref:
        return self._kept("min", x, **options)

    def argmax(self, x: Ref, **options: Any) -> Ref:
        return Ref(np.argmax(x.v, **options), "int32")

    def argmin(self, x: Ref, **options: Any) -> Ref:
        return Ref(np.argmin(x.v, **options), "int32")

    def any(self, x: Ref, **options: Any) -> Ref:
        return Ref(np.any(x.v, **options), "bool")

    def all(self, x: Ref, **options: Any) -> Ref:
        return Ref(np.all(x.v, **options), "bool")

    def count_nonzero(self, x: Ref, **options: Any) -> Ref:
        return Ref(np.count_nonzero(x.v, **options), "int32")

    def logsumexp(self, x: Ref, axis: Any = None, keepdims: bool = False) -> Ref:
        with np.errstate(all="ignore"):
            return Ref(np.logaddexp.reduce(x.v.astype(np.float64), axis=axis, keepdims=keepdims), _mean_kind(x.kind), 1e-5)

    def quantile(self, x: Ref, q: float, axis: Any = None, keepdims: bool = False) -> Ref:
        with np.errstate(all="ignore"):
            made = np.quantile(x.v.astype(np.float64), q, axis=axis, keepdims=keepdims)
            return Ref(made, _mean_kind(x.kind), 1e-5 * (1 + np.abs(x.v.astype(np.float64)).max(initial=0)))

    def signbit(self, x: Ref) -> Ref:
        return Ref(np.signbit(x.v.astype(np.float64)), "bool")

    def median(self, x: Ref, axis: Any = None, keepdims: bool = False) -> Ref:
        with np.errstate(all="ignore"):
            return Ref(np.median(x.v.astype(np.float64), axis=axis, keepdims=keepdims), _mean_kind(x.kind), 1e-6)

    # Running results.

    def _running(self, name: str, x: Ref, axis: int | None, kind: str) -> Ref:
        flat = x.v.reshape(-1) if axis is None else x.v
        with np.errstate(all="ignore"):
            values = flat.astype(np.float64) if is_float(kind) else flat.astype(kind)
            made = getattr(np, name)(values, axis=0 if axis is None else axis) if name.startswith("cum") else getattr(
                np, name).accumulate(values, axis=0 if axis is None else axis)
            error = 0.0 if not is_float(kind) else _size_error(flat) if name == "cumsum" else np.nan_to_num(np.abs(made), posinf=0) * 1e-5
        return Ref(made, kind, error)

    def cumsum(self, x: Ref, axis: int | None = None) -> Ref:
        return self._running("cumsum", x, axis, _sum_kind(x.kind))

    def cumprod(self, x: Ref, axis: int | None = None) -> Ref:
        return self._running("cumprod", x, axis, _sum_kind(x.kind))

    def cummax(self, x: Ref, axis: int | None = None) -> Ref:
        return self._running("maximum", x, axis, x.kind)

    def cummin(self, x: Ref, axis: int | None = None) -> Ref:
        return self._running("minimum", x, axis, x.kind)

    def diff(self, x: Ref, axis: int = -1, n: int = 1) -> Ref:
        with np.errstate(all="ignore"):
            for _ in range(n):
                x = Ref(np.diff(x.v, axis=axis), x.kind)
        return x

    # Order.

    def sort(self, x: Ref, axis: int = -1, descending: bool = False) -> Ref:
        return Ref(np.take_along_axis(x.v, self.argsort(x, axis, descending).v, axis), x.kind)

    def argsort(self, x: Ref, axis: int = -1, descending: bool = False) -> Ref:
        if not descending:
            return Ref(np.argsort(x.v, axis=axis, kind="stable"), "int32")
        turned = np.flip(x.v, axis)
        places = np.flip(np.argsort(turned, axis=axis, kind="stable"), axis)
        return Ref(x.v.shape[axis] - 1 - places, "int32")

    def searchsorted(self, x: Ref, values: Ref, side: str = "left") -> Ref:
        return Ref(np.searchsorted(x.v, values.v, side=side), "int32")  # type: ignore[call-overload]

    def top_k(self, x: Ref, count: int) -> tuple[Ref, Ref]:
        places = self.argsort(x, -1, True).v[..., :count]
        return Ref(np.take_along_axis(x.v, places, -1), x.kind), Ref(places, "int32")

    def unique_values(self, x: Ref) -> Ref:
        return Ref(np.unique(x.v, equal_nan=False), x.kind)

    def nonzero(self, x: Ref) -> tuple[Ref, ...]:
        if not x.ndim:
            raise ValueError("no dimensions")
        return tuple(Ref(i, "int32") for i in np.nonzero(x.v))

    # Products.

    def _product(self, function: Callable[..., Any], a: Ref, b: Ref) -> Ref:
        kind = kind_of(a, b)
        left, right = numbers(a, kind), numbers(b, kind)
        with np.errstate(all="ignore"):
            made = function(left, right)
            if not is_float(kind):
                return Ref(made, kind)
            size = function(np.abs(np.nan_to_num(left, posinf=0, neginf=0)), np.abs(np.nan_to_num(right, posinf=0, neginf=0)))
            return Ref(made, kind, size * 4e-6)

    def matmul(self, a: Ref, b: Ref) -> Ref:
        return self._product(np.matmul, a, b)

    def outer(self, a: Ref, b: Ref) -> Ref:
        return self._product(np.outer, a, b)

    def inner(self, a: Ref, b: Ref) -> Ref:
        return self._product(np.inner, a, b)

    def dot(self, a: Ref, b: Ref) -> Ref:
        return self._product(np.dot, a, b)

    def vecdot(self, a: Ref, b: Ref) -> Ref:
        return self._product(lambda x, y: np.any(x & y, -1) if x.dtype == bool else (x * y).sum(-1, dtype=x.dtype), a, b)

    def tensordot(self, a: Ref, b: Ref, axes: Any) -> Ref:
        return self._product(lambda x, y: np.tensordot(x, y, axes=axes), a, b)

    def einsum(self, letters: str, *operands: Ref) -> Ref:
        if len(operands) == 1:
            return Ref(np.einsum(letters, operands[0].v), operands[0].kind, _size_error(operands[0].v))
        return self._product(lambda x, y: np.einsum(letters, x, y), *operands)


FLOAT_FUNCTIONS = {name: name for name in ("exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp2")} | {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}


def _moving(name: str, many: bool = False) -> Callable[..., Any]:
    """Functions that only move elements."""
    function = getattr(np, {"concat": "concatenate", "permute_dims": "transpose", "diagonal": "diagonal"}.get(name, name))

    def run(self: Space, x: Any, *places: Any, **options: Any) -> Any:
        places = tuple(_plain(p) for p in places)
        if isinstance(x, (list, tuple)):
            kind = kind_of(*x)
            return Ref(function([numbers(t, kind) for t in x], *places, **options), kind)
        made = function(x.v, *places, **options)
        return [Ref(m, x.kind) for m in made] if many else Ref(made, x.kind)

    return run


for _name in ("concat", "stack", "reshape", "permute_dims", "squeeze", "expand_dims", "moveaxis", "broadcast_to", "repeat", "tile", "roll", "pad",
              "flip", "take", "take_along_axis", "tril", "triu", "diagonal", "swapaxes"):
    setattr(Space, _name, _moving(_name))
Space.split = _moving("split", many=True)  # type: ignore[attr-defined]
XP: Any = Space()

for _symbol, _function in {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide", "mod": "remainder",
                           "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "left_shift", "rshift": "right_shift",
                           "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}.items():
    _run = getattr(Space, _function)
    setattr(Ref, f"__{_symbol}__", lambda self, other, _run=_run: _run(self, other))
    setattr(Ref, f"__r{_symbol}__", lambda self, other, _run=_run: _run(other, self))
Ref.__matmul__ = lambda self, other: XP.matmul(self, other)  # type: ignore[attr-defined]
Ref.__hash__ = object.__hash__  # type: ignore[method-assign]
