"""docs/reference: a page for each group of functions, with their signatures in C++, C and Python, and a list of all."""
from textwrap import wrap

import c_side
import cpp_side
import python_side
from model import Description, Function, Parameter

NOTE = "<!-- Written by tools/check_docs --fix from description/{}; edit that. -->\n"
PYTHON = {"true": "True", "false": "False", "{}": "()"}
WORDS = {"tensor": "a tensor", "tensor?": "a tensor, or none", "tensors": "tensors", "device": "a device", "int": "a whole number",
         "i32": "a whole number", "i64": "a whole number", "u32": "a whole number ≥ 0", "u64": "a whole number ≥ 0", "word": "64 bits",
         "f32": "a number", "f64": "a number", "bool": "yes or no", "text": "a text", "dtype": "an element type",
         "dtype?": "an element type, or none", "u64?": "a whole number ≥ 0, or none", "f64?": "a number, or none",
         "int?": "a whole number, or none", "shape": "extents", "axes": "axes", "extents": "extents, of which one may be -1",
         "i64s": "whole numbers", "u64s": "whole numbers ≥ 0",
         "u32x4": "four whole numbers ≥ 0", "f64x4": "up to four numbers"}


def python_value(p: Parameter) -> str:
    if p.default is None:
        return "None"
    if p.type == "dtype" or p.default.isidentifier() and p.default not in PYTHON:
        return f'"{p.default}"'
    return PYTHON.get(p.default, p.default)


def folded(text: str, indent: str = "    ") -> str:
    return "\n".join(wrap(text, 110, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False))


def result_words(f: Function) -> str:
    if f.gives_list:
        return "Gives a list of tensors."
    if not f.results:
        return "Gives a tensor."
    return "Gives " + ", ".join(f"`{r.name}`" + (" (where there is one)" if r.optional else "") for r in f.results) + "."


def range_words(p: Parameter) -> str:
    if not p.range:
        return ""
    return ", ".join(f"`{word}`" for word in p.range.words) or f"`{p.range.text}`"


def section(f: Function) -> str:
    rows = []
    for p in [*(a for a in f.args if a.name != "*"), *(f.options.fields if f.options else [])]:
        kind = WORDS.get(p.type) or f"one of {p.type}"
        usual = "" if p.default is None else f"`{python_value(p)}`"
        rows.append(f"| `{p.name}` | {kind} | {range_words(p)} | {usual} | {p.about} |\n")
    gradient = "Gradients flow through it." if f.gradient else "No gradient flows through it."
    return (f"## {f.name}\n{f.about} {result_words(f)} {gradient}\n\n```cpp\n{folded(cpp_side.signature(f))}\n```\n```c\n"
            f"{folded(c_side.declaration(f))}\n```\n```python\n{folded(python_side.signature(f))}\n```\n\n"
            "| | is | range | usually | |\n|---|---|---|---|---|\n" + "".join(rows) + "\n")


def page(described: Description, group: str) -> str:
    functions = [f for f in described.functions if f.group == group]
    enums = {p.type for f in functions for p in f.required + f.optional if p.type in described.enums}
    headers = sorted({f.header for f in functions})
    parts = [NOTE.format(f"{group}.toml"), f"# {described.groups[group]}\n\n", ", ".join(f"[`{f.name}`](#{f.name})" for f in functions),
             f"\n\nIn C++: {', '.join(f'`#include <{h}>`' for h in headers)}. In C: `#include <weft/c/ops.h>`. What has a usual value is in C a "
             "member of the options.\n\n", *(section(f) for f in functions)]
    for name in sorted(enums):
        enum = described.enums[name]
        rows = "".join(f"| `{value}` | `{c_side.enum_value(name, value)}` | {about} |\n" for value, about in enum.values)
        parts.append(f"## {name}\n{enum.about}\n\n| C++, Python | C | |\n|---|---|---|\n{rows}\n")
    return "".join(parts).rstrip() + "\n"


def index(described: Description) -> str:
    parts = [NOTE.format("*.toml"), "# Reference\n\nEvery function on tensors, in C++, C and Python. [ops.md](../ops.md) has the kernels behind them: types, "
             "tests, precision.\n\n"]
    for group, title in described.groups.items():
        names = ", ".join(f"[`{f.name}`]({group}.md#{f.name})" for f in described.functions if f.group == group)
        parts.append(f"- [{title}]({group}.md): {names}\n")
    parts.append("\n## Element types\n\n| name | C | elements in bytes | GGUF | safetensors |\n|---|---|---|---|---|\n")
    for t in described.types:
        parts.append(f"| `{t['name']}` | `WEFT_{t['name'].upper()}` | {t['elements']} in {t['bytes']} | {t.get('gguf', '')} | {t.get('safetensors', '')} |\n")
    return "".join(parts)


def pages(described: Description) -> dict[str, str]:
    """All pages by their paths."""
    return {"docs/reference/README.md": index(described)} | {f"docs/reference/{group}.md": page(described, group) for group in described.groups}
