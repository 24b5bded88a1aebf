"""Rules that turn gradients into new values of parameters. step() takes gradients in the order of the parameters, as nn.value_and_grad()
gives them, also in a compiled function."""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _core
from ._array import array
from ._core import Tensor, functions
from ._module import Module, fitting

F = functions
Rule = Callable[[Tensor, Tensor, list[Tensor]], tuple[Tensor, list[Tensor]]]


Parameters = Module | Sequence[Tensor] | Sequence[Mapping[str, Any]]


def _groups(given: Parameters, lr: float) -> list[tuple[list[Tensor], float, float | None]]:
    """Parameters that are changed alike, by what their learning rate is multiplied, and their decay where it is their own."""
    parts: list[Any] = [given] if isinstance(given, Module) else list(given)
    if not isinstance(given, Module) and not any(isinstance(part, Mapping) for part in parts):
        parts = [{"params": parts}]
    made = []
    for part in parts:
        group = part if isinstance(part, Mapping) else {"params": part}
        unknown = set(group) - {"params", "lr", "lr_scale", "weight_decay"}
        if "params" not in group or unknown or {"lr", "lr_scale"} <= set(group):
            raise ValueError(f"A group of parameters has `params`, and may have `lr` or `lr_scale`, and `weight_decay`; it was given {sorted(group)}.")
        params = group["params"]
        listed = params.parameters() if isinstance(params, Module) else [params] if isinstance(params, Tensor) else list(params)
        scale = float(group.get("lr_scale", 1.0)) if "lr" not in group else float(group["lr"]) / float(lr)
        made.append((listed, scale, None if group.get("weight_decay") is None else float(group["weight_decay"])))
    return made


class Optimizer:
    """Parameters, a learning rate (a variable: setting `lr` reaches compiled functions too) and what a rule remembers of each parameter.

    Parameters are those of a module, a list of variables, or groups of them: [{"params": model.body, "lr_scale": 0.1}, {"params": [model.head],
    "weight_decay": 0.0}]. `lr` of a group says what its rate is at first; when the optimizer's is set, it changes in proportion.
    """

    weight_decay: float = 0.0

    if not TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any:
            hint = {"zero_grad": "; gradients are values, and nothing keeps them", "param_groups": "; parameters lists them, and lr is the rate",
                    "update": "; step() takes gradients", "apply_gradients": "; step() takes gradients"}.get(name, "")
            raise AttributeError(f"{type(self).__name__} has no attribute '{name}'{hint}.")

    def __init__(self, parameters: Parameters, lr: float, memory: int) -> None:
        if not isinstance(lr, (int, float, np.floating)):
            raise TypeError(f"{type(self).__name__}(): the learning rate is {lr!r}; a number is needed. A schedule sets it before each step: "
                            "optimizer.lr = schedule(i).")
        groups = _groups(parameters, lr)
        self.parameters = [p for listed, _, _ in groups for p in listed]
        if not self.parameters:
            raise ValueError(f"{type(self).__name__}() needs at least one parameter.")
        if len({id(p) for p in self.parameters}) != len(self.parameters):
            raise ValueError(f"{type(self).__name__}(): a parameter is in two groups, or twice in one.")
        self._chosen = [(scale, decay) for listed, scale, decay in groups for _ in listed]
        for parameter in self.parameters:
            if not isinstance(parameter, Tensor) or not parameter.is_variable:
                raise TypeError("An optimizer changes variables (nn.parameter(), weft.variable()); a tensor is none.")
        self._lr = self._rate = _core.variable(array(float(lr)))
        self._decay = 0.0
        self._step = _core.variable(array(0.0))
        self._memory = [[_core.variable(F.zeros_like(p, "float32")) for p in self.parameters] for _ in range(memory)]

    @property
    def lr(self) -> float:
        return float(self._lr.item())

    @lr.setter
    def lr(self, value: float) -> None:
        _core.assign([self._lr], [array(float(value))])

    def _variables(self) -> dict[str, Tensor]:
        return {"step": self._step, "lr": self._lr} | {f"{i}.{j}": t for i, row in enumerate(self._memory) for j, t in enumerate(row)}

    def state_dict(self) -> dict[str, Tensor]:
        """What a checkpoint must keep."""
        return {name: +t for name, t in self._variables().items()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """The way back."""
        _load(self._variables(), state, "optimizer, or of other parameters")

    def keep(self) -> None:
        """Keeps a copy of the state as it is now in the host's memory, with which recovering a lost device brings it back."""
        for tensor in self._variables().values():
            _core.keep(tensor)

    def step(self, gradients: Sequence[Tensor], scale: Tensor | None = None) -> None:
        """Changes all parameters by their gradients, times one number where a scale is given; one that is not finite changes nothing."""
        if not isinstance(gradients, (list, tuple)):
            raise TypeError(f"step() needs a list of gradients in the order of the parameters, as nn.value_and_grad() gives them; it was given a "
                            f"{type(gradients).__name__}.")
        if len(gradients) != len(self.parameters):
            raise ValueError(f"step(): there are {len(self.parameters)} parameters and {len(gradients)} gradients.")
        scale = None if scale is None else F.reshape(scale, ())
        count = self._step + 1.0
        tensors: list[Tensor] = [self._step]
        values: list[Tensor] = [count]
        for i, (parameter, gradient) in enumerate(zip(self.parameters, gradients, strict=True)):
            memory = [row[i] for row in self._memory]
            share, decay = self._chosen[i]
            self._rate = self._lr if share == 1 else self._lr * share
            self._decay = self.weight_decay if decay is None else decay
            gradient = F.cast(gradient, "float32")
            made = self.rule(F.cast(parameter, "float32"), gradient if scale is None else gradient * scale, memory, count)
            tensors += [parameter, *memory]
            values += [F.cast(made[0], parameter.dtype), *made[1:]]
        if scale is not None:
            fine = F.isfinite(scale)
            values = [F.where(fine, value, tensor) for tensor, value in zip(tensors, values, strict=True)]
        _core.assign(tensors, values)

    def rule(self, p: Tensor, g: Tensor, memory: list[Tensor], count: Tensor) -> list[Tensor]:
        """The new value of a parameter, and of what is remembered of it; self._rate and self._decay are those of its group."""
        raise NotImplementedError


def _load(own: dict[str, Tensor], state: Mapping[str, Tensor], of: str) -> None:
    if not isinstance(state, Mapping) or own.keys() != state.keys():
        raise ValueError(f"load_state_dict(): the state is that of another {of}.")
    _core.assign(list(own.values()), fitting(own, state))


class SGD(Optimizer):
    """p - lr · v, where v = momentum · v + g + weight_decay · p."""

    def __init__(self, parameters: Parameters, lr: float = 1e-2, momentum: float = 0.0, weight_decay: float = 0.0) -> None:
        super().__init__(parameters, lr, 1 if momentum else 0)
        self.momentum, self.weight_decay = momentum, weight_decay

    def rule(self, p: Tensor, g: Tensor, memory: list[Tensor], count: Tensor) -> list[Tensor]:
        velocity = memory[0] if memory else None
        made = F.sgd(p, g, velocity, learning_rate=self._rate, momentum=self.momentum, weight_decay=self._decay)
        return [made[0], *([made[1]] if memory and made[1] is not None else [])]


class AdamW(Optimizer):
    """Adam whose decay is taken from the parameters."""

    coupled = False

    def __init__(self, parameters: Parameters, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0.01) -> None:
        super().__init__(parameters, lr, 2)
        self.betas, self.eps, self.weight_decay = betas, eps, weight_decay

    def rule(self, p: Tensor, g: Tensor, memory: list[Tensor], count: Tensor) -> list[Tensor]:
        made = F.adamw(p, g, memory[0], memory[1], count, learning_rate=self._rate, beta1=self.betas[0], beta2=self.betas[1], eps=self.eps,
                       weight_decay=self._decay, coupled=self.coupled)
        return list(made[:3])


class Adam(AdamW):
    """Adam as first published: decay is added to the gradients."""

    coupled = True

    def __init__(self, parameters: Parameters, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0.0) -> None:
        super().__init__(parameters, lr, betas, eps, weight_decay)


class Lion(Optimizer):
    """p - lr · (sign(beta1 · m + (1 - beta1) · g) + weight_decay · p), m = beta2 · m + (1 - beta2) · g."""

    def __init__(self, parameters: Parameters, lr: float = 1e-4, betas: tuple[float, float] = (0.9, 0.99),
                 weight_decay: float = 0.0) -> None:
        super().__init__(parameters, lr, 1)
        self.betas, self.weight_decay = betas, weight_decay

    def rule(self, p: Tensor, g: Tensor, memory: list[Tensor], count: Tensor) -> list[Tensor]:
        m, (first, second) = memory[0], self.betas
        direction = F.sign(first * m + (1 - first) * g) + self._decay * p
        return [p - self._rate * direction, second * m + (1 - second) * g]


class Ema:
    """The moving average of a model's parameters: average = decay · average + (1 - decay) · parameter, at each step()."""

    def __init__(self, model: Module, decay: float) -> None:
        if not 0 <= decay <= 1:
            raise ValueError(f"Ema(): decay is {decay}; it must be from 0 to 1.")
        self.decay, self._parameters = decay, model.named_parameters()
        self._averages = {name: _core.variable(+t) for name, t in self._parameters.items()}

    def step(self) -> None:
        """Takes the parameters in as they are now: to be called after the optimizer's step."""
        pairs = zip(self._averages.values(), self._parameters.values(), strict=True)
        _core.assign(list(self._averages.values()), [self.decay * average + (1 - self.decay) * p for average, p in pairs])

    def state_dict(self) -> dict[str, Tensor]:
        """The averages under the names of the parameters: for a checkpoint, and for the parameters of a second model."""
        return {name: +t for name, t in self._averages.items()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Goes on from averages that were kept."""
        _load(self._averages, state, "model")


class LossScale:
    """A factor for the loss that keeps 16-bit gradients in range: halved after a step that overflowed, doubled after `patience` that did
    not. It stays within 1 and 2²⁴."""

    def __init__(self, initial: float = 65536.0, patience: int = 1000) -> None:
        self._value, self._good, self.patience = _core.variable(array(float(initial))), _core.variable(array(0.0)), patience

    @property
    def value(self) -> Tensor:
        """What the loss is multiplied by."""
        return +self._value

    def step(self, optimizer: Optimizer, gradients: Sequence[Tensor], max_norm: float = 0.0) -> Tensor:
        """A step of the optimizer by gradients of loss · value, clipped together to a norm (0: as they are); gives the norm they had. After
        an overflow only this factor changes."""
        scale, norm = F.clip_by_global_norm(gradients, max_norm, F.reshape(self._value, (1,)))
        optimizer.step(gradients, scale)
        fine, good = F.isfinite(F.reshape(scale, ())), self._good + 1.0
        ripe = good >= float(self.patience)
        value = F.where(fine, F.where(ripe, F.minimum(self._value * 2.0, 2.0**24), self._value), F.maximum(self._value * 0.5, 1.0))
        _core.assign([self._value, self._good], [value, F.where(F.logical_and(fine, F.logical_not(ripe)), good, 0.0)])
        return F.reshape(norm, ())

    def state_dict(self) -> dict[str, Tensor]:
        """What a checkpoint must keep."""
        return {"value": +self._value, "good": +self._good}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """The way back."""
        _load({"value": self._value, "good": self._good}, state, "loss scale")


def clip_by_global_norm(gradients: Sequence[Tensor], max_norm: float) -> tuple[list[Tensor], Tensor]:
    """Gradients scaled down together to a norm of at most `max_norm`, and the norm they had."""
    scale, norm = F.clip_by_global_norm(gradients, max_norm)
    return [g * scale for g in gradients], norm


def schedule(lr: float, steps: int, warmup: int = 0, decay: Literal["constant", "linear", "cosine"] = "cosine", floor: float = 0.0) -> Callable[[int], float]:
    """A learning rate by the number of the step from 0: up in a straight line over `warmup` steps, then constant, or down along a line or a cosine
    towards floor · lr, which it reaches behind the last step. `optimizer.lr = rate(i)` sets it."""
    if decay not in ("constant", "linear", "cosine"):
        raise ValueError(f"schedule(): `decay` is {decay!r}; there are 'constant', 'linear' and 'cosine'.")

    def rate(step: int) -> float:
        if step < warmup:
            return lr * (step + 1) / warmup
        if decay == "constant":
            return lr
        progress = min(1.0, (step - warmup) / (steps - warmup if steps > warmup else 1))
        high = 1 - progress if decay == "linear" else 0.5 + 0.5 * math.cos(math.pi * progress)
        return lr * (floor + (1 - floor) * high)

    return rate


def cosine(lr: float, steps: int, warmup: int = 0, floor: float = 0.0) -> Callable[[int], float]:
    """The schedule() that goes down along a cosine."""
    return schedule(lr, steps, warmup, "cosine", floor)


__all__: list[Any] = ["SGD", "Adam", "AdamW", "Ema", "Lion", "LossScale", "Optimizer", "clip_by_global_norm", "cosine", "schedule"]
