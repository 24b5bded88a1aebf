"""Kernels of one's own, threads, profiles, interrupts."""
from __future__ import annotations

import importlib.util
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


def test_lost_devices_come_back() -> None:
    """A kernel that the watchdog does not wait for takes its device along; what was kept comes back."""
    device = wt.Device()
    with pytest.raises(ValueError, match="-1"):
        device.set_watchdog(-1)
    kernel = wt.Kernel("""
        @group(0) @binding(0) var<storage, read_write> state: array<u32>;
        struct P { rounds: u32, a: u32, b: u32, c: u32 }
        @group(0) @binding(1) var<uniform> p: P;
        @compute @workgroup_size(1) fn main() {
          var x = state[0];
          for (var i = 0u; i < p.rounds; i++) {
            x = x * 1664525u + 1013904223u + (x >> 7u);
            if (x == 0x12345678u) { state[1] = i; }
          }
          state[0] = x;
        }""", writes=[True], scalars=1, label="goes round", device=device)
    with device:
        kept, gone, state = wt.array([1.0, 2.0]), (wt.array([3.0]) + 1).eval(), wt.ones(2, dtype="uint32").eval()
        wt.keep(kept)
        twice = wt.compile(lambda x: x * 2)
        assert twice(kept).tolist() == [2, 4]
        noise = wt.compile(lambda x: x * 0 + wt.random.uniform(shape=2))
        drawn = [wt.random.uniform(shape=2).tolist(), noise(kept).tolist()]
        whole = wt.nn.Linear(2, 3)
        whole.keep()
        optimizer = wt.optim.AdamW(whole.parameters(), lr=0.1)
        optimizer.keep()
        wanted = whole(kept).tolist()
    device.set_watchdog(0.2)
    assert not device.is_lost
    rounds = 1 << 16
    with pytest.raises(RuntimeError, match='"goes round" has been running'):
        while rounds < 1 << 32:  # until it takes longer, on any device
            kernel([state], workgroups=1, scalars=[rounds])
            device.synchronize()
            rounds *= 4
    assert device.is_lost
    with pytest.raises(RuntimeError, match="lost"):
        kept.numpy()
    device.recover()
    device.set_watchdog(0)
    assert not device.is_lost
    assert kept.tolist() == [1, 2] and twice(kept).tolist() == [2, 4]
    with device:  # random numbers go on, and no old ones come again
        drawn += [noise(kept).tolist(), wt.random.uniform(shape=2).tolist(), noise(kept).tolist()]
        assert len({tuple(numbers) for numbers in drawn}) == 5 and wt.nn.Linear(2, 3)(kept).shape == (3,)
    assert whole(kept).tolist() == wanted and optimizer.lr == np.float32(0.1)
    with pytest.raises(RuntimeError, match="nothing says how it comes back"):
        gone.numpy()
    device.recover_automatically()
    with device:
        assert (wt.array([5.0]) + kept).tolist() == [6, 7]


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


def test_a_profile_as_the_first_use() -> None:
    """Where nothing was computed before, profile() opens a device that times, which is the default one from then on."""
    said = output_of("import weft as wt\nwith wt.profile() as found:\n    (wt.ones((32, 32)) @ wt.ones((32, 32))).sum().eval()\n"
                     "assert found.table and 'traceEvents' in found.trace\n"
                     "with wt.profile():\n    wt.ones(3).exp().eval()\nprint('both')")
    assert "gemm" in said and said.endswith("both\n"), said


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


LONG = """
import os, signal, threading, time
import weft as wt

a = wt.random.normal((320, 320)).eval()


def work(rounds):
    x = a
    for _ in range(rounds):
        x = wt.tanh(x @ a)
    return x.eval()


def rounds_for(seconds):
    \"\"\"How many rounds take so long on this device.\"\"\"
    rounds, took = 4, 0.0
    work(rounds).numpy()  # the kernels are compiled
    while took < seconds:
        rounds = rounds * (2 if took == 0 else min(8, max(2, int(1.2 * seconds / took))))
        start = time.monotonic()
        work(rounds).numpy()
        took = time.monotonic() - start
    return rounds
"""

WAITS = LONG + """
signal.signal(signal.SIGINT, signal.default_int_handler)
rounds, sent = rounds_for(0.6), []


def interrupt():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)


x = work(rounds)
threading.Timer(0.1, interrupt).start()
try:
    x.numpy()
    print("finished before")
except KeyboardInterrupt:
    print("interrupted" if time.monotonic() - sent[0] < 0.7 else "late")
assert (wt.ones(2) + 1).tolist() == [2, 2]
print("goes on")
"""


def output_of(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-1000:]
    return done.stdout


def test_interrupts_of_waits() -> None:
    """Ctrl-C ends a wait for the device at once, and the device goes on."""
    assert output_of(WAITS) == "interrupted\ngoes on\n"


AHEAD = LONG + """
rounds, x = rounds_for(1.0), a
start = time.monotonic()
for _ in range(rounds):
    x = wt.tanh(x @ a)
    x.eval()
queued = time.monotonic()
x.numpy()
print(time.monotonic() - queued, time.monotonic() - start)
"""


def test_loops_that_only_queue_are_not_far_ahead_of_the_device() -> None:
    """Else Ctrl-C, and the end of the program, would wait for minutes."""
    rest, whole = map(float, output_of(AHEAD).split())
    assert rest < 0.6 * whole or whole < 0.5, (rest, whole)  # else the device is too quick to be behind


OTHERS = LONG + """
counted, done = 0, False


def count():
    global counted
    while not done:
        counted += 1
        time.sleep(0.001)


rounds = rounds_for(0.3)
threading.Thread(target=count, daemon=True).start()
for wait in (lambda x: x.numpy(), lambda x: x.tolist(), lambda x: wt.synchronize()):
    x = work(rounds)
    before, start = counted, time.monotonic()
    wait(x)
    print(counted - before, time.monotonic() - start)
done = True
"""


def test_what_calls_cost() -> None:
    """An order of magnitude: the numbers themselves are measured by python/tools/bench.py, on a machine that does nothing else."""
    spec = importlib.util.spec_from_file_location("bench", Path(__file__).resolve().parent.parent / "tools/bench.py")
    assert spec is not None and spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    a, b = wt.ones((4, 4)).eval(), wt.ones((4, 4)).eval()
    assert bench.microseconds(lambda: a + b, count=500) < 15
    mine, library = bench.training_step(steps=60)
    assert mine < 1.5 * library, (mine, library)
    assert bench.onnx_node(count=100, steps=12) < 10


def test_other_threads_run_while_the_device_works() -> None:
    """The interpreter's lock is let go of by whatever waits: another thread, which wants it every millisecond, gets it all the while."""
    for line in output_of(OTHERS).splitlines():
        counted, seconds = map(float, line.split())
        assert counted > 20 * min(seconds, 1), line
