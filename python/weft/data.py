"""Batches of examples."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ._array import array
from ._core import Tensor


class Loader:
    """Goes through arrays of examples in batches of tensors: `for x, y in Loader(images, labels, batch_size=64):`.

    Each time in another order, which follows from the seed; with `drop_last` all batches have one shape.
    """

    def __init__(self, *columns: Any, batch_size: int = 32, shuffle: bool = True, seed: int = 0, drop_last: bool = True) -> None:
        self.columns = [np.asarray(c) for c in columns]
        if not columns or any(c.ndim == 0 or len(c) != len(self.columns[0]) for c in self.columns):
            raise ValueError(f"Loader() needs arrays of equally many examples; there are {[c.shape for c in self.columns]}.")
        if batch_size < 1:
            raise ValueError(f"Loader(): batch_size is {batch_size}; it must be at least 1.")
        self.batch_size, self.shuffle, self.drop_last = batch_size, shuffle, drop_last
        self._random = np.random.default_rng(seed)

    def __len__(self) -> int:
        whole, rest = divmod(len(self.columns[0]), self.batch_size)
        return whole + (1 if rest and not self.drop_last else 0)

    def __iter__(self) -> Iterator[tuple[Tensor, ...]]:
        order = np.arange(len(self.columns[0]))
        if self.shuffle:
            self._random.shuffle(order)
        for number in range(len(self)):
            rows = order[number * self.batch_size:(number + 1) * self.batch_size]
            yield tuple(array(c[rows]) for c in self.columns)
