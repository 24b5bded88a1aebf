"""More of the reference of random programs (reference.py): reductions of chosen elements, sets, places, and sums of products by letters."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from reference import XP, Array, Ref, Space, _mean_kind, _size_error, _sum_kind, is_float, kind_of, numbers


def _chosen(x: Ref, where: Ref | None) -> Array:
    return np.ones(x.shape, bool) if where is None else np.broadcast_to(where.v != 0, x.shape)


def _wide(x: Ref, kind: str) -> Array:
    return x.v.astype(np.float64 if is_float(kind) else kind)


def _counting(name: str) -> Callable[..., Ref]:
    """sum and prod."""

    def run(self: Space, x: Ref, axis: Any = None, keepdims: bool = False, dtype: str | None = None, initial: Any = None, where: Ref | None = None) -> Ref:
        x = x if dtype is None else self.astype(x, dtype)
        kind, over = _sum_kind(x.kind), {"axis": axis, "keepdims": keepdims}
        with np.errstate(all="ignore"):
            made = getattr(np, name)(_wide(x, kind), where=_chosen(x, where), **over)
            loose = 0.0 if not is_float(kind) else _size_error(x.v, **over) if name == "sum" else np.nan_to_num(np.abs(made), posinf=0) * 1e-5
        found = Ref(made, kind, loose)
        if initial is not None:
            found = found + initial if name == "sum" else found * initial  # type: ignore[operator]
            found.loose = loose
        return found if dtype is None else Ref(found.v, dtype, loose)

    return run


def _extreme(name: str) -> Callable[..., Ref]:
    """max and min."""

    def run(self: Space, x: Ref, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Ref | None = None) -> Ref:
        more: dict[str, Any] = {} if initial is None else {"initial": numbers(initial, x.kind)[()]}
        if where is not None:
            more["where"] = _chosen(x, where)
        with np.errstate(all="ignore"):
            return Ref(getattr(np, name)(x.v, axis=axis, keepdims=keepdims, **more), x.kind)

    return run


def _mean(self: Space, x: Ref, axis: Any = None, keepdims: bool = False, dtype: str | None = None, where: Ref | None = None) -> Ref:
    x = x if dtype is None else self.astype(x, dtype)
    kind, over = _mean_kind(x.kind), {"axis": axis, "keepdims": keepdims}
    with np.errstate(all="ignore"):
        made = np.sum(x.v.astype(np.float64), where=_chosen(x, where), **over) / np.sum(_chosen(x, where), **over)
        found = Ref(made, kind, _size_error(x.v, **over))
    return found if dtype is None else Ref(found.v, dtype, found.loose)


def _truth(name: str) -> Callable[..., Ref]:
    """any and all."""
    return lambda self, x, axis=None, keepdims=False, where=None: Ref(
        getattr(np, name)(x.v, axis=axis, keepdims=keepdims, where=_chosen(x, where)), "bool")


def _running(name: str) -> Callable[..., Ref]:
    """cumulative_sum and cumulative_prod."""

    def run(self: Space, x: Ref, axis: int | None = None, dtype: str | None = None, include_initial: bool = False) -> Ref:
        x = x if dtype is None else self.astype(x, dtype)
        kind = _sum_kind(x.kind)
        with np.errstate(all="ignore"):
            made = getattr(np, name)(_wide(x, kind), axis=axis, include_initial=include_initial)
            loose = 0.0 if not is_float(kind) else _size_error(x.v) if name == "cumulative_sum" else np.nan_to_num(np.abs(made), posinf=0) * 1e-5
        return Ref(made, kind if dtype is None else dtype, loose)

    return run


def _einsum(self: Space, letters: str, *operands: Ref) -> Ref:
    kind = kind_of(*operands)
    given = [numbers(o, kind) for o in operands]
    with np.errstate(all="ignore"):
        made = np.einsum(letters, *given)
        if not is_float(kind):
            return Ref(made, kind)
        return Ref(made, kind, np.einsum(letters, *(np.abs(np.nan_to_num(g, posinf=0, neginf=0)) for g in given)) * 6e-6)


def _unique(self: Space, x: Ref, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None) -> Any:
    made = np.unique(x.v, return_index=return_index, return_inverse=return_inverse, return_counts=return_counts, axis=axis)
    if not isinstance(made, tuple):
        return Ref(made, x.kind)
    return [Ref(made[0], x.kind), *(Ref(m, "int32") for m in made[1:])]


def _of_both(name: str) -> Callable[..., Ref]:
    def run(self: Space, a: Ref, b: Ref) -> Ref:
        kind = kind_of(a, b)
        return Ref(getattr(np, name)(numbers(a, kind), numbers(b, kind)), kind)

    return run


def _isin(self: Space, a: Ref, b: Ref, invert: bool = False) -> Ref:
    kind = kind_of(a, b)
    return Ref(np.isin(numbers(a, kind), numbers(b, kind), invert=invert), "bool")


def _searchsorted(self: Space, x: Ref, values: Ref, side: str = "left", sorter: Ref | None = None) -> Ref:
    kind = kind_of(x, values)
    places: Any = None if sorter is None else sorter.v
    return Ref(np.searchsorted(numbers(x, kind), numbers(values, kind), side=side, sorter=places), "int32")  # type: ignore[call-overload]


def _without_nan(name: str) -> Callable[..., Ref]:
    """nansum and its like, of floats and of whole numbers."""

    def run(self: Space, x: Ref, axis: Any = None, keepdims: bool = False) -> Ref:
        kind = x.kind if name in ("nanmax", "nanmin") else _mean_kind(x.kind) if name in ("nanmean", "nanvar", "nanmedian") else _sum_kind(x.kind)
        with np.errstate(all="ignore"):
            made = getattr(np, name)(_wide(x, kind), axis=axis, keepdims=keepdims)
            return Ref(made, kind, 0.0 if not is_float(kind) else _size_error(x.v, axis=axis, keepdims=keepdims) + np.abs(np.nan_to_num(made)) * 2e-4 + 1e-5)

    return run


def _changed(name: str) -> Callable[..., Ref]:
    """Functions of numpy's on the values of one tensor, which only move elements: insert, delete, rot90, …"""

    def run(self: Space, x: Ref, *rest: Any, **options: Any) -> Ref:
        plain = [r.v if isinstance(r, Ref) else r for r in rest]
        return Ref(getattr(np, name)(x.v, *plain, **options), x.kind)

    return run


def _pow(a: Ref, b: Any) -> Ref:
    kind = kind_of(a, b)
    with np.errstate(all="ignore"):
        return Ref(np.power(numbers(a, kind), numbers(b, kind)), kind)


def _put_along_axis(self: Space, x: Ref, places: Ref, values: Any, axis: int) -> None:
    made = x.v.copy()
    np.put_along_axis(made, places.v, Ref(values.v, x.kind).v if isinstance(values, Ref) else values, axis)
    x.v = Ref(made, x.kind).v


for _name, _function in ({n: _counting(n) for n in ("sum", "prod")} | {n: _extreme(n) for n in ("max", "min")} | {n: _truth(n) for n in ("any", "all")} |
                         {n: _running(n) for n in ("cumulative_sum", "cumulative_prod")} |
                         {n: _of_both(n) for n in ("union1d", "intersect1d", "setdiff1d", "setxor1d", "kron")} |
                         {n: _without_nan(n) for n in ("nansum", "nanmean", "nanmax", "nanmin", "nanvar")} |
                         {n: _changed(n) for n in ("insert", "delete", "rot90", "swapaxes", "fliplr", "flipud", "trim_zeros")} |
                         {"mean": _mean, "einsum": _einsum, "unique": _unique, "isin": _isin, "searchsorted": _searchsorted,
                          "put_along_axis": _put_along_axis}).items():
    setattr(Space, _name, _function)

Ref.__pow__ = _pow  # type: ignore[attr-defined]
assert isinstance(XP, Space)
