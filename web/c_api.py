"""Reads the C API (weft/c/*.h) as data: functions, structures, enums and their layout for wasm32.

The headers are regular: one declaration each, documented by `///` lines in front of it. What does not fit is an error here,
not something that bindings silently lack.
"""
import re
from dataclasses import dataclass, field
from pathlib import Path

SCALARS = {"bool": 1, "uint8_t": 1, "int32_t": 4, "uint32_t": 4, "float": 4, "size_t": 4, "int64_t": 8, "uint64_t": 8, "double": 8}
HANDLES = ("weft_device", "weft_buffer", "weft_tensor", "weft_kernel", "weft_compiled")
CONSTANTS = {"WEFT_MAX_RANK": 8}


@dataclass
class Parameter:
    type: str  # as in C, with single blanks: "const weft_tensor*"
    name: str
    array: int = 1  # of a structure's member: its elements


@dataclass
class Function:
    name: str
    result: str
    parameters: list[Parameter]
    doc: str


@dataclass
class Struct:
    name: str
    members: list[Parameter]
    docs: list[str]
    doc: str
    offsets: list[int] = field(default_factory=list)
    size: int = 0
    align: int = 1


@dataclass
class Enum:
    name: str
    values: dict[str, int]
    doc: str


@dataclass
class Api:
    functions: dict[str, Function] = field(default_factory=dict)
    structs: dict[str, Struct] = field(default_factory=dict)
    enums: dict[str, Enum] = field(default_factory=dict)
    callbacks: set[str] = field(default_factory=set)

    def layout(self, type_: str) -> tuple[int, int]:
        """Bytes and alignment of a type for wasm32."""
        if type_.endswith("*") or type_ in HANDLES or type_ in self.callbacks or type_ in self.enums:
            return 4, 4
        if type_ in self.structs:
            return self.structs[type_].size, self.structs[type_].align
        if type_ == "char":
            return 1, 1
        return SCALARS[type_], SCALARS[type_]


def parse_parameter(text: str) -> Parameter:
    text = " ".join(text.replace("*", " * ").split())
    match = re.fullmatch(r"(.*?)\s?(\w+)(?:\[(\w+)\])?", text)
    if not match:
        raise ValueError(f"cannot read the parameter '{text}'")
    type_, name, extent = match.groups()
    return Parameter(type_.replace(" *", "*").strip(), name, int(CONSTANTS.get(extent, extent)) if extent else 1)


def parse_struct(api: Api, name: str, body: str, doc: str) -> Struct:
    struct = Struct(name, [], [], doc)
    body = re.sub(r"\n[ \t]*///<[ \t]*", " ", body)  # A comment behind a member that goes on in the next line.
    body = re.sub(r"^[ \t]*//[^\n]*\n", "", body, flags=re.M)  # Comments on lines of their own.
    # A comment belongs to the member in front of it.
    for declaration, comment in re.findall(r"([^;]+);[ \t]*(?:///<([^\n]*))?", body):
        code = " ".join(line for line in declaration.splitlines() if not line.strip().startswith("//"))
        struct.members.append(parse_parameter(" ".join(code.split())))
        struct.docs.append(comment.strip())
    for member in struct.members:
        size, align = api.layout(member.type)
        offset = -(-struct.size // align) * align
        struct.offsets.append(offset)
        struct.size = offset + size * member.array
        struct.align = max(struct.align, align)
    struct.size = -(-struct.size // struct.align) * struct.align
    return struct


def parse_enum(name: str, body: str, doc: str) -> Enum:
    values: dict[str, int] = {}
    for line in re.sub(r"//[^\n]*", "", body).split(","):
        match = re.fullmatch(r"\s*(\w+)\s*(?:=\s*(\d+))?\s*", line)
        if match:
            values[match[1]] = int(match[2]) if match[2] else max(values.values(), default=-1) + 1
    return Enum(name, values, doc)


DECLARATION = re.compile(
    r"(?P<doc>(?:^[ ]*///(?!<)[^\n]*\n)*)"
    r"(?:^typedef (?P<kind>struct|enum) \w+ \{(?P<body>.*?)^\} (?P<type>\w+);"
    r"|^typedef [^;(]*\(\*(?P<callback>\w+)\)\([^;]*;"
    r"|^WEFT_API (?P<result>[\w *]+?)\b(?P<function>weft_\w+)\((?P<parameters>[^;]*)\);)", re.M | re.S)


# What the engine of a page does not have: TypeScript has modules, optimizers and loaders of its own, and ONNX models have an engine of
# theirs, because everybody would have to load their reader and translator.
NOT_IN_PAGES = {"data.h", "nn.h", "onnx.h", "optim.h"}


def read(*folders: Path) -> Api:
    """The headers of all folders: those of the project, and those that tools/describe writes."""
    api = Api()
    text = {file.name: file.read_text() for folder in folders for file in sorted(folder.glob("*.h"))
            if file.name not in NOT_IN_PAGES}
    # Headers that others include come first, so that structures are known when they are used.
    first = ["dtype.h", "status.h", "buffer_ops.h", "ops.h"]
    order = first + [name for name in text if name not in first]
    for name in order:
        for match in DECLARATION.finditer(text[name]):
            doc = " ".join(line.strip().removeprefix("///").strip() for line in match["doc"].splitlines())
            if match["kind"] == "struct":
                api.structs[match["type"]] = parse_struct(api, match["type"], match["body"], doc)
            elif match["kind"] == "enum":
                api.enums[match["type"]] = parse_enum(match["type"], match["body"], doc)
            elif match["callback"]:
                api.callbacks.add(match["callback"])
            else:
                parts = [p for p in re.split(r",", match["parameters"]) if p.strip() not in ("", "void")]
                api.functions[match["function"]] = Function(match["function"], match["result"].strip(),
                                                            [parse_parameter(p) for p in parts], doc)
    declared = sum(len(re.findall(r"^WEFT_API", t, re.M)) for t in text.values())
    if declared != len(api.functions):
        raise ValueError(f"{declared} functions are declared in {folders}, but {len(api.functions)} were read")
    return api


def layout_checks(api: Api) -> str:
    """A C file that fails to compile where the layout computed here is not the compiler's."""
    lines = ["// Generated: the layout that web/c_api.py computes is that of the compiler.", "#include <stddef.h>", '#include "weft/weft.h"']
    for struct in api.structs.values():
        lines.append(f'_Static_assert(sizeof({struct.name}) == {struct.size}, "{struct.name}");')
        for member, offset in zip(struct.members, struct.offsets):
            lines.append(f'_Static_assert(offsetof({struct.name}, {member.name}) == {offset}, "{struct.name}.{member.name}");')
    return "\n".join(lines) + "\n"
