"""The graph: the list of kinds, attributes with their equality and text, and C++ functions that only make a node."""
import re

from c_side import comment
from cpp_side import NOTE, initial, member_type, signature
from model import Description, Function, Parameter, Structure, op_enum


def kinds(described: Description) -> dict[str, str]:
    """Every kind, with what makes it."""
    found = {}
    for f in described.functions:
        if f.kind:
            found.setdefault(f.kind, []).append(f"{f.name}()")
    return {k: ", ".join(names) for k, names in found.items()} | {k: row["why"] for k, row in described.internal.items()}


KINDS_HEADER = NOTE + """#pragma once

namespace weft::graph {
struct Rule;
}

namespace weft::graph::kinds {

%s
}  // namespace weft::graph::kinds
"""
KINDS_SOURCE = NOTE + """#include "graph/kinds.hpp"

namespace weft::graph::kinds {
namespace {
constexpr const Rule* list[] = {
%s};
}  // namespace

std::span<const Rule* const> all() { return list; }

}  // namespace weft::graph::kinds
"""


def kinds_header(described: Description) -> str:
    return KINDS_HEADER % "".join(f"extern const Rule {name};  ///< {why}\n" for name, why in kinds(described).items())


def kinds_source(described: Description) -> str:
    return KINDS_SOURCE % "".join(f"    &{name},\n" for name in kinds(described))


def text_of(p: Parameter) -> str:
    """The part of the text of attributes that a member is."""
    value = f"a.{p.name}"
    if p.type == "bool":
        return f'({value} ? " {p.name}" : "")'
    if p.type in ("shape", "axes", "i64s", "u64s", "u32s", "u32x4"):
        return f'" {p.name} " + list({value})'
    if p.type == "dtype" or op_enum(p.type):
        return f'" " + std::string(name({value}))'
    return f'formatted(" {p.name} {{}}", {value})'


ATTRIBUTES_HEADER = NOTE + """#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

%s#include "weft/tensor.hpp"

namespace weft::graph {

%sstd::string text_of(const %s& a);

}  // namespace weft::graph
"""
ATTRIBUTES_SOURCE = NOTE + """#include "base/format.hpp"
%s
namespace weft::graph {
namespace {

std::string list(const auto& values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += formatted("{}{}", i == 0 ? "" : ",", values[i]);
  }
  return text + "]";
}

/// Without the blank in front.
std::string trimmed(const std::string& text) { return text.empty() ? text : text.substr(1); }

}  // namespace

%s}  // namespace weft::graph
"""


def attributes_struct(structure: Structure) -> str:
    lines = [comment(structure.about) if structure.about else "", f"struct {structure.name}Attributes {{\n"]
    for p in structure.fields:
        lines += [comment(p.about, "  ") if p.about else "", f"  {member_type(p)} {p.name}{initial(p) if p.default else '{}'};\n"]
    lines.append(f"  bool operator==(const {structure.name}Attributes&) const = default;\n}};\n\n")
    return "".join(lines)


def attributes_path(name: str) -> str:
    """The header of one struct: who uses others is not compiled again for it. cmake/describe.cmake has the same rule."""
    return f"describe/attributes/{re.sub('(?<=[a-z])(?=[A-Z])', '_', name).lower()}.hpp"


def attributes_headers(described: Description) -> dict[str, str]:
    """A header for each struct, by its path."""
    texts = {}
    for name, structure in described.attributes.items():
        ops = sorted({p.type.split("::")[1] for p in structure.fields if op_enum(p.type)})
        texts[attributes_path(name)] = ATTRIBUTES_HEADER % ("".join(f'#include "ops/{op}/{op}.hpp"\n' for op in ops), attributes_struct(structure),
                                                            f"{name}Attributes")
    return texts


def attributes_source(described: Description) -> str:
    texts = []
    for name, row in described.attributes.items():
        terms = " + ".join(text_of(p) for p in row.fields)
        texts.append(f"std::string text_of(const {name}Attributes& a) {{\n  return trimmed(std::string() + {terms});\n}}\n\n")
    includes = "".join(f'#include "{path}"\n' for path in sorted(map(attributes_path, described.attributes)))
    return ATTRIBUTES_SOURCE % (includes, "".join(texts))


def nodes(described: Description) -> list[Function]:
    return [f for f in described.functions if f.attributes]


def nodes_header(described: Description) -> str:
    parts = [NOTE, "#pragma once\n\n#include \"weft/in.hpp\"\n#include \"weft/options.hpp\"\n\nnamespace weft {\n\n"]
    parts += [comment(f.about) + signature(f) + ";\n" for f in nodes(described)]
    return "".join([*parts, "\n}  // namespace weft\n"])


def nodes_source(described: Description) -> str:
    used = sorted({attributes_path(f.attributes) for f in nodes(described) if f.attributes != "none"})
    includes = "".join(f'#include "{path}"\n' for path in used)
    parts = [NOTE, f'#include "weft/nodes.hpp"\n\n{includes}#include "graph/kinds.hpp"\n#include "graph/node.hpp"\n\nnamespace weft {{\n\n']
    for f in nodes(described):
        tensors = [a.name for a in f.args if a.type in ("tensor", "tensor?")]
        given = [a.name for a in f.args if a.type not in ("tensor", "tensor?")]
        fields = [] if f.attributes == "none" else [p.name for p in described.attributes[f.attributes].fields if p.name in given]
        values = "{" + ", ".join(f".{name} = {name}" for name in fields) + "}"
        attributes = values if f.attributes == "none" else f"graph::{f.attributes}Attributes{values}"
        inputs = ", ".join([tensors[0] + ".tensor", *tensors[1:]])
        parts.append(f"{signature(f, defaults=False)} {{\n  return graph::make(graph::kinds::{f.kind}, {attributes}, {{{inputs}}}, "
                     f"{tensors[0]}.where);\n}}\n\n")
    return "".join([*parts, "}  // namespace weft\n"])
