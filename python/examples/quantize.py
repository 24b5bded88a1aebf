#!/usr/bin/env python3
"""Trains a network on three spirals, makes whole numbers of it (weights of -1, 0 and 1, activations of 8 bits), and trains it again as one that
knows that it will be rounded: quantization-aware training.

usage: quantize.py [STEPS]
"""
import sys

import numpy as np

import weft as wt
from weft import nn, optim

LOW, HIGH = -1, 1  # of weights
SIZES = [2, 32, 32, 3]


def spirals(count: int, seed: int) -> tuple[wt.Tensor, wt.Tensor]:
    random = np.random.default_rng(seed)
    label = random.integers(0, 3, count)
    radius = random.uniform(0.1, 1, count)
    angle = 5 * radius + label * 2 * np.pi / 3 + random.normal(0, 0.05, count)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    return wt.array(points.astype(np.float32)), wt.array(label.astype(np.int32))


def weight_scale(weight: wt.Tensor) -> wt.Tensor:
    """One for each row: the largest element is the largest whole number."""
    return wt.maximum(wt.abs(weight).max(axis=1), 1e-8) / HIGH


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = [nn.Linear(a, b) for a, b in zip(SIZES[:-1], SIZES[1:], strict=True)]
        self.high = [1.0] * len(self.layers)  # what observers have measured: the largest size of each layer's input

    def __call__(self, x: wt.Tensor, fake: bool = False) -> wt.Tensor:
        for layer, high in zip(self.layers, self.high, strict=True):
            weight = layer.weight
            if fake:  # as it will be, with gradients that go straight through the rounding
                x = wt.fake_quantize(x, wt.array(high / 127, dtype="f32"))
                weight = wt.fake_quantize(weight, weight_scale(weight), axis=0, low=LOW, high=HIGH)
            x = wt.linear(x, weight, layer.bias)
            if layer is not self.layers[-1]:
                x = wt.relu(x)
        return x

    def observe(self, x: wt.Tensor) -> None:
        for i, layer in enumerate(self.layers):
            low, high = wt.quantization_range(x, method="min_max")
            self.high[i] = max(-float(low), float(high))
            x = wt.relu(layer(x))

    def whole(self, x: wt.Tensor) -> wt.Tensor:
        """The same with whole numbers: sums of i32, requantized in the same launch."""
        q = wt.quantize(x, wt.array(self.high[0] / 127, dtype="f32"))
        for i, layer in enumerate(self.layers):
            scale = weight_scale(layer.weight)
            weight = wt.quantize(layer.weight, scale, axis=0, low=LOW, high=HIGH)
            last = i + 1 == len(self.layers)
            into = None if last else wt.array(self.high[i + 1] / 127, dtype="f32")
            q = wt.quantized_linear(q, wt.array(self.high[i] / 127, dtype="f32"), weight, scale, bias=layer.bias, scale=into)
            if not last:
                q = wt.maximum(q, 0)
        return q


def train(model: Net, x: wt.Tensor, y: wt.Tensor, steps: int, lr: float, fake: bool) -> None:
    optimizer = optim.AdamW(model, lr=lr, weight_decay=0.0)

    @wt.compile
    def step(x: wt.Tensor, y: wt.Tensor) -> wt.Tensor:
        loss: wt.Tensor
        loss, gradients = nn.value_and_grad(model, lambda x, y: nn.cross_entropy(model(x, fake), y))(x, y)
        optimizer.step(gradients)
        return loss

    for _ in range(steps):
        step(x, y)


def main(steps: int = 600) -> tuple[float, float, float]:
    wt.random.seed(1)
    (x, y), (test_x, test_y) = spirals(1500, 1), spirals(600, 2)
    model = Net()

    def accuracy(logits: wt.Tensor) -> float:
        return float((logits.argmax(axis=1) == test_y).mean())

    train(model, x, y, steps, 1e-2, fake=False)
    plain = accuracy(model(test_x))
    model.observe(x)
    rounded = accuracy(model.whole(test_x))
    train(model, x, y, steps // 2, 2e-3, fake=True)
    aware = accuracy(model.whole(test_x))
    print(f"floats {plain:.1%}, whole numbers {rounded:.1%}, whole numbers after training with them {aware:.1%} of the test points right")
    return plain, rounded, aware


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:2]))
