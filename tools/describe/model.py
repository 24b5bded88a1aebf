"""What description/*.toml says, as values: functions, option structures, enums and element types.

A parameter is one line, "name: type in range = default | meaning". Types are named as below; one that is none of these is an enum. A range is
an interval, "[0, 1)" or "(0, inf)", or the words that a text may be, "{full, same}". What has no meaning behind it has that of common.toml.
"""
import dataclasses
import math
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LINE = re.compile(r"(?P<name>\w+): (?P<type>[\w?:]+)(?: in (?P<range>[\[(][^\])]*[\])]|{[^}]*}))?"
                  r"(?: = (?P<default>[^@|]+?))?(?: @ (?P<at>[\w.]+))?(?: \| (?P<about>.*))?$")

# What a parameter of each type is in C++, and in C. Lists are a pointer and a count in C.
CPP = {"tensor": "const Tensor&", "tensor?": "const Tensor&", "tensors": "const std::vector<Tensor>&", "device": "const Device&",
       "int": "int", "i32": "std::int32_t", "i64": "std::int64_t", "u32": "std::uint32_t", "u64": "std::uint64_t",
       "word": "std::uint64_t", "f32": "float", "f64": "double", "bool": "bool", "text": "std::string_view", "dtype": "DType",
       "dtype?": "std::optional<DType>", "u64?": "std::optional<std::uint64_t>", "f64?": "std::optional<double>",
       "int?": "std::optional<int>",
       "shape": "const Shape&", "axes": "const Dims&", "extents": "const Extents&", "i64s": "const std::vector<std::int64_t>&",
       "u64s": "const std::vector<std::uint64_t>&", "u32s": "const std::vector<std::uint32_t>&", "u32x4": "std::array<std::uint32_t, 4>",
       "f64x4": "std::array<double, 4>"}
C = {"tensor": "weft_tensor", "tensor?": "weft_tensor", "tensors": "const weft_tensor*", "device": "weft_device", "int": "int32_t",
     "i32": "int32_t", "i64": "int64_t", "u32": "uint32_t", "u64": "int64_t", "word": "uint64_t", "f32": "float", "f64": "double",
     "bool": "bool", "text": "const char*", "dtype": "weft_dtype", "dtype?": "weft_dtype", "u64?": "int64_t", "f64?": "double",
     "int?": "int32_t", "shape": "const int64_t*", "axes": "const int32_t*", "extents": "const int64_t*", "i64s": "const int64_t*", "u64s": "const int64_t*",
     "u32s": "const uint32_t*", "u32x4": "uint32_t", "f64x4": "double"}
NUMBERS = {"int", "i32", "i64", "u32", "u64", "f32", "f64"}
LISTS = {"tensors", "shape", "axes", "extents", "i64s", "u64s", "u32s"}
ARRAYS = {"u32x4": 4, "f64x4": 4}
MAYBE = {"dtype?", "u64?", "f64?", "int?"}  # in C: has_NAME and NAME


class DescriptionError(Exception):
    """A sentence with the file and the function in it."""


@dataclass(frozen=True)
class Range:
    """What a number or a text may be."""
    text: str  # "[0, 1)"
    low: float = -math.inf
    high: float = math.inf
    above: bool = False  # the low end itself is outside
    below: bool = False  # the high end itself is outside
    words: tuple[str, ...] = ()

    def holds(self, value: str) -> bool:
        if self.words:
            return value.strip('"') in self.words
        number = float(value)
        return (number > self.low if self.above else number >= self.low) and (number < self.high if self.below else number <= self.high)


@dataclass(frozen=True)
class Parameter:
    name: str
    type: str
    default: str | None
    about: str
    at: str  # the member of the C++ options, where that has another name
    range: Range | None = None
    common: bool = False  # the meaning is that of common.toml, which the C++ headers do not repeat

    @property
    def required(self) -> bool:
        return self.default is None and self.type not in ("tensor?", *MAYBE)


@dataclass(frozen=True)
class Enum:
    name: str
    about: str
    values: list[tuple[str, str]]  # name and meaning


@dataclass(frozen=True)
class Structure:
    """Options that C++ has as one argument."""
    name: str
    about: str
    fields: list[Parameter]
    generated: bool  # the C++ structure is written from this


@dataclass(frozen=True)
class Result:
    name: str
    at: str  # the member of what C++ gives
    optional: bool


@dataclass(frozen=True)
class Function:
    name: str
    group: str
    about: str
    args: list[Parameter]  # in C++ by their place
    options: Structure | None
    results: list[Result]  # none: one tensor; a list of tensors: one named "*"
    gradient: bool
    kind: str  # of the graph, or "" for what is made of other functions
    cpp: str  # how C++ calls it
    header: str
    map: str = ""  # the elementwise function or reduction that the C++ function is no more than
    attributes: str = ""  # of the node that the C++ function is no more than
    op: str = ""  # the folders of src/ops that the kind lowers to
    no_place: bool = False  # C++ does not ask where it was called

    @property
    def required(self) -> list[Parameter]:
        return [a for a in self.args if a.required and a.name != "*"]

    @property
    def optional(self) -> list[Parameter]:
        """What C has in the options of the function."""
        return [a for a in self.args if not a.required and a.name != "*"] + (self.options.fields if self.options else [])

    @property
    def gives_list(self) -> bool:
        return [r.name for r in self.results] == ["*"]

    @property
    def is_method(self) -> bool:
        return self.cpp.startswith(".")

    @property
    def place_last(self) -> bool:
        """Whether C++ takes the place of the call as the last argument, instead of together with the first tensor."""
        return not self.no_place and (self.is_method or all(a.type != "tensor" for a in self.args))


@dataclass
class Description:
    functions: list[Function] = field(default_factory=list)
    structures: dict[str, Structure] = field(default_factory=dict)
    enums: dict[str, Enum] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)  # name → title
    types: list[dict] = field(default_factory=list)
    file_types: list[dict] = field(default_factory=list)  # of files, which tensors cannot hold
    internal: dict[str, dict] = field(default_factory=dict)  # kinds without a function: why they are there, and their op
    attributes: dict[str, Structure] = field(default_factory=dict)  # of the graph


def parameter(line: str, place: str, enums: dict[str, Enum], ops: bool = False) -> Parameter:
    """One of a function or, with `ops`, of attributes, which may have enums of ops."""
    match = LINE.match(line)
    if match is None:
        raise DescriptionError(f"{place}: `{line}` is not \"name: type = default | meaning\"")
    if match["type"] not in CPP and match["type"] not in enums and not (ops and op_enum(match["type"])):
        raise DescriptionError(f"{place}: `{match['type']}` of `{match['name']}` is neither a type nor an enum; there are "
                               f"{', '.join([*CPP, *enums])}")
    place = f"{place}: `{match['name']}`"
    bounds = range_of(match["range"], match["type"], place) if match["range"] else None
    if bounds and match["default"] and not bounds.holds(match["default"]):
        raise DescriptionError(f"{place} is usually {match['default']}, which is not in {bounds.text}")
    return Parameter(match["name"], match["type"], match["default"], match["about"] or "", match["at"] or match["name"], bounds)


def with_meaning(p: Parameter, place: str, usual: list[Parameter]) -> Parameter:
    """A parameter with what common.toml says of its like, where its own line says nothing. Tensors are what the text of the function says."""
    if p.about or p.name == "*" or p.type in ("tensor", "tensor?", "tensors", "device"):
        return p
    alike = [u for u in usual if (u.name, u.type) == (p.name, p.type) and u.default in (None, p.default)]
    if not alike:
        raise DescriptionError(f"{place}: `{p.name}` has no meaning; write it behind a `|`, or to description/common.toml where it is that of many")
    best = max(alike, key=lambda u: u.default is not None)
    return dataclasses.replace(p, about=best.about, range=p.range or best.range, common=True)


def range_of(text: str, kind: str, place: str) -> Range:
    """The range that a line names behind `in`."""
    if text[0] == "{" and kind == "text":
        return Range(text, words=tuple(word.strip() for word in text[1:-1].split(",")))
    ends = text[1:-1].split(",")
    try:
        low, high = map(float, ends)
    except ValueError:
        low, high = math.inf, -math.inf
    if text[0] == "{" or kind not in NUMBERS or not low < high:
        raise DescriptionError(f"{place}: `{text}` is no range of `{kind}`: numbers have \"[low, high]\", with a round bracket where an end is "
                               "outside, and texts {words}")
    return Range(text, low, high, text[0] == "(", text[-1] == ")")


def op_enum(kind: str) -> bool:
    """Whether a type is an enum of an op, ops::OP::NAME, which src/ops/OP/OP.hpp has, with a name() of its values."""
    return re.fullmatch(r"ops::\w+::\w+", kind) is not None


def parameters(lines: list[str], place: str, enums: dict[str, Enum], ops: bool = False) -> list[Parameter]:
    """A line "*" is the place of the options among the arguments of C++, where it is not the last."""
    found = [Parameter("*", "*", None, "", "*") if line == "*" else parameter(line, place, enums, ops) for line in lines]
    names = [p.name for p in found]
    for name in names:
        if names.count(name) > 1:
            raise DescriptionError(f"{place}: `{name}` appears twice")
    return found


def explained(lines: list[str], place: str, enums: dict[str, Enum], usual: list[Parameter]) -> list[Parameter]:
    return [with_meaning(p, place, usual) for p in parameters(lines, place, enums)]


KNOWN = {"about", "args", "options", "struct", "results", "optional_results", "gradient", "kind", "cpp", "header", "map", "attributes", "op", "no_place"}


def function(name: str, row: dict, group: str, found: Description, place: str, usual: list[Parameter]) -> Function:
    for key in set(row) - KNOWN:
        raise DescriptionError(f"{place}: `{key}` is not known; there are {', '.join(sorted(KNOWN))}")
    if row.get("attributes") not in (None, "none", *found.attributes):
        raise DescriptionError(f"{place}: there are no attributes `{row['attributes']}`")
    if not row.get("about"):
        raise DescriptionError(f"{place}: says nothing about what it does")
    options = row.get("options")
    if isinstance(options, str):
        if options not in found.structures:
            raise DescriptionError(f"{place}: there is no structure `{options}`")
        structure = found.structures[options]
    elif options is not None:
        if "struct" not in row:
            raise DescriptionError(f"{place}: has options, but no `struct` that names them in C++")
        structure = Structure(row["struct"], "", explained(options, place, found.enums, usual), False)
    else:
        structure = None
    left_out = row.get("optional_results", [])
    results = [Result(line.split(" @ ")[0], line.split(" @ ")[-1], line.split(" @ ")[0] in left_out) for line in row.get("results", [])]
    made = Function(name, group, row["about"], explained(row.get("args", []), place, found.enums, usual), structure, results,
                    row.get("gradient", True), row.get("kind", ""), row.get("cpp", name), row.get("header", ""), row.get("map", ""),
                    row.get("attributes", ""), row.get("op", ""), row.get("no_place", False))
    results = [r.name for r in made.results] or ["y"]
    names = [p.name for p in made.required + made.optional] + results + ["options", "given", "chosen", "made", "lock"]
    names += ["size"] if "size" in [p.name for p in made.optional] else []
    for each in names:
        if names.count(each) > 1:
            raise DescriptionError(f"{place}: `{each}` appears twice among arguments, options, results and names of the generator")
    return made


def load(folder: Path = ROOT / "description") -> Description:
    """Everything that the folder describes, in the order of the files and of what they hold."""
    found = Description()
    texts = {path: tomllib.loads(path.read_text()) for path in sorted(folder.glob("*.toml"))}
    for path, text in texts.items():
        for name, row in text.get("enum", {}).items():
            values = [(v.split(" | ")[0], " | ".join(v.split(" | ")[1:])) for v in row["values"]]
            found.enums[name] = Enum(name, row["about"], values)
        found.types += text.get("type", [])
        found.file_types += text.get("file_type", [])
        found.internal |= text.get("internal", {})
    lines = texts.get(folder / "common.toml", {}).get("usual", [])
    usual = [parameter(line, "common.toml", found.enums) for line in lines]
    for path, text in texts.items():
        for name, row in text.get("struct", {}).items():
            fields = explained(row["fields"], f"{path.name}: {name}", found.enums, usual)
            found.structures[name] = Structure(name, row["about"], fields, row.get("generated", True))
        for name, row in text.get("attributes", {}).items():
            fields = parameters(row["fields"], f"{path.name}: {name}", found.enums, ops=True)
            found.attributes[name] = Structure(name, row.get("about", ""), fields, True)
    for path, text in texts.items():
        group = path.stem
        if "function" in text:
            found.groups[group] = text["title"]
        for name, row in text.get("function", {}).items():
            row = {"header": text.get("header", "weft/ops.hpp")} | row
            found.functions.append(function(name, row, group, found, f"{path.name}: {name}", usual))
    names = [f.name for f in found.functions]
    for name in names:
        if names.count(name) > 1:
            raise DescriptionError(f"`{name}` is described twice")
    return found


def self_test() -> None:
    """What is forgotten or does not fit must fail by its name."""
    def refused(line: str, word: str, usual: list[Parameter] | None = None) -> bool:
        try:
            with_meaning(parameter(line, "a.toml: f", {}), "a.toml: f", usual or [])
        except DescriptionError as error:
            return word in str(error) and "a.toml: f" in str(error) and line.split(":")[0] in str(error)
        return False

    p = parameter("rate: f32 in [0, 1) = 0.5 @ chosen.rate | The share.", "", {})
    assert (p.name, p.type, p.default, p.about, p.at) == ("rate", "f32", "0.5", "The share.", "chosen.rate")
    assert p.range and p.range.text == "[0, 1)" and p.range.holds("0") and not p.range.holds("1") and not p.range.holds("nan")
    words = parameter('mode: text in {full, same} = "full" | Which part.', "", {})
    assert words.range and words.range.words == ("full", "same") and not words.range.holds('"valid"')
    assert refused("rate: f32 = 0.5", "has no meaning")
    assert refused("rate: f32 in [0, 1) = 1 | The share.", "not in [0, 1)")
    assert refused("rate: f32 in [1, 0] = 1 | The share.", "no range")
    assert refused("on: bool in [0, 1] = true | Whether.", "no range")
    assert refused('mode: text in {full, same} = "valid" | Which part.', "not in {full, same}")
    shared = [parameter("axis: int | The dimension.", "", {}), parameter("axis: int = 0 | The first one.", "", {})]
    assert with_meaning(parameter("axis: int = -1", "", {}), "", shared).about == "The dimension."
    assert with_meaning(parameter("axis: int = 0", "", {}), "", shared).about == "The first one."
    assert refused("axis: i64 = 0", "has no meaning", shared)
