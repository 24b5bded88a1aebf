"""Layers with parameters, as PyTorch and MLX have them.

A Module's parameters are weft.variable()s: optimizers change them in place, also in compiled functions, where they are read at each call.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import _core, random
from ._array import array
from ._core import Tensor, functions
from ._model import cross_entropy as _cross_entropy
from ._transform import _scalar
from ._transform import _state as _gradients
from ._types import float32

F = functions


class Module:
    """What has parameters: tensors, modules, and lists and dicts of modules, as attributes. Calling it calls forward()."""

    training = True

    def forward(self, *args: Any, **named: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward().")

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.forward(*args, **named)

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
        return {name: +tensor for name, tensor, _ in self._tensors()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Takes the values of a state_dict(); all names and shapes must be those of the module."""
        own = {name: tensor for name, tensor, _ in self._tensors()}
        if own.keys() != state.keys():
            missing, unknown = sorted(own.keys() - state.keys()), sorted(state.keys() - own.keys())
            raise ValueError(f"load_state_dict(): missing {missing}, unknown {unknown}.")
        for name, tensor in own.items():
            if tensor.shape != state[name].shape:
                raise ValueError(f"load_state_dict(): {name} has shape {tensor.shape}, the state has {state[name].shape}.")
        _core.assign(list(own.values()), [F.cast(state[name], tensor.dtype) for name, tensor in own.items()])

    def train(self, mode: bool = True) -> Module:
        """Whether dropout and batch norms do as in training; gives the module itself."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        """The opposite of train()."""
        return self.train(False)

    def buffer(self, name: str, value: Tensor) -> None:
        """Keeps a variable that is saved with the parameters and does not learn."""
        setattr(self, name, _core.variable(value))
        self._buffers = (*getattr(self, "_buffers", ()), name)

    def __repr__(self) -> str:
        inner = "".join(f"\n  {name}: " + repr(child).replace("\n", "\n  ") for name, child in self.children())
        own = ", ".join(f"{n}={list(t.shape)}" for n, t in vars(self).items() if isinstance(t, Tensor))
        return f"{type(self).__name__}({own}{inner}{chr(10) if inner else ''})"


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


def _uniform(shape: Sequence[int], bound: float) -> Tensor:
    return _core.variable(random.uniform(-bound, bound, shape))


def _counts(module: Module, **given: Any) -> None:
    """Extents must be whole numbers of at least 1."""
    for name, value in given.items():
        if not isinstance(value, int) or value < 1:
            raise TypeError(f"{type(module).__name__}(): `{name}` is {value!r}; a whole number of at least 1 is needed.")


class Linear(Module):
    """x · weightᵀ + bias for x […, in_features]."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        _counts(self, in_features=in_features, out_features=out_features)
        bound = 1 / math.sqrt(in_features)
        self.weight = _uniform((out_features, in_features), bound)
        self.bias = _uniform((out_features,), bound) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


class Embedding(Module):
    """Rows of a table by indices."""

    def __init__(self, count: int, width: int) -> None:
        _counts(self, count=count, width=width)
        self.weight = _core.variable(random.normal((count, width)))

    def forward(self, indices: Tensor) -> Tensor:
        return F.take(self.weight, indices, 0)

    def as_linear(self, x: Tensor) -> Tensor:
        """x · tableᵀ: logits of the rows."""
        return F.linear(x, self.weight)


class _Conv(Module):
    rank = 2
    transposed = False

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int | Sequence[int], stride: int | Sequence[int] = 1,
                 padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, groups: int = 1, bias: bool = True) -> None:
        _counts(self, in_channels=in_channels, out_channels=out_channels, groups=groups)
        kernel = [kernel_size] * self.rank if isinstance(kernel_size, int) else list(kernel_size)
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        bound = 1 / math.sqrt(max(1, in_channels // groups * math.prod(kernel)))
        self.weight = _uniform((first, second // groups, *kernel), bound)
        self.bias = _uniform((out_channels,), bound) if bias else None
        self.options = {"stride": stride, "pad": padding, "dilation": dilation, "groups": groups}

    def forward(self, x: Tensor) -> Tensor:
        function: Any = F.conv_transpose if self.transposed else F.conv
        made: Tensor = function(x, self.weight, self.bias, **self.options)
        return made


class Conv1d(_Conv):
    """A convolution over [N, C, length]."""

    rank = 1


class Conv2d(_Conv):
    """A convolution over images [N, C, height, width]."""


class Conv3d(_Conv):
    """A convolution over [N, C, depth, height, width]."""

    rank = 3


class ConvTranspose2d(_Conv):
    """The transpose of Conv2d."""

    transposed = True


class LayerNorm(Module):
    """The last dimension with mean 0 and variance 1, then times weight plus bias."""

    def __init__(self, width: int, eps: float = 1e-5, bias: bool = True) -> None:
        self.weight, self.eps = parameter(F.ones(width)), eps
        self.bias = parameter(F.zeros(width)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """The last dimension divided by the root of its mean square, times weight."""

    def __init__(self, width: int, eps: float = 1e-5) -> None:
        self.weight, self.eps = parameter(F.ones(width)), eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight, self.eps)


class GroupNorm(Module):
    """Groups of channels of [N, C, …], each with mean 0 and variance 1; the channels may lie along another axis (-1: [N, …, C])."""

    def __init__(self, groups: int, channels: int, eps: float = 1e-5, axis: int = 1) -> None:
        _counts(self, groups=groups, channels=channels)
        self.weight, self.bias = parameter(F.ones(channels)), parameter(F.zeros(channels))
        self.groups, self.eps, self.axis = groups, eps, axis

    def forward(self, x: Tensor) -> Tensor:
        return F.group_norm(x, self.groups, self.weight, self.bias, self.eps, self.axis)


class BatchNorm(Module):
    """Each channel of [N, C, …] with mean 0 and variance 1: in training of the batch, later of all that was seen."""

    def __init__(self, channels: int, eps: float = 1e-5, momentum: float = 0.1) -> None:
        self.weight, self.bias = parameter(F.ones(channels)), parameter(F.zeros(channels))
        self.eps, self.momentum = eps, momentum
        self.buffer("running_mean", F.zeros(channels))
        self.buffer("running_var", F.ones(channels))

    running_mean: Tensor
    running_var: Tensor

    def forward(self, x: Tensor) -> Tensor:
        made, mean, var = F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, training=self.training,
                                       momentum=self.momentum, eps=self.eps)
        if self.training and mean is not None and var is not None:
            _core.assign([self.running_mean, self.running_var], [mean.detach(), var.detach()])
        return made


BatchNorm1d = BatchNorm2d = BatchNorm3d = BatchNorm


class Dropout(Module):
    """In training, leaves out elements at random and scales the others up."""

    def __init__(self, p: float = 0.5) -> None:
        if not 0 <= p < 1:
            raise ValueError(f"Dropout(): p is {p}; it must be at least 0 and less than 1.")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        keep = random.bernoulli(1 - self.p, x.shape)
        return F.where(keep, x * (1 / (1 - self.p)), 0.0)


class Sequential(Module):
    """Layers (or functions) one after the other."""

    def __init__(self, *layers: Callable[[Tensor], Tensor]) -> None:
        self.layers = list(layers)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class _Function(Module):
    """A function without parameters as a layer. It is kept by its name, so that models can be copied and pickled."""

    name = ""

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = getattr(F, self.name)(x)
        return made


class ReLU(_Function):
    """max(x, 0)."""

    name = "relu"


class GELU(_Function):
    """x times the share of normal numbers below it."""

    name = "gelu"


class SiLU(_Function):
    """x · sigmoid(x)."""

    name = "silu"


class Tanh(_Function):
    """The hyperbolic tangent."""

    name = "tanh"


class Sigmoid(_Function):
    """1 / (1 + exp(-x))."""

    name = "sigmoid"


class Flatten(Module):
    """[N, …] as [N, the product of the others]."""

    def forward(self, x: Tensor) -> Tensor:
        return F.flatten(x, 1, -1)


class _Pool2d(Module):
    def __init__(self, kernel_size: int, stride: int | None = None, padding: int = 0) -> None:
        _counts(self, kernel_size=kernel_size)
        self.kernel, self.stride, self.padding = [kernel_size] * 2, [stride or kernel_size] * 2, [padding] * 2


class MaxPool2d(_Pool2d):
    """The largest element of each window."""

    def forward(self, x: Tensor) -> Tensor:
        return F.max_pool(x, self.kernel, stride=self.stride, pad=self.padding)


class AvgPool2d(_Pool2d):
    """The mean of each window."""

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool(x, self.kernel, stride=self.stride, pad=self.padding)


class MultiHeadAttention(Module):
    """Attention with several heads over x [N, tokens, width]; with `causal`, no token sees those behind it."""

    def __init__(self, width: int, heads: int, causal: bool = False, bias: bool = False) -> None:
        if width % heads:
            raise ValueError(f"MultiHeadAttention(): a width of {width} cannot be divided among {heads} heads.")
        self.heads, self.causal = heads, causal
        self.inputs, self.output = Linear(width, 3 * width, bias), Linear(width, width, bias)

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        parts = self.inputs(x).reshape(batch, tokens, 3, self.heads, width // self.heads).transpose(2, 0, 3, 1, 4)
        y = F.attention(parts[0], parts[1], parts[2], causal=self.causal)
        made: Tensor = self.output(y.transpose(0, 2, 1, 3).reshape(batch, tokens, width))
        return made


class TransformerBlock(Module):
    """Attention and two linear layers, each after a norm and beside a way round."""

    def __init__(self, width: int, heads: int, causal: bool = True, dropout: float = 0.0) -> None:
        self.norm1, self.norm2 = LayerNorm(width), LayerNorm(width)
        self.attention = MultiHeadAttention(width, heads, causal)
        self.up, self.down, self.dropout = Linear(width, 4 * width), Linear(4 * width, width), Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.dropout(self.attention(self.norm1(x)))
        made: Tensor = x + self.dropout(self.down(F.gelu(self.up(self.norm2(x)))))
        return made


def cross_entropy(logits: Tensor, labels: Any, label_smoothing: float = 0.0) -> Tensor:
    """The mean of -log(softmax(logits)[label]) over all rows, computed in float32."""
    return _cross_entropy(F.cast(logits, float32), labels, label_smoothing=label_smoothing)
