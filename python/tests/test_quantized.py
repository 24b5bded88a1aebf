"""Modules that measure ranges, train for whole numbers and compute with them."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from common import values

import weft as wt
from weft import nn, optim


def test_observers_keep_the_range() -> None:
    observer = nn.Observer()
    for part in ([1.0, -2.0], [0.5, 3.0]):
        assert observer(wt.array(part)).tolist() == part
    assert (observer.low.item(), observer.high.item()) == (-2, 3) and observer.named_parameters() == {}
    observer.eval()
    observer(wt.array([100.0]))
    assert observer.high.item() == 3 and set(observer.state_dict()) == {"low", "high"}
    moving = nn.Observer(momentum=0.25)
    for part in ([0.0, 4.0], [-4.0, 8.0]):
        moving(wt.array(part))
    assert (moving.low.item(), moving.high.item()) == (-1, 5)
    far = nn.Observer("percentile", percentile=90.0)
    far(wt.array(np.arange(101, dtype=np.float32)))
    np.testing.assert_allclose([far.low.item(), far.high.item()], [10, 90], atol=1e-3)
    with pytest.raises(ValueError, match="momentum"):
        nn.Observer(momentum=0.0)


@pytest.mark.parametrize("symmetric", [False, True])
def test_fakes_are_what_whole_numbers_leave(symmetric: bool, rng: np.random.Generator) -> None:
    fake = nn.FakeQuantize(symmetric=symmetric)
    x = values(rng, (5, 7)) + 0.5
    fake.eval()
    np.testing.assert_array_equal(fake(wt.array(x)).numpy(), x)  # nothing was measured
    fake.train()
    made = fake(wt.array(x)).numpy()
    low, high = min(x.min(), 0), max(x.max(), 0)
    step = np.abs(x).max() / 127 if symmetric else (high - low) / 255
    np.testing.assert_allclose(made, x, atol=0.51 * step)
    assert len(np.unique(np.round(made / step))) == len(np.unique(made)) and np.abs(made - x).max() > step / 10
    fake.eval()
    inside, outside = wt.array([float(x.max())]), wt.array([float(x.max()) + 10])
    slope = wt.grad(lambda x: fake(x).sum())
    assert slope(inside * 0.5).item() == 1 and slope(outside).item() == 0


def network() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(6 * 9, 3))


def test_models_are_prepared_and_converted(tmp_path: Path, rng: np.random.Generator) -> None:
    wt.random.seed(2)
    x = wt.array(values(rng, (20, 1, 6, 6)))
    model = network()
    wanted = model(x).numpy()
    near = 0.05 * np.abs(wanted).max()
    # Without preparation ranges are those of each call.
    dynamic = network()
    dynamic.load_state_dict(model.state_dict())
    dynamic = nn.convert(dynamic)
    assert "QuantizedConv" in repr(dynamic) and "QuantizedLinear" in repr(dynamic) and dynamic.parameters() == []
    np.testing.assert_allclose(dynamic(x).numpy(), wanted, atol=near)
    # With it they are measured first.
    prepared: Any = nn.prepare_qat(model)
    assert prepared is model and len(model.parameters()) == 4
    with pytest.raises(ValueError, match="measured"):
        nn.convert(nn.prepare_qat(network()))
    aware = prepared(x).numpy()
    np.testing.assert_allclose(aware, wanted, atol=near)
    prepared.eval()
    whole = nn.convert(prepared)
    assert {str(t.dtype) for n, t in whole.state_dict().items() if n.endswith(".weight")} == {str(wt.int8)}
    np.testing.assert_allclose(whole(x).numpy(), aware, atol=near / 2)
    wt.save(tmp_path / "whole.safetensors", whole.state_dict())
    other = nn.prepare_qat(network())
    other(x)
    other = nn.convert(other)
    other.load_state_dict(wt.load(tmp_path / "whole.safetensors"))
    np.testing.assert_array_equal(other(x).numpy(), whole(x).numpy())
    compiled = wt.compile(whole)
    np.testing.assert_array_equal(compiled(x).numpy(), whole(x).numpy())
    assert isinstance(nn.convert(nn.Linear(3, 2)), nn.QuantizedLinear)
    with pytest.raises(ValueError, match="weight_bits"):
        nn.convert(nn.Linear(3, 2), weight_bits=9)


def test_training_with_two_bits_learns_what_rounding_alone_loses(rng: np.random.Generator) -> None:
    wt.random.seed(0)
    x = values(rng, (256, 8))
    y = (x @ values(rng, (8, 3))).argmax(axis=1).astype(np.int32)
    data = wt.array(x), wt.array(y)
    model: Any = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 3))

    def train(model: Any, steps: int, lr: float) -> None:
        optimizer = optim.AdamW(model, lr=lr, weight_decay=0.0)

        @wt.compile
        def step(x: wt.Tensor, y: wt.Tensor) -> Any:
            loss, gradients = nn.value_and_grad(model, lambda x, y: nn.cross_entropy(model(x), y))(x, y)
            optimizer.step(gradients)
            return loss

        for _ in range(steps):
            step(*data)

    def right(model: Any) -> float:
        return float((model(data[0]).argmax(axis=1) == data[1]).mean())

    train(model, 150, 2e-2)
    assert right(model) > 0.95
    rounded: Any = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 3))
    rounded.load_state_dict(model.state_dict())
    rounded = right(nn.convert(rounded, weight_bits=2))
    model = nn.prepare_qat(model, weight_bits=2)
    train(model, 150, 5e-3)
    model.eval()
    aware = right(model)
    whole = right(nn.convert(model))
    assert whole > rounded + 0.02 and whole > 0.85 and abs(whole - aware) < 0.03, (rounded, aware, whole)


def test_weights_in_blocks_of_a_few_bits(tmp_path: Path, rng: np.random.Generator) -> None:
    wt.random.seed(4)

    def make() -> Any:
        return nn.Sequential(nn.Embedding(12, 64), nn.Linear(64, 40), nn.ReLU(), nn.Linear(40, 3))

    model = make()
    words = wt.array(rng.integers(0, 12, (5, 7)).astype(np.int32))
    wanted = model(words).numpy()
    for kind, near in (("q8_0", 0.03), ("q4_0", 0.4)):
        blocks = make()
        blocks.load_state_dict(model.state_dict())
        assert nn.quantize(blocks, kind) is blocks
        # 40 is no multiple of 32: the last layer stays.
        assert [layer.weight.dtype.short_name for layer in (blocks.layers[0], blocks.layers[1], blocks.layers[3])] == [kind, kind, "f32"]
        assert list(blocks.named_parameters()) == ["1.bias", "3.weight", "3.bias"]
        np.testing.assert_allclose(blocks(words).numpy(), wanted, atol=near * np.abs(wanted).max())
        np.testing.assert_allclose(wt.compile(blocks)(words).numpy(), blocks(words).numpy(), atol=1e-5)
        wt.save(tmp_path / "blocks.gguf", blocks.state_dict())
        again = nn.quantize(make(), kind)
        again.load_state_dict(wt.load(tmp_path / "blocks.gguf"))
        np.testing.assert_array_equal(again(words).numpy(), blocks(words).numpy())
        before = again.state_dict()["1.weight"]
        kept = wt.cast(before, "float32").numpy()
        again.load_state_dict(nn.quantize(make(), kind).state_dict())
        np.testing.assert_array_equal(wt.cast(before, "float32").numpy(), kept)
        assert not wt.array_equal(wt.cast(again.layers[1].weight, "float32"), kept)
        x = wt.array(values(rng, (2, 64)))
        slope = wt.grad(lambda x, blocks=blocks: blocks.layers[1](x).sum())(x)
        np.testing.assert_allclose(slope.numpy()[0], wt.cast(blocks.layers[1].weight, "float32").numpy().sum(0), rtol=2e-2, atol=2e-2)
    with pytest.raises(ValueError, match="quantized"):
        nn.quantize(model, "float16")
