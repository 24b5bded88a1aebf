"""Random numbers. They follow from keys: the same key, shape and type give the same bits on every device.

Without a key, functions take the next one of a generator that seed() starts anew. In a compiled function that would be the same one at each
call: there the generator keeps its state in a variable, so that each call has numbers of its own.
"""
from __future__ import annotations

import operator
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

from . import _core
from ._array import array, asarray
from ._core import Tensor, functions
from ._device import default_device
from ._types import float32, is_one, uint32, wholes

__all__ = ["bernoulli", "bits", "categorical", "choice", "fold_in", "get_state", "gumbel", "key", "multinomial", "next_key", "normal",
           "permutation", "randint", "seed", "set_state", "split", "truncated_normal", "uniform"]

Shape = int | Sequence[int]


class _Generator:
    def __init__(self) -> None:
        self.seed = 0
        self.losses = 0  # of devices, with the states that were there
        self.lock = threading.Lock()  # no two threads get one key
        self.states: dict[int, tuple[Any, Tensor]] = {}  # by device: itself, and the key that comes next

    def next(self) -> Tensor:
        device = default_device()
        found = self.states.get(id(device))
        if found is None:
            if _core.tracing():
                raise RuntimeError("Call weft.random.seed() before a function with random numbers is compiled.")
            found = self.states[id(device)] = (device, _core.variable(functions.random_key(self.seed, device=device)))
        with self.lock:
            try:
                return self.drawn(found[1])
            except RuntimeError:
                if _core.tracing() or device.is_lost:
                    raise
                return self.drawn(self.start_again(device))  # the device was lost, and recovered by itself

    @staticmethod
    def drawn(state: Tensor) -> Tensor:
        pair = functions.random_split(state, 2)
        state._replace(pair[0])
        return pair[1]

    def start_again(self, device: Any) -> Tensor:
        """A state in place of one that was lost with its device: of numbers that nobody has had."""
        self.losses += 1
        key = functions.random_fold_in(functions.random_key(self.seed, device=device), (1 << 32) - self.losses)
        self.states[id(device)] = (device, _core.variable(key))
        return self.states[id(device)][1]


def after_loss(device: Any) -> None:
    """For a device that has been recovered."""
    with _generator.lock:
        if id(device) in _generator.states:
            _generator.start_again(device)


_generator = _Generator()


class _Drawn(threading.local):
    """The keys that functions around this call note down, and those that one of them gets again."""

    def __init__(self) -> None:
        self.noted: list[list[Tensor]] = []
        self.again: list[Iterator[Tensor]] = []


_drawn = _Drawn()


@contextmanager
def _noting(keys: list[Tensor]) -> Iterator[None]:
    """Notes the generator's keys that are drawn inside."""
    _drawn.noted.append(keys)
    try:
        yield
    finally:
        _drawn.noted.pop()


@contextmanager
def _repeating(keys: list[Tensor]) -> Iterator[None]:
    """Gives keys that were noted once more, in their order."""
    _drawn.again.append(iter(keys))
    try:
        yield
    finally:
        _drawn.again.pop()


def seed(value: int) -> None:
    """Starts the sequence of keys anew."""
    _generator.seed = value
    _generator.states.clear()
    device = default_device()
    _generator.states[id(device)] = (device, _core.variable(functions.random_key(value, device=device)))


def get_state() -> Tensor:
    """Where the sequence of keys is: for set_state(), and for a checkpoint."""
    if not _generator.states:
        seed(0)
    found = _generator.states.get(id(default_device()))
    return +found[1] if found else functions.random_key(_generator.seed)


def set_state(state: Any) -> None:
    """Takes the sequence of keys up where get_state() was called; compiled functions draw from there too."""
    value = asarray(state)
    if value.shape != (2,) or value.dtype != uint32:
        raise ValueError(f"set_state() needs what get_state() gave, uint32 [2]; it was given {value.dtype} {list(value.shape)}.")
    if not _generator.states:
        seed(0)
    device = default_device()
    found = _generator.states.get(id(device))
    if found is None:
        _generator.states[id(device)] = (device, _core.variable(value))
    else:
        _core.assign([found[1]], [value])


def key(seed: int) -> Tensor:
    """The key of a seed: uint32 [2]."""
    return functions.random_key(seed)


def next_key() -> Tensor:
    """The next key of the generator."""
    if not _generator.states and not _core.tracing():
        seed(0)
    made = next(_drawn.again[-1], None) if _drawn.again else None
    made = _generator.next() if made is None else made
    for keys in _drawn.noted:
        keys.append(made)
    return made


def split(key: Tensor, count: int = 2) -> Tensor:
    """Keys that have nothing to do with each other, as rows."""
    return functions.random_split(key, count)


def fold_in(key: Tensor, data: int) -> Tensor:
    """The key that belongs to a key and a number."""
    return functions.random_fold_in(key, data)


def _key(given: Tensor | None) -> Tensor:
    return next_key() if given is None else given


def bits(shape: Shape = (), *, key: Tensor | None = None) -> Tensor:
    """Random bits: uint32."""
    return functions.random_bits(_key(key), shape)


def uniform(low: float = 0.0, high: float = 1.0, shape: Shape = (), dtype: Any = None, *, key: Tensor | None = None) -> Tensor:
    """Numbers from low up to high, which is never reached."""
    return functions.random_uniform(_key(key), shape, low=low, high=high, dtype=float32 if dtype is None else dtype)


def normal(shape: Shape = (), *, mean: float = 0.0, std: float = 1.0, dtype: Any = None, key: Tensor | None = None) -> Tensor:
    """Normal numbers."""
    return functions.random_normal(_key(key), shape, mean=mean, std=std, dtype=float32 if dtype is None else dtype)


def truncated_normal(low: float = -2.0, high: float = 2.0, shape: Shape = (), dtype: Any = None, *, key: Tensor | None = None) -> Tensor:
    """Normal numbers between low and high."""
    return functions.random_truncated_normal(_key(key), shape, low=low, high=high, dtype=float32 if dtype is None else dtype)


def randint(low: int, high: int | None = None, shape: Shape = (), dtype: Any = "int32", *, key: Tensor | None = None) -> Tensor:
    """Whole numbers from low up to high, which is left out; with one number, from 0 up to it."""
    if high is None:
        low, high = 0, low
    return functions.random_randint(_key(key), shape, low, high, dtype)


def bernoulli(probability: Any = 0.5, shape: Shape | None = None, *, key: Tensor | None = None) -> Tensor:
    """True with a probability: one number for all elements of a shape, or a tensor with one for each."""
    if shape is None and not isinstance(probability, (int, float)):
        return functions.random_bernoulli_of(_key(key), array(probability))
    return functions.random_bernoulli(_key(key), () if shape is None else shape, float(probability))


def gumbel(shape: Shape = (), *, key: Tensor | None = None) -> Tensor:
    """-log(-log(u)) of uniform numbers u."""
    return functions.random_gumbel(_key(key), shape)


def permutation(x: int | Tensor, axis: int = 0, *, key: Tensor | None = None) -> Tensor:
    """The numbers 0 … x - 1 in random order, or a tensor with the places along an axis in random order."""
    if is_one(x):
        return functions.random_permutation(_key(key), operator.index(x))
    return functions.random_shuffle(_key(key), x, axis)


def choice(x: Any, shape: Shape = (), replace: bool = True, p: Any = None, *, key: Tensor | None = None) -> Tensor:
    """Elements of x along its first dimension (or of 0 … x - 1), chosen at random: each again and again, or with `replace` false once at most; all alike,
    or with probabilities p."""
    x = functions.arange(operator.index(x), 0, 1, "int32") if is_one(x) else asarray(x)
    extents = tuple(wholes(shape))
    count, wanted = x.shape[0] if x.ndim else 0, prod(extents)
    if wanted and (count == 0 or (not replace and wanted > count)):
        raise ValueError(f"choice() cannot choose {wanted} of {count} elements.")
    if p is not None:
        weights = functions.cast(asarray(p), "float32")
        if weights.shape != (count,):
            raise ValueError(f"choice() needs a probability for each of {count} elements; they have the shape {weights.shape}.")
        places = functions.random_multinomial(_key(key), weights, wanted, replace)
    elif replace:
        places = functions.random_randint(_key(key), (wanted,), 0, max(count, 1), "int32")
    else:
        places = functions.slice(functions.random_permutation(_key(key), count), 0, 0, wanted)
    return functions.reshape(functions.take(x, places, 0), (*extents, *x.shape[1:])) if wanted else functions.zeros((*extents, *x.shape[1:]), x.dtype)


def categorical(logits: Any, axis: int = -1, *, key: Tensor | None = None) -> Tensor:
    """Indices along an axis with probabilities softmax(logits)."""
    return functions.random_categorical(_key(key), logits, axis)


def multinomial(weights: Any, count: int, replacement: bool = False, *, key: Tensor | None = None) -> Tensor:
    """`count` indices for each row of weights, with probabilities in proportion to them."""
    return functions.random_multinomial(_key(key), weights, count, replacement)
