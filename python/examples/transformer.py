#!/usr/bin/env python3
"""A small transformer learns to write a text, letter by letter. usage: transformer.py [STEPS [FILE]]"""
import sys
from pathlib import Path

import numpy as np

import weft as wt
from weft import nn, optim

WIDTH, HEADS, LAYERS, CONTEXT, BATCH = 64, 4, 2, 32, 16


class Writer(nn.Module):
    """Letters in, logits of the next letters out."""

    def __init__(self, letters: int) -> None:
        self.letters, self.places = nn.Embedding(letters, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = [nn.TransformerBlock(WIDTH, HEADS) for _ in range(LAYERS)]
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, letters)

    def forward(self, x: wt.Tensor) -> wt.Tensor:
        y = self.letters(x) + self.places(wt.arange(x.shape[1]))
        for block in self.blocks:
            y = block(y)
        result: wt.Tensor = self.head(self.norm(y))
        return result


def main(steps: int = 300, path: str = "", length: int = 60) -> float:
    text = Path(path or __file__).read_text()
    letters = sorted(set(text))
    codes = np.array([letters.index(c) for c in text], np.int32)
    wt.random.seed(1)
    model = Writer(len(letters))
    optimizer = optim.AdamW(model, lr=3e-3)

    def loss(x: wt.Tensor, y: wt.Tensor) -> wt.Tensor:
        return nn.cross_entropy(model(x), y)

    @wt.compile
    def step(x: wt.Tensor, y: wt.Tensor) -> wt.Tensor:
        value: wt.Tensor
        value, gradients = nn.value_and_grad(model, loss)(x, y)
        gradients, _ = optim.clip_by_global_norm(gradients, 1.0)
        optimizer.step(gradients)
        return value

    rng, value = np.random.default_rng(0), 0.0
    for number in range(steps):
        starts = rng.integers(0, len(codes) - CONTEXT - 1, BATCH)
        rows = codes[starts[:, None] + np.arange(CONTEXT + 1)]
        found = step(wt.array(rows[:, :-1]), wt.array(rows[:, 1:]))
        if number % 50 == 0 or number == steps - 1:
            value = float(found)
            print(f"step {number}: loss {value:.3f}")
    context = codes[:CONTEXT].copy()
    predict, written = wt.compile(lambda x: model(x)[:, -1]), ""
    for _ in range(length):
        context = np.append(context[1:], np.int32(wt.random.categorical(predict(wt.array(context[None])) * 2.0)[0].item()))
        written += letters[context[-1]]
    print(written)
    return value


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:2]), *sys.argv[2:3])  # type: ignore[arg-type]
