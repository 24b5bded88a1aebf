#!/usr/bin/env python3
"""Compares the namespace with the Array API standard (2025.12), name by name: what is missing goes to docs/python.md.

usage: array_api.py [--fix]. Without --fix, it fails where the page differs.
"""
from __future__ import annotations

import sys
from pathlib import Path

import weft

PAGE = Path(__file__).resolve().parent.parent.parent / "docs/python.md"
START, END = "<!-- Written by python/tools/array_api.py --fix. -->\n", "<!-- Until here. -->\n"
STANDARD = {
    "Constants": "e inf nan newaxis pi",
    "Creation": "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros zeros_like",
    "Types": "astype broadcast_arrays broadcast_shapes broadcast_to can_cast finfo iinfo isdtype result_type bool int8 int16 int32 int64 uint8 uint16 "
             "uint32 uint64 float32 float64 complex64 complex128",
    "Elementwise": "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift "
                   "bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite "
                   "isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply "
                   "negative nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh square sqrt subtract tan tanh trunc",
    "Indexing": "take take_along_axis",
    "Linear algebra": "matmul matrix_transpose tensordot vecdot",
    "Manipulation": "broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack",
    "Searching": "argmax argmin count_nonzero nonzero searchsorted where",
    "Sets": "isin unique_all unique_counts unique_inverse unique_values",
    "Sorting": "argsort sort",
    "Statistics": "cumulative_prod cumulative_sum max mean min prod std sum var",
    "Utilities": "all any diff",
    "Inspection": "__array_namespace_info__",
    "Extension linalg": "cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer pinv qr "
                        "slogdet solve svd svdvals tensordot trace vecdot vector_norm",
    "Extension fft": "fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq rfftn",
}


def names_of(group: str) -> list[str]:
    """The names of a group; those of extensions with the extension's."""
    before = group.split()[1] + "." if group.startswith("Extension") else ""
    return [before + name for name in STANDARD[group].split()]


def there(name: str) -> bool:
    """Whether weft has an attribute, or an attribute of one."""
    value: object = weft
    for part in name.split("."):
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True


def table() -> str:
    lines = ["| | there | missing |\n|---|---|---|\n"]
    for group in STANDARD:
        wanted = names_of(group)
        missing = [n for n in wanted if not there(n)]
        lines.append(f"| {group} | {len(wanted) - len(missing)} of {len(wanted)} | {', '.join(f'`{n}`' for n in missing) or '–'} |\n")
    return "".join(lines)


def main() -> int:
    text = PAGE.read_text()
    before, rest = text.split(START)
    old, after = rest.split(END)
    new = table()
    if old != new and "--fix" in sys.argv:
        PAGE.write_text(before + START + new + END + after)
        return 0
    if old != new:
        print(f"{PAGE} is not up to date; python/tools/array_api.py --fix writes it anew. It should have:\n{new}")
    return int(old != new)


if __name__ == "__main__":
    sys.exit(main())
