"""More steps of random programs: assignment by masks and index arrays, chosen elements of reductions, ends of the integers, sets, and einsum."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import reference_more  # noqa: F401  (gives the reference more functions)
from programs import KINDS, Program
from reference import Ref, is_float, kind_of
from steps import coarse, finite, index, moderate, not_bool, small, whole


def _mask(p: Program, shape: tuple[int, ...], of: Callable[[str], bool] = lambda kind: True) -> str:
    """Which elements count: a mask of a shape, or of one that broadcasts to it."""
    cut = tuple(1 if p.chance(0.3) else extent for extent in shape[p.below(len(shape) + 1) if p.chance(0.3) else 0:])
    return p.input(cut, "bool")


def chosen(p: Program) -> None:
    """Reductions with where=, initial= and dtype=."""
    name = p.one_of(("sum", "prod", "mean", "max", "min", "any", "all"))
    a = p.pick((lambda x: moderate(x) and finite(x)) if name in ("sum", "prod", "mean") else None)
    x = p.ref[a]
    options = [f"axis={None if x.ndim == 0 else p.axes(a)}", f"keepdims={p.chance(0.4)}"]
    initial = name in ("sum", "prod", "max", "min") and p.chance(0.6)
    if initial:
        options.append(f"initial={p.below(5) if not is_float(x.kind) else p.below(17) / 4 - 2}" if x.kind != "bool" else "initial=True")
        if x.kind == "bool" and name in ("sum", "prod"):
            options[-1] = "initial=2"
    if p.chance(0.7) and (initial or name not in ("max", "min")):
        options.append(f"where={_mask(p, x.shape)}")
    if name in ("sum", "prod", "mean") and p.chance(0.4):
        kind = p.one_of(["float32", "float16", "float32"] if name == "mean" else KINDS)
        if initial and (kind == "bool" or (is_float(x.kind) and not is_float(kind))):
            return
        options.append(f"dtype={kind!r}")
    p.run(f"xp.{name}({a}, {', '.join(options)})")


def ends(p: Program) -> None:
    """Division, remainders, shifts, products and sums of integers at the ends of their ranges, and by 0."""
    kind = str(p.one_of([k for k in KINDS if not is_float(k) and k != "bool"]))
    limits = np.iinfo(kind)
    edge = np.array([limits.min, limits.min + 1, -1 if limits.min else 1, 0, 1, 2, 7, limits.max - 1, limits.max], kind)
    shape = p.shape(3)
    a, b = (p.input(shape, kind, p.rng.choice(edge, shape)) for _ in range(2))
    other = b if p.chance(0.7) else str(int(p.rng.choice(edge)))
    if p.chance(0.3):  # beside another type
        other = p.input(shape, str(p.one_of(("int8", "uint8", "int16", "int32", "uint32", "int64", "bool"))))
    name = p.one_of(("//", "%", "*", "+", "-", "<<", ">>", "&", "|", "^", "<", "==", ">="))
    if name in ("<<", ">>") and other in p.ref and kind_of(p.ref[a], p.ref[other]) != kind:
        return
    p.run(f"{a} {name} {other}" if p.chance(0.7) or other not in p.ref else f"{other} {name} {a}")


def stretched(p: Program) -> None:
    """Broadcasting by None and Ellipsis, and with numbers that are tensors without dimensions."""
    a = p.pick(lambda x: coarse(x) and x.v.size < 60 and x.ndim < 4)
    b = p.input(p.shape(2), None if p.chance(0.5) else p.ref[a].kind)
    if not coarse(p.ref[b]) or p.ref[b].v.size > 60:
        return
    behind = "[" + ", ".join(["...", *["None"] * p.ref[b].ndim]) + "]"
    op = p.one_of(("+", "*", "<", "=="))
    p.run(str(p.one_of((f"{a}{behind} {op} {b}", f"{b} {op} {a}{behind}", f"{a}[None] {op} {a}[:, None]" if p.ref[a].ndim else f"{a}[...] {op} {a}[None]",
                        f"{a} {op} {p.input((), str(p.one_of(KINDS)), np.asarray(p.below(2)))}"))))


def put_by_mask(p: Program) -> None:
    """x[mask] = v and x[mask] += v, for masks of all dimensions or of the first ones."""
    a = p.pick(lambda x: coarse(x))
    x = p.ref[a]
    shape = x.shape[:p.below(x.ndim + 1)] if p.chance(0.4) else x.shape
    mask = p.input(shape, "bool")
    name = f"v{p.counter}"
    p.run(f"{a}.copy()", host=True)
    count = int(p.ref[mask].v.sum())
    value = p.number(a) if p.chance(0.5) else p.input((count, *x.shape[len(shape):])[p.below(2):] if p.chance(0.7) else (), x.kind)
    if value in p.ref and not coarse(p.ref[value]):
        return
    changes = p.chance(0.5)
    if changes and kind_of(x, p.ref[value] if value in p.ref else eval(value)) != x.kind:
        return
    p.change(name, f"{name}[{mask}] {'+=' if changes else '='} {value}")


def change_by_index(p: Program) -> None:
    """x[index] += v with slices and index arrays."""
    a = p.pick(lambda x: coarse(x))
    text, host = index(p, a, p.chance(0.5))
    p.on_host |= host
    name = f"v{p.counter}"
    p.run(f"{a}.copy()")
    other = p.number(a)
    if kind_of(p.ref[a], eval(other)) != p.ref[a].kind:
        return
    p.change(name, f"{name}[{text}] {p.one_of(('+', '-', '*'))}= {other}")


def put_along(p: Program) -> None:
    a = p.pick(lambda x: x.ndim > 0 and x.v.size > 0 and coarse(x))
    axis = p.axis(a)
    shape = list(p.ref[a].shape)
    extent, shape[axis] = shape[axis], 1
    places = p.input(tuple(shape), "int32", p.rng.integers(-extent, extent, shape))
    name = f"v{p.counter}"
    p.run(f"{a}.copy()", host=True)
    p.change(name, f"xp.put_along_axis({name}, {places}, {p.number(a)}, axis={axis})")


def running_more(p: Program) -> None:
    name = p.one_of(("cumulative_sum", "cumulative_prod"))
    a = p.pick(lambda x: x.ndim > 0 and moderate(x) and finite(x))
    if p.ref[a].v.size > 200 and name == "cumulative_prod":
        return
    kind = f", dtype={p.one_of(KINDS)!r}" if p.chance(0.3) else ""
    p.run(f"xp.{name}({a}, axis={p.axis(a)}, include_initial={p.chance(0.5)}{kind})")


def sets_more(p: Program) -> None:
    a = p.pick(lambda x: not np.any(np.isnan(x.v)))
    if p.chance(0.4):
        options = [f"return_{w}=True" for w in ("index", "inverse", "counts") if p.chance(0.5)]
        axis = f", axis={p.axis(a)}" if p.ref[a].ndim and p.ref[a].v.size and p.chance(0.3) else ""
        p.run(f"xp.unique({', '.join([a, *options])}{axis})", host=True)
        return
    b = p.input(p.shape(2), p.ref[a].kind if p.chance(0.6) else None)
    if np.any(np.isnan(p.ref[b].v)):
        return
    name = p.one_of(("isin", "union1d", "intersect1d", "setdiff1d", "setxor1d"))
    p.run(f"xp.{name}({a}, {b})", host=name != "isin")


def search_more(p: Program) -> None:
    """Places among elements of another type, and in an order of their own."""
    kind, other = str(p.one_of(KINDS[:-1])), str(p.one_of(KINDS[:-1]))
    if other == "bool" or kind == "bool":
        return
    made = p.rng.integers(0, 9, 1 + p.below(9))
    base = p.input(made.shape, kind, made)
    wanted = p.input(p.shape(2), other)
    if np.any(np.isnan(p.ref[wanted].v)):
        return
    p.run(f"xp.searchsorted({base}, {wanted}, side={p.one_of(('left', 'right'))!r}, sorter=xp.argsort({base}))")


def einsum_more(p: Program) -> None:
    """One to three operands, with letters that come twice, and an Ellipsis."""
    extents = {letter: 1 + p.below(3) for letter in "ijkl"}
    count = 1 + p.below(3)
    words = ["".join(p.one_of("ijkl") for _ in range(1 + p.below(3))) for _ in range(count)]
    letters = sorted(set("".join(words)))
    result = "".join(p.rng.permutation(letters)[:p.below(len(letters) + 1)])
    dots, batch = ("...", p.shape(1)) if p.chance(0.3) else ("", ())
    kind = str(p.one_of(KINDS))
    made = [p.input((*batch, *(extents[c] for c in word)), kind if p.chance(0.7) else None) for word in words]
    if not all(small(p.ref[name]) or p.ref[name].kind == "bool" for name in made):
        return
    text = ",".join(dots + word for word in words)
    p.run(f"xp.einsum('{text}->{dots}{result}', {', '.join(made)})")


def nothing_known(p: Program) -> None:
    """Reductions that leave NaN out."""
    a = p.pick(lambda x: x.v.size > 0 and not np.any(np.isinf(x.v)) and moderate(x) and x.kind != "bool")
    x = p.ref[a]
    p.run(f"xp.{p.one_of(('nansum', 'nanmean', 'nanmax', 'nanmin', 'nanvar'))}({a}, axis={None if x.ndim == 0 else p.axis(a)}, keepdims={p.chance(0.4)})")


def moved_more(p: Program) -> None:
    a = p.pick(lambda x: x.ndim > 0 and x.v.size < 300)
    x, axis = p.ref[a], p.axis(a)
    extent = x.shape[axis]
    choices = [f"xp.insert({a}, {p.below(extent + 1)}, {p.number(a)}, axis={axis})" if x.kind != "bool" and coarse(x) else f"xp.flipud({a})"]
    if extent:
        choices += [f"xp.delete({a}, {p.below(2 * extent) - extent}, axis={axis})", f"xp.delete({a}, {[p.below(extent), p.below(extent)]}, axis={axis})"]
    if x.ndim > 1:
        choices += [f"xp.rot90({a}, {p.below(9) - 4})", f"xp.swapaxes({a}, {axis}, {p.axis(a)})", f"xp.fliplr({a})"]
    p.run(str(p.one_of(choices)))


def clipped(p: Program) -> None:
    """Bounds that are tensors."""
    a = p.pick(lambda x: not_bool(x) and not np.any(np.isnan(x.v)))
    low, high = (p.beside(a, lambda x: not_bool(x) and not np.any(np.isnan(x.v))) for _ in range(2))
    p.run(f"xp.clip({a}, {low}, {high})")


def powers(p: Program) -> None:
    a = p.pick(lambda x: whole(x) and x.v.size > 0)
    if p.chance(0.5):
        p.run(f"{a} ** {p.below(5)}")
        return
    shape = p.ref[a].shape
    exponents = p.input(shape, p.ref[a].kind, p.rng.integers(0, 6, shape))
    p.run(f"{a} ** {exponents}")


STEPS_MORE: list[Callable[[Program], None]] = [
    chosen, chosen, ends, ends, ends, stretched, put_by_mask, put_by_mask, change_by_index, put_along, running_more, sets_more, sets_more, search_more,
    einsum_more, einsum_more, nothing_known, moved_more, clipped, powers]
assert Ref
