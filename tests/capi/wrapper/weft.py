"""Weft from Python: the C API through ctypes, with numpy arrays.

`lib` has every function of include/weft/weft.h with its types set (weft_c.py); each raises Error instead of returning a
status. Device, Buffer and Tensor wrap the handles, so that they are freed with their last user. The library is found in
WEFT_LIBRARY, or where the system keeps libraries.
"""
import ctypes as c
import ctypes.util
import os
from types import SimpleNamespace

import numpy as np
import weft_ops
from weft_c import *  # noqa: F403  structures and types, for callers of `lib`
from weft_c import DTYPES, I64, STATUS, U32, Bool, Error, Handle, PassReceiver, Size, Text, load_library

NUMPY = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "u32": np.uint32, "i64": np.int64, "i16": np.int16,
         "i8": np.int8, "u8": np.uint8, "bool": np.bool_}

LIBRARY = os.environ.get("WEFT_LIBRARY") or ctypes.util.find_library("weft") or "libweft.so.0"
OPERATIONS = weft_ops.load(LIBRARY)
lib = load_library(LIBRARY, OPERATIONS)


def numbers(kind, values):
    """A C array of numbers."""
    return (kind * len(values))(*values)


def made(function, *arguments) -> Handle:
    """Calls a function whose last parameter is the new handle."""
    handle = Handle()
    function(*arguments, c.byref(handle))
    return handle


def text_of(function, *arguments) -> str:
    """Calls a function that writes a text, first for its length."""
    length = Size()
    function(*arguments, None, 0, c.byref(length))
    text = c.create_string_buffer(length.value + 1)
    function(*arguments, text, len(text), None)
    return text.value.decode()


class Owned:
    """A handle that is freed with this object."""

    free = None

    def __init__(self, handle):
        self.handle = handle
        self._as_parameter_ = handle  # lets ctypes take the object itself, which also keeps it alive

    def __del__(self):
        if getattr(self, "handle", None) and self.free is not None:
            try:
                type(self).free(self.handle)
            except Error:
                pass  # freed by hand before


class Device(Owned):
    free = lib.weft_device_close

    def __init__(self, adapter=None, **options):
        chosen = DeviceOptions(adapter=adapter.encode() if adapter else None, **options)
        super().__init__(made(lib.weft_device_open, c.byref(chosen)))

    def info(self) -> DeviceInfo:
        info = DeviceInfo()
        lib.weft_device_get_info(self, c.byref(info))
        return info

    def buffer(self, data) -> "Buffer":
        """A buffer with the bytes of a numpy array, or with that many bytes."""
        if isinstance(data, int):
            return Buffer(made(lib.weft_buffer_alloc, self, data))
        data = np.ascontiguousarray(data)
        buffer = Buffer(made(lib.weft_buffer_alloc, self, data.nbytes))
        lib.weft_buffer_write(buffer, 0, data.ctypes.data, data.nbytes)
        return buffer

    def tensor(self, values) -> "Tensor":
        """A tensor with the values of a numpy array."""
        values = np.asarray(values, order="C")
        dtype = next((i for i, n in enumerate(DTYPES) if NUMPY.get(n) == values.dtype.type), None)
        if dtype is None:
            raise TypeError(f"no element type holds {values.dtype}")
        return Tensor(made(lib.weft_tensor_from_data, self, dtype, values.ndim, numbers(I64, values.shape),
                           values.ctypes.data, values.nbytes))


class Buffer(Owned):
    free = lib.weft_buffer_free

    def read(self, dtype, shape) -> np.ndarray:
        """The first elements as a numpy array."""
        values = np.empty(shape, dtype)
        lib.weft_buffer_read(self, 0, values.ctypes.data, values.nbytes)
        return values


class Tensor(Owned):
    free = lib.weft_tensor_free

    def info(self) -> SimpleNamespace:
        info = TensorInfo()
        lib.weft_tensor_get_info(self, c.byref(info))
        return SimpleNamespace(dtype=DTYPES[info.dtype], shape=tuple(info.shape[: info.rank]), size=info.size)

    def numpy(self) -> np.ndarray:
        """The values; bf16 and quantized types become float32."""
        info = self.info()
        name = info.dtype if info.dtype in NUMPY else "f32"
        values = np.empty(info.shape, NUMPY[name])
        lib.weft_tensor_read(self, DTYPES.index(name), values.ctypes.data, values.nbytes)
        return values

    def __str__(self) -> str:
        return text_of(lib.weft_tensor_to_text, self)

    def line(self, factor, bias=0):
        """factor·self + bias, for numbers."""
        return op("scale", self, factor, bias=bias)

    def __add__(self, other): return map_("add", self, other) if isinstance(other, Tensor) else self.line(1, other)
    def __sub__(self, other): return map_("sub", self, other) if isinstance(other, Tensor) else self.line(1, -other)
    def __mul__(self, other): return map_("mul", self, other) if isinstance(other, Tensor) else self.line(other)
    def __truediv__(self, other): return map_("div", self, other) if isinstance(other, Tensor) else self.line(1 / other)
    def __rsub__(self, other): return self.line(-1, other)
    def __neg__(self): return self.line(-1)
    def __matmul__(self, other): return op("matmul", self, other)
    __radd__, __rmul__ = __add__, __mul__

    @property
    def T(self): return op("transpose", self)

    def reshape(self, *shape): return op("reshape", self, shape)

    def slice(self, axis, first, count, step=1): return op("slice", self, axis, first, count, step=step)

    def cast(self, dtype: str): return op("cast", self, dtype)

    def reduce(self, function: str, *dims, keep=False):
        return op("reduce", function, self, dims=dims, keep_dims=keep)

    def softmax(self, axis=-1, **options): return op("softmax", self, axis=axis, **options)


class Variable(Tensor):
    """A tensor whose values updates replace."""

    def __init__(self, initial: Tensor):
        super().__init__(made(lib.weft_tensor_variable, initial))


class Kernel(Owned):
    """A WGSL kernel: `writes` says for each tensor of a call whether it changes it."""

    free = lib.weft_kernel_free

    def __init__(self, device: Device, wgsl: str, writes, scalars=0):
        flags = numbers(Bool, writes)
        super().__init__(made(lib.weft_kernel_create, device, c.byref(
            KernelSource(wgsl=wgsl.encode(), writes=flags, bindings=len(writes), scalars=scalars))))

    def __call__(self, tensors, workgroups, scalars=()) -> None:
        lib.weft_kernel_run_tensors(self, handles(tensors), len(tensors), numbers(U32, workgroups), numbers(U32, scalars), len(scalars))


def handles(tensors):
    return numbers(Handle, [t.handle for t in tensors])


def update(variables, values) -> None:
    """Computes all values, then gives them to their variables."""
    lib.weft_tensor_update(handles(variables), handles(values), len(variables))


def grad(y: Tensor, by, weights: Tensor | None = None) -> list[Tensor]:
    """Derivatives of y (one element, or weighted) by other tensors."""
    out = (Handle * len(by))()
    lib.weft_tensor_grad(y, weights, handles(by), len(by), out)
    return [Tensor(Handle(h)) for h in out]


class Compiled(Owned):
    """A Python function from tensors to a list of `results` tensors (and new values of `variables`), compiled once per shapes.

    `on_pass(pass, text, dot)` sees the graph as it was written and after each pass.
    """

    free = lib.weft_compiled_free

    def __init__(self, function, results=1, variables=(), without=None, on_pass=None, most_variants=0):
        self.results, self.errors = results, []
        errors = self.errors  # the callback must not refer to this object, or neither would ever be freed

        def traced(context, inputs, count, outputs):
            given = [Tensor(inputs[i]) for i in range(count)]
            try:
                for i, tensor in enumerate(function(*given)):
                    outputs[i], tensor.handle = tensor.handle.value, None  # the library frees it
            except Exception as error:  # nothing may be thrown through C
                errors.append(error)
                return STATUS.index("invalid_argument")
            finally:
                for tensor in given:
                    tensor.handle = None  # the library's
            return 0

        self.callback = Function(traced)  # kept, because the library calls it later
        self.on_pass = PassReceiver((lambda _, *texts: on_pass(*[t.decode() for t in texts])) if on_pass else 0)
        source = FunctionSource(self.callback, None, results, handles(variables), len(variables),
                                without.encode() if isinstance(without, str) else without, self.on_pass, most_variants)
        super().__init__(made(lib.weft_compile, c.byref(source)))

    def __call__(self, *inputs) -> list[Tensor]:
        out = (Handle * max(self.results, 1))()
        try:
            lib.weft_compiled_run(self, handles(inputs), len(inputs), out)
        except Error:
            if self.errors:
                raise self.errors.pop()
            raise
        return [Tensor(Handle(h)) for h in out[: self.results]]

    def report(self) -> CompileReport:
        report = CompileReport()
        lib.weft_compiled_get_report(self, c.byref(report))
        return report


def encoded(texts):
    """A C array of texts."""
    return numbers(Text, [text.encode() for text in texts])


def save(path: str, tensors: dict[str, Tensor], texts: dict[str, str] | None = None) -> None:
    """Writes tensors, and texts beside them, to a .safetensors or .gguf file."""
    texts = texts or {}
    lib.weft_save(path.encode(), encoded(tensors), handles(tensors.values()), len(tensors), encoded(texts),
                             encoded(texts.values()), len(texts))


def load(device: Device, path: str, texts: dict[str, str] | None = None) -> dict[str, Tensor]:
    """The tensors of a .safetensors or .gguf file; the texts of the file are added to `texts`."""
    found, words = {}, texts if texts is not None else {}
    receiver = Receiver(lambda context, name, handle: found.update({name.decode(): Tensor(Handle(handle))}))
    text_receiver = TextReceiver(lambda context, name, text: words.update({name.decode(): text.decode()}))
    lib.weft_load(device, path.encode(), receiver, text_receiver, None)
    return found


def op(name: str, *arguments, **options):
    """What an operation of docs/reference makes of its arguments and options: a tensor, or a list of several."""
    handles = OPERATIONS[name](lib, *arguments, **options)
    made_ = [Tensor(h) if h.value else None for h in handles]
    return made_[0] if len(made_) == 1 and OPERATIONS[name].results != "list" else made_


def map_(function: str, *inputs, parameters=(0, 0, 0, 0)) -> Tensor:
    """An elementwise function by its name in docs/ops.md."""
    return op("map", function, inputs, scalars=parameters)
