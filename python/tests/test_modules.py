"""Modules and optimizers as people of PyTorch try them: parts by number, attention with a cache and shared heads, groups of parameters, schedules."""
from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from common import same

import weft as wt
from weft import nn, optim


def test_parts_of_a_sequence() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    assert len(model) == 3 and model[0].weight.shape == (8, 4) and [type(part).__name__ for part in model] == ["Linear", "ReLU", "Linear"]
    assert list(model.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"] and len(model[:2]) == 2 and model[-1] is model.layers[2]
    x = wt.ones((3, 4))
    same(model[2](wt.relu(model[0](x))), model(x).numpy())
    assert model.append(nn.Tanh())(x).shape == (3, 2) and len(model) == 4
    with pytest.raises(TypeError, match="number 1"):
        nn.Sequential(nn.ReLU(), 3)  # type: ignore[arg-type]
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        same(other(x), model(x).numpy())
    mlp = nn.MLP([4, 16, 16, 3])
    assert list(mlp.named_parameters()) == [f"{i}.{n}" for i in (0, 2, 4) for n in ("weight", "bias")] and mlp(x).shape == (3, 3)
    assert nn.MLP([4, 5], wt.tanh)(x).shape == (3, 5) and (nn.Lambda(wt.tanh)(x) == wt.tanh(x)).all()
    with pytest.raises(ValueError, match="two widths"):
        nn.MLP([4])


def attention_of(layer: nn.MultiheadAttention, x: Any) -> Any:
    """The same in double."""
    def through(linear: nn.Linear, x: Any) -> Any:
        made = x @ linear.weight.numpy().astype(np.float64).T
        return made if linear.bias is None else made + linear.bias.numpy()

    batch, count, width = x.shape
    size = width // layer.heads
    q, k, v = (through(part, x).reshape(batch, count, -1, size).transpose(0, 2, 1, 3) for part in (layer.q_proj, layer.k_proj, layer.v_proj))
    k, v = (np.repeat(part, layer.heads // layer.kv_heads, 1) for part in (k, v))
    logits = q @ k.swapaxes(-1, -2) / math.sqrt(size)
    if layer.causal:
        logits = np.where(np.tri(count, dtype=bool), logits, -np.inf)
    shares = np.exp(logits - logits.max(-1, keepdims=True))
    mixed = shares / shares.sum(-1, keepdims=True) @ v
    return through(layer.out_proj, mixed.transpose(0, 2, 1, 3).reshape(x.shape))


@pytest.mark.parametrize(("heads", "kv_heads", "causal", "bias"), [(2, 0, False, True), (4, 2, True, False), (4, 1, True, True)])
def test_attention(heads: int, kv_heads: int, causal: bool, bias: bool) -> None:
    wt.random.seed(3)
    layer = nn.MultiheadAttention(16, heads, causal, bias, kv_heads=kv_heads)
    x = np.random.default_rng(0).normal(size=(2, 7, 16)).astype(np.float32)
    same(layer(wt.array(x)), attention_of(layer, x.astype(np.float64)), rtol=1e-4, atol=1e-5)
    mask = wt.zeros((7, 7))
    same(layer(wt.array(x), mask), layer(wt.array(x)).numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("choices", [{}, {"kv_heads": 1, "rope_base": 10000.0}, {"gated": True, "rms": True, "hidden": 24, "bias": False, "window": 3}])
def test_a_cache_goes_on_token_by_token(choices: dict[str, Any]) -> None:
    wt.random.seed(4)
    block = nn.TransformerBlock(16, 2, **choices)
    x = wt.random.normal((2, 6, 16))
    whole, cache, parts = block(x), nn.AttentionCache(), []
    for first, last in ((0, 3), (3, 4), (4, 6)):
        parts.append(block(x[:, first:last], cache=cache))
        assert len(cache) == last
    same(wt.concat(parts, axis=1), whole.numpy(), rtol=1e-4, atol=1e-5)


def test_names_are_those_of_other_languages() -> None:
    """What C++, C and TypeScript save is loaded."""
    names = ["attention_norm.weight", "attention_norm.bias", *(f"attention.{p}_proj.{n}" for p in ("q", "k", "v", "out") for n in ("weight", "bias")),
             "mlp_norm.weight", "mlp_norm.bias", "up.weight", "up.bias", "down.weight", "down.bias"]
    assert sorted(nn.TransformerBlock(8, 2).state_dict()) == sorted(names)
    assert {"gate.weight", "up.weight"} <= set(nn.TransformerBlock(8, 2, gated=True).state_dict())
    for wrong in ({"heads": 3}, {"heads": 2, "kv_heads": 3}, {"heads": 0}):
        with pytest.raises((ValueError, TypeError), match="heads"):
            nn.MultiheadAttention(8, **wrong)
    with pytest.raises(ValueError, match="positions"):
        nn.MultiheadAttention(8, 2)(wt.ones((3, 8)))


def test_modules_in_other_floats() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm(8), nn.Linear(8, 4))
    model.append(model[0])  # shared
    wanted = model.eval()(wt.ones((3, 4))).numpy()
    model.astype("float16")
    assert {p.dtype.name for p in model.state_dict().values()} == {"float16"} and model[3].weight is model[0].weight
    made = model(wt.ones((3, 4), "float16"))
    assert made.dtype == wt.float16
    np.testing.assert_allclose(made.astype("float32").numpy(), wanted, atol=5e-3)
    model.train()
    optimizer = optim.SGD(model, lr=0.1)
    _, gradients = nn.value_and_grad(model, lambda x: model(x).astype("float32").sum())(wt.ones((3, 4), "float16"))
    optimizer.step(gradients)
    assert model[0].weight.dtype == wt.float16
    with pytest.raises(ValueError, match="no type of floats"):
        model.astype("int32")


def test_initial_values() -> None:
    wt.random.seed(6)
    layer = nn.Conv2d(64, 32, 3)
    deviations = {nn.init.kaiming_normal_: math.sqrt(2 / 576), nn.init.kaiming_uniform_: math.sqrt(2 / 576), nn.init.xavier_normal_: math.sqrt(2 / 864),
                  nn.init.xavier_uniform_: math.sqrt(2 / 864), nn.init.normal_: 1.0, nn.init.uniform_: math.sqrt(1 / 12)}
    for function, wanted in deviations.items():
        assert function(layer.weight) is layer.weight
        assert float(wt.std(layer.weight)) == pytest.approx(wanted, rel=0.03), function.__name__
    assert float(wt.max(wt.abs(nn.init.truncated_normal_(layer.weight, 0.5)))) <= 1
    assert nn.init.zeros_(layer.bias).tolist() == [0] * 32 and nn.init.ones_(layer.bias).tolist() == [1] * 32
    assert nn.init.constant_(wt.variable(wt.zeros(2, "float16")), 0.5).tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="xavier_uniform_"):
        nn.init.xavier_uniform_(layer.bias)
    with pytest.raises(TypeError, match="variable"):
        nn.init.zeros_(wt.ones(2))


def test_layers_of_whole_numbers() -> None:
    layer, x = nn.Linear(3, 2), np.array([[1, -2, 3]])
    for kind in ("int32", "int64", "uint8", "bool"):
        same(layer(wt.array(x).astype(kind)), layer(wt.array(x).astype(kind).astype("float32")).numpy())
    with pytest.raises(ValueError, match="linear"):
        layer(wt.ones((2, 4), "int32"))


def test_more_layers() -> None:
    x = np.random.default_rng(1).normal(size=(2, 3, 5)).astype(np.float32)
    wanted = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    same(nn.InstanceNorm(3)(wt.array(x)), wanted, rtol=1e-4, atol=1e-5)
    assert nn.ConvTranspose1d(3, 2, 4, stride=2)(wt.array(x)).shape == (2, 2, 12)
    assert nn.ConvTranspose3d(3, 2, 2, stride=2)(wt.ones((1, 3, 2, 3, 4))).shape == (1, 2, 4, 6, 8)


@pytest.mark.parametrize("kind", [optim.SGD, optim.Adam, optim.AdamW, optim.Lion])
def test_groups(kind: Any) -> None:
    """A group is changed as by an optimizer of its own."""
    start = [np.array([1.0, -2.0], np.float32), np.array([0.5, 3.0, -1.0], np.float32)]
    slopes = [np.array([0.3, -0.1], np.float32), np.array([-0.2, 0.4, 0.1], np.float32)]

    def changed(optimizers: Any) -> list[Any]:
        variables = [wt.variable(v) for v in start]
        for optimizer, numbers in optimizers(variables):
            for _ in range(3):
                optimizer.step([wt.array(slopes[n]) for n in numbers])
        return [v.numpy() for v in variables]

    both = changed(lambda v: [(kind([{"params": [v[0]], "lr": 0.03, "weight_decay": 0.0}, {"params": v[1], "lr_scale": 0.5}], lr=0.1, weight_decay=0.1),
                               (0, 1))])
    each = changed(lambda v: [(kind([v[0]], lr=0.03, weight_decay=0.0), (0,)), (kind([v[1]], lr=0.05, weight_decay=0.1), (1,))])
    for got, wanted in zip(both, each, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5)
    v = wt.variable(start[0])
    for wrong, words in (([{"params": [v]}, {"params": [v]}], "two groups"), ([{"parameters": [v]}], "params"),
                         ([{"params": [v], "lr": 1, "lr_scale": 1}], "lr"), ([], "at least one")):
        with pytest.raises(ValueError, match=words):
            kind(wrong, lr=0.1)


def test_groups_of_modules_in_a_compiled_step() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    optimizer = optim.SGD([{"params": model[0], "lr_scale": 0.0}, {"params": model[1]}], lr=0.1)
    before = {name: t.numpy() for name, t in model.state_dict().items()}

    @wt.compile
    def step(x: wt.Tensor) -> wt.Tensor:
        loss, gradients = nn.value_and_grad(model, lambda: (model(x) ** 2).mean())()
        optimizer.step(gradients)
        return loss  # type: ignore[no-any-return]

    step(wt.ones((4, 2)))
    after = {name: t.numpy() for name, t in model.state_dict().items()}
    assert [np.array_equal(before[n], after[n]) for n in ("0.weight", "0.bias", "1.weight", "1.bias")] == [True, True, False, False]


def test_schedules() -> None:
    rate = optim.schedule(2.0, 10, warmup=2, decay="linear", floor=0.25)
    assert [rate(i) for i in (0, 1, 2, 6, 10, 99)] == [1.0, 2.0, 2.0, 2.0 * (0.25 + 0.75 * 0.5), 0.5, 0.5]
    assert optim.cosine(1.0, 4)(2) == pytest.approx(0.5) and optim.schedule(3.0, 5, decay="constant")(4) == 3.0
    with pytest.raises(ValueError, match="decay"):
        optim.schedule(1.0, 5, decay="steps")  # type: ignore[arg-type]


def test_columns_of_a_loader_may_come_as_one() -> None:
    x, y = np.arange(8.0), np.arange(8)
    pairs = [list(wt.data.Loader(*columns, batch_size=4)) for columns in (((x, y),), (x, y))]
    assert all(wt.array_equal(a, b) for one, other in zip(*pairs, strict=True) for a, b in zip(one, other, strict=True))
