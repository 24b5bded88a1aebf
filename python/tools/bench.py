#!/usr/bin/env python3
"""What calls from Python cost the host: python/tools/bench.py. Needs the package (PYTHONPATH=build/release/python)."""
from __future__ import annotations

import time
from collections.abc import Callable

import weft as wt


def microseconds(call: Callable[[], object], count: int = 2000, rounds: int = 7) -> float:
    """The best of several rounds. What was made is let go of before it is computed."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(count):
            call()
        best = min(best, (time.perf_counter() - start) / count)
    return best * 1e6


def main() -> None:
    a, b = wt.ones((4, 4)).eval(), wt.ones((4, 4)).eval()
    i = wt.arange(4).eval()

    @wt.compile
    def step(x: wt.Tensor, w: wt.Tensor) -> wt.Tensor:
        return wt.relu(x @ w).sum()

    step(a, b).eval()
    inner = next(iter(step._made.values()))[0]  # what a program in C++ would call
    rows: dict[str, Callable[[], object]] = {
        "a + b": lambda: a + b, "a + 1": lambda: a + 1, "a * b + a": lambda: a * b + a, "a @ b": lambda: a @ b, "a.sum()": lambda: a.sum(),
        "wt.exp(a)": lambda: wt.exp(a), "a[0]": lambda: a[0], "a[:, 1:3]": lambda: a[:, 1:3], "i + 1": lambda: i + 1, "a.shape": lambda: a.shape,
        "compiled step": lambda: step(a, b), "of it the library": lambda: inner([a, b])}
    print(f"weft {wt.__version__} on {wt.default_device().name}: microseconds per call")
    for name, call in rows.items():
        print(f"  {name:20}{microseconds(call):8.2f}")


if __name__ == "__main__":
    main()
