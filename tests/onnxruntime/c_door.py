"""ONNX models through the C API of libweft.so."""
from __future__ import annotations

import ctypes as c
import json
from pathlib import Path

import numpy as np

TYPES = [np.float32, np.float16, None, np.int32, np.uint32, np.int64, np.int16, np.int8, np.uint8, np.bool_]  # by their numbers in weft/c/dtype.h
NUMBERS = {np.dtype(kind): number for number, kind in enumerate(TYPES) if kind}


class Info(c.Structure):
    _fields_ = [("dtype", c.c_int), ("rank", c.c_uint32), ("shape", c.c_int64 * 8), ("size", c.c_int64)]


RECEIVER = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p, c.c_void_p)


class WeftError(Exception):
    """What a call of the library says."""


class Library:
    def __init__(self, path: Path) -> None:
        self.lib = c.CDLL(str(path))
        self.lib.weft_last_error.restype = c.c_char_p
        self.device = c.c_void_p()
        self.call("device_open", None, c.byref(self.device))

    def call(self, name: str, *arguments: object) -> None:
        status = getattr(self.lib, f"weft_{name}")(*arguments)
        if status:
            raise WeftError(f"{status}: {self.lib.weft_last_error().decode(errors='replace')}")

    def load(self, whole: bytes | Path) -> Model:
        handle = c.c_void_p()
        if isinstance(whole, Path):
            self.call("model_load", self.device, str(whole).encode(), c.byref(handle))
        else:
            self.call("model_load_bytes", self.device, whole, c.c_uint64(len(whole)), c.byref(handle))
        return Model(self, handle)

    def tensor(self, array: np.ndarray) -> c.c_void_p:
        out = c.c_void_p()
        array = np.asarray(array, order="C")
        shape = (c.c_int64 * max(array.ndim, 1))(*array.shape)
        self.call("tensor_from_data", self.device, NUMBERS[array.dtype], c.c_uint32(array.ndim), shape, array.ctypes.data_as(c.c_void_p),
                  c.c_uint64(array.nbytes), c.byref(out))
        return out

    def array(self, tensor: c.c_void_p) -> np.ndarray:
        info = Info()
        self.call("tensor_get_info", tensor, c.byref(info))
        kind = TYPES[info.dtype]
        out = np.zeros(list(info.shape[:info.rank]), kind or np.float32)
        self.call("tensor_read", tensor, info.dtype if kind else 0, out.ctypes.data_as(c.c_void_p), c.c_uint64(out.nbytes))
        return out


class Model:
    def __init__(self, library: Library, handle: c.c_void_p) -> None:
        self.library, self.handle = library, handle

    def run(self, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        tensors = [self.library.tensor(one) for one in given.values()]
        found: list[tuple[str, int]] = []
        receive = RECEIVER(lambda _, name, tensor: found.append((name.decode(), tensor)))
        try:
            names = (c.c_char_p * max(len(given), 1))(*[name.encode() for name in given])
            handles = (c.c_void_p * max(len(given), 1))(*[one.value for one in tensors])
            self.library.call("model_run", self.handle, names, handles, c.c_uint32(len(given)), receive, None)
            return {name: self.library.array(c.c_void_p(tensor)) for name, tensor in found}
        finally:
            for one in [*tensors, *[c.c_void_p(tensor) for _, tensor in found]]:
                self.library.lib.weft_tensor_free(one)

    def told(self) -> dict[str, object]:
        """What the model says of itself."""
        length = c.c_size_t()
        self.library.call("model_to_text", self.handle, c.c_bool(False), None, c.c_size_t(0), c.byref(length))
        text = c.create_string_buffer(length.value + 1)
        self.library.call("model_to_text", self.handle, c.c_bool(False), text, c.c_size_t(length.value + 1), None)
        return json.loads(text.value.decode())

    def __del__(self) -> None:
        self.library.lib.weft_model_free(self.handle)
