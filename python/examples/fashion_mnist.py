#!/usr/bin/env python3
"""Learns to tell ten kinds of clothes apart in pictures of 28 x 28 (Fashion-MNIST; Debian's package dataset-fashion-mnist).

usage: fashion_mnist.py [EPOCHS [EXAMPLES [FOLDER]]]
"""
import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np

import weft as wt
from weft import data, nn, optim


def read(path: Path, head: int, count: int, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=head).reshape(-1, *shape)[:count]


def main(epochs: int = 2, count: int = 60000, folder: str = "/usr/share/datasets/fashion-mnist") -> float:
    images, labels, test_images, test_labels = (
        read(Path(folder) / f"{kind}-{name}.gz", head, count, shape)
        for kind in ("train", "t10k") for name, head, shape in (("images-idx3-ubyte", 16, (1, 28, 28)), ("labels-idx1-ubyte", 8, ())))
    wt.random.seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.1), nn.Linear(32 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = optim.AdamW(model, lr=2e-3)

    def loss(x: wt.Tensor, y: wt.Tensor) -> wt.Tensor:
        return nn.cross_entropy(model(x.astype(wt.float32) / 255), y)

    @wt.compile
    def step(x: wt.Tensor, y: wt.Tensor) -> wt.Tensor:
        value: wt.Tensor
        value, gradients = nn.value_and_grad(model, loss)(x, y)
        optimizer.step(gradients)
        return value

    for epoch in range(epochs):
        model.train()
        losses = [step(x, y) for x, y in data.Loader(images, labels, batch_size=64, seed=epoch)]
        model.eval()
        predict = wt.compile(lambda x: model(x.astype(wt.float32) / 255).argmax(axis=-1))
        right = [predict(x) == y for x, y in data.Loader(test_images, test_labels, batch_size=100, shuffle=False)]
        accuracy = float(wt.concat(right).mean())
        print(f"epoch {epoch + 1}: loss {float(wt.stack(losses).mean()):.3f}, {accuracy:.1%} of the test pictures right")
    return accuracy


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:3]), *sys.argv[3:4])  # type: ignore[arg-type]
