"""Layers of whole numbers of 8 bits, and what trains and measures for them, with the names of torch.ao.quantization; weights in blocks of a few
bits, as MLX has them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _core
from ._core import Tensor, functions
from ._layers import Conv1d, Conv2d, Conv3d, Embedding, Linear
from ._module import Module
from ._types import to_dtype

F = functions


class Observer(Module):
    """Measures the range of what goes through it while it trains, and gives it on as it is. `method` is that of quantization_range(): "min_max",
    "percentile" (that share of the elements, in percent) or "entropy" (which waits, so that it cannot be compiled). Ranges of several calls are
    joined, or with a `momentum` the newest counts that much."""

    low: Tensor
    high: Tensor

    def __init__(self, method: str = "min_max", momentum: float | None = None, percentile: float = 99.9) -> None:
        if momentum is not None and not 0 < momentum <= 1:
            raise ValueError(f"Observer(): momentum is {momentum}; it must be above 0 and at most 1.")
        self.options: dict[str, Any] = {"method": method, "percentile": percentile}
        self.momentum = momentum
        self.buffer("low", F.full((), float("inf")))
        self.buffer("high", F.full((), float("-inf")))

    def measure(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The range with x in it, which is kept."""
        low, high = F.quantization_range(x.detach(), **self.options)
        if self.momentum is None:
            low, high = F.minimum(self.low, low), F.maximum(self.high, high)
        else:
            none = self.low > self.high
            low = F.where(none, low, self.low + self.momentum * (low - self.low))
            high = F.where(none, high, self.high + self.momentum * (high - self.high))
        _core.assign([self.low, self.high], [low, high])
        return low, high

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.measure(x)
        return x


class FakeQuantize(Module):
    """What is left of x after 8 bits, with gradients that go straight through: while training the observer measures the range. Whole numbers go from
    0 to 255, or with `symmetric` from -127 to 127. Before anything was measured x stays as it is."""

    def __init__(self, observer: Observer | None = None, symmetric: bool = False) -> None:
        self.observer, self.symmetric = observer or Observer(), symmetric

    def forward(self, x: Tensor) -> Tensor:
        low, high = self.observer.measure(x) if self.training else (self.observer.low, self.observer.high)
        scale, zero_point = F.quantization_scale(low, high, self.symmetric)
        ends = (-127, 127) if self.symmetric else (0, 255)
        return F.where(low <= high, F.fake_quantize(x, scale, zero_point=zero_point, low=ends[0], high=ends[1]), x)


def _weight_scale(weight: Tensor, most: int) -> Tensor:
    """One for each output: its largest element becomes the largest whole number."""
    return F.maximum(F.max(F.abs(F.cast(weight, "float32")), list(range(1, weight.ndim))) / most, 1e-30)


def _most(bits: int, function: str) -> int:
    if not isinstance(bits, int) or not 2 <= bits <= 8:
        raise ValueError(f"{function}: weight_bits is {bits!r}; a whole number from 2 to 8 is needed.")
    return (1 << (bits - 1)) - 1


class QuantizationAware(Module):
    """A Linear or a convolution that sees its input and its weight as they will be in whole numbers."""

    def __init__(self, layer: Linear | Conv1d | Conv2d | Conv3d, weight_bits: int = 8, observer: Observer | None = None) -> None:
        self.layer, self.input, self.most = layer, FakeQuantize(observer), _most(weight_bits, "QuantizationAware()")

    def forward(self, x: Tensor) -> Tensor:
        weight = self.layer.weight
        fake = F.fake_quantize(weight, _weight_scale(weight.detach(), self.most), axis=0, low=-self.most, high=self.most)
        return self.layer.with_weight(self.input(x), fake)


class _Quantized(Module):
    """A weight of int8 with a scale for each output. With an observer, inputs have its range; otherwise that of each call."""

    weight: Tensor
    weight_scale: Tensor

    def __init__(self, layer: Any, weight_bits: int, observer: Observer | None) -> None:
        most = _most(weight_bits, f"{type(self).__name__}()")
        scale = _weight_scale(layer.weight, most)
        self.buffer("weight", F.quantize(layer.weight, scale, axis=0, low=-most, high=most))
        self.buffer("weight_scale", scale)
        self.bias: Tensor | None = None
        self.x_scale: Tensor | None = None
        self.x_zero_point: Tensor | None = None
        if layer.bias is not None:
            self.buffer("bias", +layer.bias)
        if observer is not None:
            if not bool(observer.low <= observer.high):
                raise ValueError(f"{type(self).__name__}(): nothing was measured yet; call the prepared model with examples while it trains.")
            x_scale, zero_point = F.quantization_scale(observer.low, observer.high, False)
            self.buffer("x_scale", x_scale)
            self.buffer("x_zero_point", zero_point)

    def _input(self, x: Tensor) -> Tensor:
        assert self.x_scale is not None
        return F.quantize(x, self.x_scale, zero_point=self.x_zero_point, dtype="uint8")


class QuantizedLinear(_Quantized):
    """A Linear with a weight of int8: x is rounded to 8 bits, products and sums are exact, and the result has the type of x."""

    def __init__(self, layer: Linear, weight_bits: int = 8, observer: Observer | None = None) -> None:
        super().__init__(layer, weight_bits, observer)

    def forward(self, x: Tensor) -> Tensor:
        if self.x_scale is None:
            return F.linear_int8(x, self.weight, self.weight_scale, self.bias)
        return F.quantized_linear(self._input(x), self.x_scale, self.weight, self.weight_scale, x_zero_point=self.x_zero_point, bias=self.bias,
                                  dtype=x.dtype)


class QuantizedConv(_Quantized):
    """A convolution with weights of int8, as QuantizedLinear."""

    def __init__(self, layer: Conv1d | Conv2d | Conv3d, weight_bits: int = 8, observer: Observer | None = None) -> None:
        super().__init__(layer, weight_bits, observer)
        self.options = layer.options

    def forward(self, x: Tensor) -> Tensor:
        if self.x_scale is None:
            q, scale = F.quantize_dynamic(x)[:2]
        else:
            q, scale = self._input(x), self.x_scale
        return F.quantized_conv(q, scale, self.weight, self.weight_scale, x_zero_point=self.x_zero_point, bias=self.bias, dtype=x.dtype,
                                **self.options)


def _replaced(value: Any, change: Callable[[Module], Module | None], done: dict[int, Any]) -> Any:
    """A module, or a list or dict with modules, with others in the place of some; a module that is there twice stays one."""
    if isinstance(value, Module):
        if id(value) not in done:
            new = change(value)
            done[id(value)] = value if new is None else new
            if new is None:
                for name, part in list(vars(value).items()):
                    if isinstance(part, (Module, list, tuple, dict)):
                        setattr(value, name, _replaced(part, change, done))
        return done[id(value)]
    if isinstance(value, dict):
        return {key: _replaced(part, change, done) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_replaced(part, change, done) for part in value)
    return value


def prepare_qat(model: Module, weight_bits: int = 8, method: str = "min_max", momentum: float | None = None) -> Module:
    """The model with a QuantizationAware in the place of each Linear and each convolution. Training it goes on with weights that know that they will
    be rounded; calling it with examples while it trains is enough to measure what convert() needs. The model itself is changed."""

    def aware(part: Module) -> Module | None:
        if isinstance(part, (Linear, Conv1d, Conv2d, Conv3d)):
            return QuantizationAware(part, weight_bits, Observer(method, momentum))
        return part if isinstance(part, QuantizationAware) else None

    made: Module = _replaced(model, aware, {})
    return made


def convert(model: Module, weight_bits: int = 8) -> Module:
    """The model with layers of int8: those of prepare_qat() with what they have measured, any other Linear or convolution with the range of each
    call. The model itself is changed."""

    def whole(part: Module) -> Module | None:
        bits, observer = weight_bits, None
        if isinstance(part, QuantizationAware):
            bits, observer, part = (part.most + 1).bit_length(), part.input.observer, part.layer
        if isinstance(part, Linear):
            return QuantizedLinear(part, bits, observer)
        if isinstance(part, (Conv1d, Conv2d, Conv3d)):
            return QuantizedConv(part, bits, observer)
        return None

    made: Module = _replaced(model, whole, {})
    return made


def quantize(model: Module, dtype: Any = "q8_0") -> Module:
    """The model with the weights of Linear and Embedding layers in the blocks of a quantized type of GGUF files ("q8_0", "q4_0", "iq4_nl", …): less
    memory to read. They learn no more, but gradients flow through them. A layer whose rows are no whole blocks stays as it is, as do layers that
    were quantized before. The model itself is changed."""
    kind = to_dtype(dtype)
    if not kind.is_quantized:
        raise ValueError(f"quantize(): {kind.name} is no quantized type; \"q8_0\", \"q4_0\" and \"iq4_nl\" are some.")
    for part in model.modules():
        if isinstance(part, (Linear, Embedding)) and part.weight.dtype.is_floating and part.weight.shape[1] % kind.block == 0:
            part.buffer("weight", F.cast(part.weight, kind))
    return model
