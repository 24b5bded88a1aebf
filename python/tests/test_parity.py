"""Everything that is described is there, takes what the description says, and explains itself."""
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import weft as wt
from weft._core import functions

GENERATED = Path(os.environ.get("WEFT_GENERATED", Path(wt.__file__).parent.parent.parent / "generated"))
DOCUMENT: dict[str, Any] = json.loads((GENERATED / "description.json").read_text())


@pytest.mark.parametrize("function", DOCUMENT["functions"], ids=lambda f: f["name"])
def test_described_functions(function: dict[str, Any]) -> None:
    name = function["name"]
    assert hasattr(wt, name), f"weft.{name} is missing"
    text = str(getattr(functions, name).__doc__)
    assert function["about"] in text
    renamed = {"dims": "axis", "keep_dims": "keepdims", "from": "source", "to": "destination"}
    for parameter in function["parameters"]:
        wanted = renamed.get(parameter["name"], parameter["name"])
        assert f"{wanted}:" in text or (wanted == "axes" and "axis:" in text), f"{name}() has no `{wanted}`"


def outside(parameter: dict[str, Any]) -> list[Any]:
    """What the parameter must not be."""
    if "words" in parameter:
        return ["nonsense"]
    found = [parameter[end] for end in ("above", "below") if end in parameter]
    found += [parameter[end] + step for end, step in (("at_least", -1), ("at_most", 1)) if end in parameter]
    return found + ([float("nan")] if parameter["type"] in ("f32", "f64") else [])


def sample(parameter: dict[str, Any]) -> Any:
    """Something of the parameter's type, in its range."""
    if "default" in parameter:
        return parameter["default"]
    one: dict[str, Any] = {"tensor": wt.ones((2, 3)), "list": [wt.ones(2)] if parameter.get("element") == "tensor" else [1], "text": "a", "bool": True}
    return one.get(parameter["type"], parameter.get("at_least", parameter.get("at_most", 1)))


RANGED = [(f, p) for f in DOCUMENT["functions"] for p in f["parameters"] if "range" in p or "words" in p]


def test_many_parameters_have_ranges() -> None:
    assert len(RANGED) > 60


@pytest.mark.parametrize(("function", "parameter"), RANGED, ids=lambda x: x["name"])
def test_what_is_out_of_range_is_an_error_that_says_so(function: dict[str, Any], parameter: dict[str, Any]) -> None:
    given = {p["name"]: sample(p) for p in function["parameters"] if p["required"] and p["type"] != "device"}
    for value in outside(parameter):
        with pytest.raises(ValueError, match=f"`{parameter['name']}` of {function['name']}") as error:
            getattr(functions, function["name"])(**given | {parameter["name"]: value})
        told = parameter["words"] if "words" in parameter else [parameter["range"]]
        assert all(words in str(error.value) for words in told), error.value


def test_element_types() -> None:
    for kind in DOCUMENT["types"]:
        found = wt.dtype(kind["name"])
        assert (found.short_name, found.itemsize, found.block) == (kind["name"], kind["bytes"], kind["elements"])


def test_wrong_arguments_are_sentences() -> None:
    x = wt.ones((2, 3))
    for call, error, words in [
            (lambda: wt.softmax(x, axis=5), ValueError, "axis"), (lambda: wt.softmax(x, axis=1.5), TypeError, "axis"),
            (lambda: wt.softmax(x, axes=1), TypeError, "softmax"), (lambda: wt.sum(x, axis=(0, 0)), ValueError, "twice"),
            (lambda: wt.zeros(-1), ValueError, "shape"), (lambda: wt.zeros("ab"), TypeError, "shape"),
            (lambda: wt.resize(x, 2, 2, mode="best"), ValueError, "best"), (lambda: wt.exp(None), TypeError, "exp"), (lambda: wt.exp("a"), TypeError, "exp"),
            (lambda: wt.max(wt.ones(0)), ValueError, "no elements"), (lambda: wt.reduce("nonsense", x), LookupError, "nonsense"),
            (lambda: wt.concat([]), ValueError, "one tensor"), (lambda: wt.full(2, 300, "uint8"), ValueError, "300"),
            (lambda: wt.clamp(x, "a", 1), TypeError, "number"), (lambda: wt.reshape(x, (2, 2)), ValueError, "shape"),
            (lambda: wt.zeros((1,) * 9), ValueError, "dimensions"), (lambda: wt.matmul(x, x), ValueError, "fit")]:
        with pytest.raises(error, match=words):
            call()  # type: ignore[no-untyped-call]
