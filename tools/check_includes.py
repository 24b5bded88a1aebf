#!/usr/bin/env python3
"""Checks the direction of the #include lines between the layers (docs/architecture.md).

Each row of LAYERS names the layers that the folder may include besides itself. Folders that are not in the table
(tests, bench) may include every layer. Only src/gpu, src/web and the tests may include WebGPU headers.
"""
import re
import sys
from pathlib import Path

LAYERS = {
    "src/base": ["weft"],
    "src/wgsl": ["base"],
    "src/device": ["base"],
    "src/formats": ["describe", "base"],
    "src/ops": ["base", "wgsl", "device"],
    "src/gpu": ["base", "device"],
    "src/web": ["base"],
    "src/graph": ["weft", "describe", "base", "wgsl", "device", "ops", "gpu"],
    "src/api": ["weft", "base", "wgsl", "device", "ops", "gpu", "graph", "formats"],
    "src/capi": ["weft", "base", "device", "ops", "gpu", "graph", "api"],
    "src/nn": ["weft", "base", "formats"],
    "src/onnx": ["weft", "base", "formats"],
    "cli": ["weft", "base", "wgsl", "device", "ops", "gpu", "graph", "api", "formats", "nn", "llm", "onnx"],
    "src/llm": ["base", "formats"],
    "plugins/ggml": ["base", "wgsl", "device", "ops", "gpu", "graph", "rows", "fuse"],
    "plugins/onnxruntime": ["weft", "base", "onnx"],
    "web": ["weft", "base", "llm", "nn"],
    "include/weft": [],
    "examples": ["weft"],
    "python/src": ["weft", "nanobind"],
}
FREE = ["tests", "bench"]
WEBGPU_ALLOWED = ["src/gpu", "src/web", "tests"]
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def layer_of(path: Path) -> str | None:
    """The row of LAYERS (or FREE) that a file belongs to."""
    return next((row for row in [*LAYERS, *FREE] if path.as_posix().startswith(row + "/")), None)


def problems_in(path: Path, text: str) -> list[str]:
    layer = layer_of(path)
    if layer is None:
        return [f"{path}: this folder is in no layer; add a row for it to tools/check_includes.py"]
    own = layer.split("/")[-1]
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, target = match.groups()
        first = target.split("/")[0]
        if first in ("webgpu", "dawn"):
            if layer not in WEBGPU_ALLOWED:
                found.append(f"{path}:{number}: includes {target}, but only src/gpu talks to WebGPU")
        elif quote == '"' and layer in LAYERS:
            if "/" not in target and layer.startswith("src/"):
                found.append(f'{path}:{number}: includes "{target}"; name it from src/, as "{own}/{target}"')
            elif "/" in target and first != own and first not in LAYERS[layer]:
                allowed = ", ".join([own, *LAYERS[layer]])
                found.append(f"{path}:{number}: {layer} may include {allowed}, but not {target}")
    return found


def self_test() -> None:
    """The check must be able to fail."""
    bad = {
        "src/ops/a.hpp": '#include "gpu/device.hpp"',
        "src/graph/a.hpp": "#include <webgpu/webgpu_cpp.h>",
        "src/base/a.hpp": '  # include "wgsl/template.hpp"',
        "src/wgsl/a.hpp": '#include "lexer.hpp"',
        "src/nowhere/a.hpp": "",
    }
    good = {"src/ops/a.hpp": '#include "wgsl/template.hpp"\n#include <vector>', "tests/unit/a.cpp": '#include "gpu/x.hpp"'}
    assert all(len(problems_in(Path(p), t)) == 1 for p, t in bad.items())
    assert not any(problems_in(Path(p), t) for p, t in good.items())


def main() -> int:
    self_test()
    root = Path(__file__).resolve().parent.parent
    folders = ["src", "cli", "plugins", "include", "examples", "python/src", "web", *FREE]
    files = sorted(f for d in folders for f in (root / d).rglob("*") if f.suffix in (".hpp", ".cpp", ".h", ".c", ".inc"))
    problems = [p for f in files for p in problems_in(f.relative_to(root), f.read_text())]
    print("\n".join([*problems, f"{len(files)} files checked, {len(problems)} wrong includes"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
