"""Gradients, compiled functions, variables, random numbers."""
from __future__ import annotations

import dataclasses
import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest
from common import same, values

import weft as wt


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


def test_indices_are_checked_where_that_is_asked_for() -> None:
    table, bad = wt.ones((4, 3)), wt.array([9, 0])
    plain, checked = wt.compile(lambda i: wt.embedding(table, i)), wt.compile(lambda i: wt.embedding(table, i), check_indices=True)
    np.testing.assert_array_equal(plain(bad).numpy()[0], 0)
    for _ in range(2):
        with pytest.raises(Exception, match="embedding met 1 index out of range, the first at position 0"):
            checked(bad).numpy()
    np.testing.assert_array_equal(checked(wt.array([3])).numpy(), 1)


def test_index_tensors_outside_give_zeros_in_compiled_functions() -> None:
    x = np.arange(1, 13, dtype=np.float32).reshape(4, 3)
    long = np.arange(1, 1201, dtype=np.float32).reshape(300, 4)
    one, two = wt.compile(lambda x, i: x[i]), wt.compile(lambda x, i, j: x[i, j])
    places = np.array([0, 3, -1, -4, 4, -5, -8, 9, 2**31 - 1, -2**31], np.int32)
    inside = (places >= -4) & (places < 4)
    wanted = np.where(inside[:, None], x[np.where(inside, places, 0)], 0)
    np.testing.assert_array_equal(one(wt.array(x), wt.array(places)).numpy(), wanted)
    i, j = np.array([0, 0, 1, -4, -5, 3, 2]), np.array([2, 3, -3, -4, 0, 7, 1])
    good = (i >= -4) & (i < 4) & (j >= -3) & (j < 3)
    wanted = np.where(good, x[np.where(good, i, 0), np.where(good, j, 0)], 0)
    np.testing.assert_array_equal(two(wt.array(x), wt.array(i), wt.array(j)).numpy(), wanted)
    for kind in ("int8", "uint8", "int16", "uint32", "int64"):  # the number of a row may be larger than its indices can be
        i, j = np.array([1, 100, 127], kind), np.array([3, 0, 2], kind)
        np.testing.assert_array_equal(two(wt.array(long), wt.array(i), wt.array(j)).numpy(), long[i, j], kind)
