"""Layers, optimizers, files, batches, ONNX models."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from common import same, values

import weft as wt
from weft import nn, optim


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
    assert "1.running_mean" in state and "1.running_mean" not in model.named_parameters() and len(model.parameters()) == 6
    assert abs(state["1.running_mean"].numpy()).max() > 0
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
        kept = wt.zeros((2, 3))
        wt.assign([kept], [found["a"]])
        np.testing.assert_array_equal(kept.numpy(), tensors["a"])
    with pytest.raises((OSError, LookupError), match="nowhere"):
        wt.load(tmp_path / "nowhere.gguf")
    (tmp_path / "bad.gguf").write_bytes(b"nonsense")
    with pytest.raises((ValueError, OSError)):
        wt.load(tmp_path / "bad.gguf")
    with pytest.raises(ValueError):
        wt.save(tmp_path / "x.txt", tensors)


def test_loader() -> None:
    x, y = np.arange(10), np.arange(10) * 2
    loader = wt.data.Loader(x, y, batch_size=4, drop_last=False)
    batches = list(loader)
    assert [len(b[0]) for b in batches] == [4, 4, 2] and len(loader) == 3
    assert sorted(v for b in batches for v in b[0].tolist()) == list(range(10))
    assert all(wt.array_equal(a * 2, b) for a, b in batches)
    with pytest.raises(ValueError):
        wt.data.Loader(x, y[:3])


ADD = Path("/usr/share/libonnx-testdata/data/node/test_add/model.onnx")


@pytest.mark.skipif(not ADD.exists(), reason="Debian's package libonnx-testdata is not there")
def test_onnx(rng: np.random.Generator) -> None:
    model = wt.onnx.load(ADD)
    x, y = (values(rng, (3, 4, 5)) for _ in range(2))
    assert [p.name for p in model.inputs] == ["x", "y"] and model.inputs[0].shape == (3, 4, 5) and model.operations == {"Add": 1}
    for _ in range(2):
        same(model.run({"x": x, "y": wt.array(y)})["sum"], x + y)
    assert model.shapes()["sum"].shape == (3, 4, 5) and model.shapes()["sum"].type == "f32"
    assert not model.unsupported and "Add" in str(model.operations) and "x" in repr(model)
    same(wt.onnx.load(ADD.read_bytes()).run({"x": x, "y": y})["sum"], x + y)
    with pytest.raises((ValueError, LookupError)):
        model.run({"x": x})
    with pytest.raises((ValueError, OSError, LookupError)):
        wt.onnx.load(b"nonsense")
    with pytest.raises((OSError, LookupError)):
        wt.onnx.load("/nowhere.onnx")
