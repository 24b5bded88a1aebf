"""The steps of random programs: each writes one line."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from programs import BITS, COARSE, COMPARISONS, EXACT, FLOATING, KINDS, SYMBOLS, Program
from reference import Ref, is_float, kind_of


def moderate(x: Ref) -> bool:
    """Angles and powers that floats can compute."""
    return bool(np.all(np.abs(np.nan_to_num(x.v.astype(np.float64), posinf=0, neginf=0)) < 50))


def coarse(x: Ref) -> bool:
    """Quarters: no rounding decides between two results."""
    values = x.v.astype(np.float64)
    return x.kind != "bool" and bool(np.all(np.isfinite(values) & (values * 4 == np.round(values * 4)) & (np.abs(values) < 2**20)))


def finite(x: Ref) -> bool:
    return bool(np.all(np.isfinite(x.v)) and np.all(np.abs(x.v.astype(np.float64)) < 1e15))


def whole(x: Ref) -> bool:
    return not is_float(x.kind) and x.kind != "bool"


def not_bool(x: Ref) -> bool:
    return x.kind != "bool"


def call(p: Program, name: str, a: str, b: str) -> str:
    if name in SYMBOLS and p.chance(0.6):
        return f"{a} {SYMBOLS[name]} {b}"
    return f"xp.{name}({a}, {b})"


def arithmetic(p: Program) -> None:
    name = p.one_of(EXACT)
    a = p.pick()
    if p.chance(0.3):
        b = p.number(a)
        a, b = (b, a) if p.chance(0.4) else (a, b)
    else:
        b = p.beside(a)
    p.run(call(p, name, a, b))


def division(p: Program) -> None:
    name = p.one_of((*COARSE, "divide"))
    a = p.pick(coarse)
    b = p.number(a) if p.chance(0.3) else p.beside(a, coarse)
    if b == "0.0" or b == "0":
        b = "1"
    p.run(call(p, name, a, b))


def comparison(p: Program) -> None:
    a = p.pick()
    name = p.one_of(COMPARISONS)
    number = p.chance(0.3)
    b = p.number(a) if number else p.beside(a)
    p.run(call(p, name, a, b))


def bits(p: Program) -> None:
    a = p.pick(lambda x: not is_float(x.kind))
    name = p.one_of(BITS)
    p.run(call(p, name, a, str(p.below(8)) if p.chance(0.3) else p.beside(a, lambda x: not is_float(x.kind))))


def shift(p: Program) -> None:
    a = p.pick(whole)
    places = p.input(p.ref[a].shape, p.ref[a].kind, p.rng.integers(0, 40, p.ref[a].shape).astype(p.ref[a].kind))
    p.run(call(p, p.one_of(("left_shift", "right_shift")), a, str(p.below(40)) if p.chance(0.3) else places))


def plain(p: Program) -> None:
    name = p.one_of(("abs", "negative", "square", "sign", "floor", "ceil", "trunc", "round", "logical_not", "isnan", "isinf", "isfinite", "relu"))
    p.run(f"xp.{name}({p.pick(not_bool)})")


def invert(p: Program) -> None:
    p.run(f"~{p.pick(lambda x: not is_float(x.kind))}")


def function(p: Program) -> None:
    p.run(f"xp.{p.one_of(FLOATING)}({p.pick(moderate)})")


def two_floats(p: Program) -> None:
    a = p.pick(moderate)
    p.run(f"xp.{p.one_of(('atan2', 'logaddexp'))}({a}, {p.beside(a, moderate)})")


def choose(p: Program) -> None:
    a = p.pick()
    condition, b = p.beside(a), p.number(a) if p.chance(0.2) else p.beside(a)
    p.run(f"xp.where({condition}, {a}, {b})")


def clip(p: Program) -> None:
    a = p.pick(not_bool)
    low, high = sorted(float(p.number(a)) for _ in range(2))
    if not is_float(p.ref[a].kind):
        low, high = int(abs(low)), int(abs(low) + abs(high))
    p.run(f"xp.clip({a}, {low}, {high})")


def cast(p: Program) -> None:
    a = p.pick()
    target = p.one_of(KINDS)
    if is_float(p.ref[a].kind) and not is_float(target) and not finite(p.ref[a]):
        return  # docs/types.md stops at the range, numpy does not say
    p.run(f"xp.astype({a}, {target!r})")


def signs(p: Program) -> None:
    a = p.pick(lambda x: not np.any(np.isnan(x.v)))
    if p.chance(0.5):
        p.run(f"xp.signbit({a})")
    else:
        p.run(f"xp.copysign({a}, {p.beside(a, lambda x: not np.any(np.isnan(x.v)))})")


def isclose(p: Program) -> None:
    a = p.pick()
    p.run(f"xp.isclose({a}, {p.beside(a)}, equal_nan={p.chance(0.5)})")


def reduction(p: Program) -> None:
    name = p.one_of(("sum", "mean", "max", "min", "prod", "any", "all", "argmax", "argmin", "var", "std", "count_nonzero", "logsumexp"))
    a = p.pick(moderate if name in ("prod", "var", "std", "logsumexp") else finite if name in ("sum", "mean") else None)
    axis = p.axis(a) if name in ("argmax", "argmin") and p.chance(0.7) else None if name in ("argmax", "argmin") else p.axes(a)
    if p.ref[a].ndim == 0:
        axis = None
    p.run(f"xp.{name}({a}, axis={axis}, keepdims={p.chance(0.4)})")


def running(p: Program) -> None:
    name = p.one_of(("cumsum", "cumprod", "cummax", "cummin"))
    a = p.pick(moderate if name == "cumprod" else finite if name == "cumsum" else None)
    p.run(f"xp.{name}({a}, axis={None if p.chance(0.2) or not p.ref[a].ndim else p.axis(a)})")


def order(p: Program) -> None:
    a = p.pick(lambda x: x.ndim > 0)
    p.run(f"xp.{p.one_of(('sort', 'argsort'))}({a}, axis={p.axis(a)}, descending={p.chance(0.4)})")


def largest(p: Program) -> None:
    a = p.pick(lambda x: x.ndim > 0 and x.shape[-1] > 0 and not np.any(np.isnan(x.v)))
    p.run(f"xp.top_k({a}, {1 + p.below(p.ref[a].shape[-1])})")


def search(p: Program) -> None:
    kind = str(p.one_of(("float32", "int32", "int64", "uint8")))
    made = np.sort(p.rng.integers(0, 9, 1 + p.below(9)))
    base = p.input(made.shape, kind, made)
    wanted = p.input(p.shape(2), kind, None)
    if np.any(np.isnan(p.ref[wanted].v)):
        return
    p.run(f"xp.searchsorted({base}, {wanted}, side={p.one_of(('left', 'right'))!r})")


def sets(p: Program) -> None:
    a = p.pick(lambda x: not np.any(np.isnan(x.v)))
    p.run(f"xp.unique_values({a})", host=True)


def nonzero(p: Program) -> None:
    p.run(f"xp.nonzero({p.pick(lambda x: x.ndim > 0)})", host=True)


def steps(p: Program) -> None:
    a = p.pick(lambda x: x.ndim > 0 and x.kind != "bool" and finite(x))
    p.run(f"xp.diff({a}, axis={p.axis(a)}, n={1 + p.below(2)})")


def median(p: Program) -> None:
    a = p.pick(lambda x: x.ndim > 0 and moderate(x) and not np.any(np.isnan(x.v) | np.isinf(x.v)) and x.kind != "bool" and x.v.size > 0)
    axes = p.axes(a)
    if p.chance(0.5):
        p.run(f"xp.median({a}, axis={axes}, keepdims={p.chance(0.4)})")
    else:
        p.run(f"xp.quantile({a}, {p.one_of((0.0, 0.25, 0.5, 0.9, 1.0))}, axis={axes}, keepdims={p.chance(0.4)})")


# Products.

def small(x: Ref) -> bool:
    return coarse(x) and x.v.size < 200


def product(p: Program) -> None:
    a = p.pick(lambda x: small(x) and x.ndim > 0)
    left = p.ref[a].shape
    columns = p.below(4)
    batch = left[:-2] if p.chance(0.5) else ()
    b = p.input((left[-1],) if p.chance(0.25) else (*batch, left[-1], columns), p.ref[a].kind if p.chance(0.6) else None)
    if not finite(p.ref[b]):
        return
    p.run(f"{a} @ {b}" if p.chance(0.5) else f"xp.matmul({a}, {b})")


def outer(p: Program) -> None:
    a, b = p.pick(lambda x: x.ndim == 1 and small(x)), p.pick(lambda x: x.ndim == 1 and small(x))
    p.run(f"xp.{p.one_of(('outer', 'inner', 'dot', 'vecdot'))}({a}, {b})")


def tensordot(p: Program) -> None:
    a = p.pick(lambda x: small(x) and x.ndim <= 3)
    shape = p.ref[a].shape
    n = p.below(len(shape) + 1)
    b = p.input((*shape[len(shape) - n:], *p.shape(1)), p.ref[a].kind if p.chance(0.7) else None)
    if not finite(p.ref[b]):
        return
    p.run(f"xp.tensordot({a}, {b}, axes={n})")


def einsum(p: Program) -> None:
    extents = {letter: 1 + p.below(4) for letter in "ijkl"}
    first = "".join(p.rng.permutation(list("ijkl"))[:1 + p.below(3)])
    second = "".join(p.rng.permutation(list("ijkl"))[:1 + p.below(3)])
    letters = sorted(set(first + second))
    result = "".join(p.rng.permutation(letters)[:p.below(len(letters) + 1)])
    made = [p.input(tuple(extents[c] for c in word)) for word in (first, second)]
    if not all(moderate(p.ref[name]) and finite(p.ref[name]) for name in made):
        return  # the order of the sums decides what becomes of infinities
    p.run(f"xp.einsum('{first},{second}->{result}', {made[0]}, {made[1]})")


# Moving elements.

def view(p: Program) -> None:
    a = p.pick()
    x = p.ref[a]
    order = [int(i) for i in p.rng.permutation(x.ndim)]
    p.run(str(p.one_of((f"{a}.T", f"xp.permute_dims({a}, {tuple(order)})", f"xp.flip({a}, axis={p.axes(a)})", f"xp.reshape({a}, -1)",
                        f"xp.expand_dims({a}, axis={p.below(x.ndim + 1)})", f"xp.squeeze({a})", f"{a}.mT",
                        f"xp.broadcast_to({a}, {(*p.shape(1), *x.shape)})"))))


def moved(p: Program) -> None:
    a = p.pick(lambda x: x.v.size < 300)
    x = p.ref[a]
    axis = p.axis(a)
    pairs = [(p.below(3), p.below(3)) for _ in range(x.ndim)]
    choices = [f"xp.repeat({a}, {p.below(3)}, axis={None if not x.ndim else axis})", f"xp.tile({a}, {tuple(p.below(3) for _ in range(p.below(4)))})",
               f"xp.roll({a}, {p.below(9) - 4}, axis={None if p.chance(0.3) or not x.ndim else axis})",
               f"xp.moveaxis({a}, {axis}, {p.axis(a)})" if x.ndim else f"xp.reshape({a}, (1, 1))"]
    if x.ndim:
        choices.append(f"xp.pad({a}, {pairs})")
        choices.append(f"xp.pad({a}, {pairs}, mode={p.one_of(('edge', 'reflect', 'wrap'))!r})")
        choices.append(f"xp.repeat({a}, {[p.below(3) for _ in range(x.shape[axis])]}, axis={axis})")
    if x.ndim > 1:
        choices.append(f"xp.{p.one_of(('tril', 'triu'))}({a}, {p.below(5) - 2})")
        choices.append(f"xp.diagonal({a}, {p.below(3) - 1})")
    p.run(str(p.one_of(choices)))


def joined(p: Program) -> None:
    a = p.pick()
    shape = p.ref[a].shape
    other = p.input(shape, None if p.chance(0.4) else p.ref[a].kind)
    name, axis = p.one_of((("stack", p.below(len(shape) + 1)), ("concat", p.axis(a) if shape else None), ("concat", None)))
    p.run(f"xp.{name}([{a}, {other}, {a}], axis={axis})")


def parted(p: Program) -> None:
    a = p.pick(lambda x: x.ndim > 0)
    axis = p.axis(a)
    extent = p.ref[a].shape[axis]
    places: Any = sorted(p.below(extent + 2) for _ in range(p.below(3))) if p.chance(0.5) else 1 + p.below(4)
    p.run(f"xp.split({a}, {places}, axis={axis})")


def take(p: Program) -> None:
    a = p.pick(lambda x: x.ndim > 0 and x.v.size > 0)
    axis = p.axis(a)
    extent = p.ref[a].shape[axis]
    shape = p.shape(2)
    if p.chance(0.5):
        places = p.input(shape, "int32", p.rng.integers(-extent, extent, shape))
        p.run(f"xp.take({a}, {places}, axis={axis})", host=True)
    else:
        full = list(p.ref[a].shape)
        full[axis] = p.below(4)
        places = p.input(tuple(full), "int64" if p.chance(0.3) else "int32", p.rng.integers(0, extent, full))
        p.run(f"xp.take_along_axis({a}, {places}, axis={axis})")


def index(p: Program, a: str, arrays: bool) -> tuple[str, bool]:
    """The text of an index, and whether arrays are in it."""
    x = p.ref[a]
    parts: list[str] = []
    host = False
    for extent in x.shape[:p.below(x.ndim + 1)]:
        way = p.below(8 if arrays else 5)
        if way == 0 and extent:
            parts.append(str(p.below(2 * extent) - extent))
        elif way == 1:
            parts.append("None")
            parts.append(":")
        elif way >= 5 and extent:
            host = True
            if way == 7:
                parts.append(p.input((extent,), "bool"))
            else:
                shape = (int(p.one_of((1, 3))),) if way == 5 else (2, 1)
                parts.append(p.input(shape, str(p.one_of(("int32", "int64"))), p.rng.integers(-extent, extent, shape)))
        else:
            ends = [str(p.below(2 * extent + 3) - extent - 1) if p.chance(0.6) else "" for _ in range(2)]
            parts.append(f"{ends[0]}:{ends[1]}" + (f":{p.one_of((-3, -2, -1, 1, 2, 3))}" if p.chance(0.5) else ""))
    if p.chance(0.3):
        parts.insert(p.below(len(parts) + 1), "...")
    return ", ".join(parts) or "...", host


def indexed(p: Program) -> None:
    a = p.pick()
    text, host = index(p, a, p.chance(0.4))
    p.run(f"{a}[{text}]", host=host)


def masked(p: Program) -> None:
    a = p.pick()
    p.run(f"{a}[{p.input(p.ref[a].shape[:p.below(p.ref[a].ndim + 1)], 'bool')}]", host=True)


def assigned(p: Program) -> None:
    """A copy in which elements are assigned."""
    a = p.pick(lambda x: finite(x))
    text, host = index(p, a, p.chance(0.3))
    kind = p.ref[a].kind
    p.on_host |= host
    try:
        shape = eval(f"{a}[{text}]", {}, p.ref).shape
    except IndexError:
        return
    value = p.number(a) if p.chance(0.4) else p.input(shape[p.below(len(shape) + 1):], kind if p.chance(0.5) else None)
    if value in p.ref and not is_float(kind) and not finite(p.ref[value]):
        return
    name = f"v{p.counter}"
    p.run(f"{a}.copy()")
    line = f"{name}[{text}] = {value}"
    p.change(name, line)


def in_place(p: Program) -> None:
    a = p.pick(coarse)
    other = p.number(a) if p.chance(0.5) else p.input((), p.ref[a].kind)
    if kind_of(p.ref[a], eval(other, {}, p.ref)) != p.ref[a].kind:
        return
    name = f"v{p.counter}"
    p.run(f"{a}.copy()")
    line = f"{name} {p.one_of(('+', '-', '*'))}= {other}"
    p.change(name, line)


def wrong(p: Program) -> None:
    """What numpy refuses, Weft refuses."""
    a = p.input((2, 3))
    b = p.input((4, 5))
    p.run(str(p.one_of((f"{a} + {b}", f"{a} @ {b}", f"xp.sum({a}, axis=2)", f"xp.reshape({a}, (4, 2))", f"xp.concat([{a}, {b}], axis=0)", f"{a}[5]",
                        f"{a}[0, 0, 0]", f"xp.permute_dims({a}, (0, 0))", f"xp.squeeze({a}, axis=0)", f"xp.split({a}, 4, axis=0)",
                        f"xp.stack([{a}, {b}])", f"xp.flip({a}, axis=3)", f"xp.broadcast_to({a}, (3, 3))", f"xp.sum({a}, axis=(0, 0))",
                        f"xp.roll({a}, 1, axis=-3)", f"xp.cumsum({a}, axis=2)", f"xp.sort({a}, axis=2)", f"xp.argmax({a}, axis=-3)",
                        f"xp.moveaxis({a}, 0, 2)", f"xp.expand_dims({a}, axis=4)", f"xp.repeat({a}, [1, 2, 3, 4], axis=1)", f"xp.diff({a}, axis=5)",
                        f"xp.pad({a}, -1)", f"xp.tensordot({a}, {b}, axes=1)", f"xp.einsum('ij,jk->ik', {a}, {b})", f"xp.max({a}[:0])"))))


STEPS: list[Callable[[Program], None]] = [
    arithmetic, arithmetic, arithmetic, division, comparison, bits, shift, plain, plain, invert, function, function, two_floats, choose, clip, cast,
    isclose, signs,
    reduction, reduction, reduction, running, running, order, largest, search, sets, nonzero, steps, median, product, product, outer, tensordot, einsum,
    view, view, view, moved, moved, joined, parted, take, indexed, indexed, indexed, masked, assigned, assigned, in_place, wrong]
