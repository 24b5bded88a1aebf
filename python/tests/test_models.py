"""Models of several kinds learn, compiled and not: what a reader of the guide might write."""
from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import weft as wt
from weft import nn, optim


def test_a_recurrent_network_learns_to_count(rng: np.random.Generator) -> None:
    words, size = 6, 8

    class Counter(nn.Module):
        def __init__(self) -> None:
            self.embedding = nn.Embedding(words, 4)
            self.weight = nn.parameter(rng.normal(size=(1, 4 * size, 4)) * 0.3)
            self.recurrent = nn.parameter(rng.normal(size=(1, 4 * size, size)) * 0.3)
            self.out = nn.Linear(size, words)

        def forward(self, x: wt.Tensor) -> wt.Tensor:
            y = wt.lstm(self.embedding(x), self.weight, self.recurrent)[0]
            made: wt.Tensor = self.out(y.reshape(*x.shape, size))
            return made

    model = Counter()
    optimizer = optim.AdamW(model, lr=3e-2)

    @wt.compile
    def step(x: wt.Tensor) -> Any:
        loss, gradients = nn.value_and_grad(model, lambda x: nn.cross_entropy(model(x[:-1]), x[1:]))(x)
        optimizer.step(gradients)
        return loss

    sequence = wt.array(np.tile(np.arange(words), (2, 1)).T)
    losses = [step(sequence).item() for _ in range(30)]
    assert losses[-1] < losses[0] / 3


def test_gradients_that_are_views() -> None:
    """Transposed and repeated gradients, in every rule, clipped too."""
    for rule in (optim.SGD, optim.Adam, optim.AdamW, optim.Lion):
        made = []
        for turned in (False, True):
            model = nn.Linear(3, 2, bias=False)
            model.load_state_dict({"weight": wt.arange(6, dtype="float32").reshape(2, 3)})
            optimizer = rule(model, lr=0.1)
            gradient = wt.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).T if turned else wt.array([[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]])
            scale, norm = wt.clip_by_global_norm([gradient], 1.0)
            optimizer.step([gradient * scale])
            optimizer.step([gradient])
            optimizer.step([wt.broadcast_to(wt.array([[1.0], [2.0]]), (2, 3))])
            made.append((model.weight.numpy(), norm.item()))
        np.testing.assert_array_equal(made[0][0], made[1][0])
        assert made[0][1] == made[1][1]


def test_learning_to_learn(rng: np.random.Generator) -> None:
    """A gradient through a step of gradient descent, as differences give it."""
    x, y = rng.normal(size=(8, 3)), rng.normal(size=8)

    def loss(w: Any, x: Any, y: Any) -> Any:
        return ((x @ w - y) ** 2).mean()

    given = wt.array(x), wt.array(y)

    def outer(w: wt.Tensor) -> Any:
        return loss(w - 0.1 * wt.grad(loss)(w, *given), *given)

    def by_hand(w: Any) -> float:
        slope = 2 * x.T @ (x @ w - y) / len(y)
        return float(loss(w - 0.1 * slope, x, y))

    at = np.array([0.3, -0.2, 0.1])
    wanted = [(by_hand(at + step) - by_hand(at - step)) / 2e-5 for step in 1e-5 * np.eye(3)]
    for function in (wt.grad(outer), wt.compile(wt.grad(outer))):
        np.testing.assert_allclose(function(wt.array(at)).numpy(), wanted, rtol=1e-3, atol=1e-4)


def test_second_derivatives_and_trees() -> None:
    x = wt.array([1.0, 2.0, 0.5])

    def f(x: wt.Tensor) -> Any:
        return x[0] ** 2 * x[1] + wt.sin(x[2] * x[0])

    rows = [wt.grad(lambda x, i=i: wt.grad(f)(x)[i])(x).tolist() for i in range(3)]
    wanted = [[4 - 0.25 * np.sin(0.5), 2.0, np.cos(0.5) - 0.5 * np.sin(0.5)], [2.0, 0.0, 0.0],
              [np.cos(0.5) - 0.5 * np.sin(0.5), 0.0, -np.sin(0.5)]]
    np.testing.assert_allclose(rows, wanted, rtol=1e-4, atol=1e-5)

    @dataclass
    class Parameters:
        w: wt.Tensor
        rest: dict[str, list[wt.Tensor]]

    parameters = Parameters(wt.ones((2, 2)), {"b": [wt.zeros(2)]})
    value, slopes = wt.value_and_grad(lambda p, x: ((x @ p.w + p.rest["b"][0]) ** 2).sum())(parameters, wt.ones((3, 2)))
    assert value.item() == 24 and slopes.w.tolist() == [[12.0, 12.0]] * 2 and slopes.rest["b"][0].tolist() == [12.0, 12.0]
    assert wt.grad(lambda x: x**3)(2.0).item() == 12


def test_models_are_copied_and_pickled() -> None:
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.1), nn.Linear(2 * 9, 3), nn.GELU()).eval()
    x = wt.random.normal((2, 1, 8, 8))
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert wt.array_equal(model(x), other(x))
        before = model(x).numpy()
        optim.SGD(other, lr=0.5).step([wt.ones_like(p) for p in other.parameters()])
        assert not wt.allclose(model(x), other(x))
        np.testing.assert_array_equal(model(x).numpy(), before)
    with pytest.raises(TypeError, match="schedule"):
        optim.AdamW(model, lr=optim.cosine(1e-3, 10))  # type: ignore[arg-type]
