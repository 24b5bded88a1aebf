"""Batches of examples."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ._array import array
from ._core import Tensor


def _drawn(states: Any) -> Any:
    """What splitmix64 gives for its states."""
    z = (states ^ (states >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
    return z ^ (z >> np.uint64(31))


def _order(count: int, seed: int, epoch: int) -> Any:
    """The examples in the order of an epoch: the same as in the other languages of Weft."""
    mask, step = 2**64 - 1, 0x9e3779b97f4a7c15

    def next_of(state: int) -> int:
        return int(_drawn(np.array([(state + step) & mask], np.uint64))[0])

    state = seed & mask
    for letter in b"order":
        state = next_of(state) ^ letter
    state = next_of(next_of(state) ^ (epoch & mask))
    limits = np.arange(count, 1, -1, dtype=np.uint64)
    states = np.uint64(state) + np.arange(1, len(limits) + 1, dtype=np.uint64) * np.uint64(step)
    order = list(range(count))
    for last, other in zip(range(count - 1, 0, -1), (_drawn(states) % limits).tolist(), strict=True):
        order[last], order[other] = order[other], order[last]
    return np.array(order, np.int64)


class Loader:
    """Goes through arrays of examples in batches of tensors: `for x, y in Loader(images, labels, batch_size=64):`.

    Each time in another order, which follows from the seed and the number of the epoch; with `drop_last` all batches have one shape.
    """

    def __init__(self, *columns: Any, batch_size: int = 32, shuffle: bool = True, seed: int = 0, drop_last: bool = True) -> None:
        if len(columns) == 1 and isinstance(columns[0], (tuple, list)) and any(hasattr(c, "__array__") for c in columns[0]):
            columns = tuple(columns[0])  # (images, labels) as one
        self.columns = [np.asarray(c) for c in columns]
        if not columns or any(c.ndim == 0 or len(c) != len(self.columns[0]) for c in self.columns):
            raise ValueError(f"Loader() needs arrays of equally many examples; there are {[c.shape for c in self.columns]}.")
        if batch_size < 1:
            raise ValueError(f"Loader(): batch_size is {batch_size}; it must be at least 1.")
        if drop_last and 0 < len(self.columns[0]) < batch_size:
            raise ValueError(f"Loader(): {len(self.columns[0])} examples are no batch of {batch_size}; drop_last=False keeps smaller ones.")
        self.batch_size, self.shuffle, self.drop_last = batch_size, shuffle, drop_last
        self._seed = int(seed)
        self._epoch = self._first = 0  # of the next batch
        self._goes_on = False  # in the middle of an epoch

    def __len__(self) -> int:
        whole, rest = divmod(len(self.columns[0]), self.batch_size)
        return whole + (1 if rest and not self.drop_last else 0)

    def __iter__(self) -> Iterator[tuple[Tensor, ...]]:
        if self._first > 0 and not self._goes_on:  # an epoch that was left early
            self._epoch, self._first = self._epoch + 1, 0
        self._goes_on = False
        epoch, count = self._epoch, len(self.columns[0])
        order = _order(count, self._seed, epoch) if self.shuffle else np.arange(count)
        for number in range(self._first, len(self)):
            rows = order[number * self.batch_size:(number + 1) * self.batch_size]
            self._epoch, self._first = (epoch, number + 1) if number + 1 < len(self) else (epoch + 1, 0)
            yield tuple(array(c[rows]) for c in self.columns)

    def state_dict(self) -> dict[str, int]:
        """Which batch comes next: what a checkpoint must keep, also in the middle of an epoch."""
        return {"epoch": self._epoch, "batch": self._first}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next loop over the batches goes on from there, up to the end of that epoch."""
        epoch, batch = (int(state[name]) for name in ("epoch", "batch"))
        if epoch < 0 or not 0 <= batch <= len(self):
            raise ValueError(f"load_state_dict(): there is no batch {batch} of {len(self)} in an epoch {epoch}.")
        self._epoch, self._first, self._goes_on = epoch, batch, batch > 0
