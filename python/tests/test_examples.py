"""The examples run, and learn."""
from __future__ import annotations

import ast
import importlib.util
import json
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


def cells_by_hand(path: Path) -> list[object]:
    """Runs the cells of a notebook one after the other in this process; the values that they end with."""
    names: dict[str, object] = {}
    shown: list[object] = []
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        body = ast.parse("".join(cell["source"]))
        last = body.body.pop() if isinstance(body.body[-1], ast.Expr) else None
        exec(compile(body, path.name, "exec"), names)
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), path.name, "eval"), names))
    return shown


def test_notebook() -> None:
    """With nbclient and a kernel where they are installed, as notebooks run; without them cell by cell."""
    path = EXAMPLES / "first_steps.ipynb"
    try:
        import nbclient
        import nbformat
        nbclient.NotebookClient(nbformat.read(path, as_version=4), timeout=120).execute()
    except ImportError:
        shown = cells_by_hand(path)
        assert len(shown) == 4 and "<table" in shown[0]._repr_html_()  # type: ignore[attr-defined]
