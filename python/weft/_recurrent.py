"""Recurrent layers on top of each other, with the arguments, the parameters and the results of PyTorch's."""
from __future__ import annotations

import math
from typing import Any

from ._core import Tensor, functions
from ._module import Module, dropped, need_counts, uniform


class _Recurrent(Module):
    """Parameters are weight_ih_l0, weight_hh_l0, bias_ih_l0 and bias_hh_l0 (weight_hr_l0 of a projection), with _reverse behind them for the
    way back."""

    gates = 1
    kind = ""

    def __init__(self, input_size: int, hidden_size: int, num_layers: int, bias: bool, batch_first: bool, dropout: float, bidirectional: bool,
                 proj_size: int = 0) -> None:
        need_counts(self, input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        name = type(self).__name__
        if not 0 <= dropout < 1:
            raise ValueError(f"{name}(): dropout is {dropout}; it must be at least 0 and less than 1.")
        if not 0 <= proj_size < hidden_size:
            raise ValueError(f"{name}(): proj_size is {proj_size}; it must be less than hidden_size, {hidden_size}, and not negative.")
        self.num_layers, self.batch_first, self.dropout = num_layers, batch_first, dropout
        self.ends = ["", "_reverse"] if bidirectional else [""]
        self.bias, self.projects = bias, proj_size > 0
        size, rows, bound = proj_size or hidden_size, self.gates * hidden_size, 1 / math.sqrt(hidden_size)
        for layer in range(num_layers):
            inputs = input_size if layer == 0 else size * len(self.ends)
            shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, inputs), "weight_hh": (rows, size)}
            if bias:
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
            if proj_size:
                shapes["weight_hr"] = (proj_size, hidden_size)
            for end in self.ends:
                for what, shape in shapes.items():
                    setattr(self, f"{what}_l{layer}{end}", uniform(shape, bound))

    def _joined(self, what: str, layer: int) -> Tensor:
        """A parameter of both directions."""
        return functions.stack([getattr(self, f"{what}_l{layer}{end}") for end in self.ends])

    def _run(self, x: Tensor, starts: dict[str, Tensor | None], lengths: Tensor | None, **options: Any) -> list[Tensor]:
        """What the function of a layer gives, with the states of all layers. One sequence may come without a dimension for the batch."""
        name, many = type(self).__name__, len(self.ends)
        alone = x.ndim == 2
        if x.ndim not in (2, 3):
            raise ValueError(f"{name}: x has {x.ndim} dimensions; it must be [tokens, batch, inputs], [batch, tokens, inputs] with "
                             "batch_first, or [tokens, inputs].")
        y = functions.unsqueeze(x, 1) if alone else x.transpose(1, 0, 2) if self.batch_first else x
        for what, start in starts.items():
            if start is None:
                continue
            if start.ndim != x.ndim or start.shape[0] != self.num_layers * many:
                wanted = "[{}, size]" if alone else "[{}, batch, size]"
                raise ValueError(f"{name}: the {what} has shape {start.shape}; it must be {wanted.format(self.num_layers * many)}, "
                                 "with those of a layer one after the other.")
            starts[what] = functions.unsqueeze(start, 1) if alone else start
        if self.bias:
            options |= {"bias": "bias_ih", "recurrent_bias": "bias_hh"}
        if self.projects:
            options["projection"] = "weight_hr"
        ends: list[Any] = []
        for layer in range(self.num_layers):
            if layer > 0 and self.training and self.dropout > 0:
                y = dropped(y, self.dropout)
            named = {k: self._joined(v, layer) if k in ("bias", "recurrent_bias", "projection") else v for k, v in options.items()}
            named |= {what: start[layer * many:(layer + 1) * many] for what, start in starts.items() if start is not None}
            y, *states = getattr(functions, self.kind)(y, self._joined("weight_ih", layer), self._joined("weight_hh", layer), lengths=lengths,
                                                       direction="both" if many == 2 else "forward", **named)
            ends.append(states)
        joined = [functions.concat(list(parts), 0) for parts in zip(*ends, strict=True)]
        if alone:
            return [part[:, 0] for part in [y, *joined]]
        return [y.transpose(1, 0, 2) if self.batch_first else y, *joined]


class LSTM(_Recurrent):
    """Layers of long short-term memory. Called with x [tokens, batch, inputs] (with `batch_first` [batch, tokens, inputs]), a pair of first
    states (state [layers · directions, batch, size], cell [layers · directions, batch, hidden]; zeros when left out) and, by name, the `lengths`
    of the sequences (int32 [batch]), it gives y and the pair of last states. Outputs behind the end of a sequence are 0."""

    gates = 4
    kind = "lstm"

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
                 bidirectional: bool = False, proj_size: int = 0) -> None:
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size)

    def forward(self, x: Tensor, states: tuple[Tensor, Tensor] | None = None, *, lengths: Tensor | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        if states is not None and (not isinstance(states, (tuple, list)) or len(states) != 2):
            raise TypeError(f"LSTM: the first states are a pair (state, cell); a {type(states).__name__} was given.")
        state, cell = (None, None) if states is None else states
        y, state, cell = self._run(x, {"state": state, "cell": cell}, lengths)
        return y, (state, cell)


class GRU(_Recurrent):
    """Layers of gated recurrent units; as LSTM with one state."""

    gates = 3
    kind = "gru"

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
                 bidirectional: bool = False) -> None:
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)

    def forward(self, x: Tensor, state: Tensor | None = None, *, lengths: Tensor | None = None) -> tuple[Tensor, Tensor]:
        y, state = self._run(x, {"state": state}, lengths)
        return y, state


class RNN(_Recurrent):
    """Recurrent layers with an activation, "tanh" or "relu"; as LSTM with one state."""

    kind = "rnn"

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True, batch_first: bool = False,
                 dropout: float = 0.0, bidirectional: bool = False) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f'RNN(): nonlinearity is {nonlinearity!r}; it must be "tanh" or "relu".')
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional)
        self.nonlinearity = nonlinearity

    def forward(self, x: Tensor, state: Tensor | None = None, *, lengths: Tensor | None = None) -> tuple[Tensor, Tensor]:
        y, state = self._run(x, {"state": state}, lengths, activation=self.nonlinearity)
        return y, state
