#!/usr/bin/env python3
"""Writes what the Python package has of every described function: python/generate.py OUT STUBS.

OUT/functions_GROUP.cpp   nanobind code for the functions of a group of the description, and OUT/functions.cpp that calls them all
STUBS/_core/functions.pyi   their types and texts, for editors and mypy
STUBS/_described.py         the names that _complex.py, _model.py, _names.py, _numpy.py, _products.py, _reduce.py and _shapes.py have none of their own of
"""
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools/describe"))
from c_side import range_value  # noqa: E402
from model import Description, Enum, Function, Parameter, load  # noqa: E402
from python_side import default_of, name_of, ordered, own_functions  # noqa: E402

HEAD = "// Written by python/generate.py from description/*.toml.\n"
# Functions that are methods of Tensor too, as they are; python/weft/methods.py has those with numpy's own habits.
METHODS = """exp log sqrt sin cos tanh abs square sigmoid relu softmax log_softmax
isnan isinf isfinite broadcast_to detach unsqueeze tril triu logsumexp""".split()
CONVERT = {"int": "int_of", "i32": "int_of", "i64": "long_of", "u32": "u32_of", "u64": "count_of", "word": "word_of", "f32": "float_of",
           "f64": "number_of", "bool": "bool_of", "text": "text_of", "dtype": "dtype_of", "shape": "shape_of", "axes": "axes_of",
           "extents": "wholes_of", "i64s": "wholes_of", "u64s": "counts_of", "u32s": "words_of", "u32x4": "words4_of", "f64x4": "numbers4_of",
           "tensor": "tensor_of", "tensor?": "tensor_or_none", "tensors": "tensors_of", "device": "device_of"}
TYPES = {"int": "int", "i32": "int", "i64": "int", "u32": "int", "u64": "int", "word": "int", "f32": "float", "f64": "float",
         "bool": "bool", "text": "str", "dtype": "DTypeLike", "shape": "int | Sequence[int]", "axes": "int | Sequence[int]",
         "extents": "int | Sequence[int]", "i64s": "int | Sequence[int]", "u64s": "int | Sequence[int]", "u32s": "Sequence[int]", "u32x4": "Sequence[int]",
         "f64x4": "Sequence[float]", "tensor": "ArrayLike", "tensor?": "ArrayLike", "tensors": "Sequence[ArrayLike]", "device": "Device"}


def type_of(p: Parameter, enums: dict[str, Enum]) -> str:
    base = p.type[:-1] if p.type.endswith("?") and p.type != "tensor?" else p.type
    kind = TYPES.get(base) or "Literal[" + ", ".join(f'"{v}"' for v, _ in enums[base].values) + "]"
    return f"{kind} | None" if default_of(p) == "None" else kind


def value_of(p: Parameter, f: Function, enums: dict[str, Enum]) -> str:
    """The C++ expression for what Python gave; an exception where it is out of its range."""
    value = converted(p, f, enums)
    if not p.range:
        return value
    place = f'{{"{f.name}", "{name_of(p)}"}}'
    if p.range.words:
        return f"one_of({value}, {place}, {{{', '.join(map(quoted, p.range.words))}}})"
    return f"in_range({value}, {place}, {range_value(p.range)})"


def converted(p: Parameter, f: Function, enums: dict[str, Enum]) -> str:
    name = f"{p.name}_in"
    place = f'{{"{f.name}", "{name_of(p)}"}}'
    if p.type in ("dtype?", "u64?", "f64?", "int?"):
        return f"maybe({name}, {place}, {CONVERT[p.type[:-1]]})"
    if p.default == "{}" and p.type in ("shape", "i64s", "u64s", "u32s"):
        return f"{name}.is_none() ? decltype({CONVERT[p.type]}({name}, {place})){{}} : {CONVERT[p.type]}({name}, {place})"
    if p.type in CONVERT:
        return f"{CONVERT[p.type]}({name}, {place})"
    names = ", ".join(f'"{v}"' for v, _ in enums[p.type].values)
    return f"static_cast<{p.type}>(choice_of({name}, {place}, {{{names}}}))"


def elementwise(f: Function) -> list[Parameter]:
    """The tensors of a function whose numbers take the type of the tensors beside them."""
    tensors = [p for p in f.args if p.type == "tensor"]
    if f.group != "elementwise" or len(tensors) < 2:
        return []
    return tensors[1:] if f.name == "where" else tensors


def result_of(f: Function) -> str:
    if f.gives_list:
        return "list[Tensor]"
    if not f.results:
        return "Tensor"
    return "tuple[" + ", ".join("Tensor | None" if r.optional else "Tensor" for r in f.results) + "]"


def signature(f: Function, enums: dict[str, Enum], method: bool = False) -> str:
    places, choices = ordered(f)

    def text(p: Parameter) -> str:
        default = default_of(p)
        return f"{name_of(p)}: {type_of(p, enums)}" + (f" = {default}" if default is not None else "")

    parts = (["self"] if method else []) + [text(p) for p in places[1 if method else 0:]]
    if choices:
        parts += ["*", *map(text, choices)]
    return f"def {f.name}({', '.join(parts)}) -> {result_of(f)}"


def range_words(p: Parameter) -> str:
    if not p.range:
        return ""
    return f" ({', '.join(p.range.words) or 'in ' + p.range.text})"


def documentation(f: Function) -> str:
    places, choices = ordered(f)
    lines = [f.about]
    told = [p for p in [*places, *choices] if p.about]
    if told:
        lines += ["", *(f"{name_of(p)}: {p.about}" + range_words(p) for p in told)]
    if f.results and not f.gives_list:
        lines += ["", "Gives: " + ", ".join(r.name + (" (or None)" if r.optional else "") for r in f.results) + "."]
    if not f.gradient:
        lines += ["", "No gradient flows through it."]
    return "\n".join(lines)


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def body(f: Function, enums: dict[str, Enum]) -> str:
    operands = elementwise(f)
    lines = ["    const Building lock;\n"]
    if operands:
        given = ", ".join(f"{p.name}_in" for p in operands)
        lines.append(f'    const std::vector<Tensor> operands = operands_of({{{given}}}, "{f.name}");\n')
    for p in f.args:
        if p.name == "*":
            continue
        value = f"operands[{operands.index(p)}]" if p in operands else value_of(p, f, enums)
        lines.append(f"    const auto {p.name}_ = {value};\n")
    if f.options:
        lines.append(f"    {f.options.name} chosen;\n")
        lines += [f"    chosen.{p.at} = {value_of(p, f, enums)};\n" if p.type != "text" else
                  f"    const auto {p.name}_ = {value_of(p, f, enums)};\n    chosen.{p.at} = {p.name}_;\n" for p in f.options.fields]
    start = next(p for p in f.args if p.type in ("tensor", "tensors", "device"))
    passed = ["chosen" if p.name == "*" else f"{{{p.name}_, nowhere}}" if p is start and p.type == "tensor" and not f.is_method
              else f"{p.name}_" for p in f.args]
    passed += ["chosen"] if f.options and "chosen" not in passed else []
    passed += ["nowhere"] if f.place_last else []
    called = f"{start.name}_{f.cpp}({', '.join(passed[1:])})" if f.is_method else f"weft::{f.cpp}({', '.join(passed)})"
    lines.append(f"    const auto made = {called};\n")
    if f.gives_list:
        lines.append("    return wrap_all(made);\n")
    elif f.results:
        lines.append("    return nb::make_tuple(" + ", ".join(f"wrap_or_none(made.{r.at})" for r in f.results) + ");\n")
    else:
        lines.append("    return wrap(made);\n")
    return "".join(lines)


def definition(f: Function, enums: dict[str, Enum]) -> str:
    places, choices = ordered(f)
    parameters = ", ".join(f"nb::handle {p.name}_in" for p in [*places, *choices])

    def argument(p: Parameter) -> str:
        default = default_of(p)
        value = {"None": "nb::none()", "True": "true", "False": "false"}.get(default or "", default)
        if value and value.startswith("'"):
            value = f'"{value[1:-1]}"'
        # numbers with a fraction stay what they are
        if value is not None and p.type in ("f32", "f64") and value.lstrip("-").isdigit():
            value += ".0"
        return f'nb::arg("{name_of(p)}")' + (f" = {value}" if value is not None else "") + (".none()" if default is None else "")

    def registered(on: str, method: bool) -> str:
        given = [argument(p) for p in places[1 if method else 0:]]
        given += ["nb::kw_only()", *map(argument, choices)] if choices else []
        extra = "".join(f", {a}" for a in given)
        return (f'  {on}.def("{f.name}", {f.name}_function{extra},\n      nb::sig({quoted(signature(f, enums, method))}),\n'
                f"      {quoted(documentation(f))});\n")

    text = f"  const auto {f.name}_function = []({parameters}) {{\n{body(f, enums)}  }};\n" + registered("m", False)
    if f.name in METHODS:
        text += registered("tensor", True)
    return text


def group_source(described: Description, group: str) -> str:
    functions = [f for f in described.functions if f.group == group]
    return (HEAD + f'#include "python_functions.hpp"\n\nnamespace weft::python {{\n\n'
            f"void add_{group}(nb::module_& m, [[maybe_unused]] nb::class_<Array>& tensor) {{\n"
            + "\n".join(definition(f, described.enums) for f in functions) + "}\n\n}  // namespace weft::python\n")


def main_source(groups: list[str]) -> str:
    return (HEAD + '#include "array.hpp"\n\nnamespace weft::python {\n\n'
            + "".join(f"void add_{g}(nb::module_& m, nb::class_<Array>& tensor);\n" for g in groups)
            + "\nvoid add_functions(nb::module_& m, nb::class_<Array>& tensor) {\n"
            + "".join(f"  add_{g}(m, tensor);\n" for g in groups) + "}\n\n}  // namespace weft::python\n")


def stubs(described: Description) -> str:
    lines = ["# Written by python/generate.py from description/*.toml.", "from collections.abc import Sequence", "from typing import Literal", "",
             "from . import ArrayLike, Device, DTypeLike, Tensor", ""]
    for f in described.functions:
        doc = documentation(f).replace("\\", "\\\\").replace('"""', "'''").replace("\n", "\n    ")
        lines += [f"{signature(f, described.enums)}:", f'    """{doc}"""', ""]
    return "\n".join(line.rstrip() for line in lines)


def names(described: Description) -> str:
    own = {*own_functions(), "fft"}  # weft.fft is the module of transforms, which can be called as well
    rest = sorted(f.name for f in described.functions if f.name not in own)
    return ('"""Written by python/generate.py: the described functions as they are."""\nfrom ._core.functions import (\n'
            + "".join(f"    {name},\n" for name in rest) + ")\n\n__all__ = [\n" + "".join(f'    "{name}",\n' for name in rest) + "]\n")


def write(path: Path, text: str) -> None:
    """Files that did not change keep their time, so that nothing is compiled for them again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main() -> None:
    out, folder = Path(sys.argv[1]), Path(sys.argv[2])
    described = load()
    groups = list(described.groups)
    for path in (out, folder / "_core"):
        path.mkdir(parents=True, exist_ok=True)
    for group in groups:
        write(out / f"functions_{group}.cpp", group_source(described, group))
    write(out / "functions.cpp", main_source(groups))
    write(folder / "_core/functions.pyi", stubs(described))
    write(folder / "_described.py", names(described))


if __name__ == "__main__":
    main()
