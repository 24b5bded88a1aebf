#!/usr/bin/env python3
"""Checks the direction of the #include lines between the layers (docs/architecture.md).

Each row of LAYERS names the layers that the folder may include besides itself. Folders that are not in the table
(tests, bench) may include every layer. Only src/gpu, src/web and the tests may include WebGPU headers.

Structs of attributes (src/graph/attributes, and those that are written from the description) reach few files: what all kinds include
includes none of them, so that a new one concerns only its own kind.
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
    "src/api": ["weft", "describe", "base", "wgsl", "device", "ops", "gpu", "graph", "formats"],
    "src/capi": ["weft", "base", "device", "ops", "gpu", "graph", "api"],
    "src/nn": ["weft", "base", "formats"],
    "src/onnx": ["weft", "base", "formats"],
    "cli": ["weft", "base", "wgsl", "device", "ops", "gpu", "graph", "api", "formats", "nn", "llm", "onnx"],
    "src/llm": ["base", "formats"],
    "plugins/ggml": ["base", "wgsl", "device", "formats", "ops", "gpu", "graph", "rows", "fuse"],
    "plugins/onnxruntime": ["weft", "base", "onnx"],
    "web": ["weft", "base", "llm", "nn"],
    "include/weft": [],
    "examples": ["weft"],
    "python/src": ["weft", "nanobind"],
}
FREE = ["tests", "bench"]
WEBGPU_ALLOWED = ["src/gpu", "src/web", "tests"]
MOST_READERS = 20  # of a header with attributes; those of elementwise functions have the most
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


def reached(includes: dict[str, set[str]], header: str) -> set[str]:
    """The sources that are compiled again when a header changes; `includes` has what each file includes."""
    readers: dict[str, set[str]] = {}
    for file, targets in includes.items():
        for target in targets:
            readers.setdefault(target, set()).add(file)
    found, todo = {header}, [header]
    while todo:
        for file in readers.get(todo.pop(), set()) - found:
            found.add(file)
            todo.append(file.removeprefix("src/"))
    return {f for f in found if f.endswith(".cpp")}


def attribute_problems(includes: dict[str, set[str]]) -> list[str]:
    headers = {t for targets in includes.values() for t in targets if "/attributes/" in t}
    found = []
    for header in sorted(headers):
        count = len(reached(includes, header))
        if count > MOST_READERS:
            found.append(f"{header}: {count} sources are compiled again when it changes, and at most {MOST_READERS} may be; only those that use "
                         "these attributes should include it")
    return found


def self_test() -> None:
    """The checks must be able to fail."""
    few = {"src/graph/kinds/a.cpp": {"describe/attributes/a.hpp", "graph/node.hpp"}, "src/graph/b.cpp": {"graph/node.hpp"}}
    assert not attribute_problems(few)
    assert len(reached(few | {"src/graph/node.hpp": {"describe/attributes/a.hpp"}}, "describe/attributes/a.hpp")) == 2
    many = {f"src/graph/{i}.cpp": {"graph/rule.hpp"} for i in range(MOST_READERS + 1)} | {"src/graph/rule.hpp": {"graph/attributes/a.hpp"}}
    assert len(attribute_problems(many)) == 1
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
    texts = {f.relative_to(root): f.read_text() for f in files}
    problems = [p for f, text in texts.items() for p in problems_in(f, text)]
    includes = {f.as_posix(): {m[2] for line in text.splitlines() if (m := INCLUDE.match(line))} for f, text in texts.items()}
    problems += attribute_problems(includes)
    print("\n".join([*problems, f"{len(files)} files checked, {len(problems)} wrong includes"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
