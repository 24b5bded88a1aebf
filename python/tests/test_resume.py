"""A training that is stopped, kept in files and taken up again goes on to the same bits."""
from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from common import values

import weft as wt
from weft import data, nn, optim


class Training:
    """A model with everything that remembers something. `seed` is that of its first values."""

    def __init__(self, seed: int, columns: tuple[np.ndarray, ...]) -> None:
        wt.random.seed(seed)
        self.model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.25), nn.Linear(8, 2))
        self.optimizer, self.ema = optim.AdamW(self.model, 0.05), optim.Ema(self.model, 0.75)
        self.scale, self.loader = optim.LossScale(8.0, 3), data.Loader(*columns, batch_size=4, seed=5)

        @wt.compile
        def step(x: wt.Tensor, y: wt.Tensor) -> wt.Tensor:
            def loss(x: wt.Tensor, y: wt.Tensor) -> Any:
                error = ((self.model(x) - y) ** 2).mean()
                return error * self.scale.value, error

            (_, error), gradients = nn.value_and_grad(self.model, loss, has_aux=True)(x, y)
            self.scale.step(self.optimizer, gradients, 1.0)
            self.ema.step()
            return error

        self.step = step

    def go(self, steps: int) -> float:
        batches = itertools.chain.from_iterable(iter(lambda: self.loader, None))
        return [self.step(*batch).item() for batch in itertools.islice(batches, steps)][-1]

    def parts(self) -> dict[str, Any]:
        return {"model": self.model, "optimizer": self.optimizer, "ema": self.ema, "scale": self.scale}

    def state(self) -> dict[str, wt.Tensor]:
        found = {f"{name}.{key}": t for name, part in self.parts().items() for key, t in part.state_dict().items()}
        return found | {"random": wt.random.get_state()}

    def load(self, state: dict[str, wt.Tensor]) -> None:
        for name, part in self.parts().items():
            part.load_state_dict({key.removeprefix(name + "."): t for key, t in state.items() if key.startswith(name + ".")})
        wt.random.set_state(state["random"])


def test_goes_on_to_the_same_bits(tmp_path: Path, rng: np.random.Generator) -> None:
    columns = values(rng, (14, 6)), values(rng, (14, 2))
    whole = Training(3, columns)
    wanted = whole.go(8)
    end = {name: t.numpy() for name, t in whole.state().items()}
    assert end["scale.value"].item() != 8 and end["optimizer.step"].item() == 8

    first = Training(3, columns)
    first.go(4)
    at = first.loader.state_dict()
    assert at == {"epoch": 1, "batch": 1}
    wt.save(tmp_path / "all.safetensors", first.state(), {name: str(number) for name, number in at.items()})

    rest = Training(4, columns)  # another seed: everything has to come from the file
    state, texts = wt.load(tmp_path / "all.safetensors", with_texts=True)
    rest.load(state)
    rest.loader.load_state_dict(texts)
    assert rest.go(4) == wanted
    for name, t in rest.state().items():
        np.testing.assert_array_equal(t.numpy(), end[name], name)

    # Each of these is needed: without it, another training comes out.
    for left in ("optimizer.step", "optimizer.0.3", "scale.good", "random"):
        other = Training(4, columns)
        other.load(state | {left: wt.zeros_like(state[left])})
        other.loader.load_state_dict(texts)
        other.go(4)
        assert any((t.numpy() != end[name]).any() for name, t in other.state().items()), left


def test_an_overflow_changes_nothing_but_the_scale() -> None:
    model = nn.Linear(3, 1)
    optimizer, scale = optim.SGD(model, 0.5, momentum=0.9), optim.LossScale(4.0, 2)
    before = {name: t.numpy() for name, t in (model.state_dict() | optimizer.state_dict()).items()}
    scale.step(optimizer, [wt.full((1, 3), np.inf), wt.zeros(1)])
    for name, t in (model.state_dict() | optimizer.state_dict()).items():
        np.testing.assert_array_equal(t.numpy(), before[name], name)
    assert scale.value.item() == 2
    norms = [scale.step(optimizer, [wt.full((1, 3), 2.0), wt.zeros(1)]).item() for _ in range(2)]
    assert scale.value.item() == 4 and norms == pytest.approx([3**0.5] * 2)  # two good steps: doubled; gradients are 2 / 2
    np.testing.assert_allclose(model.weight.numpy(), before["weight"] - 0.5 * (1 + 1.9), rtol=1e-6)
    for _ in range(4):
        scale.step(optimizer, [wt.full((1, 3), np.nan), wt.zeros(1)])
    assert scale.value.item() == 1  # never less


def test_averages_follow_the_parameters() -> None:
    model = nn.Linear(2, 2)
    ema, before = optim.Ema(model, 0.75), model.weight.numpy()
    model.weight[:] = wt.ones((2, 2))
    ema.step()
    np.testing.assert_allclose(ema.state_dict()["weight"].numpy(), 0.75 * before + 0.25, rtol=1e-6)
    nn.Linear(2, 2).load_state_dict(ema.state_dict())
    with pytest.raises(ValueError, match="another model"):
        ema.load_state_dict({"weight": wt.ones((2, 2))})
    with pytest.raises(ValueError, match=r"decay is 1\.5"):
        optim.Ema(model, 1.5)


def test_loaders_and_keys_are_taken_up_where_they_were() -> None:
    numbers = np.arange(10)

    def batches(loader: data.Loader, count: int) -> list[list[int]]:
        return [batch.tolist() for (batch,) in itertools.islice(loader, count)]

    loader = data.Loader(numbers, batch_size=4, drop_last=False, seed=2)
    epochs = [batches(loader, 3) for _ in range(2)]
    assert epochs[0] != epochs[1] and sorted(sum(epochs[1], [])) == list(range(10))
    again = data.Loader(numbers, batch_size=4, drop_last=False, seed=2)
    for epoch, batch in [(1, 0), (1, 2), (0, 1)]:
        again.load_state_dict({"epoch": epoch, "batch": batch})
        assert batches(again, 3) == epochs[epoch][batch:]
    left = data.Loader(numbers, batch_size=4, drop_last=False, seed=2)
    assert batches(left, 1) == epochs[0][:1]
    assert batches(left, 3) == epochs[1]  # an epoch that was left early is over
    with pytest.raises(ValueError, match="no batch 4 of 3"):
        again.load_state_dict({"epoch": 0, "batch": 4})

    # The same orders as in the other languages (tests/capi/test_nn.py has these numbers, too).
    orders = data.Loader(numbers, batch_size=10, seed=7)
    assert batches(orders, 1) + batches(orders, 1) == [[5, 4, 2, 7, 0, 9, 3, 1, 6, 8], [3, 6, 9, 7, 5, 8, 2, 4, 0, 1]]

    wt.random.seed(1)
    wt.random.uniform(shape=3)
    kept = wt.random.get_state()
    drawn = wt.random.uniform(shape=3).numpy()
    wt.random.seed(9)
    wt.random.set_state(kept.numpy())
    np.testing.assert_array_equal(wt.random.uniform(shape=3).numpy(), drawn)
    with pytest.raises(ValueError, match=r"uint32 \[2\]"):
        wt.random.set_state(wt.zeros(2))
