"""Every described function with arguments that make no sense: an exception of Python's, or a result, and never the end of the process."""
from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as wt
from weft._core import functions

GENERATED = Path(os.environ.get("WEFT_GENERATED", Path(wt.__file__).parent.parent.parent / "generated"))
DOCUMENT: dict[str, Any] = json.loads((GENERATED / "description.json").read_text())
FINE = (TypeError, ValueError, OverflowError, NotImplementedError, LookupError, MemoryError, RuntimeError)


def anything(rng: random.Random, kind: str) -> Any:
    """Something of a type, mostly; now and then of none that was asked for."""
    odd = [None, -1, 2**70, 1.5, float("nan"), "text", object(), [], (), {}, True, np.zeros((0,)), wt.ones(()), [[1], [2, 3]], "float32"]
    if rng.random() < 0.3:
        return rng.choice(odd)
    tensors = [wt.ones((2, 3)), wt.ones(()), wt.zeros((0, 2)), wt.arange(4), wt.ones((2, 2), "bool"), wt.ones((1,) * 8), wt.ones((2, 3, 4), "float16"),
               wt.array([2**62, -1]), wt.array([float("nan")]), 3.0, [1, 2]]
    match kind:
        case "tensor": return rng.choice(tensors)
        case "list": return [rng.randint(-3, 5) for _ in range(rng.randint(0, 4))]
        case "i32" | "i64" | "u32" | "word": return rng.choice([-(2**63), -2, -1, 0, 1, 2, 7, 2**31, 2**63 - 1])
        case "f32" | "f64": return rng.choice([0.0, -1.0, 1e300, float("inf"), float("nan"), 0.5])
        case "bool": return rng.choice([True, False])
        case "text": return rng.choice(["sum", "ij,jk->ik", "exp", "", "xy"])
        case "dtype": return rng.choice(["float32", "int64", "bool", "q4_0", "nonsense"])
        case "array": return [rng.randint(-1, 3) for _ in range(rng.randint(0, 5))]
        case _: return rng.choice(["mean", "none", "nearest", "replicate", "halves", "nonsense"])


@pytest.mark.parametrize("function", DOCUMENT["functions"], ids=lambda f: f["name"])
def test_nonsense(function: dict[str, Any]) -> None:
    name = function["name"]
    call = getattr(functions, name)
    rng = random.Random(name)
    renamed = {"dims": "axis", "keep_dims": "keepdims", "from": "source", "to": "destination"}
    for _ in range(int(os.environ.get("WEFT_EXAMPLES", "4"))):
        arguments = {}
        for p in function["parameters"]:
            if p["type"] == "device" or (not p["required"] and rng.random() < 0.5):
                continue
            word = "axis" if p["name"] == "axes" and not p["required"] else renamed.get(p["name"], p["name"])
            kind = p["type"] if p["type"] != "list" or p["element"] != "tensor" else "tensors"
            arguments[word] = [anything(rng, "tensor") for _ in range(rng.randint(0, 3))] if kind == "tensors" else anything(rng, kind)
        try:
            made = call(**arguments)
            for tensor in made if isinstance(made, (tuple, list)) else [made]:
                if tensor is not None and tensor.size <= 4096:
                    tensor.numpy()
        except FINE as error:
            assert str(error), f"{name}({arguments}) fails without a word"
    assert wt.ones(2).tolist() == [1, 1]


def test_names_and_texts_of_files_may_be_any_bytes(tmp_path: Path) -> None:
    path = tmp_path / "names.gguf"
    wt.save(path, {"weight": wt.arange(3)}, texts={"made.by": "somebody"})
    data = path.read_bytes()
    assert data.count(b"weight") == data.count(b"somebody") == 1
    path.write_bytes(data.replace(b"weight", b"w\xffight").replace(b"somebody", b"some\xfe\xe9dy"))
    tensors, texts = wt.load(path, with_texts=True)
    assert list(tensors) == ["w\\xffight"] and tensors["w\\xffight"].tolist() == [0, 1, 2]
    assert texts["made.by"] == "some\\xfe\\xe9dy"
    path.write_bytes(data.replace(b"weight", b"w\xffight")[:-40])
    with pytest.raises(OSError, match="names.gguf"):
        wt.load(path)


FORKS = """
import os, signal, threading
import weft as wt

def work():
    step = wt.compile(lambda x: wt.softmax(x @ x))
    while True:
        (step(wt.ones((8, 8))) + 1).numpy()

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
for attempt in range(15):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            wt.ones((2,)).numpy()
        except ValueError as error:
            os._exit(0 if "fork" in str(error) else 2)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0, attempt
    wt.ones((3,)).numpy()
os._exit(0)
"""


def test_a_fork_while_other_threads_compute_is_an_error_and_no_wait() -> None:
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKS], check=True, timeout=120)
