"""How Python calls described functions: python/generate.py writes the bindings with this, and pages.py the reference."""
import ast
from functools import cache

from model import CPP, ROOT, Function, Parameter

RENAMED = {"dims": "axis", "keep_dims": "keepdims", "from": "source", "to": "destination"}
LONG = {"f32": "float32", "i32": "int32"}


def name_of(p: Parameter) -> str:
    """numpy's name for a parameter: `axis` for all that may be left out, `keepdims`."""
    if p.name == "axes" and p.type == "axes" and p.default == "{}":
        return "axis"
    return RENAMED.get(p.name, p.name)


def default_of(p: Parameter) -> str | None:
    """The usual value, as Python writes it; None where there is none."""
    if p.type == "device" or p.type.endswith("?") or p.default == "{}":
        return "None"
    if p.default is None:
        return None
    if p.type == "bool":
        return p.default.capitalize()
    if p.type == "dtype":
        return repr(LONG.get(p.default, p.default))
    if p.type in ("text",):
        return p.default
    if p.type in CPP:
        return p.default
    return repr(p.default)


def ordered(f: Function) -> tuple[list[Parameter], list[Parameter]]:
    """What is given by place (a device comes last), and what is given by name only."""
    places = [p for p in f.args if p.name != "*" and p.type != "device"]
    # Python wants what has no usual value first.
    places = [p for p in places if default_of(p) is None] + [p for p in places if default_of(p) is not None]
    return places, [*(f.options.fields if f.options else []), *(p for p in f.args if p.type == "device")]


@cache
def own_functions() -> dict[str, str]:
    """The functions that the package has with numpy's parameters, and these."""
    found: dict[str, str] = {}
    for name in ("_complex.py", "_model.py", "_names.py", "_numpy.py", "_products.py", "_reduce.py", "_shapes.py"):
        tree = ast.parse((ROOT / "python/weft" / name).read_text())
        listed = next(ast.literal_eval(node.value) for node in tree.body
                      if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__")
        found |= dict.fromkeys(listed, "x, axis=None")  # what a function makes there: running sums and their like
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name in listed:
                for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, *filter(None, [node.args.vararg])]:
                    argument.annotation = None
                found[node.name] = ast.unparse(node.args).replace("'", '"')
    return found


def signature(f: Function) -> str:
    """The call, as the reference shows it."""
    own = own_functions()
    if f.name in own:
        return f"weft.{f.name}({own[f.name]})"
    places, choices = ordered(f)

    def text(p: Parameter) -> str:
        default = default_of(p)
        return name_of(p) + (f"={default}" if default is not None else "").replace("'", '"')

    return f"weft.{f.name}({', '.join([*map(text, places), *(['*', *map(text, choices)] if choices else [])])})"
