"""The C door: include/weft/c/ops.h, and what its functions do (src/capi has the helpers)."""
import math
from textwrap import wrap

from model import ARRAYS, C, LISTS, MAYBE, Description, Enum, Function, Parameter, Range

HEAD = """// Written by tools/describe from description/*.toml.
#ifndef WEFT_C_OPS_H
#define WEFT_C_OPS_H

#include "weft/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Operations on tensors. What a function needs are its parameters; the rest is in its options, where NULL means the usual
/// values. Options that are not NULL start from their initializer, which sets the usual values and the size:
///
///   weft_tensor_softmax_options options = WEFT_TENSOR_SOFTMAX_OPTIONS_INIT;
///   options.axis = 0;
///   weft_tensor_softmax(x, &options, &y);
///
/// Lists are a pointer and a count. Tensors in options may be NULL. Of several results, those whose place is NULL are not given.
/// docs/reference has a page for each group.

"""
TAIL = """#ifdef __cplusplus
}
#endif

#endif
"""


def comment(text: str, indent: str = "") -> str:
    return "".join(f"{indent}/// {line}\n" for line in wrap(text, 96 - len(indent)))


def enum_type(name: str) -> str:
    """Edge → weft_edge, RopeMode → weft_rope_mode."""
    return "weft_" + "".join(("_" if c.isupper() and i else "") + c.lower() for i, c in enumerate(name))


def enum_value(enum: str, value: str) -> str:
    return f"{enum_type(enum)}_{value}".upper()


def c_type(p: Parameter) -> str:
    return C.get(p.type) or enum_type(p.type)


def options_type(f: Function) -> str:
    return f"weft_tensor_{f.name}_options"


def members(p: Parameter) -> list[tuple[str, str]]:
    """The declarations of a parameter in a structure or a list of parameters, and its usual value."""
    kind = c_type(p)
    name = f"{kind} {p.name}" if not kind.endswith("*") else f"{kind[:-1]}* {p.name}"
    if p.type in LISTS:
        return [(name, "NULL"), (f"uint32_t {p.name}_count", "0")]
    if p.type in ARRAYS:
        return [(f"{name}[{ARRAYS[p.type]}]", "{0}")]
    if p.type in MAYBE:
        return [(f"bool has_{p.name}", "false"), (name, "(weft_dtype)0" if p.type == "dtype?" else "0")]
    return [(name, usual(p))]


def usual(p: Parameter) -> str:
    if p.type in ("tensor?", "tensor"):
        return "NULL"
    if p.type == "dtype":
        return f"WEFT_{(p.default or 'f32').upper()}"
    if p.type == "f32" and p.default is not None:
        return p.default + ("F" if any(c in p.default for c in ".e") else "")
    if p.type in C:
        return p.default or "0"
    return enum_value(p.type, p.default or "")


def arguments(f: Function) -> list[str]:
    found = [d for p in f.required for d, _ in members(p)]
    if f.optional:
        found.append(f"const {options_type(f)}* options")
    if f.gives_list:
        return [*found, "uint32_t capacity", "weft_tensor* parts", "uint32_t* count"]
    return [*found, *(f"weft_tensor* {r.name}" for r in f.results)] if f.results else [*found, "weft_tensor* y"]


def declaration(f: Function) -> str:
    return f"weft_status weft_tensor_{f.name}({', '.join(arguments(f))})"


def options_text(f: Function) -> str:
    lines = [comment(f"Choices for weft_tensor_{f.name}."), f"typedef struct {options_type(f)} {{\n",
             "  size_t size;  ///< Set by the initializer: the bytes of the structure that the caller knows.\n"]
    for p in f.optional:
        if p.about:
            lines.append(comment(p.about, "  "))
        lines += [f"  {declared};\n" for declared, _ in members(p)]
    lines.append(f"}} {options_type(f)};\n")
    values = ", ".join(["sizeof(" + options_type(f) + ")", *(value for p in f.optional for _, value in members(p))])
    lines.append(f"#define {options_type(f).upper()}_INIT {{{values}}}\n")
    return "".join(lines)


def enum_text(enum: Enum) -> str:
    lines = [comment(enum.about), f"typedef enum {enum_type(enum.name)} {{\n"]
    for i, (value, about) in enumerate(enum.values):
        lines.append(f"  {enum_value(enum.name, value)} = {i}," + (f"  ///< {about}" if about else "") + "\n")
    return "".join([*lines, f"}} {enum_type(enum.name)};\n\n"])


def header(described: Description) -> str:
    parts = [HEAD, *(enum_text(e) for e in described.enums.values())]
    for group, title in described.groups.items():
        parts.append(f"/* {title}. */\n\n")
        for f in described.functions:
            if f.group != group:
                continue
            if f.optional:
                parts.append(options_text(f) + "\n")
            parts.append(comment(f.about) + f"WEFT_API {declaration(f)};\n\n")
    return "".join([*parts, TAIL])


def range_value(bounds: Range) -> str:
    """A range as C++ has it."""
    def end(value: float) -> str:
        return f"{'-' if value < 0 else ''}infinite" if math.isinf(value) else f"{value:.17g}"
    return f'{{{end(bounds.low)}, {end(bounds.high)}, {str(bounds.above).lower()}, {str(bounds.below).lower()}, "{bounds.text}"}}'


def value_of(p: Parameter, source: str, enums: dict[str, Enum]) -> str:
    """The C++ value of what C gave, which stands at `source` (a name, or a member of options); an error where it is out of its range."""
    value = converted(p, source, enums)
    if p.range and p.range.words:
        return f'one_of({value}, "{p.name}", {{{", ".join(f"{chr(34)}{word}{chr(34)}" for word in p.range.words)}}})'
    return f'in_range({value}, "{p.name}", {range_value(p.range)})' if p.range else value


def converted(p: Parameter, source: str, enums: dict[str, Enum]) -> str:
    at, what = source, f'"{p.name}"'
    count = f"{source}_count"
    match p.type:
        case "tensor": return f"tensor_of({at}, {what})"
        case "tensor?": return f"tensor_or_none({at}, {what})"
        case "tensors": return f"tensors_of({at}, {count}, {what})"
        case "device": return f"get<DeviceObject>({at}, {what})->device"
        case "u64": return f"positive({at}, {what})"
        case "text": return f"std::string_view(required({at}, {what}))"
        case "dtype": return f"any_dtype_of({at}, {what})"
        case "shape": return f"shape_of({count}, {at}, {what})"
        case "axes" | "extents" | "i64s": return f"list_of({at}, {count}, {what})"
        case "u64s": return f"counts_of({at}, {count}, {what})"
        case "u32x4" | "f64x4": return f"std::to_array({at})"
        case "int" | "i32" | "i64" | "u32" | "word" | "f32" | "f64" | "bool": return at
        case "dtype?" | "u64?" | "f64?" | "int?":
            inner = Parameter(p.name, p.type[:-1], None, "", p.at)
            has = source.rsplit(".", 1)
            flag = f"{has[0]}.has_{p.name}" if len(has) == 2 else f"has_{p.name}"
            kind = {"dtype": "DType", "u64": "std::uint64_t", "f64": "double", "int": "int"}[p.type[:-1]]
            return f"{flag} ? std::optional<{kind}>({converted(inner, source, enums)}) : std::nullopt"
    return f"choice<{p.type}>({at}, {len(enums[p.type].values) - 1}, {what})"


def call_of(f: Function, enums: dict[str, Enum]) -> str:
    """The lines of a shim from checking what was given to the result of the C++ function."""
    lines = [f"    const auto {p.name}_ = {value_of(p, p.name, enums)};\n" for p in f.required]
    if f.optional:
        kind = options_type(f)
        lines.append(f"    const {kind} given = options_of(options, {kind} {kind.upper()}_INIT);\n")
    lines += [f"    const auto {p.name}_ = {value_of(p, f'given.{p.name}', enums)};\n" for p in f.args if p.name != "*" and not p.required]
    if f.options:
        lines.append(f"    {f.options.name} chosen;\n")
        lines += [f"    chosen.{p.at} = {value_of(p, f'given.{p.name}', enums)};\n" for p in f.options.fields]
    start = next(p for p in f.args if p.type in ("tensor", "tensors", "device"))
    lines.append(f"    const auto lock = lock_of({start.name}_);\n")
    passed = ["chosen" if p.name == "*" else f"{{{p.name}_, nowhere}}" if p is start and p.type == "tensor" and not f.is_method
              else f"{p.name}_" for p in f.args]
    passed += ["chosen"] if f.options and "chosen" not in passed else []
    passed += ["nowhere"] if f.place_last else []
    called = f"{start.name}_{f.cpp}({', '.join(passed[1:])})" if f.is_method else f"weft::{f.cpp}({', '.join(passed)})"
    return "".join([*lines, f"    const auto made = {called};\n"])


def shim(f: Function, enums: dict[str, Enum]) -> str:
    if f.gives_list:
        start, end = "    give_none(capacity, parts, count);\n", "    give_list(made, capacity, parts, count);\n"
    elif f.results:
        start = "".join(f"    clear({r.name});\n" for r in f.results)
        end = "    give({" + ", ".join(f"{{made.{r.at}, {r.name}}}" for r in f.results) + "});\n"
    else:
        start, end = '    result(y, "y");\n', "    *y = put(TensorObject{made});\n"
    return f"{declaration(f)} {{\n  return call(__func__, [&] {{\n{start}{call_of(f, enums)}{end}  }});\n}}\n\n"


def shims(described: Description, group: str) -> str:
    functions = [f for f in described.functions if f.group == group]
    headers = "".join(f'#include "{h}"\n' for h in sorted({f.header for f in functions}))
    return ("// Written by tools/describe from description/*.toml.\n#include \"weft/c/ops.h\"\n\n#include \"capi/make.hpp\"\n" + headers +
            "\nusing namespace weft;\nusing namespace weft::capi;\n\n" + "".join(shim(f, described.enums) for f in functions))
