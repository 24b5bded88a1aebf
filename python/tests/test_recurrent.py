"""Recurrent layers against loops of numpy."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from common import values

import weft as wt
from weft import nn, optim


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def loop(layer: Any, kind: str, x: np.ndarray, states: list[np.ndarray], lengths: Any, activation: Any = np.tanh) -> tuple[Any, list[Any]]:
    """All layers and directions over x [tokens, batch, inputs], one token after the other."""
    p = {name: tensor.numpy().astype(np.float64) for name, tensor in layer.named_parameters().items()}
    ends = ["", "_reverse"] if "weight_ih_l0_reverse" in p else [""]
    last: list[list[Any]] = [[] for _ in states]
    number = 0
    for i in range(layer.num_layers):
        halves = []
        for end in ends:
            w, r = p[f"weight_ih_l{i}{end}"], p[f"weight_hh_l{i}{end}"]
            a, b = p.get(f"bias_ih_l{i}{end}", 0), p.get(f"bias_hh_l{i}{end}", 0)
            now = [s[number].astype(np.float64) for s in states]
            size = now[0].shape[1]
            y = np.zeros((*x.shape[:2], size))
            for t in range(x.shape[0])[::-1 if end else 1]:
                inner, outer = x[t] @ w.T + a, now[0] @ r.T + b
                if kind == "lstm":
                    i_, f, g, o = np.split(inner + outer, 4, axis=1)
                    cell = sigmoid(f) * now[1] + sigmoid(i_) * np.tanh(g)
                    hidden = sigmoid(o) * np.tanh(cell)
                    if f"weight_hr_l{i}{end}" in p:
                        hidden = hidden @ p[f"weight_hr_l{i}{end}"].T
                    new = [hidden, cell]
                elif kind == "gru":
                    (r1, z1, n1), (r2, z2, n2) = np.split(inner, 3, axis=1), np.split(outer, 3, axis=1)
                    z = sigmoid(z1 + z2)
                    new = [(1 - z) * np.tanh(n1 + sigmoid(r1 + r2) * n2) + z * now[0]]
                else:
                    new = [activation(inner + outer)]
                here = (t < lengths)[:, None]
                now = [np.where(here, n, before) for n, before in zip(new, now, strict=True)]
                y[t] = np.where(here, new[0], 0)
            for kept, end_state in zip(last, now, strict=True):
                kept.append(end_state)
            halves.append(y)
            number += 1
        x = np.concatenate(halves, axis=2)
    return x, [np.stack(s) for s in last]


CASES: list[tuple[str, dict[str, Any]]] = [
    ("lstm", {}), ("gru", {}), ("rnn", {}), ("rnn", {"nonlinearity": "relu", "bias": False}), ("lstm", {"num_layers": 2, "bidirectional": True}),
    ("gru", {"num_layers": 3, "bidirectional": True, "batch_first": True}), ("lstm", {"proj_size": 3, "num_layers": 2, "bidirectional": True}),
    ("rnn", {"num_layers": 2, "batch_first": True}), ("lstm", {"bias": False, "batch_first": True})]


@pytest.mark.parametrize("kind, options", CASES)
@pytest.mark.parametrize("started", [False, True])
def test_layers_are_those_of_loops(kind: str, options: dict[str, Any], started: bool, rng: np.random.Generator) -> None:
    wt.random.seed(3)
    tokens, batch, inputs, hidden = 5, 3, 4, 6
    layer: Any = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[kind](inputs, hidden, **options)
    many, size = layer.num_layers * (2 if options.get("bidirectional") else 1), options.get("proj_size") or hidden
    shapes = [(many, batch, size), (many, batch, hidden)][:2 if kind == "lstm" else 1]
    states = [values(rng, s) if started else np.zeros(s, np.float32) for s in shapes]
    lengths = np.array([5, 1, 3], np.int32) if started else np.full(batch, tokens, np.int32)
    x = values(rng, (tokens, batch, inputs))
    activation = (lambda v: np.maximum(v, 0)) if options.get("nonlinearity") == "relu" else np.tanh
    wanted, last = loop(layer, kind, x.astype(np.float64), states, lengths, activation)
    given = [wt.array(s) for s in states]
    first = options.get("batch_first", False)
    y, ends = layer(wt.array(x.swapaxes(0, 1) if first else x), (tuple(given) if kind == "lstm" else given[0]) if started else None,
                    **({"lengths": wt.array(lengths)} if started else {}))
    np.testing.assert_allclose(y.numpy().swapaxes(0, 1) if first else y.numpy(), wanted, rtol=1e-4, atol=1e-5)
    for found, end in zip(ends if kind == "lstm" else [ends], last, strict=True):
        np.testing.assert_allclose(found.numpy(), end, rtol=1e-4, atol=1e-5)
    # One sequence alone has no dimension for the batch.
    alone, _ = layer(wt.array(x[:, 0]))
    whole, _ = layer(wt.array(x[None, :, 0] if first else x[:, :1]))
    np.testing.assert_allclose(alone.numpy(), whole.numpy()[0] if first else whole.numpy()[:, 0], rtol=1e-5, atol=1e-6)


def test_parameters_have_the_names_of_pytorch() -> None:
    names = nn.LSTM(2, 4, num_layers=2, bidirectional=True, proj_size=3).named_parameters()
    assert len(names) == 20
    assert {k: names[k].shape for k in ("weight_ih_l0", "weight_ih_l1_reverse", "weight_hh_l0", "bias_hh_l1", "weight_hr_l0_reverse")} == {
        "weight_ih_l0": (16, 2), "weight_ih_l1_reverse": (16, 6), "weight_hh_l0": (16, 3), "bias_hh_l1": (16,), "weight_hr_l0_reverse": (3, 4)}
    assert set(nn.GRU(2, 4, bias=False).named_parameters()) == {"weight_ih_l0", "weight_hh_l0"}


def test_dropout_is_between_layers_and_only_in_training(rng: np.random.Generator) -> None:
    wt.random.seed(1)
    layer = nn.GRU(3, 5, num_layers=2, dropout=0.5)
    x = wt.array(values(rng, (4, 2, 3)))
    assert not wt.array_equal(layer(x)[0], layer(x)[0])
    layer.eval()
    assert wt.array_equal(layer(x)[0], layer(x)[0])
    single = nn.GRU(3, 5, dropout=0.5)
    assert wt.array_equal(single(x)[0], single(x)[0])


def test_a_sentence_for_what_does_not_fit(rng: np.random.Generator) -> None:
    layer = nn.LSTM(3, 5)
    x = wt.array(values(rng, (4, 2, 3)))
    with pytest.raises(ValueError, match="dimensions"):
        layer(x[None])
    with pytest.raises(ValueError, match="layer one after the other"):
        layer(x, (wt.zeros((2, 2, 5)), wt.zeros((1, 2, 5))))
    with pytest.raises(ValueError, match="lengths"):
        layer(x, lengths=wt.array([1, 2, 3]))
    for make, words in [(lambda: nn.LSTM(3, 5, proj_size=5), "proj_size"), (lambda: nn.GRU(3, 5, dropout=1.0), "dropout"),
                        (lambda: nn.RNN(3, 5, nonlinearity="sigmoid"), "nonlinearity")]:
        with pytest.raises(ValueError, match=words):
            make()
    with pytest.raises(TypeError, match="num_layers"):
        nn.LSTM(3, 5, num_layers=0)
    with pytest.raises(TypeError, match="pair"):
        layer(x, wt.zeros((1, 2, 5)))  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [wt.float16, wt.bfloat16])
def test_layers_in_other_floats(dtype: Any, rng: np.random.Generator) -> None:
    layer = nn.LSTM(3, 5, num_layers=2, bidirectional=True)
    x = wt.array(values(rng, (4, 2, 3)))
    wanted = layer(x)[0].numpy()
    assert layer.astype(dtype) is layer and all(p.dtype == dtype for p in layer.parameters())
    y, (state, cell) = layer(x.astype(dtype))
    assert y.dtype == state.dtype == cell.dtype == dtype
    np.testing.assert_allclose(y.astype(wt.float32).numpy(), wanted, atol=4e-3 if dtype == wt.float16 else 3e-2)


def test_a_classifier_of_sequences_learns(rng: np.random.Generator) -> None:
    """Which of two patterns came first, from the last states, compiled."""
    wt.random.seed(0)

    class Model(nn.Module):
        def __init__(self) -> None:
            self.layers, self.out = nn.LSTM(1, 12, batch_first=True, bidirectional=True), nn.Linear(24, 2)

        def forward(self, x: wt.Tensor, lengths: wt.Tensor) -> wt.Tensor:
            _, (state, _) = self.layers(x, lengths=lengths)
            made: wt.Tensor = self.out(state.transpose(1, 0, 2).reshape(x.shape[0], 24))
            return made

    model = Model()
    optimizer = optim.AdamW(model, lr=2e-2)
    label = rng.integers(0, 2, 32)
    x = np.zeros((32, 8, 1), np.float32)
    lengths = rng.integers(4, 9, 32)
    for row, kind, length in zip(x, label, lengths, strict=True):
        early, late = sorted(rng.choice(int(length), 2, replace=False))
        row[early], row[late] = (1, -1) if kind else (-1, 1)

    @wt.compile
    def step(x: wt.Tensor, lengths: wt.Tensor, label: wt.Tensor) -> Any:
        loss, gradients = nn.value_and_grad(model, lambda *a: nn.cross_entropy(model(*a), label))(x, lengths)
        optimizer.step(gradients)
        return loss

    data = wt.array(x), wt.array(lengths.astype(np.int32)), wt.array(label.astype(np.int32))
    losses = [step(*data).item() for _ in range(40)]
    assert losses[-1] < 0.2 < losses[0]
