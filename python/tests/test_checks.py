"""The package and the examples are clean for mypy --strict and ruff, where these are installed."""
from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import weft

PYTHON = Path(__file__).resolve().parent.parent
PACKAGE = Path(weft.__file__).parent.parent


@pytest.mark.skipif(shutil.which("mypy") is None, reason="mypy is not installed")
def test_types() -> None:
    files = [*map(str, sorted(PYTHON.glob("examples/*.py"))), str(PYTHON / "tools/bench.py"), str(PACKAGE / "weft/__init__.py")]
    cache = PACKAGE / "mypy-cache"
    done = subprocess.run(["mypy", "--strict", "--cache-dir", str(cache), *files], capture_output=True, text=True, cwd=PACKAGE,
                          env=os.environ | {"MYPYPATH": str(PACKAGE)})
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.skipif(shutil.which("ruff") is None, reason="ruff is not installed")
def test_style() -> None:
    done = subprocess.run(["ruff", "check", "--no-cache", "."], capture_output=True, text=True, cwd=PYTHON)
    assert done.returncode == 0, done.stdout[-3000:]


def test_lines_of_all_programs() -> None:
    """CONTRIBUTING.md promises 160 columns of Python, also outside of the package."""
    root, long = PYTHON.parent, []
    for folder in ("examples", "tools", "tests", "env", "web", "python"):
        for path in sorted((root / folder).rglob("*")):
            if not path.is_file() or "node_modules" in path.parts or path.suffix not in ("", ".py", ".pyi"):
                continue
            text = path.read_bytes()
            if path.suffix or text.startswith(b"#!/usr/bin/env python3"):
                long += [f"{path.relative_to(root)}:{i}" for i, line in enumerate(text.decode().splitlines(), 1) if len(line) > 160]
    assert not long, long


def test_list_of_gaps() -> None:
    done = subprocess.run(["python3", str(PYTHON / "tools/array_api.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]


def test_completion_shows_own_names() -> None:
    for module in (weft.nn, weft.optim, weft.data, weft.random, weft.linalg, weft.onnx):
        names = dir(module)
        assert names and not {"Any", "Sequence", "annotations", "math", "np", "os", "functions"} & set(names), (module.__name__, names)
    assert {"Linear", "Sequential", "value_and_grad", "cross_entropy"} <= set(dir(weft.nn))
    assert {"normal", "uniform", "seed"} <= set(dir(weft.random)) and {"AdamW", "SGD"} <= set(dir(weft.optim))
