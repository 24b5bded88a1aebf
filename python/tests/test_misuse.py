"""What goes wrong in a program says so: which function was called, with what; and nothing hangs, or ends the process."""
from __future__ import annotations

import gc
import inspect
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import weft as wt


def run(program: str, code: int = 0) -> str:
    """What a program of its own prints; one that hangs is ended."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", "import weft as wt\n" + program], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (done.returncode, done.stderr[-1500:])
    return done.stdout + done.stderr


READS = """
x, c = wt.ones((2, 3)), wt.ones(3) + 1
for read in (lambda y: y * float(c.sum()), lambda y: y + c.numpy(), lambda y: (wt.synchronize(), y)[1], lambda y: (str(c), y)[1]):
    for f in (wt.compile(read), wt.checkpoint(read), wt.grad(wt.checkpoint(lambda y: read(y).sum())), wt.compile(wt.grad(lambda y: read(y).sum()))):
        f(x).numpy()
    assert wt.supports(read, x)
print(wt.compile(lambda y: y * float(c.sum()))(x).tolist())
"""


def test_values_are_read_while_a_function_is_compiled() -> None:
    """By the main thread, which else lets another one wait: the library's lock is its own then."""
    assert run(READS) == "[[6.0, 6.0, 6.0], [6.0, 6.0, 6.0]]\n"


def test_the_end_of_a_program() -> None:
    """An object that outlives numpy, and a fork that ends by itself."""
    said = run("class A:\n    def __init__(self):\n        self.t = wt.ones(3)\n    def __del__(self):\n        print((self.t + 1).shape)\n"
               "        self.t.tolist()\na = A()\nprint(a.t.tolist(), flush=True)")
    assert "(3,)" in said and "interpreter is ending" in said, said
    forked = "import os, sys\nx = wt.ones(3).eval()\nx.tolist()\nchild = os.fork()\nif child == 0:\n    print('left')\n    sys.exit(7)\n"
    assert run(forked + "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), x.tolist())") == "left\n7 [1.0, 1.0, 1.0]\n"


X = wt.ones((2, 3))
CALLS: dict[str, Any] = {
    "mean": lambda: wt.mean(X, dim=0), "sum": lambda: X.sum(dim=1), "Tensor.var": lambda: X.var(unbiased=False), "concat": lambda: wt.concat(None),
    "concatenate": lambda: wt.concatenate([X, None]), "exp": lambda: wt.exp(object()), "zeros": lambda: wt.zeros(2, "abc"), "ones": lambda: wt.ones(2, 3),
    "inv": lambda: wt.linalg.inv("a"), "Linear": lambda: wt.nn.Linear(4, 2)(X), "copyto": lambda: wt.copyto(None, X), "reshape": lambda: X.reshape(7),
    "fftfreq": lambda: wt.fft.fftfreq(2**62), "unravel_index": lambda: wt.unravel_index(9, (2, 2)), "assign": lambda: wt.assign([[1]], [X]),
    "array": lambda: wt.array([[[[[[[[[1]]]]]]]]]), "arange": lambda: wt.arange(10**12), "kaiming_normal_": lambda: wt.nn.init.kaiming_normal_(None),
    "array_split": lambda: wt.array_split(X, 2**62), "matmul": lambda: wt.matmul(X, "a"), "roll": lambda: wt.roll(X, "a"),
    "normal": lambda: wt.random.normal("a"), "tile": lambda: wt.tile(X, None),
    "repeat": lambda: wt.repeat(X, None), "argsort": lambda: X.argsort("a"), "astype": lambda: X.astype("abc"),
    "LayerNorm": lambda: wt.nn.LayerNorm("a"), "BatchNorm": lambda: wt.nn.BatchNorm2d(None), "QuantizedLinear": lambda: wt.nn.QuantizedLinear(None),
    "step": lambda: wt.optim.SGD(wt.nn.Linear(1, 1)).step({"weight": X}), "finfo": lambda: wt.finfo("abc"), "iinfo": lambda: wt.iinfo(None)}


@pytest.mark.parametrize("name", CALLS)
def test_errors_name_the_function(name: str) -> None:
    with pytest.raises((TypeError, ValueError, MemoryError), match=rf"(?<!\w){name}(?!\w)"):
        CALLS[name]()


def test_words_of_other_libraries() -> None:
    for call, word in ((CALLS["mean"], "'axis'"), (CALLS["Tensor.var"], "'correction'"), (lambda: wt.triu(X, diagonal=1), "'k'")):
        with pytest.raises(TypeError, match=f"it is called {word} here"):
            call()
    with pytest.raises(TypeError, match=r"a shape is one argument, \(2, 3, …\)"):
        wt.ones(2, 3)


def test_errors_of_a_program_stay_as_they_are() -> None:
    def wrong(x: wt.Tensor) -> wt.Tensor:
        raise KeyError("mine")

    class Own(wt.nn.Module):
        def forward(self, x: wt.Tensor) -> wt.Tensor:
            raise ValueError("mine")

    calls: list[Any] = [wt.compile(wrong), wt.grad(wrong), wt.checkpoint(wrong), wt.value_and_grad(wrong), lambda x: wt.vjp(wrong, x),
                        lambda x: wt.apply_along_axis(wrong, 0, x), lambda x: wt.piecewise(x, [x > 0], [wrong])]
    for call in calls:
        with pytest.raises(KeyError) as told:
            call(X)
        assert told.value.args == ("mine",)
    for module in (Own(), wt.nn.Sequential(Own()), wt.nn.Sequential(wt.nn.Sequential(Own())), wt.nn.Lambda(Own().forward)):
        with pytest.raises(ValueError) as said:
            module(X)
        assert said.value.args == ("mine",)


def test_functions_that_name_themselves_are_the_same_functions() -> None:
    for function in (wt.concat, wt.concatenate, wt.linalg.inv, wt.random.normal, wt.fft.fft, wt.nn.init.zeros_):
        assert pickle.loads(pickle.dumps(function)) is function
    assert list(inspect.signature(wt.concat).parameters) == ["arrays", "axis"] and "one after the other" in str(wt.concat.__doc__)


def test_large_tensors_are_shown_by_their_ends() -> None:
    """As numpy shows them, and without all of their elements."""
    rng = np.random.default_rng(0)
    for x in (rng.normal(size=(200, 30, 7)).astype(np.float32), np.arange(5000, dtype=np.int32), np.arange(1400, dtype=np.int32).reshape(7, 200),
              np.arange(1000, dtype=np.int32), np.arange(1001, dtype=np.int32), np.arange(1200).reshape(8, 150) % 2 == 0):
        assert str(wt.array(x)) == str(x)
        assert np.array2string(x, separator=", ", prefix="tensor(") in repr(wt.array(x))
    with np.printoptions(edgeitems=1, threshold=5):
        assert str(wt.arange(20)) == str(np.arange(20))
    assert "..." in repr(wt.broadcast_to(X, (10**9, 2, 3)))


def test_too_much() -> None:
    for call in (lambda: wt.zeros((10**6, 10**6)).eval(), lambda: wt.one_hot(wt.zeros(10**5, "int32"), 10**6).eval(), lambda: wt.arange(2**33, dtype="int64")):
        with pytest.raises(MemoryError, match="device"):
            call()
    with pytest.raises(IndexError, match="at most 8"):
        X[(None,) * 9]
    assert wt.ones(2).tolist() == [1, 1]


def test_compiled_functions_are_let_go() -> None:
    """With what they hold on the device: also one that failed, and one that an object keeps which it is a method of."""

    class Model:
        def __init__(self) -> None:
            self.weight = wt.ones(64).eval()
            self.run = wt.compile(self.forward)

        def forward(self, x: wt.Tensor) -> wt.Tensor:
            return x * self.weight

    def fails(x: wt.Tensor) -> wt.Tensor:
        raise ValueError("mine")

    def once() -> None:
        wt.compile(lambda x: (x * 2).sum())(X).eval()
        Model().run(wt.ones(64)).eval()
        with pytest.raises(ValueError):
            wt.compile(fails)(X)

    def in_use() -> tuple[int, int]:
        gc.collect()
        wt.synchronize()
        return wt.memory_report().in_use, sum(isinstance(o, wt._core.Compiled) for o in gc.get_objects())

    once()
    before = in_use()
    for _ in range(5):
        once()
    assert in_use() == before


def test_arrays_beside_tensors_of_another_device() -> None:
    other = wt.Device()
    x = wt.ones(3, device=other)
    for made in (x + np.ones(3, np.float32), [1.0, 2.0, 3.0] * x, np.ones(3, np.float32) - x, x < [0.0, 2.0, 2.0], wt.maximum([2.0, 0.0, 0.0], x)):
        assert made.device == other and made.shape == (3,)
        made.numpy()


def test_trees_side_by_side() -> None:
    """By keys and names, whatever their order; what does not fit is an error that says where."""
    one, other = {"w": wt.ones(2), "b": [wt.zeros(1), None]}, {"b": [wt.ones(1), 5], "w": wt.ones(2) * 3}
    made = wt.tree_map(lambda a, b: a + b, one, other)
    assert made["w"].tolist() == [4, 4] and made["b"][0].tolist() == [1] and made["b"][1] is None
    for wrong, words in (({"w": wt.ones(2), "c": [wt.ones(1), None]}, r"keys \['c', 'w'\]"), ({"w": wt.ones(2), "b": [wt.ones(1)]}, r"at \['b'\]"),
                         ({"w": 3, "b": [wt.ones(1), None]}, r"at \['w'\]"), ([wt.ones(2)], "their top")):
        with pytest.raises(ValueError, match=words):
            wt.tree_map(lambda a, b: a + b, one, wrong)
