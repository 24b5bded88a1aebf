#!/usr/bin/env python3
"""What calls from Python cost the host: python/tools/bench.py [PROGRAM]. Needs the package (PYTHONPATH=build/release/python).

Everything is processor time of the calling thread: machines are not always equally busy. PROGRAM is the program weft (build/release/cli/weft
where that is there): its `bench` runs a compiled training step in C++, which the same step from Python is held against.
"""
from __future__ import annotations

import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import weft as wt

ROOT = Path(__file__).resolve().parent.parent.parent
STEPS, FIRST_STEPS = 60, 5
ROUND = 8  # steps of a kind before the other has its turn, as in cli/bench_eager.cpp


def microseconds(call: Callable[[], object], count: int = 2000, rounds: int = 7) -> float:
    """The best of several rounds. What was made is let go of before it is computed."""
    best = float("inf")
    for _ in range(rounds):
        start = time.thread_time()
        for _ in range(count):
            call()
        best = min(best, (time.thread_time() - start) / count)
    return best * 1e6


def training_step(steps: int = 10 * STEPS) -> tuple[float, float]:
    """The median host time of a compiled step of a small network, the same as in cli/bench_eager.cpp: called from Python, and of it what the library
    takes, which is what a program in C++ would call. Rounds of them take turns."""
    wt.random.seed(1)
    weights = []
    for rows, columns in ((64, 128), (128, 128), (128, 10)):
        weights += [wt.variable(wt.random.normal((rows, columns)) * 0.1), wt.variable(wt.zeros(columns))]
    x, labels = wt.random.normal((64, 64)).eval(), wt.random.randint(0, 10, (64,)).eval()

    @wt.compile
    def step(x: wt.Tensor, labels: wt.Tensor) -> wt.Tensor:
        def loss_of(weights: list[wt.Tensor]) -> wt.Tensor:
            h = x
            for i in range(0, len(weights), 2):
                h = h @ weights[i] + weights[i + 1]
                h = wt.relu(h) if i + 2 < len(weights) else h
            return wt.cross_entropy(h, labels)

        loss, slopes = wt.value_and_grad(loss_of)(weights)
        wt.assign(weights, [w - 0.1 * g for w, g in zip(weights, slopes, strict=True)])
        return loss  # type: ignore[no-any-return]

    step(x, labels)
    inner = next(iter(step._made.values()))[0]
    calls: list[Callable[[], object]] = [lambda: step(x, labels), lambda: inner([x, labels])]
    times: list[list[float]] = [[], []]
    for number in range(steps):
        kind = number // ROUND % 2
        start = time.thread_time()
        calls[kind]()
        took = time.thread_time() - start
        wt.synchronize()
        if number % ROUND:  # the first of a round has cold caches
            times[kind].append(took)
    mine, library = (statistics.median(part[FIRST_STEPS:]) * 1e6 for part in times)
    return mine, library


def onnx_node(count: int = 200, steps: int = STEPS) -> float:
    """The time of a node of a replayed ONNX model: small kernels, none of which can be joined with the next."""
    spec = importlib.util.spec_from_file_location("onnx_models", ROOT / "tools/onnx_models.py")
    assert spec is not None and spec.loader is not None
    models = importlib.util.module_from_spec(spec)
    sys.modules["onnx_models"] = models
    spec.loader.exec_module(models)
    graph = models.Graph("chain", {"x": (models.F16, [4, 4])})
    last = "x"
    for number in range(count):
        last = graph.add("Softmax", last, axis=number % 2)
    model = wt.onnx.load(models.encoded(graph))
    x = wt.ones((4, 4), "float16").eval()
    times = []
    for _ in range(steps):
        start = time.thread_time()
        model.run({"x": x})
        times.append(time.thread_time() - start)
        wt.synchronize()
    assert model.report()["dispatches"] == count
    return statistics.median(times[FIRST_STEPS:]) * 1e6 / count


def step_in_cpp(program: Path) -> float:
    """The same in C++."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "bench.json"
        subprocess.run([program, "bench", "fill", "--seconds", "0.001", "--json", found], check=True, capture_output=True)
        return float(json.loads(found.read_text())["step"]["compiled"]) * 1e6


def main() -> None:
    program = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/release/cli/weft"
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
    mine, library = training_step()
    print(f"  a compiled training step {mine:.1f}, of it the library {library:.1f}: {mine / library:.2f} times")
    if program.exists():
        there = step_in_cpp(program)
        print(f"  the same step from C++ {there:.1f}: {mine / there:.2f} times")
    print(f"  a node of a replayed ONNX model {onnx_node():.2f}")


if __name__ == "__main__":
    main()
