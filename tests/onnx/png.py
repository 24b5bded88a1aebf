"""Reads pictures of 8-bit RGB in PNG files."""
import struct
import zlib
from pathlib import Path

import numpy as np


def read(path: Path) -> np.ndarray:
    """[height, width, 3] of u8."""
    data, at, packed = path.read_bytes(), 8, b""
    width = height = 0
    while at < len(data):
        (size,), kind = struct.unpack(">I", data[at:at + 4]), data[at + 4:at + 8]
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, color, _, _, interlace = struct.unpack(">IIBBBBB", body)
            if (depth, color, interlace) != (8, 2, 0):
                raise ValueError(f"{path}: only 8-bit RGB without interlacing is read")
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + 3 * width)
    out = np.zeros((height, 3 * width), np.uint8)
    above = np.zeros(3 * width, np.int64)
    for y, row in enumerate(rows):
        above = unfiltered(int(row[0]), row[1:].astype(np.int64), above)
        out[y] = above
    return out.reshape(height, width, 3)


def unfiltered(kind: int, row: np.ndarray, above: np.ndarray) -> np.ndarray:
    """A row of bytes from how it differs from its neighbours."""
    if kind == 0:
        return row
    if kind == 2:
        return (row + above) % 256
    out = row.copy()
    for i in range(len(row)):
        left = int(out[i - 3]) if i >= 3 else 0
        corner = int(above[i - 3]) if i >= 3 else 0
        up = int(above[i])
        if kind == 1:
            guess = left
        elif kind == 3:
            guess = (left + up) // 2
        else:
            near = left + up - corner
            guess = min((left, up, corner), key=lambda one: abs(near - one))
        out[i] = (out[i] + guess) % 256
    return out
