"""The examples run, and learn."""
from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
PICTURES = Path("/usr/share/datasets/fashion-mnist")


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_fashion_mnist() -> None:
    if not PICTURES.exists():
        pytest.skip("Debian's package dataset-fashion-mnist is not there")
    assert len((EXAMPLES / "fashion_mnist.py").read_text().splitlines()) < 60
    assert load("fashion_mnist").main(epochs=1, count=640) > 0.3


def test_transformer(capsys: pytest.CaptureFixture[str]) -> None:
    assert load("transformer").main(steps=10, length=3) < 4.0
    assert "step 9" in capsys.readouterr().out
