#!/usr/bin/env python3
"""Writes a GGUF model of the architecture "llama" with random weights, in the shapes of real models, for llama-bench. Needs nothing but Python.

usage: random_llama.py 8b|1b|small q4_0|q8_0|q4_K|f16 FILE
"""
import random
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

ALIGNMENT = 32
DEVIATION = 0.02  # of the weights
# Number in GGUF, elements and bytes of a block, and the number that stands for a file of this type.
TYPES = {"f32": (0, 1, 4, 0), "f16": (1, 1, 2, 1), "q4_0": (2, 32, 18, 2), "q8_0": (8, 32, 34, 7), "q4_K": (12, 256, 144, 15)}
# Layers, width, width between, heads, heads of keys, words, base of the rotations.
SHAPES = {"8b": (32, 4096, 14336, 32, 8, 128256, 500000.0), "1b": (22, 2048, 5632, 32, 4, 32000, 10000.0), "small": (2, 256, 512, 4, 2, 1024, 10000.0)}
POOL_BLOCKS = 1 << 16  # of random blocks; tensors are pieces of them
CONTEXT = 32768


def pool(kind: str, numbers: random.Random) -> bytes:
    """Blocks whose values have about the deviation."""
    def halves(scale: float, count: int) -> list[bytes]:
        return [struct.pack("<e", scale * numbers.uniform(0.75, 1.25)) for _ in range(count)]
    if kind == "f16":
        return b"".join(struct.pack("<e", numbers.gauss(0, DEVIATION)) for _ in range(8 * POOL_BLOCKS))
    if kind == "q4_0":
        return b"".join(d + numbers.randbytes(16) for d in halves(DEVIATION / 4.61, POOL_BLOCKS))
    if kind == "q8_0":
        return b"".join(d + numbers.randbytes(32) for d in halves(DEVIATION / 73.9, POOL_BLOCKS))
    scale = DEVIATION / (36 * 6)  # q4_K: scales of 6 bits in a block, quants of 4
    return b"".join(struct.pack("<ee", scale, scale * 7.5) + numbers.randbytes(140) for _ in range(POOL_BLOCKS // 8))


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def metadata(shape: str, kind: str) -> tuple[int, bytes]:
    """The pairs of the head, and how many there are. Words are bytes and made up ones, so that any text can be read."""
    layers, width, between, heads, key_heads, words, base = SHAPES[shape]
    out = []

    def put(name: str, number: int, value: bytes) -> None:
        out.append(text(name) + struct.pack("<I", number) + value)

    for name, value in (("general.architecture", "llama"), ("general.name", f"random {shape} {kind}"), ("tokenizer.ggml.model", "llama"),
                        ("tokenizer.ggml.pre", "default")):
        put(name, 8, text(value))
    for name, value in (("general.file_type", TYPES[kind][3]), ("general.quantization_version", 2), ("llama.block_count", layers),
                        ("llama.context_length", CONTEXT), ("llama.embedding_length", width), ("llama.feed_forward_length", between),
                        ("llama.attention.head_count", heads), ("llama.attention.head_count_kv", key_heads),
                        ("llama.rope.dimension_count", width // heads), ("llama.vocab_size", words), ("tokenizer.ggml.bos_token_id", 1),
                        ("tokenizer.ggml.eos_token_id", 2), ("tokenizer.ggml.unknown_token_id", 0)):
        put(name, 4, struct.pack("<I", value))
    put("llama.attention.layer_norm_rms_epsilon", 6, struct.pack("<f", 1e-5))
    put("llama.rope.freq_base", 6, struct.pack("<f", base))
    put("tokenizer.ggml.add_bos_token", 7, b"\1")
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256))]
    kinds = [2, 3, 3] + [6] * 256 + [1] * (words - len(tokens))
    tokens += [f"\u2581t{i}" for i in range(len(tokens), words)]
    put("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, words) + b"".join(map(text, tokens)))
    put("tokenizer.ggml.scores", 9, struct.pack(f"<IQ{words}f", 6, words, *(-float(i) for i in range(words))))
    put("tokenizer.ggml.token_type", 9, struct.pack(f"<IQ{words}i", 5, words, *kinds))
    return len(out), b"".join(out)


def tensors(shape: str, kind: str) -> Iterator[tuple[str, tuple[int, ...], str]]:
    """Name, extents (the innermost first) and type."""
    layers, width, between, heads, key_heads, words, _ = SHAPES[shape]
    keys = width // heads * key_heads
    yield "token_embd.weight", (width, words), kind
    yield "output_norm.weight", (width,), "f32"
    yield "output.weight", (width, words), kind
    for i in range(layers):
        for name, extents, each in (("attn_norm", (width,), "f32"), ("attn_q", (width, width), kind), ("attn_k", (width, keys), kind),
                                    ("attn_v", (width, keys), kind), ("attn_output", (width, width), kind), ("ffn_norm", (width,), "f32"),
                                    ("ffn_gate", (width, between), kind), ("ffn_up", (width, between), kind), ("ffn_down", (between, width), kind)):
            yield f"blk.{i}.{name}.weight", extents, each


def bytes_of(extents: tuple[int, ...], kind: str) -> int:
    _, elements, size, _ = TYPES[kind]
    count = 1
    for extent in extents:
        count *= extent
    return count // elements * size


def padding(size: int) -> int:
    return -size % ALIGNMENT


def write_values(file: BinaryIO, size: int, blocks: bytes, block_bytes: int, numbers: random.Random) -> None:
    view, count = memoryview(blocks), len(blocks) // block_bytes
    while size > 0:
        start = numbers.randrange(count // 2) * block_bytes
        piece = view[start:start + size]
        file.write(piece)
        size -= len(piece)


def write(shape: str, kind: str, path: Path) -> None:
    numbers = random.Random(1)
    blocks, count_bytes = pool(kind, numbers), TYPES[kind][2]
    pairs, head = metadata(shape, kind)
    listed = list(tensors(shape, kind))
    place, places = 0, []
    for _, extents, each in listed:
        places.append(place)
        place += bytes_of(extents, each)
        place += padding(place)
    table = b"".join(text(name) + struct.pack("<I", len(extents)) + struct.pack(f"<{len(extents)}Q", *extents) + struct.pack("<IQ", TYPES[each][0], start)
                     for (name, extents, each), start in zip(listed, places, strict=True))
    with open(path, "wb") as file:
        start = b"GGUF" + struct.pack("<IQQ", 3, len(listed), pairs) + head + table
        file.write(start + bytes(padding(len(start))))
        for _, extents, each in listed:
            size = bytes_of(extents, each)
            if each == "f32":
                file.write(struct.pack("<f", 1.0) * extents[0])
            else:
                write_values(file, size, blocks, count_bytes, numbers)
            file.write(bytes(padding(size)))


def main() -> int:
    if len(sys.argv) != 4 or sys.argv[1] not in SHAPES or sys.argv[2] not in TYPES or sys.argv[2] == "f32":
        print(__doc__, file=sys.stderr)
        return 2
    write(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
