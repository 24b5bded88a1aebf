"""Functions of functions: gradients, compilation, checkpoints."""
from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from . import _core
from ._array import array, asarray
from ._core import Tensor, functions
from ._tree import LEAF, Structure, flatten, unflatten
from ._types import is_one, wholes

__all__ = ["assign", "checkpoint", "compile", "eval", "grad", "synchronize", "value_and_grad", "variable", "vjp"]

P = ParamSpec("P")
R = TypeVar("R")


class _State(threading.local):
    """How many gradients are being taken on this thread: compiled functions are then called as they are written."""

    def __init__(self) -> None:
        self.gradients = 0


_state = _State()


def fresh(leaf: Tensor) -> Tensor:
    """A tensor with the same elements to take gradients by: other uses of the leaf have no part in them. Computed from a variable, what is made
    of it keeps what gradients need also when the function looks at values on its way."""
    if _core.tracing():
        return leaf._alias()
    if _state.gradients == 0:
        return _core.variable(leaf)._alias()
    return leaf * _core.variable(functions.ones((), leaf.dtype, device=leaf.device))  # of the outer function, too


def _scalar(value: Any, function: str) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(f"{function}(): the function gave a {type(value).__name__}; a tensor with one element is needed.")
    if value.size != 1:
        raise ValueError(f"{function}(): the function gave a tensor of shape {value.shape}; one element is needed, a sum() or a mean().")
    if not value.dtype.is_floating:
        raise TypeError(f"{function}(): the function gave {value.dtype.name}; gradients are of floats.")
    return value


def _callable(function: Any, name: str) -> None:
    if not callable(function):
        raise TypeError(f"{name}() needs a function; it was given {function!r}.")


def value_and_grad(function: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives what `function` gives, one element, and its derivatives by some of its arguments.

    Arguments may be tensors or trees of them (dict, list, tuple, dataclass); derivatives have the same structure. With `argnums` a
    sequence there is a tuple of them. With `has_aux` the function gives a pair: the value, and anything else.
    """
    _callable(function, "value_and_grad")
    numbers = wholes(argnums)
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"value_and_grad(): an argument of {tuple(numbers)} is named twice.")

    @functools.wraps(function)
    def run(*args: Any, **named: Any) -> Any:
        given = list(args)
        wanted: list[Tensor] = []
        structures: list[Structure] = []
        for number in numbers:
            if not -len(args) <= number < len(args):
                raise ValueError(f"value_and_grad(): there is no argument {number}; {len(args)} were given.")
            leaves, structure = flatten(array(args[number]) if isinstance(args[number], (float, np.floating)) else args[number], arrays=True)
            if not leaves:
                raise TypeError(f"value_and_grad(): argument {number} is {args[number]!r}; a tensor, a float or a tree of tensors is needed.")
            for leaf in leaves:
                if not leaf.dtype.is_floating:
                    raise TypeError(f"value_and_grad(): argument {number} holds {leaf.dtype.name}; gradients are by floats.")
            made = [fresh(leaf) for leaf in leaves]
            given[number] = unflatten(structure, iter(made))
            wanted += made
            structures.append(structure)
        before = [+leaf for leaf in wanted]  # the function may change its arguments in place
        _state.gradients += 1
        try:
            result = function(*given, **named)
        finally:
            _state.gradients -= 1
        if has_aux and not (isinstance(result, tuple) and len(result) == 2):
            raise TypeError("value_and_grad(): with has_aux=True the function gives a pair, the value and anything else.")
        value, rest = result if has_aux else (result, None)
        found = iter(_core.grad(_scalar(value, "value_and_grad"), before))
        trees = tuple(unflatten(structure, found) for structure in structures)
        gradients = trees[0] if is_one(argnums) else trees
        return ((value, rest) if has_aux else value), gradients

    return run


def grad(function: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the derivatives of what `function` gives, one element, by some of its arguments: see value_and_grad()."""
    _callable(function, "grad")
    both = value_and_grad(function, argnums, has_aux=has_aux)

    @functools.wraps(function)
    def run(*args: Any, **named: Any) -> Any:
        value, gradients = both(*args, **named)
        return (gradients, value[1]) if has_aux else gradients

    return run


def vjp(function: Callable[..., Tensor], *args: Tensor) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor, ...]]]:
    """What a function gives, and a function that takes weights of its shape to the derivatives of sum(result * weights)."""
    by = [fresh(asarray(arg)) for arg in args]
    _state.gradients += 1
    try:
        value = function(*[+leaf for leaf in by])
    finally:
        _state.gradients -= 1
    return value, lambda weights: tuple(_core.weighted_grad(value, weights, by))


def _shapes(tensors: Sequence[Tensor]) -> tuple[Any, ...]:
    return tuple((t.shape, t.dtype.short_name) for t in tensors)


class Function(Generic[P, R]):
    """A compiled function. Every set of shapes, types and other arguments is traced once and replayed from then on."""

    def __init__(self, function: Callable[P, R], without: str, most_variants: int, check_indices: bool) -> None:
        self._function, self._without, self._most, self._check = function, without, most_variants, check_indices
        self._made: dict[Structure, tuple[_core.Compiled, dict[Any, Structure]]] = {}
        self._plain: dict[tuple[type, ...], tuple[_core.Compiled, dict[Any, Structure]]] = {}  # calls with tensors alone, by how many
        self._last: _core.Compiled | None = None
        functools.update_wrapper(self, function)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: P.args, **named: P.kwargs) -> R:
        if _state.gradients or _core.tracing():
            return self._function(*args, **named)
        leaves: Sequence[Tensor]
        found = None if named else self._plain.get(kinds := tuple(map(type, args)))
        if found is not None:
            leaves = args  # type: ignore[assignment]
        else:
            leaves, structure = flatten((args, named), arrays=True)
            found = self._made.get(structure)
            if found is None:
                found = self._kept(structure)
            if args and not named and all(kind is Tensor for kind in kinds):
                self._plain[kinds] = found
        compiled, results = found
        self._last = compiled
        if not leaves:
            leaves = [functions.zeros(1)]  # so that a function of nothing has a device
        values = compiled(leaves)
        # Nearly always all shapes give trees of one structure.
        shape = next(iter(results.values())) if len(results) == 1 else results[_shapes(leaves)]
        if shape is LEAF:
            return values[0]  # type: ignore[return-value]
        made: R = unflatten(shape, iter(values))
        return made

    def _kept(self, structure: Structure) -> tuple[_core.Compiled, dict[Any, Structure]]:
        """A new entry; the oldest goes where there are too many."""
        if len(self._made) >= self._most:
            warnings.warn(f"{getattr(self._function, '__name__', 'A function')}() was compiled for {self._most} sets of arguments that are no tensors; "
                          "from now on earlier ones are forgotten. What changes from call to call (a rate, a count) should be a tensor.",
                          RuntimeWarning, stacklevel=3)
            gone = self._made.pop(next(iter(self._made)))
            self._plain = {kinds: entry for kinds, entry in self._plain.items() if entry is not gone}
        found = self._made[structure] = self._prepare(structure)
        return found

    def _prepare(self, structure: Structure) -> tuple[_core.Compiled, dict[Any, Structure]]:
        results: dict[Any, Structure] = {}
        function = self._function

        def traced(inputs: list[Tensor]) -> list[Tensor]:
            args, named = unflatten(structure, iter(inputs))
            leaves, shape = flatten(function(*args, **named))
            results[_shapes(inputs)] = shape
            return leaves

        return _core.compile(traced, self._without, self._most, self._check), results

    def report(self) -> dict[str, int]:
        """What the last call ran: operations, launches, bytes, and how often the function was traced."""
        return self._called().report()

    def text(self) -> str:
        """The graph that the last call ran, one line per operation."""
        return self._called().text()

    def dot(self) -> str:
        """The same in the DOT language."""
        return self._called().dot()

    def _called(self) -> _core.Compiled:
        if self._last is None:
            raise RuntimeError("The function has not been called yet.")
        return self._last


def compile(function: Callable[P, R] | None = None, *, without: str = "", most_variants: int = 16, check_indices: bool = False) -> Any:
    """Prepares a function of tensors to be run often: `@weft.compile`.

    It is called once for each set of shapes and types, with tensors that have no values yet, and replayed from then on. Arguments and
    results may be trees of tensors; arguments that are no tensors are compiled in. What else it uses must not change, except variables
    (weft.variable()): these are read at each call, and changing them in place (`w -= lr * g`) changes them at the end of each call.
    With `check_indices`, indices out of range are an error of the next call that reads or waits.
    """
    if function is None:
        return lambda f: compile(f, without=without, most_variants=most_variants, check_indices=check_indices)
    _callable(function, "compile")
    return Function(function, without, most_variants, check_indices)


def checkpoint(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function for which gradients keep nothing but the inputs: the rest is computed a second time on the way back. Gradients flow
    to its arguments and to other tensors that it uses, such as the parameters of a module."""
    from . import random as _random
    _callable(function, "checkpoint")

    @functools.wraps(function)
    def run(*args: Any, **named: Any) -> Tensor:
        leaves, structure = flatten((args, named), arrays=True)
        keys: list[Tensor] = []  # random numbers are the same ones the second time
        calls = [_random._noting(keys)]

        def call(inputs: list[Tensor]) -> Tensor:
            given, by_name = unflatten(structure, iter(inputs))
            with calls.pop() if calls else _random._repeating(keys):
                return function(*given, **by_name)

        return _core.checkpoint(call, leaves)

    return run


def variable(initial: Any) -> Tensor:
    """A tensor with memory of its own that changes in place replace: a parameter, a counter. It starts with the values of `initial`."""
    return _core.variable(initial)


def assign(tensors: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    """Gives several tensors new values at once, computed before any of them changes."""
    _core.assign(list(tensors), list(values))


def eval(*trees: Any) -> None:
    """Computes all tensors of some trees now, without waiting for the device."""
    _core.eval_all([leaf for tree in trees for leaf in flatten(tree)[0]])


def synchronize() -> None:
    """Waits until everything queued on the default device is done."""
    from ._device import default_device
    default_device().synchronize()
