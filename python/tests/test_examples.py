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


def test_quantize() -> None:
    plain, rounded, aware = load("quantize").main(steps=250)
    assert plain > 0.85
    assert aware > rounded and aware > plain - 0.08


def test_notebook() -> None:
    """As notebooks run: in a kernel of its own, by nbclient. Where they are not installed it is skipped."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(EXAMPLES / "first_steps.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=120).execute()
    shown = [one["data"] for cell in notebook.cells for one in cell.get("outputs", []) if one["output_type"] == "execute_result"]
    assert len(shown) == 4 and "<table" in shown[0]["text/html"]
