#!/usr/bin/env python3
"""Multiplies matrices on the GPU and compares with numpy: once with tensors, once on raw buffers."""
import ctypes

import numpy as np
import weft

device = weft.Device()
print(f"weft {weft.lib.weft_version().decode()} on {device.info().name.decode()}")

rng = np.random.default_rng(1)
a = rng.standard_normal((64, 48), np.float32)
b = rng.standard_normal((48, 32), np.float32)

# Tensors: expressions on the device.
y = ((device.tensor(a) @ device.tensor(b)) * device.tensor(np.float32([0.1]))).softmax()
print("softmax(a @ b / 10)[0, :4] =", y.numpy()[0, :4])

# Buffers: C = 2 A B, with A and B as they lie in memory.
left, right, product = device.buffer(a), device.buffer(b), device.buffer(64 * 32 * 4)
weft.lib.weft_gemm(False, False, 64, 32, 48, 2.0,
                   ctypes.byref(weft.Matrix(left.handle, 0, 0, 48)), ctypes.byref(weft.Matrix(right.handle, 0, 0, 32)),
                   0.0, ctypes.byref(weft.Matrix(product.handle, 0, 0, 32)))
error = np.abs(product.read(np.float32, (64, 32)) - 2 * (a.astype(np.float64) @ b)).max()
print("largest difference from numpy:", error)
assert error < 1e-3

# Mistakes are exceptions with a sentence.
try:
    device.tensor(a) @ device.tensor(a)
except weft.Error as mistake:
    print(f"{mistake.status}: {mistake}")
