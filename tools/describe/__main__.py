#!/usr/bin/env python3
"""Writes what follows from description/*.toml: python3 tools/describe FOLDER.

FOLDER gets include/weft/{options,elementwise,nodes}.hpp, include/weft/c/{ops,dtype}.h, describe/**/*.hpp, sources of
the layers graph, api and capi, and description.json. A file that would not change is left alone, so that nothing is
built again.
"""
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import c_side  # noqa: E402
import cpp_side  # noqa: E402
import graph_side  # noqa: E402
import json_side  # noqa: E402
from model import ROOT, DescriptionError, load  # noqa: E402


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    out = Path(sys.argv[1])
    try:
        described = load()
    except DescriptionError as error:
        print(f"description: {error}", file=sys.stderr)
        return 1
    write(out / "include/weft/options.hpp", cpp_side.options_header(described))
    write(out / "include/weft/elementwise.hpp", cpp_side.elementwise_header(described))
    write(out / "describe/file_types.hpp", cpp_side.file_types(described))
    write(out / "include/weft/c/ops.h", c_side.header(described))
    write(out / "include/weft/c/dtype.h", cpp_side.c_types(described))
    write(out / "include/weft/nodes.hpp", graph_side.nodes_header(described))
    write(out / "describe/table.hpp", cpp_side.table_header(described))
    write(out / "describe/kinds.hpp", graph_side.kinds_header(described))
    for path, text in graph_side.attributes_headers(described).items():
        write(out / path, text)
    write(out / "graph/kinds.cpp", graph_side.kinds_source(described))
    write(out / "graph/attributes.cpp", graph_side.attributes_source(described))
    write(out / "api/elementwise.cpp", cpp_side.elementwise_source(described))
    write(out / "api/nodes.cpp", graph_side.nodes_source(described))
    for path in sorted((ROOT / "description").glob("*.toml")):
        write(out / f"capi/ops_{path.stem}.cpp", c_side.shims(described, path.stem))
    write(out / "description.json", json.dumps(json_side.document(described), indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
