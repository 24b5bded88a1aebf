#!/usr/bin/env python3
"""Writes the tables of src/ops/random: cubic polynomials by which 31 random bits become a quantile.

A word m below 2^31 stands for the probability (m + 0.5) / 2^32. Its leading five bits choose a row, so that every octave
has 16 of them, and what follows is the position x in [0, 1) within the row; rows below 16 are single points. A row holds
the coefficients of 1, x, x^2 and x^3 as f32. Logarithms have 16 rows for the digits of a number from 1 to 2.
"""

import math
import struct
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist

FOLDER = Path(__file__).resolve().parent.parent / "src/ops/random"
NODES = [0.5 - 0.5 * math.cos(math.pi * (2 * k + 1) / 8) for k in range(4)]


def cubic(f: Callable[[float], float]) -> list[float]:
    """The coefficients of the cubic that meets f in the Chebyshev nodes of [0, 1] (Newton's form, multiplied out)."""
    divided = [f(x) for x in NODES]
    for order in range(1, 4):
        for k in range(3, order - 1, -1):
            divided[k] = (divided[k] - divided[k - 1]) / (NODES[k] - NODES[k - order])
    coefficients = [divided[3]]
    for k in (2, 1, 0):
        shifted = [0.0, *coefficients]
        for i, c in enumerate(coefficients):
            shifted[i] -= NODES[k] * c
        shifted[0] += divided[k]
        coefficients = shifted
    return coefficients


def quantile_rows(f: Callable[[float], float]) -> list[list[float]]:
    """Rows for a function of the probability (m + 0.5) / 2^32."""
    rows = [[f((m + 0.5) / 2**32), 0.0, 0.0, 0.0] for m in range(32)]
    for shift in range(1, 27):
        for lead in range(16, 32):

            def at(x: float, lead: int = lead, shift: int = shift) -> float:
                return f(((lead + x) * 2**shift + 0.5) / 2**32)

            rows.append(cubic(at))
    return rows


def write(name: str, meaning: str, rows: list[list[float]]) -> None:
    lines = [f"// {meaning} Made by tools/make_random_tables.py."]
    for row in rows:
        words = [struct.unpack("<I", struct.pack("<f", c))[0] for c in row]
        lines.append(" ".join(f"0x{word:08x}u," for word in words))
    (FOLDER / name).write_text("\n".join(lines) + "\n")


def main() -> None:
    normal = NormalDist()
    write("normal.inc", "How far below 0 a normal number is.", quantile_rows(lambda p: -normal.inv_cdf(p)))
    write("gumbel_low.inc", "-log(-log(p)).", quantile_rows(lambda p: -math.log(-math.log(p))))
    write("gumbel_high.inc", "-log(-log(1 - p)).", quantile_rows(lambda p: -math.log(-math.log1p(-p))))
    write("log.inc", "Logarithms from 1 to 2.", [cubic(lambda x, i=i: math.log1p((i + x) / 16)) for i in range(16)])


if __name__ == "__main__":
    main()
