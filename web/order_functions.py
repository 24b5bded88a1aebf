#!/usr/bin/env python3
"""Puts functions of a WebAssembly module that look alike next to each other: web/order_functions.py MODULE…

What compresses a file for its way to a page looks back 32 KB only, and linkers put functions in the order of their files: the
same module is a fifteenth smaller when each function follows the one that it has most in common with.
The module must have been linked with names (--profiling-funcs); binaryen's wasm-opt, which can sort by names, does the moving and
then leaves them out.
"""
import collections
import math
import subprocess
import sys
from pathlib import Path

FEATURES = ["simd", "exception-handling", "bulk-memory", "sign-ext", "nontrapping-float-to-int", "mutable-globals", "multivalue",
            "reference-types"]
PIECE = 8  # Bytes that two functions may have in common.
KNOWN = 200  # A piece that more functions have says nothing about them.
FADING = 0.7  # What earlier functions count less than the one before.
LEAST = 0.5  # Of a likeness.
SHORT = 118  # Numbers of functions, behind those of imports, that take one byte in a call.
NAME, IMPORTS, CODE = 0, 2, 10  # sections
# What emscripten leaves to binaryen's users: what values can be where, and one body for functions that differ in constants.
PASSES = ["--gufa-optimizing", "--merge-similar-functions", "-Oz"]


def number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def encoded(value: int) -> bytes:
    out = bytearray()
    while True:
        out.append(value & 127 | (128 if value > 127 else 0))
        value >>= 7
        if not value:
            return bytes(out)


def sections(data: bytes) -> list[tuple[int, int, int, int]]:
    """For each section its kind, its first byte, that of its contents, and its end."""
    out, at = [], 8
    while at < len(data):
        size, inside = number(data, at + 1)
        out.append((data[at], at, inside, inside + size))
        at = inside + size
    return out


def imported(data: bytes, at: int) -> int:
    """How many functions a section of imports names."""
    count, at = number(data, at)
    functions = 0
    for _ in range(count):
        for _ in range(2):  # the module's name, and the import's
            length, at = number(data, at)
            at += length
        kind = data[at]
        at += 1
        if kind == 3:  # a global: its type, and whether it changes
            at += 2
            continue
        at += kind in (1, 4)  # the type of a table's elements, or the attribute of a tag
        value, at = number(data, at)
        functions += kind == 0
        if kind in (1, 2):  # limits
            _, at = number(data, at)
            if value & 1:
                _, at = number(data, at)
    return functions


def bodies(data: bytes, at: int) -> list[bytes]:
    count, at = number(data, at)
    out = []
    for _ in range(count):
        size, at = number(data, at)
        out.append(data[at:at + size])
        at += size
    return out


def often_called(code: list[bytes], first: int) -> list[int]:
    """The functions that calls name most; roughly, because bytes are looked at without decoding what they belong to."""
    calls: collections.Counter[int] = collections.Counter()
    for body in code:
        at = body.find(0x10)
        while 0 <= at < len(body) - 5:
            called = number(body, at + 1)[0] - first if body[at + 5] < 128 or min(body[at + 1:at + 5]) < 128 else -1
            if 0 <= called < len(code):
                calls[called] += 1
            at = body.find(0x10, at + 1)
    return [one for one, _ in calls.most_common(SHORT)]


def alike(code: list[bytes]) -> list[int]:
    """The functions in an order in which each has much in common with those before it."""
    pieces = [{body[k:k + PIECE] for k in range(len(body) - PIECE + 1)} for body in code]
    known = collections.Counter(piece for own in pieces for piece in own)
    telling = [[piece for piece in own if 2 <= known[piece] <= KNOWN] for own in pieces]
    who: dict[bytes, list[int]] = collections.defaultdict(list)
    for i, own in enumerate(telling):
        for piece in own:
            who[piece].append(i)
    weight = [1 / math.sqrt(len(own) + 20) for own in telling]
    left = dict.fromkeys(range(len(code)))
    likeness: dict[int, float] = {}
    order = []
    while left:
        best = max(likeness, key=lambda i: (likeness[i] * weight[i], -i), default=None)
        if best is None or likeness[best] * weight[best] < LEAST:
            best = next(iter(left))
            likeness.clear()
        order.append(best)
        del left[best]
        likeness.pop(best, None)
        likeness = {i: FADING * value for i, value in likeness.items() if FADING * value >= LEAST}
        for piece in telling[best]:
            for i in who[piece]:
                if i in left:
                    likeness[i] = likeness.get(i, 0) + 1
    return order


def optimize(*arguments: str | Path) -> None:
    subprocess.run(["wasm-opt", *(f"--enable-{feature}" for feature in FEATURES), *arguments], check=True)


def reorder(path: Path) -> None:
    optimize(*PASSES, path, "-o", path)
    data = path.read_bytes()
    first, code, kept = 0, [], bytearray(data[:8])
    for kind, begin, inside, end in sections(data):
        if kind == IMPORTS:
            first = imported(data, inside)
        elif kind == CODE:
            code = bodies(data, inside)
        length, at = number(data, inside) if kind == NAME else (0, inside)
        if data[at:at + length] != b"name":
            kept += data[begin:end]
    called = often_called(code, first)
    order = called + [i for i in alike(code) if i not in set(called)]
    names = encoded(len(code)) + b"".join(
        encoded(first + i) + b"\6%06d" % place for i, place in sorted((i, place) for place, i in enumerate(order)))
    section = b"\4name\1" + encoded(len(names)) + names
    named = path.with_suffix(".named")
    named.write_bytes(bytes(kept) + b"\0" + encoded(len(section)) + section)
    try:
        optimize("--reorder-functions-by-name", "--strip-debug", named, "-o", path)
    finally:
        named.unlink()


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        reorder(Path(argument))
