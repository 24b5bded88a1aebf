"""A small Whisper model with random weights, in the file format of whisper.cpp, and a sound to listen to."""
import random
import struct
import wave
from pathlib import Path

import numpy as np

STATE, HEADS, LAYERS, AUDIO_CONTEXT, TEXT_CONTEXT, MELS, FFT, VOCABULARY = 64, 2, 2, 1500, 64, 80, 201, 51864
WORDS = 50257  # The rest of the vocabulary are marks that whisper.cpp names itself.


def write_model(path: Path, seed: int = 1) -> None:
    """Matrices are f16, everything else f32, as in the models that people have."""
    values = np.random.default_rng(seed)
    with open(path, "wb") as file:
        file.write(struct.pack("<12i", 0x67676D6C, VOCABULARY, AUDIO_CONTEXT, STATE, HEADS, LAYERS, TEXT_CONTEXT, STATE, HEADS,
                               LAYERS, MELS, 1))
        file.write(struct.pack("<2i", MELS, FFT))
        file.write(values.uniform(0, 0.02, MELS * FFT).astype("<f4").tobytes())
        file.write(struct.pack("<i", WORDS))
        for number in range(WORDS):
            word = f" w{number}".encode() if number else b" "  # whisper.cpp looks for a blank.
            file.write(struct.pack("<I", len(word)) + word)

        def tensor(name: str, *shape: int, half: bool = False, ones: bool = False) -> None:
            """`shape` has the innermost dimension first, as the file has."""
            size = int(np.prod(shape))
            data = np.ones(size) if ones else values.normal(0, shape[0] ** -0.5 if half else 0.02, size)
            file.write(struct.pack("<3i", len(shape), len(name), int(half)) + struct.pack(f"<{len(shape)}i", *shape))
            file.write(name.encode() + data.astype("<f2" if half else "<f4").tobytes())

        def norm(name: str) -> None:
            tensor(f"{name}.weight", STATE, ones=True)
            tensor(f"{name}.bias", STATE)

        def linear(name: str, inputs: int, outputs: int, bias: bool = True) -> None:
            tensor(f"{name}.weight", inputs, outputs, half=True)
            if bias:
                tensor(f"{name}.bias", outputs)

        def attention(name: str) -> None:
            norm(f"{name}_ln")
            for part in ("query", "key", "value", "out"):
                linear(f"{name}.{part}", STATE, STATE, bias=part != "key")

        tensor("encoder.positional_embedding", STATE, AUDIO_CONTEXT)
        tensor("encoder.conv1.weight", 3, MELS, STATE, half=True)
        tensor("encoder.conv1.bias", 1, STATE)
        tensor("encoder.conv2.weight", 3, STATE, STATE, half=True)
        tensor("encoder.conv2.bias", 1, STATE)
        norm("encoder.ln_post")
        tensor("decoder.positional_embedding", STATE, TEXT_CONTEXT)
        tensor("decoder.token_embedding.weight", STATE, VOCABULARY, half=True)
        norm("decoder.ln")
        for side in ("encoder", "decoder"):
            for layer in range(LAYERS):
                block = f"{side}.blocks.{layer}"
                attention(f"{block}.attn")
                if side == "decoder":
                    attention(f"{block}.cross_attn")
                norm(f"{block}.mlp_ln")
                linear(f"{block}.mlp.0", STATE, 4 * STATE)
                linear(f"{block}.mlp.2", 4 * STATE, STATE)


def write_sound(path: Path, seconds: float = 2, rate: int = 16000) -> None:
    noise = random.Random(1)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(b"".join(struct.pack("<h", noise.randrange(-8000, 8000)) for _ in range(int(seconds * rate))))
