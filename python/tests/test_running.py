"""Kernels of one's own, threads, profiles, interrupts."""
from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import weft as wt


def test_kernels() -> None:
    kernel = wt.Kernel("""
        @group(0) @binding(0) var<storage, read> x: array<f32>;
        @group(0) @binding(1) var<storage, read_write> y: array<f32>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
          if (id.x < arrayLength(&y)) { y[id.x] = 2.0 * x[id.x] + 1.0; }
        }""", writes=[False, True])
    x, y = wt.arange(5, dtype="float32"), wt.zeros(5).eval()
    kernel([x, y], workgroups=1)
    assert y.tolist() == [1, 3, 5, 7, 9]
    with pytest.raises((RuntimeError, ValueError)):
        wt.Kernel("nonsense", writes=[True])


def test_threads_compile_and_read() -> None:
    """Compiling calls Python while the library's lock is held, and other threads note operations down meanwhile: nobody waits for ever."""
    wrong: list[Exception] = []

    def work(number: int) -> None:
        try:
            f = wt.compile(lambda x: wt.sin(x) * number + x)
            for size in range(1, 6):
                x = np.arange(size, dtype=np.float32)
                np.testing.assert_allclose(f(wt.array(x)).numpy(), np.sin(x) * number + x, rtol=1e-4, atol=1e-5)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and not any(t.is_alive() for t in threads)


def test_profiles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    device = wt.profiled_device()
    with device:
        with wt.profile() as found:
            (wt.ones((64, 64)) @ wt.ones((64, 64))).sum().item()
        assert found.table and found.table in capsys.readouterr().out
        with wt.profile(tmp_path / "trace.json"):
            wt.ones(10).exp().eval()
        assert "traceEvents" in (tmp_path / "trace.json").read_text() or (tmp_path / "trace.json").read_text().startswith(("[", "{"))
    with pytest.raises(ValueError, match="profile"), wt.profile():
        wt.ones(3).eval()


def test_interrupts() -> None:
    """A KeyboardInterrupt comes through the library, from a function that is being compiled too, and the device goes on."""

    def interrupted(x: wt.Tensor) -> wt.Tensor:
        signal.raise_signal(signal.SIGINT)
        return x + 1

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # A job in the background ignores it.
    for call in (interrupted, wt.compile(interrupted), wt.grad(lambda x: interrupted(x).sum()), wt.checkpoint(interrupted)):
        with pytest.raises(KeyboardInterrupt):
            call(wt.ones(2))
        assert (wt.ones(2) + 1).tolist() == [2, 2] and not wt._core.tracing()
    signal.signal(signal.SIGINT, before)


WAITS = """
import os, signal, threading, time
import weft as wt

signal.signal(signal.SIGINT, signal.default_int_handler)
x = a = wt.random.normal((320, 320)).eval()
for _ in range(40):
    x = wt.tanh(x @ a)
x.eval()
sent = []


def interrupt():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)


threading.Timer(0.1, interrupt).start()
try:
    x.numpy()
    print("finished before")
except KeyboardInterrupt:
    print("interrupted" if time.monotonic() - sent[0] < 0.7 else "late")
assert (wt.ones(2) + 1).tolist() == [2, 2]
print("goes on")
"""


def test_interrupts_of_waits() -> None:
    """Ctrl-C ends a wait for the device at once, and the device goes on."""
    done = subprocess.run([sys.executable, "-c", WAITS], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout in ("interrupted\ngoes on\n", "finished before\ngoes on\n"), (done.stdout, done.stderr[-1000:])
