"""Gradients, compiled functions, variables, random numbers, layers, optimizers, files, kernels."""
from __future__ import annotations

import dataclasses
import pickle
import signal
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from common import same, values

import weft as wt
from weft import nn, optim


@dataclasses.dataclass
class Weights:
    w: wt.Tensor
    b: wt.Tensor
    name: str = "layer"


class Pair(NamedTuple):
    a: wt.Tensor
    b: wt.Tensor


def test_gradients_of_trees(rng: np.random.Generator) -> None:
    x, w, b = (wt.array(values(rng, s)) for s in ((4, 3), (3, 2), (2,)))

    def loss(tree: Any, x: wt.Tensor) -> wt.Tensor:
        y = x @ tree["layers"][0].w + tree["layers"][0].b
        return (y * y).sum() + tree["pair"].a.sum() * 3

    tree = {"layers": [Weights(w, b)], "pair": Pair(b, b), "rate": 0.1}
    value, found = wt.value_and_grad(loss)(tree, x)
    y = x.numpy() @ w.numpy() + b.numpy()
    same(value, (y * y).sum() + 3 * b.numpy().sum(), rtol=1e-4)
    same(found["layers"][0].w, 2 * x.numpy().T @ y, rtol=1e-4)
    same(found["layers"][0].b, 2 * y.sum(0), rtol=1e-4)
    assert isinstance(found["layers"][0], Weights) and found["layers"][0].name == "layer" and found["rate"] == 0.1
    assert found["pair"].a.tolist() == [3, 3] and found["pair"].b.tolist() == [0, 0]


def test_gradients_by_several_arguments() -> None:
    a, b = wt.array([1.0, 2.0]), wt.array([3.0, 4.0])
    by_a, by_b = wt.grad(lambda a, b: (a * a * b).sum(), argnums=(0, 1))(a, b)
    assert by_a.tolist() == [6, 16] and by_b.tolist() == [1, 4]
    assert wt.grad(lambda a, b: (a * b).sum(), argnums=-1)(a, b).tolist() == [1, 2]
    # One tensor twice, and once more from outside: each use counts for its own argument.
    assert wt.grad(lambda x, y: (x * y * a).sum())(a, a).tolist() == [1, 4]
    gradient, rest = wt.grad(lambda x: ((x**3).sum(), "more"), has_aux=True)(a)
    assert gradient.tolist() == [3, 12] and rest == "more"
    second = wt.grad(lambda x: wt.grad(lambda y: (y**3).sum())(x).sum())(a)
    assert second.tolist() == [6, 12]
    value, pull = wt.vjp(lambda x: x * x, a)
    assert value.tolist() == [1, 4] and pull(wt.array([1.0, 10.0]))[0].tolist() == [2, 40]


def test_gradients_through_indexing() -> None:
    x = wt.arange(6, dtype="float32").reshape(2, 3)
    assert wt.grad(lambda x: (x[:, ::-1][0] * wt.array([1.0, 2.0, 3.0])).sum())(x).tolist() == [[3, 2, 1], [0, 0, 0]]
    assert wt.grad(lambda x: x[[1, 1, 0], [0, 0, 2]].sum())(x).tolist() == [[0, 0, 1], [2, 0, 0]]
    assert wt.grad(lambda x: x[x > 3].sum())(x).tolist() == [[0, 0, 0], [0, 1, 1]]

    def assigned(x: wt.Tensor) -> wt.Tensor:
        x[0] = 7.0
        x[1, 1] *= 2
        return x.sum()

    value, found = wt.value_and_grad(assigned)(x)
    assert float(value) == 21 + 3 + 8 + 5 and found.tolist() == [[0, 0, 0], [1, 2, 1]]
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_gradients_of_what_was_looked_at() -> None:
    def loss(x: wt.Tensor) -> wt.Tensor:
        y = x * x
        assert float(y[0]) == 1  # computed before the gradient is taken
        return y.sum() if float(y.sum()) > 0 else -y.sum()

    x = wt.array([1.0, 2.0])
    assert wt.grad(loss)(x).tolist() == [2, 4]
    assert wt.grad(lambda x: wt.grad(loss)(x).sum() + wt.grad(loss)(wt.array([1.0]))[0])(x).tolist() == [2, 2]


def test_gradients_that_are_refused() -> None:
    x = wt.ones(3)
    for function, error, words in [(lambda x: x, ValueError, "shape"), (lambda x: 1.0, TypeError, "float"), (lambda x: (x > 0).sum(), TypeError, "int")]:
        with pytest.raises(error, match=words):
            wt.grad(function)(x)
    with pytest.raises(TypeError, match="int32"):
        wt.grad(lambda i: i.sum())(wt.arange(3))
    with pytest.raises(ValueError, match="argument"):
        wt.grad(lambda x: x.sum(), argnums=3)(x)
    with pytest.raises(ZeroDivisionError):
        wt.grad(lambda x: x.sum() * (1 // 0))(x)
    assert wt.grad(lambda x: x.sum())(x).tolist() == [1, 1, 1]


def test_compiled_functions(rng: np.random.Generator) -> None:
    calls = 0

    @wt.compile
    def f(x: wt.Tensor, tree: dict[str, wt.Tensor], *, power: int = 2) -> dict[str, Any]:
        """Its text."""
        nonlocal calls
        calls += 1
        return {"sum": (x**power).sum(), "more": [x + tree["y"], 7]}

    for shape in ((3,), (2, 2), (3,)):
        for _ in range(3):
            x = values(rng, shape)
            got = f(wt.array(x), {"y": wt.array(x)})
            same(got["sum"], (x**2).sum(), rtol=1e-4)
            same(got["more"][0], x + x)
            assert got["more"][1] == 7
    assert calls == 2
    same(f(wt.array(x), {"y": wt.array(x)}, power=3)["sum"], (x**3).sum(), rtol=1e-4)
    assert calls == 3 and f.__doc__ == "Its text." and f.report()["dispatches"] >= 1 and "[3]" in f.text()
    assert wt.grad(lambda x: f(x, {"y": x})["sum"])(wt.array([1.0, 2.0])).tolist() == [2, 4]
    assert wt.compile(lambda x: f(x, {"y": x})["sum"] * 2)(wt.array([1.0, 2.0])).item() == 10
    assert wt.compile(lambda: wt.ones(3) * 2)().tolist() == [2, 2, 2]
    with pytest.raises(Exception, match="valu|compil|trace"):
        wt.compile(lambda x: x if x.sum() > 0 else -x)(wt.ones(2))
    with pytest.raises(KeyError):
        wt.compile(lambda x: {}["a"])(wt.ones(2))
    assert wt.ones(2).tolist() == [1, 1]


def test_structures_by_shape() -> None:
    f = wt.compile(lambda x: (x, x) if x.shape[0] == 1 else [x])
    assert isinstance(f(wt.ones(1)), tuple) and isinstance(f(wt.ones(2)), list) and isinstance(f(wt.ones(1)), tuple)


def test_variables() -> None:
    w = wt.variable([1.0, 2.0])
    before = w * 1.0

    @wt.compile
    def step(x: wt.Tensor) -> wt.Tensor:
        nonlocal w
        loss, g = wt.value_and_grad(lambda w: ((w - x) ** 2).sum())(w)
        w -= 0.25 * g
        w[0] = w[0] + 1
        return loss

    assert step(wt.zeros(2)).item() == 5
    assert w.tolist() == [1.5, 1.0] and before.tolist() == [1, 2] and w.is_variable
    assert step(wt.zeros(2)).item() == 3.25
    assert w.tolist() == [1.75, 0.5]
    w[:] = 3
    assert step(wt.zeros(2)).item() == 18 and pickle.loads(pickle.dumps(w)).is_variable
    with pytest.raises(ValueError, match="compiled"):
        wt.compile(lambda x: wt.variable(x))(wt.ones(1))
    with pytest.raises(RuntimeError):
        wt.compile(lambda x: fail(w))(wt.ones(1))
    assert w.tolist() == [2.5, 1.5]
    wt.assign([w], [wt.zeros(2)])
    assert w.tolist() == [0, 0]


def test_what_is_kept_of_a_trace() -> None:
    """Tensors without values that somebody keeps (a list, a traceback) keep nobody from changing the variables they were made from."""
    w = wt.variable([1.0, 2.0])
    kept: list[wt.Tensor] = []

    @wt.compile
    def step(x: wt.Tensor) -> wt.Tensor:
        nonlocal w
        kept.append(w * x)
        w += x
        return w.sum()

    assert step(wt.ones(2)).item() == 5
    w *= 2
    assert w.tolist() == [4, 6] and step(wt.ones(2)).item() == 12
    with pytest.raises(ValueError, match="no value"):
        kept[0].numpy()
    assert "no value" in repr(kept[0])


def fail(w: wt.Tensor) -> wt.Tensor:
    w += 1
    raise RuntimeError("on purpose")


def test_checkpoint(rng: np.random.Generator) -> None:
    x, w = (wt.array(values(rng, s)) for s in ((2, 3), (3, 3)))

    def block(x: wt.Tensor, w: wt.Tensor) -> wt.Tensor:
        return wt.tanh(x @ w)

    kept = wt.grad(lambda w: (block(x, w) ** 2).sum())(w)
    again = wt.grad(lambda w: (wt.checkpoint(block)(x, w) ** 2).sum())(w)
    same(again, kept.numpy())


def test_random_numbers() -> None:
    wt.random.seed(3)
    first = wt.random.normal((1000,))
    assert abs(first.mean().item()) < 0.1 and abs(first.std().item() - 1) < 0.1
    other = wt.random.normal((1000,))
    assert not wt.array_equal(first, other)
    wt.random.seed(3)
    assert wt.array_equal(wt.random.normal((1000,)), first)
    u = wt.random.uniform(-1, 1, (500,)).numpy()
    assert u.min() >= -1 and u.max() < 1
    assert set(wt.random.randint(3, shape=(200,)).tolist()) == {0, 1, 2}
    assert sorted(wt.random.permutation(10).tolist()) == list(range(10))
    draw = wt.compile(lambda x: x + wt.random.uniform(shape=(4,)))
    assert draw(wt.zeros(4)).tolist() != draw(wt.zeros(4)).tolist()
    key = wt.random.key(1)
    assert wt.array_equal(wt.random.uniform(shape=(3,), key=key), wt.random.uniform(shape=(3,), key=key))
    assert wt.random.bernoulli(0.5, (4,)).shape == (4,) and wt.random.categorical(wt.zeros((2, 5))).shape == (2,)


@pytest.mark.parametrize("make", [optim.SGD, lambda p: optim.SGD(p, 0.05, momentum=0.9), optim.Adam, optim.AdamW, optim.Lion],
                         ids=["sgd", "momentum", "adam", "adamw", "lion"])
def test_optimizers_go_down(make: Any, rng: np.random.Generator) -> None:
    wt.random.seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = make(model)
    x = values(rng, (64, 4))
    data = wt.array(x), wt.array(x[:, :1] * x[:, 1:2])
    both = nn.value_and_grad(model, lambda x, y: ((model(x) - y) ** 2).mean())

    @wt.compile
    def step(x: wt.Tensor, y: wt.Tensor) -> wt.Tensor:
        loss, gradients = both(x, y)
        optimizer.step(gradients)
        return loss

    losses = [step(*data).item() for _ in range(30)]
    assert losses[-1] < losses[0] and step.report()["built"] == 1
    optimizer.lr = 0.0
    if not isinstance(optimizer, optim.AdamW):
        before = model.parameters()[0].numpy()
        step(*data)
        np.testing.assert_array_equal(model.parameters()[0].numpy(), before)


def test_layers(tmp_path: Path, rng: np.random.Generator) -> None:
    wt.random.seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.5), nn.Linear(16, 3))
    x = wt.array(values(rng, (2, 1, 4, 4)))
    assert model(x).shape == (2, 3) and not wt.array_equal(model(x), model(x))
    model.eval()
    assert wt.array_equal(model(x), model(x))
    state = model.state_dict()
    assert "layers.1.running_mean" in state and "layers.1.running_mean" not in model.named_parameters() and len(model.parameters()) == 6
    assert abs(state["layers.1.running_mean"].numpy()).max() > 0
    wt.save(tmp_path / "model.safetensors", state)
    other = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.5), nn.Linear(16, 3)).eval()
    other.load_state_dict(wt.load(tmp_path / "model.safetensors"))
    assert wt.array_equal(other(x), model(x)) and "Conv2d" in repr(model)
    with pytest.raises(ValueError, match="missing"):
        other.load_state_dict({})
    block = nn.TransformerBlock(8, 2)
    y = block(wt.array(values(rng, (2, 5, 8))))
    assert y.shape == (2, 5, 8)
    assert nn.Embedding(5, 3)(wt.array([[0, 4]])).shape == (1, 2, 3)
    for layer, shape in [(nn.LayerNorm(6), (2, 6)), (nn.RMSNorm(6), (2, 6)), (nn.GroupNorm(2, 6), (2, 6, 3)), (nn.Conv1d(6, 2, 3), (1, 6, 5)),
                         (nn.ConvTranspose2d(6, 2, 2, stride=2), (1, 6, 3, 3)), (nn.AvgPool2d(2), (1, 2, 4, 4))]:
        assert layer(wt.array(values(rng, shape))).ndim == len(shape)


def test_files(tmp_path: Path, rng: np.random.Generator) -> None:
    tensors = {"a": values(rng, (2, 3)), "half": values(rng, (4,), "float16"), "whole": values(rng, (5,), "int64")}
    for ending in ("safetensors", "gguf"):
        path = tmp_path / f"x.{ending}"
        wt.save(path, tensors, {"author": "me"})
        found, texts = wt.load(path, with_texts=True)
        assert texts["author"] == "me"
        for name, value in tensors.items():
            np.testing.assert_array_equal(found[name].numpy(), value)
            assert found[name].dtype == value.dtype
    with pytest.raises((OSError, LookupError), match="nowhere"):
        wt.load(tmp_path / "nowhere.gguf")
    (tmp_path / "bad.gguf").write_bytes(b"nonsense")
    with pytest.raises((ValueError, OSError)):
        wt.load(tmp_path / "bad.gguf")
    with pytest.raises(ValueError):
        wt.save(tmp_path / "x.txt", tensors)


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


def test_loader() -> None:
    x, y = np.arange(10), np.arange(10) * 2
    loader = wt.data.Loader(x, y, batch_size=4, drop_last=False)
    batches = list(loader)
    assert [len(b[0]) for b in batches] == [4, 4, 2] and len(loader) == 3
    assert sorted(v for b in batches for v in b[0].tolist()) == list(range(10))
    assert all(wt.array_equal(a * 2, b) for a, b in batches)
    with pytest.raises(ValueError):
        wt.data.Loader(x, y[:3])


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


ADD = Path("/usr/share/libonnx-testdata/data/node/test_add/model.onnx")


@pytest.mark.skipif(not ADD.exists(), reason="Debian's package libonnx-testdata is not there")
def test_onnx(rng: np.random.Generator) -> None:
    model = wt.onnx.load(ADD)
    x, y = (values(rng, (3, 4, 5)) for _ in range(2))
    assert [p.name for p in model.inputs] == ["x", "y"] and model.inputs[0].shape == (3, 4, 5) and model.operations == {"Add": 1}
    for _ in range(2):
        same(model.run({"x": x, "y": wt.array(y)})["sum"], x + y)
    assert not model.unsupported and "Add" in str(model.operations) and "x" in repr(model)
    same(wt.onnx.load(ADD.read_bytes()).run({"x": x, "y": y})["sum"], x + y)
    with pytest.raises((ValueError, LookupError)):
        model.run({"x": x})
    with pytest.raises((ValueError, OSError, LookupError)):
        wt.onnx.load(b"nonsense")
    with pytest.raises((OSError, LookupError)):
        wt.onnx.load("/nowhere.onnx")


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
