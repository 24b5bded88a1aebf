"""What every layer of weft.nn is made of: parameters, names, initial values."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, random
from ._array import array, asarray
from ._called import PLAIN, leave, tell, telling_init
from ._core import Tensor, functions
from ._near import near
from ._transform import _scalar
from ._transform import _state as _gradients
from ._types import to_dtype

# What others have, and what is there instead.
HINTS = {**dict.fromkeys(("to", "half", "float", "bfloat16"), "astype() brings it into another type of floats"),
         **dict.fromkeys(("cuda", "cpu"), "it is on the device that was the default one when it was made"),
         "zero_grad": "gradients are values, and nothing keeps them", "requires_grad_": "weft.grad says by what gradients are taken",
         "freeze": "an optimizer changes those parameters that it is given", "update": "load_state_dict() takes other values",
         "load_weights": "load_state_dict(weft.load(path)) takes what a file has", "save_weights": "weft.save(path, model.state_dict()) writes a file",
         "apply": "modules() goes through all of them", "named_modules": "children() names those right below", "register_buffer": "buffer() keeps one"}


class Module:
    """What has parameters: tensors, modules, and lists and dicts of modules, as attributes. Calling it calls forward()."""

    training = True
    _tells = True  # whether what goes wrong inside is its own fault

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.startswith("weft.") and "__init__" in vars(cls):
            setattr(cls, "__init__", telling_init(vars(cls)["__init__"]))

    def forward(self, *args: Any, **named: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward().")

    def __call__(self, *args: Any, **named: Any) -> Any:
        try:
            return self.forward(*args, **named)
        except PLAIN as error:
            if self._tells and type(self).__module__.startswith("weft."):  # others say for themselves what is wrong
                tell(error, type(self).__name__)
            else:
                leave(error)
            raise

    if not TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any:
            hint = f"; {HINTS[name]}." if name in HINTS else near(name, dir(self)) or "."
            raise AttributeError(f"A {type(self).__name__} has no attribute '{name}'{hint}")

    def children(self) -> Iterator[tuple[str, Module]]:
        """The modules right below this one, by name."""
        for name, value in vars(self).items():
            if isinstance(value, Module):
                yield name, value
            elif isinstance(value, (list, tuple, dict)):
                items = value.items() if isinstance(value, dict) else enumerate(value)
                yield from ((f"{name}.{key}", item) for key, item in items if isinstance(item, Module))

    def modules(self) -> Iterator[Module]:
        """This module and all below it."""
        yield self
        for _, child in self.children():
            yield from child.modules()

    def _tensors(self, prefix: str = "") -> Iterator[tuple[str, Tensor, bool]]:
        kept = getattr(self, "_buffers", ())
        for name, value in vars(self).items():
            if isinstance(value, Tensor) and value.is_variable:
                yield prefix + name, value, name not in kept
        for name, child in self.children():
            yield from child._tensors(f"{prefix}{name}.")

    def named_parameters(self) -> dict[str, Tensor]:
        """The parameters by name, such as "layers.0.weight"; one that is shared appears once."""
        found: dict[str, Tensor] = {}
        seen: set[int] = set()
        for name, tensor, learns in self._tensors():
            if learns and id(tensor) not in seen:
                seen.add(id(tensor))
                found[name] = tensor
        return found

    def parameters(self) -> list[Tensor]:
        """The parameters, without their names."""
        return list(self.named_parameters().values())

    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and running numbers by name, as they are now: for save()."""
        return {name: _core.variable(tensor)._alias() if tensor.dtype.is_quantized else +tensor for name, tensor, _ in self._tensors()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Takes the values of a state_dict(); all names and shapes must be those of the module."""
        own = {name: tensor for name, tensor, _ in self._tensors()}
        if not isinstance(state, Mapping):
            raise TypeError(f"load_state_dict() needs a dict of tensors by name; it was given a {type(state).__name__}.")
        if own.keys() != state.keys():
            missing, unknown = sorted(own.keys() - state.keys()), sorted(state.keys() - own.keys())
            raise ValueError(f"load_state_dict(): missing {missing}, unknown {unknown}.")
        _core.assign(list(own.values()), fitting(own, state))

    def keep(self) -> None:
        """Keeps a copy of the state as it is now in the host's memory, with which recovering a lost device brings it back; after
        steps of an optimizer, keep it again. A state from a file comes back by itself until it changes."""
        for _, tensor, _ in self._tensors():
            _core.keep(tensor)

    def train(self, mode: bool = True) -> Module:
        """Whether dropout and batch norms do as in training; gives the module itself."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        """The opposite of train()."""
        return self.train(False)

    def astype(self, dtype: Any) -> Module:
        """Parameters and running numbers that are floats become those of another float type, float16, say; gives the module itself. They are
        new variables: make optimizers and compile functions afterwards."""
        kind = to_dtype(dtype)
        if not kind.is_floating:
            raise ValueError(f"{type(self).__name__}.astype(): {kind.name} is no type of floats.")
        made: dict[int, tuple[Tensor, Tensor]] = {}  # what is shared stays shared; the old one is kept so that its id stays its own
        for module in self.modules():
            for name, value in list(vars(module).items()):
                if isinstance(value, Tensor) and value.is_variable and value.dtype.is_floating and value.dtype != kind:
                    if id(value) not in made:
                        made[id(value)] = value, _core.variable(functions.cast(value, kind))
                    setattr(module, name, made[id(value)][1])
        return self

    def buffer(self, name: str, value: Tensor) -> None:
        """Keeps a variable that is saved with the parameters and does not learn."""
        setattr(self, name, _core.variable(value))
        self._buffers = (*getattr(self, "_buffers", ()), name)

    def __repr__(self) -> str:
        inner = "".join(f"\n  {name}: " + repr(child).replace("\n", "\n  ") for name, child in self.children())
        own = ", ".join(f"{n}={list(t.shape)}" for n, t in vars(self).items() if isinstance(t, Tensor))
        return f"{type(self).__name__}({own}{inner}{chr(10) if inner else ''})"


def fitting(own: dict[str, Tensor], state: Mapping[str, Any]) -> list[Tensor]:
    """What a state has for some tensors, in their order and types; an error where a shape is another one."""
    made = []
    for name, tensor in own.items():
        given = asarray(state[name])
        if tensor.shape != given.shape:
            raise ValueError(f"load_state_dict(): {name} has shape {tensor.shape}, the state has {given.shape}.")
        made.append(functions.cast(given, tensor.dtype))
    return made


def value_and_grad(model: Module, function: Callable[..., Any], *, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives what `function` gives, one element, and its derivatives by the parameters of a model, as a list in the order of
    model.parameters(): what optimizers take."""

    def run(*args: Any, **named: Any) -> Any:
        by = [p._handle() for p in model.parameters()]  # the function may change them in place
        _gradients.gradients += 1
        try:
            result = function(*args, **named)
        finally:
            _gradients.gradients -= 1
        value = _scalar(result[0] if has_aux else result, "value_and_grad")
        return result, _core.grad(value, by)

    return run


def parameter(value: Any) -> Tensor:
    """A variable with these values: what a Module learns."""
    return _core.variable(array(value))


def uniform(shape: Sequence[int], bound: float) -> Tensor:
    return _core.variable(random.uniform(-bound, bound, shape))


def need_counts(module: Module, **given: Any) -> None:
    """Extents must be whole numbers of at least 1."""
    for name, value in given.items():
        if not isinstance(value, (int, np.integer)) or value < 1:
            raise TypeError(f"{type(module).__name__}(): `{name}` is {value!r}; a whole number of at least 1 is needed.")


def dropped(x: Tensor, p: float) -> Tensor:
    """x without a share p of its elements, chosen at random; the others grow by as much."""
    keep = random.bernoulli(1 - p, x.shape)
    return functions.where(keep, x * (1 / (1 - p)), 0.0)
