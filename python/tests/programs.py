"""Random programs: lines like "v3 = xp.flip(v1, axis=0)", written from a seed, which numpy (reference.py) and Weft both run.

While a program is written the reference runs it, so that the writer knows shapes and values; a line that the reference refuses is kept,
and Weft has to refuse it too. Each result is compared, and the reference goes on from Weft's values, so that errors do not add up.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from reference import EPS, FLOAT_FUNCTIONS, LARGEST, XP, Array, Ref, is_float

import weft as wt

KINDS = ["float32", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint32", "uint8", "bool"]
REFUSALS = (ValueError, TypeError, IndexError, OverflowError, NotImplementedError)
EXACT = ("add", "subtract", "multiply", "maximum", "minimum")
COARSE = ("floor_divide", "remainder", "fmod")
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor")
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")
SYMBOLS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%", "bitwise_and": "&", "bitwise_or": "|",
           "bitwise_xor": "^", "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
           "left_shift": "<<", "right_shift": ">>"}
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 3e38, 1e-30, 65504.0, -2.5])


class Difference(AssertionError):
    """Weft and numpy do not agree."""


class WeftSpace:
    """`xp` for Weft: its own functions, but for how tensors are made."""

    def __getattr__(self, name: str) -> Any:
        return getattr(wt, name)

    def array(self, values: Any, kind: str) -> wt.Tensor:
        return wt.array(values, kind)

    def top_k(self, x: wt.Tensor, count: int) -> Any:
        return wt.top_k(x, count)


def values(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> Array:
    """Elements: quarters, which floats compute exactly; now and then any floats, special ones, or the ends of the integers."""
    if kind == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if not is_float(kind):
        made = rng.integers(0 if kind[0] == "u" else -9, 10, shape).astype(kind)
        ends = np.array([np.iinfo(kind).min, np.iinfo(kind).max], kind)
        return np.where(rng.random(shape) < rng.choice([0, 0, 0.2]), rng.choice(ends, shape), made)
    way = rng.integers(6)
    if way == 0:
        return np.asarray(Ref(rng.choice(SPECIAL, shape), kind).v)
    if way < 3:
        return np.asarray(Ref(rng.normal(size=shape) * rng.choice([1.0, 10.0]), kind).v)
    return rng.integers(-16, 17, shape) / 4


def check(got: Any, wanted: Any) -> None:
    """Shape, type and values."""
    if isinstance(wanted, (list, tuple)):
        if len(got) != len(wanted):
            raise Difference(f"{len(got)} results, wanted {len(wanted)}")
        for g, w in zip(got, wanted, strict=True):
            check(g, w)
        return
    if not isinstance(got, wt.Tensor):
        raise Difference(f"a {type(got).__name__}, wanted a tensor")
    if got.shape != wanted.shape:
        raise Difference(f"shape {got.shape}, wanted {wanted.shape}")
    if got.dtype.name != wanted.kind:
        raise Difference(f"type {got.dtype.name}, wanted {wanted.kind}")
    mine, right = got.numpy(), wanted.v
    if not is_float(wanted.kind):
        wrong = mine != right
    else:
        mine = mine.astype(np.float64)
        with np.errstate(all="ignore"):
            finite = np.where(np.isfinite(right), np.abs(right), 0)
            allowed = finite * (EPS[wanted.kind] * 2 + (wanted.loose if isinstance(wanted.loose, float) and wanted.loose > 0 else 0))
            allowed = allowed + np.where(np.isfinite(wanted.loose), wanted.loose, 0) + 1.2e-38
            if wanted.kind == "float16":
                allowed = allowed + 2.0**-24
            close = np.abs(mine - right) <= allowed
            close |= (mine == right) | (np.isnan(mine) & np.isnan(right))
            close |= (np.abs(right) >= LARGEST[wanted.kind] * 0.99) & (np.abs(mine) >= LARGEST[wanted.kind] * 0.99) & (np.sign(mine) == np.sign(right))
        wrong = ~close
    if np.any(wrong):
        place = tuple(int(i) for i in np.argwhere(wrong)[0]) if wrong.ndim else ()
        raise Difference(f"{int(np.sum(wrong))} of {wrong.size} elements differ; at {place} {mine[place]!r}, wanted {right[place]!r}\n"
                         f"  got    {mine.reshape(-1)[:12]}\n  wanted {np.asarray(right).reshape(-1)[:12]}")


class Program:
    """One random program, its values in both worlds, and the text so far."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.lines: list[str] = []
        self.ref: dict[str, Any] = {"xp": XP}
        self.mine: dict[str, Any] = {"xp": WeftSpace()}
        self.names: list[str] = []
        self.inputs: list[str] = []
        self.on_host = False  # a line asks for values, so the program cannot be compiled
        self.counter = 0

    # Choices.

    def one_of(self, items: Any) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def below(self, n: int) -> int:
        return int(self.rng.integers(n))

    def shape(self, most: int = 4) -> tuple[int, ...]:
        extents = [0, 1, 1, 2, 3, 4, 5, 7] if self.chance(0.15) else [1, 2, 3, 4, 5, 7]
        return tuple(int(self.one_of(extents)) for _ in range(self.below(most + 1)))

    def input(self, shape: tuple[int, ...] | None = None, kind: str | None = None, made: Array | None = None) -> str:
        kind = kind or str(self.one_of(KINDS))
        made = values(self.rng, self.shape() if shape is None else shape, kind) if made is None else made
        return self.add_value(np.asarray(made), kind)

    def add_value(self, made: Array, kind: str) -> str:
        name = f"v{self.counter}"
        self.counter += 1
        text = np.array2string(made, separator=", ", threshold=10**6, floatmode="unique").replace("\n", "")
        self.lines.append(f"{name} = xp.array({text}, {kind!r})  # {made.shape}")
        self.ref[name] = Ref(made, kind)
        self.mine[name] = wt.array(made, kind)
        self.names.append(name)
        self.inputs.append(name)
        return name

    def pick(self, test: Callable[[Ref], bool] | None = None) -> str:
        """A tensor of the program that passes a test, or a new one."""
        found = [n for n in self.names if test is None or test(self.ref[n])]
        if found and self.chance(0.7):
            return str(self.one_of(found))
        for _ in range(50):
            name = self.input()
            if test is None or test(self.ref[name]):
                return name
        return self.input((2, 3), "float32", np.ones((2, 3)))

    def beside(self, name: str, test: Callable[[Ref], bool] | None = None) -> str:
        """A tensor whose shape broadcasts with another's, of any type."""
        shape = list(self.ref[name].shape)
        for i in range(len(shape)):
            if self.chance(0.25):
                shape[i] = 1
        cut = tuple(shape[self.below(len(shape) + 1):]) if self.chance(0.3) else tuple(shape)
        for _ in range(50):
            kind = self.ref[name].kind if self.chance(0.4) else str(self.one_of(KINDS))
            other = self.input(cut, kind)
            if test is None or test(self.ref[other]):
                return other
        return name

    def number(self, name: str) -> str:
        """A number of Python that the type of a tensor holds."""
        kind = self.ref[name].kind
        if self.chance(0.3) or is_float(kind):
            return str(self.below(33) / 4 - 4)
        return str(self.below(9) if kind[0] in "ub" else self.below(17) - 8)

    def axis(self, name: str) -> int:
        ndim = max(self.ref[name].ndim, 1)
        return self.below(2 * ndim) - ndim

    def axes(self, name: str) -> Any:
        ndim = self.ref[name].ndim
        if ndim == 0 or self.chance(0.25):
            return None
        if self.chance(0.5):
            return self.axis(name)
        chosen = self.rng.permutation(ndim)[:1 + self.below(ndim)]
        return tuple(int(a) - (ndim if self.chance(0.5) else 0) for a in chosen)

    # Running.

    def run(self, expression: str, host: bool = False) -> None:
        """Adds "v = expression" and compares what both make of it."""
        self.on_host |= host
        name = f"v{self.counter}"
        self.counter += 1
        self.lines.append(f"{name} = {expression}")
        both = self.both(lambda space: eval(expression, {}, space))
        if both is None:
            return
        got, wanted = both
        check(got, wanted)
        if isinstance(got, (list, tuple)):
            if not got:
                return
            part = self.below(len(got))
            self.lines[-1] = f"{name} = ({expression})[{part}]"
            got, wanted = got[part], wanted[part]
        self.keep(name, got, wanted)

    def both(self, run: Callable[[dict[str, Any]], Any]) -> Any:
        """What both make of the last line; nothing when both refuse it."""
        refused = None
        wanted = got = None
        try:
            wanted = run(self.ref)
        except REFUSALS as error:
            refused = error
        try:
            got = run(self.mine)
            for part in got if isinstance(got, (list, tuple)) else [got]:
                if part is not None:
                    part.eval()
        except REFUSALS as error:
            if refused is None:
                raise Difference(f"Weft refuses it, numpy does not: {type(error).__name__}: {error}") from None
            if len(str(error)) < 20 or not str(error).rstrip().endswith((".", ")")):
                raise Difference(f"no sentence: {error!r}") from None
            self.lines.pop()
            return None
        if refused is not None:
            raise Difference(f"numpy refuses it, Weft does not: {type(refused).__name__}: {refused}")
        return got, wanted

    def change(self, name: str, line: str) -> None:
        """Adds a line that changes a tensor."""
        self.lines.append(line)
        with np.errstate(all="ignore"):
            if self.both(lambda space: exec(line, {}, space)) is None:
                return
        check(self.mine[name], self.ref[name])
        self.ref[name] = Ref(self.mine[name].numpy(), self.ref[name].kind)

    def keep(self, name: str, got: wt.Tensor, wanted: Ref) -> None:
        self.mine[name] = got
        self.ref[name] = Ref(got.numpy(), wanted.kind)
        self.names.append(name)

    def text(self) -> str:
        return "\n".join(self.lines)


def same_program(program: Program) -> None:
    """The program as a compiled function gives what it gave step by step."""
    if program.on_host or not program.names:
        return
    made = [n for n in program.names if n not in program.inputs]
    if not made:
        return
    lines = [line for line in program.lines if line.split(" = ")[0] not in program.inputs]

    def whole(*given: wt.Tensor) -> list[wt.Tensor]:
        space = dict(zip(program.inputs, (+g for g in given), strict=True)) | {"xp": WeftSpace()}
        for line in lines:
            exec(line, {}, space)
        return [space[n] for n in made]

    got = wt.compile(whole)(*(wt.array(program.ref[n].v, program.ref[n].kind) for n in program.inputs))
    for name, tensor in zip(made, got, strict=True):
        wanted = program.ref[name]
        wanted = Ref(wanted.v, wanted.kind, 1e-4 if is_float(wanted.kind) else 0.0)
        try:
            check(tensor, wanted)
        except Difference as error:
            raise Difference(f"compiled, {name} is another: {error}") from None


FLOATING = [*FLOAT_FUNCTIONS, "sigmoid"]
