"""Compiled functions whose shapes, types and other arguments change from call to call, with variables that they change: against numpy, and against the
same function as it is written. A quick sample by default, more with --programs N."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import reference_more  # noqa: F401  (gives the reference more functions)
from programs import REFUSALS, Difference, WeftSpace, check, values
from reference import XP, Array, Ref, is_float

import weft as wt

TYPES = ["float32", "float32", "float32", "float16", "int32", "uint8", "int64", "bool"]


class Lines:
    """A function of x and y of any shape: each line makes v of v, x and y."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.ndim = int(self.rng.integers(1, 4))
        self.lines = ["v = x + y"] + [self.step() for _ in range(5)]

    def one_of(self, items: Any) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def step(self) -> str:
        axis = int(self.rng.integers(-1, 1))
        name = self.one_of(("sum", "max", "min", "mean"))
        choices = ["v = xp.abs(v)", "v = xp.maximum(v, y)", "v = xp.where(v > 1, v, x)", "v = v * 2", "v = v + x", "v = xp.square(v)",
                   "v = v - xp.astype(y, 'int32')",
                   f"v = xp.{name}(v, axis={axis}, keepdims=True) + v", f"v = xp.flip(v, axis={axis})", f"v = xp.roll(v, 1, axis={axis})",
                   f"v = xp.sort(v, axis={axis})", f"v = v + xp.argsort(v, axis={axis})", f"v = xp.cumsum(v, axis={axis})",
                   f"v = xp.concat([v, v], axis={axis})[..., ::2] + x[..., :1]", "v = xp.concat([x, v[..., :0]], axis=-1) + v[:1, ..., :1]",
                   "v = xp.astype(v, 'float32')", "v = xp.astype(v, 'int32')", "v = xp.clip(v, 0, 5)", "v = (v == x) + v", "v = xp.tanh(v)",
                   "v = v * (1 if flag else 3)", "v = v + number", f"v = xp.any(v, axis={axis}, keepdims=True) * v", f"v = xp.cummax(v, axis={axis})"]
        if self.ndim == 2:
            choices += ["v = xp.clip(v, 0, 3); v = v @ v.T @ v"] * 3
        return str(self.one_of(choices))

    def run(self, xp: Any, x: Any, y: Any, flag: bool, number: Any, change: Callable[[Any], None] = lambda v: None) -> Any:
        space = {"xp": xp, "x": x, "y": y, "flag": flag, "number": number}
        for line in self.lines:
            exec(line, {}, space)
            change(space["v"])
        return space["v"], xp.sum(space["v"], axis=-1)

    def inputs(self) -> tuple[Array, Array, str]:
        shape = tuple(int(self.one_of([0, 1, 1, 2, 3, 5, 8])) for _ in range(self.ndim))
        kind = str(self.one_of(TYPES))
        made = [np.clip(np.nan_to_num(values(self.rng, s, kind).astype(np.float64), posinf=1, neginf=-1), -8, 8).astype("float64" if is_float(kind) else kind)
                for s in (shape, shape[-1:])]
        return made[0], made[1], kind


def loose(ref: Ref) -> Ref:
    return Ref(ref.v, ref.kind, (np.abs(np.nan_to_num(ref.v.astype(np.float64), posinf=0, neginf=0)).max(initial=0) + 1) * (
        2e-2 if ref.kind == "float16" else 1e-4) if is_float(ref.kind) else 0.0)


def run_lines(seed: int) -> None:
    made = Lines(seed)
    total = wt.variable(wt.zeros((), dtype="float32"))
    counted = 0.0

    def note(v: wt.Tensor) -> None:
        total[...] = total + v.size % 7

    def whole(x: wt.Tensor, y: wt.Tensor, flag: bool, number: int) -> Any:
        return made.run(WeftSpace(), x, y, flag, number, note)

    compiled = wt.compile(whole)
    earlier: list[tuple[Any, ...]] = []
    for _ in range(7):
        again = bool(earlier) and made.rng.random() < 0.4
        x, y, kind = earlier[int(made.rng.integers(len(earlier)))] if again else made.inputs()
        earlier.append((x, y, kind))
        flag, number = bool(made.rng.integers(2)), int(made.rng.integers(3))
        text = f"seed {seed}, x {x.shape} {kind}, {flag}, {number}\n" + "\n".join(made.lines)
        refused: Exception | None = None
        sizes: list[int] = []
        try:
            with np.errstate(all="ignore"):
                wanted = made.run(XP, Ref(x, kind), Ref(y, kind), flag, number, lambda v, sizes=sizes: sizes.append(v.v.size % 7))  # type: ignore[misc]
        except REFUSALS as error:
            refused = error
        try:
            got = compiled(wt.array(x, kind), wt.array(y, kind), flag, number)
        except REFUSALS as error:
            if refused is None:
                raise Difference(f"refused: {error}\n{text}") from None
            continue
        if refused is not None:
            raise Difference(f"numpy refuses: {refused}\n{text}")
        counted += sum(sizes)
        try:
            for one, other in zip(got, wanted, strict=True):
                check(one, loose(other))
            assert total.item() == counted, (total.item(), counted)
        except AssertionError as error:
            raise Difference(f"{error}\n{text}") from None


def test_changing(seed: int) -> None:
    run_lines(seed)
