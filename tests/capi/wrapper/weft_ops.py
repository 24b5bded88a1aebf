"""The operations of Weft's C API, as description.json has them: their types for ctypes, and calls with names.

The file is installed in share/weft, and lies in the folder `generated` of a build.
"""
import ctypes as c
import json
import os
from pathlib import Path

SCALARS = {"i32": c.c_int, "i64": c.c_int64, "u32": c.c_uint32, "word": c.c_uint64, "f32": c.c_float, "f64": c.c_double,
           "bool": c.c_bool, "text": c.c_char_p, "dtype": c.c_int, "enum": c.c_int, "tensor": c.c_void_p, "device": c.c_void_p}


def find(library: str) -> Path:
    """The description that belongs to a library."""
    near = Path(library).resolve().parent
    places = [near / "generated", near.parent / "share/weft", near.parent.parent / "share/weft", Path("/usr/share/weft")]
    if "WEFT_DESCRIPTION" in os.environ:
        return Path(os.environ["WEFT_DESCRIPTION"])
    return next((p / "description.json" for p in places if (p / "description.json").exists()), places[0] / "description.json")


def members(parameter: dict) -> list[tuple]:
    """A parameter as the members of a structure, or the parameters of a function."""
    name = parameter["name"]
    if parameter["type"] == "list":
        return [(name, c.POINTER(SCALARS[parameter["element"]])), (f"{name}_count", c.c_uint32)]
    if parameter["type"] == "array":
        return [(name, SCALARS[parameter["element"]] * parameter["count"])]
    plain = [(name, SCALARS[parameter["type"]])]
    return [(f"has_{name}", c.c_bool), *plain] if parameter["optional"] and parameter["type"] != "tensor" else plain


class Operation:
    def __init__(self, row: dict, document: dict):
        self.name, self.c, self.kind = row["name"], row["c"], row["kind"]
        self.required = [p for p in row["parameters"] if p["required"]]
        self.optional = [p for p in row["parameters"] if not p["required"]]
        self.results = row["results"]
        self.dtypes = [t["name"] for t in document["types"]]
        self.enums = {e["name"]: [v["name"] for v in e["values"]] for e in document["enums"]}
        fields = [("size", c.c_size_t), *(m for p in self.optional for m in members(p))]
        self.options = type(row["c_options"], (c.Structure,), {"_fields_": fields}) if self.optional else None

    def types(self) -> list:
        """What the C function takes."""
        found = [kind for p in self.required for _, kind in members(p)] + ([c.POINTER(self.options)] if self.options else [])
        if self.results == "list":
            return [*found, c.c_uint32, c.POINTER(c.c_void_p), c.POINTER(c.c_uint32)]
        return found + [c.POINTER(c.c_void_p)] * len(self.results)

    def convert(self, parameter: dict, value) -> list:
        """The values of members() for what Python gave."""
        kind = parameter["type"]
        if kind == "list":
            values = [getattr(v, "handle", v) for v in value]
            return [(SCALARS[parameter["element"]] * len(values))(*values), len(values)]
        if kind == "array":
            return [(SCALARS[parameter["element"]] * parameter["count"])(*value)]
        if value is None and parameter["optional"]:
            return [None] if kind == "tensor" else [False, 0]
        if kind == "enum" and isinstance(value, str):
            value = self.enums[parameter["enum"]].index(value)
        elif kind == "dtype" and isinstance(value, str):
            value = self.dtypes.index(value)
        elif isinstance(value, str):
            value = value.encode()
        value = getattr(value, "handle", value)
        return [True, value] if parameter["optional"] and kind != "tensor" else [value]

    def given(self, values: dict):
        """The options with their usual values, and those that were given."""
        made = self.options(size=c.sizeof(self.options))
        for p in self.optional:
            if p["name"] in values or "default" in p:
                for (name, _), value in zip(members(p), self.convert(p, values.get(p["name"], p.get("default")))):
                    setattr(made, name, value)
        for name in values:
            if name not in [p["name"] for p in self.optional]:
                raise TypeError(f"{self.name}() has no option `{name}`")
        return made

    def __call__(self, library, *arguments, **options) -> list[c.c_void_p]:
        """Calls the function; the handles of all results."""
        if len(arguments) != len(self.required):
            raise TypeError(f"{self.name}() takes {', '.join(p['name'] for p in self.required)}")
        passed = [v for p, a in zip(self.required, arguments) for v in self.convert(p, a)]
        if self.options:
            made = self.given(options)  # kept until after the call
            passed.append(c.byref(made))
        elif options:
            raise TypeError(f"{self.name}() has no options")
        function = getattr(library, self.c)
        if self.results == "list":
            count, room = c.c_uint32(), (c.c_void_p * 1024)()
            function(*passed, len(room), room, c.byref(count))
            return [c.c_void_p(h) for h in room[: count.value]]
        handles = [c.c_void_p() for _ in self.results]
        function(*passed, *(c.byref(h) for h in handles))
        return handles


def load(library: str) -> dict[str, Operation]:
    document = json.loads(find(library).read_text())
    return {row["name"]: Operation(row, document) for row in document["functions"]}
