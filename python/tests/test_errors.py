"""Whatever a described function is given, it works, or refuses it at once with a sentence that names the function."""
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from common import same

import weft as wt
from weft._core import functions

GENERATED = Path(os.environ.get("WEFT_GENERATED", Path(wt.__file__).parent.parent.parent / "generated"))
DOCUMENT: dict[str, Any] = json.loads((GENERATED / "description.json").read_text())
KINDS = ["float32", "float32", "float16", "int32", "int64", "uint8", "bool", "bfloat16", "int8"]
SHAPES = [(), (0,), (1,), (5,), (2, 3), (3, 2), (0, 3), (3, 0), (2, 3, 4), (1, 3, 4, 4), (2, 0, 3, 3), (2, 2, 2, 2, 2), (4, 4), (1,) * 8]
RENAMED = {"dims": "axis", "keep_dims": "keepdims", "from": "source", "to": "destination"}
ENUMS = {e["name"]: [v["name"] if isinstance(v, dict) else v for v in e["values"]] for e in DOCUMENT.get("enums", [])}
# In C several functions of one name have different ones; the sentences have that of C++.
SHORT = {"tensordot_axes": "tensordot", "squeeze_axes": "squeeze", "expand_dims": "unsqueeze", "split_at": "split", "take_flat": "take",
         "repeat_interleave_each": "repeat_interleave", "random_bernoulli_of": "bernoulli", "random_shuffle": "permutation", "pad_edge": "pad",
         "roll_axes": "roll"}


def tensor(rng: np.random.Generator) -> wt.Tensor:
    shape = SHAPES[rng.integers(len(SHAPES))]
    return wt.array(rng.integers(0, 3, shape).astype(np.float32)).astype(KINDS[rng.integers(len(KINDS))])


def value(rng: np.random.Generator, parameter: dict[str, Any]) -> Any:
    """Something of the parameter's type, in its range."""
    kind = parameter["type"]
    for words in (parameter.get("words"), ENUMS.get(kind), KINDS if kind == "dtype" else None):
        if words:
            return words[rng.integers(len(words))]
    if kind == "tensor":
        return tensor(rng)
    if kind == "list":
        of_tensors = parameter.get("element") == "tensor"
        return [tensor(rng) if of_tensors else int(rng.integers(-2, 4)) for _ in range(rng.integers(0, 4))]
    if kind in ("f32", "f64"):
        return float(rng.choice([0.5, 1.0, 2.0]))
    if kind in ("text", "string"):
        return "ij,jk->ik"
    return bool(rng.integers(2)) if kind == "bool" else int(rng.integers(-2, 6))


@pytest.mark.parametrize("function", [f for f in DOCUMENT["functions"] if f["name"] != "map"], ids=lambda f: f["name"])  # whose name is an argument
def test_what_is_refused_is_named(function: dict[str, Any]) -> None:
    name = function["name"]
    rng = np.random.default_rng(len(name))
    wanted = SHORT.get(name, name.removeprefix("random_"))
    for _ in range(6):
        given = {}
        for parameter in function["parameters"]:
            if parameter["type"] == "device" or (not parameter["required"] and rng.random() < 0.6):
                continue
            called = RENAMED.get(parameter["name"], parameter["name"])
            given["axis" if called == "axes" and not parameter["required"] else called] = value(rng, parameter)
        try:
            getattr(functions, name)(**given)
        except (ValueError, TypeError, IndexError, OverflowError, NotImplementedError, LookupError) as error:
            assert wanted in str(error) or name in str(error), (str(error), given)


def test_what_cannot_be_computed_is_refused_when_it_is_written() -> None:
    whole = wt.ones((2, 3), "int64")
    for call, words in [(lambda: wt.band_part(whole, 0, 1, 0.0), "band_part"),
                        (lambda: wt.clip_by_global_norm([wt.ones(2), whole.astype("int32")], 1.0), "number 1"),
                        (lambda: functions.take(wt.zeros((0, 3)), wt.array([0]), 0), "without rows"), (lambda: functions.tril(wt.ones(3)), "tril"),
                        (lambda: wt.softmax(wt.ones((2, 3)), max_bias=2.0), "no mask"), (lambda: wt.layer_norm(wt.ones(3), wt.ones(3, "int64")), "of floats"),
                        (lambda: wt.fold(wt.ones((1, 3, 4, 4)), [3], stride=[0]), "at least 1"),
                        (lambda: wt.map("zebra", [wt.ones(1)]), "`zebra`; docs/ops.md"),
                        (lambda: functions.full_like(wt.ones(2, "uint8"), -3.0), "full_like")]:
        with pytest.raises((ValueError, NotImplementedError, LookupError), match=words):
            call()


def test_what_has_the_most_dimensions() -> None:
    x = np.random.default_rng(0).integers(0, 9, (2, 1, 3, 1, 2, 1, 2, 1)).astype(np.float32)
    for kind in ("float32", "int64", "uint8"):
        for axis in (0, 2, -1):
            given = x.astype(kind)
            same(wt.sort(wt.array(given), axis=axis), np.sort(given, axis=axis))
            places = np.argsort(given, axis=axis, kind="stable")
            same(wt.argsort(wt.array(given), axis=axis), places)
            same(wt.take_along_axis(wt.array(given), wt.array(places), axis=axis), np.take_along_axis(given, places, axis))
    same(wt.quantile(wt.array(x), 0.3, axis=2), np.quantile(x, 0.3, axis=2))
    same(wt.top_k(wt.array(x), 2, 2)[0], -np.sort(-x, axis=2)[:, :, :2])


def test_nothing_and_whole_numbers() -> None:
    assert wt.nan_to_num(wt.array([True, False]), nan=0.5).tolist() == [True, False] and wt.nan_to_num(wt.array([3]), nan=0.5).tolist() == [3]
    assert functions.roll(wt.array(2.0), []).item() == 2
    assert wt.linalg.vector_norm(wt.zeros((0, 3)), axis=0, ord=wt.inf).tolist() == [0, 0, 0]
