"""The description as JSON, for whoever makes bindings: everything resolved, nothing to be parsed."""
import math

import c_side
from model import ARRAYS, LISTS, MAYBE, Description, Function, Parameter

TYPES = {"tensor?": "tensor", "u64": "i64", "int": "i32"}


def kind_of(p: Parameter, enums) -> dict:
    if p.type in enums:
        return {"type": "enum", "enum": p.type}
    if p.type in LISTS:
        element = {"tensors": "tensor", "axes": "i32"}.get(p.type, "i64")
        return {"type": "list", "element": element}
    if p.type in ARRAYS:
        return {"type": "array", "element": p.type[:3], "count": ARRAYS[p.type]}
    base = p.type[:-1] if p.type in MAYBE else p.type
    return {"type": TYPES.get(base, base)}


def described_parameter(p: Parameter, enums, by_place: bool) -> dict:
    """`optional` means that it may be missing (C: NULL, or has_NAME is false); `default` is its usual value. Of a number, `at_least` or `above`
    and `at_most` or `below` are the ends of its range, which `range` has as a text; of a text, `words` are all that it may be."""
    found = {"name": p.name} | kind_of(p, enums) | {"about": p.about, "optional": p.type == "tensor?" or p.type in MAYBE,
                                                    "required": p.required, "by_place": by_place}
    if p.range and p.range.words:
        found["words"] = list(p.range.words)
    elif p.range:
        found["range"] = p.range.text
        if p.range.low > -math.inf:
            found["above" if p.range.above else "at_least"] = number(p.range.low)
        if p.range.high < math.inf:
            found["below" if p.range.below else "at_most"] = number(p.range.high)
    elif p.type in ("u64", "u64s", "shape", "u64?"):
        found["at_least"] = 0
    if p.default is not None and p.default != "{}":
        found["default"] = value(p)
    return found


def number(value: float) -> float:
    return int(value) if value.is_integer() else value


def value(p: Parameter):
    text = p.default or ""
    if text in ("true", "false"):
        return text == "true"
    if p.type in ("f32", "f64"):
        return float(text)
    if text.lstrip("-").isdigit():
        return int(text)
    return text.strip('"')


def described_function(f: Function, enums) -> dict:
    """Required parameters are parameters of the C function in this order; the others are members of its options, in theirs."""
    results = [{"name": r.name, "optional": r.optional} for r in f.results] or [{"name": "y", "optional": False}]
    return {"name": f.name, "group": f.group, "about": f.about, "c": f"weft_tensor_{f.name}",
            "c_options": c_side.options_type(f) if f.optional else None,
            "parameters": [described_parameter(p, enums, True) for p in f.args if p.name != "*"]
            + [described_parameter(p, enums, False) for p in (f.options.fields if f.options else [])],
            "results": "list" if f.gives_list else results, "gradient": f.gradient, "kind": f.kind or None}


def document(described: Description) -> dict:
    return {"types": [dict(t, number=i, quantized=t["elements"] != 1) for i, t in enumerate(described.types)],
            "enums": [{"name": e.name, "c": c_side.enum_type(e.name), "about": e.about,
                       "values": [{"name": v, "number": i, "about": a} for i, (v, a) in enumerate(e.values)]}
                      for e in described.enums.values()],
            "groups": [{"name": name, "title": title} for name, title in described.groups.items()],
            "functions": [described_function(f, described.enums) for f in described.functions]}
