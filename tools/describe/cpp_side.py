"""The C++ side: enums, options, elementwise functions and reductions, the table for tests, and the element types."""
from c_side import comment
from model import CPP, LISTS, Description, Function, Parameter

NOTE = "// Written by tools/describe from description/*.toml.\n"


def member_type(p: Parameter) -> str:
    kind = CPP.get(p.type, p.type)
    return kind.removeprefix("const ").removesuffix("&")


def initial(p: Parameter) -> str:
    if p.type in ("tensor?", "tensor") or p.type.endswith("?") or p.type in LISTS or p.default == "{}":
        return "{}"
    return f" = {default(p)}"


def default(p: Parameter) -> str:
    """A usual value in C++."""
    text = p.default or "{}"
    if p.type == "f32" and any(c in text for c in ".e"):
        return text + "F"
    if p.type == "dtype":
        return f"DType::{text}"
    return text if p.type in CPP else f"{p.type}::{text}"


def operands(f: Function) -> list[Parameter]:
    """The arguments of an elementwise function that may be numbers: all but the first."""
    return [p for p in f.args if p.type == "tensor"][1:] if f.map and f.kind == "map" else []


def reversed_signature(f: Function) -> str | None:
    """The same for a number and a tensor, of functions that take two and nothing else."""
    if len(operands(f)) != 1 or len(f.args) != 2:
        return None
    return f"Tensor {f.cpp}(double {f.args[0].name}, In {f.args[1].name})"


def signature(f: Function, defaults: bool = True) -> str:
    """The declaration of a function, without the semicolon."""
    parts, first = [], True
    order = [*f.args] if any(a.name == "*" for a in f.args) or not f.options else [*f.args, Parameter("*", "*", None, "", "*")]
    for p in order:
        if p.name == "*":
            parts.append(f"const {f.options.name}& options" + (" = {}" if defaults else ""))
            continue
        kind = "In" if p.type == "tensor" and first and not f.is_method else "const Operand&" if p in operands(f) else CPP.get(p.type, p.type)
        first = first and p.type not in ("tensor", "tensors", "device")
        parts.append(f"{kind} {p.name}" + ("" if p.required or not defaults else f" = {default(p) if p.default else '{}'}"))
    if f.is_method:
        return f"x{f.cpp}({', '.join(parts[1:])})"
    return f"{result_type(f)} {f.cpp}({', '.join(parts)})"


def result_type(f: Function) -> str:
    if f.gives_list:
        return "std::vector<Tensor>"
    return "auto" if f.results else "Tensor"


def options_header(described: Description) -> str:
    parts = [NOTE, "#pragma once\n\n#include <array>\n#include <cstdint>\n#include <optional>\n#include <string_view>\n#include <vector>\n\n"
             "#include \"weft/tensor.hpp\"\n\nnamespace weft {\n\n"]
    for enum in described.enums.values():
        parts += [comment(enum.about), f"enum class {enum.name} : std::uint8_t {{\n"]
        parts += [f"  {value}," + (f"  ///< {about}" if about else "") + "\n" for value, about in enum.values]
        parts.append("};\n\n")
    for structure in described.structures.values():
        if not structure.generated:
            continue
        parts += [comment(structure.about), f"struct {structure.name} {{\n"]
        for p in structure.fields:
            parts += [comment(p.about, "  ") if p.about and not p.common else "", f"  {member_type(p)} {p.name}{initial(p)};\n"]
        parts.append("};\n\n")
    return "".join([*parts, "}  // namespace weft\n"])


def plain(described: Description) -> list[Function]:
    return [f for f in described.functions if f.map]


def elementwise_header(described: Description) -> str:
    parts = [NOTE, "#pragma once\n\n#include \"weft/in.hpp\"\n#include \"weft/options.hpp\"\n\nnamespace weft {\n\n"]
    for f in plain(described):
        turned = reversed_signature(f)
        parts.append(comment(f.about) + signature(f) + ";\n" + (f"{turned};\n" if turned else ""))
    return "".join([*parts, "\n}  // namespace weft\n"])


def elementwise_source(described: Description) -> str:
    parts = [NOTE, "#include \"weft/elementwise.hpp\"\n\n#include \"api/operands.hpp\"\n#include \"weft/ops.hpp\"\n\nnamespace weft {\n\n"]
    for f in plain(described):
        inputs = [a.name for a in f.args if a.type == "tensor"]
        rest = [a.name for a in f.args if a.type != "tensor"]
        if f.kind == "reduce":
            body = f'reduce("{f.map}", {inputs[0]}, {", ".join(rest)})'
        else:
            tensors = ", ".join([f"{inputs[0]}.tensor", *inputs[1:]])
            call = "map_operands" if operands(f) else "map"
            body = f'{call}("{f.map}", {{{tensors}}}, {{{", ".join(rest)}}}, {inputs[0]}.where)'
        parts.append(f"{signature(f, defaults=False)} {{ return {body}; }}\n")
        turned = reversed_signature(f)
        if turned:
            parts.append(f'{turned} {{ return map_operands("{f.map}", {{{inputs[0]}, {inputs[1]}.tensor}}, {{}}, {inputs[1]}.where); }}\n')
    return "".join([*parts, "\n}  // namespace weft\n"])


TABLE = NOTE + """#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weft {

/// A function as description/*.toml has it.
struct Described {
  std::string_view name;
  std::string_view kind;  ///< Of the graph; empty for what is made of other functions.
  std::string_view map;   ///< The elementwise function or reduction that it is no more than.
  bool gradient;
};

inline constexpr std::array described_functions{
%s};

/// Kinds that no function makes.
inline constexpr std::array<std::string_view, %d> internal_kinds{
%s};

/// A folder of src/ops that a kind lowers to.
struct KindOp {
  std::string_view kind;
  std::string_view op;
};
inline constexpr std::array kind_ops{
%s};

/// An element type.
struct DescribedType {
  std::string_view name;
  std::uint32_t elements;
  std::uint32_t bytes;
};
inline constexpr std::array described_types{
%s};

}  // namespace weft
"""


def table_header(described: Description) -> str:
    """What tests compare the program with."""
    rows = [f'    Described{{"{f.name}", "{f.kind}", "{f.map}", {str(f.gradient).lower()}}},\n' for f in described.functions]
    internal = [f'    "{name}",\n' for name in described.internal]
    ops = {f.kind: f.op for f in described.functions if f.op}
    ops |= {kind: row["op"] for kind, row in described.internal.items() if "op" in row}
    kinds = [f'    KindOp{{"{kind}", "{op}"}},\n' for kind, names in ops.items() for op in names.split()]
    types = [f'    DescribedType{{"{t["name"]}", {t["elements"]}, {t["bytes"]}}},\n' for t in described.types]
    return TABLE % ("".join(rows), len(internal), "".join(internal), "".join(kinds), "".join(types))


def member(name: str) -> str:
    """The enumerator of a type; C++ has a word of its own for one of them."""
    return "boolean" if name == "bool" else name.lower()


FILE_TYPES = NOTE + """#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "weft/dtype.hpp"

namespace weft::described {

/// A type of tensor elements in GGUF files: `block` consecutive elements of a row take `bytes` bytes.
struct GgufType {
  std::uint32_t id;
  std::string_view name;
  std::uint32_t block;
  std::uint32_t bytes;
};
inline constexpr std::array gguf_types{
%s};

/// A type of safetensors files; some are none of tensors.
struct SafetensorsType {
  std::string_view name;
  std::uint32_t bytes;
  std::optional<DType> dtype;
};
inline constexpr std::array safetensors_types{
%s};

}  // namespace weft::described
"""


def file_types(described: Description) -> str:
    """How files call element types."""
    rows = described.types + described.file_types
    tensors = {t["name"] for t in described.types}

    def dtype(t: dict) -> str:
        return f"DType::{member(t['name'])}" if t["name"] in tensors else "std::nullopt"

    gguf = [f'    GgufType{{{t["gguf"]}, "{t["name"]}", {t["elements"]}, {t["bytes"]}}},\n'
            for t in sorted((t for t in rows if "gguf" in t), key=lambda t: t["gguf"])]
    safetensors = [f'    SafetensorsType{{"{t["safetensors"]}", {t["bytes"]}, {dtype(t)}}},\n' for t in rows if "safetensors" in t]
    return FILE_TYPES % ("".join(gguf), "".join(safetensors))


TYPES = NOTE + """#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weft {

/// Element types of tensors. 8- and 16-bit elements lie packed in 32-bit words, i64 takes two, and a boolean is a byte of 0
/// or 1. The types from q1_0 on are quantized: their elements lie in blocks that share scales, in the formats of GGUF files.
enum class DType : std::uint8_t {
%(members)s};

/// Every plain element type, for tables and loops.
inline constexpr std::array all_dtypes{
%(plain)s};

/// Every quantized type.
inline constexpr std::array quantized_dtypes{
%(quantized)s};

namespace detail {
/// What there is to know about a type: its name, and how many elements share how many bytes.
struct DTypeFacts {
  std::string_view name;
  std::uint32_t block_elements;
  std::uint32_t block_bytes;
};
inline constexpr std::array dtype_facts{
%(facts)s};
}  // namespace detail

}  // namespace weft
"""


def types_header(described: Description) -> str:
    """The element types of C++."""
    rows = described.types

    def names(wanted: list[dict]) -> str:
        return "".join(f"    DType::{member(t['name'])},\n" for t in wanted)

    return TYPES % {"members": "".join(f"  {member(t['name'])},\n" for t in rows),
                    "plain": names([t for t in rows if t["elements"] == 1]),
                    "quantized": names([t for t in rows if t["elements"] > 1]),
                    "facts": "".join(f'    DTypeFacts{{"{t["name"]}", {t["elements"]}, {t["bytes"]}}},\n' for t in rows)}


C_TYPES = NOTE + """#ifndef WEFT_C_DTYPE_H
#define WEFT_C_DTYPE_H

/// The types that elements of tensors and arrays have. f16 is the IEEE half, bf16 the upper half of an f32. Those
/// whose names have a digit and an underscore are quantized: elements lie in blocks along the last dimension, and only
/// weft_tensor_from_data, weft_tensor_cast and operations that say so take them.
typedef enum weft_dtype {
%s} weft_dtype;

#endif
"""


def c_types(described: Description) -> str:
    return C_TYPES % "".join(f"  WEFT_{t['name'].upper()} = {i},\n" for i, t in enumerate(described.types))
