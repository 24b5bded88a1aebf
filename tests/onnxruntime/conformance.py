"""ONNX's own tests of operations and small models (Debian's libonnx-testdata) through ONNX Runtime, with every node on Weft."""
from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime as ort
import wire

DATA = Path("/usr/share/libonnx-testdata/data")
SUITES = ("node", "pytorch-converted", "pytorch-operator", "simple")
# The types of Weft that numpy has.
OURS = {1, 2, 3, 6, 7, 9, 10, 12}
TOLERANCE = {np.dtype(np.float16): 2e-3}


@dataclass
class Outcome:
    name: str
    verdict: str  # "passed", "failed", "gap" or "not loaded"
    why: str = ""


def read_gaps(path: Path) -> list[tuple[str, str]]:
    """Lines "folder: reason"; a * at the end of a folder stands for any rest."""
    lines = [line.partition(": ") for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return [(folder, reason) for folder, _, reason in lines]


def gap_of(gaps: list[tuple[str, str]], name: str) -> str:
    return next((why for folder, why in gaps if folder == name or folder.endswith("*") and name.startswith(folder[:-1])), "")


def in_scope(folder: Path) -> bool:
    """Whether all values of a model are tensors of Weft's types."""
    model = folder / "model.onnx"
    return all(kind in OURS for _, kind in wire.ports(model, 11) + wire.ports(model, 12))


def folders(sample: int, seed: int) -> list[Path]:
    found = sorted(path for suite in SUITES for path in (DATA / suite).iterdir() if (path / "model.onnx").exists() and in_scope(path))
    if sample and sample < len(found):
        found = sorted(random.Random(seed).sample(found, sample))
    return found


def difference(got: np.ndarray, must: np.ndarray, op: str) -> str:
    if got.dtype != must.dtype or got.shape != must.shape:
        return f"{got.dtype}{list(got.shape)} in place of {must.dtype}{list(must.shape)}"
    a, b = got.astype(np.float64), must.astype(np.float64)
    atol = max(1e-7, 1e-6 * float(np.max(np.abs(b), initial=0))) if op in ("dft", "stft") else 1e-7
    if not np.allclose(a, b, TOLERANCE.get(must.dtype, 1e-3), atol, equal_nan=True):
        return f"largest difference {np.nanmax(np.abs(a - b))}"
    return ""


def loads(folder: Path) -> str:
    """Why ONNX Runtime cannot load a model by itself; empty if it can."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    try:
        ort.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    except Exception as error:
        return str(error)
    return ""


def run(folder: Path, options: ort.SessionOptions) -> Outcome:
    name = f"{folder.parent.name}/{folder.name}"
    try:
        session = ort.InferenceSession(folder / "model.onnx", options)
    except Exception as error:
        own = loads(folder)
        missing = own and "NOT_IMPLEMENTED" not in own  # Where only a kernel of the CPU is missing, ours must be there.
        return Outcome(name, "not loaded" if missing else "failed", own if missing else str(error))
    inputs, outputs = wire.ports(folder / "model.onnx", 11), wire.ports(folder / "model.onnx", 12)
    compared = 0
    for data in sorted(folder.glob("test_data_set_*")):
        given = {}
        for i, (port, _) in enumerate(inputs):
            if (file := data / f"input_{i}.pb").exists():
                given[port] = wire.read_tensor(file.read_bytes())[0]
        try:
            results = session.run([port for port, _ in outputs], given)
        except Exception as error:
            return Outcome(name, "failed", str(error))
        for i, got in enumerate(results):
            if not (file := data / f"output_{i}.pb").exists():
                continue
            if why := difference(got, wire.read_tensor(file.read_bytes())[0], folder.name.split("_")[1]):
                return Outcome(name, "failed", f"{outputs[i][0]}: {why}")
            compared += 1
    return Outcome(name, "passed" if compared else "failed", "" if compared else "there is nothing to compare")
