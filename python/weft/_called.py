"""Errors name the function that was called: what it calls in turn may have failed, or numpy, or Python itself."""
from __future__ import annotations

import functools
import re
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

# Errors whose text is all that they carry.
PLAIN = (TypeError, ValueError, IndexError, OverflowError, NotImplementedError, LookupError, KeyError, MemoryError, np.linalg.LinAlgError)
# What others call an argument.
WORDS = {"dim": "axis", "dims": "axes", "keepdim": "keepdims", "unbiased": "correction", "diagonal": "k", "steps": "num", "learning_rate": "lr",
         "start_dim": "start", "end_dim": "end", "rcond": "rtol", "input": "x"}
# These call functions of the program, whose errors are its own.
CALLERS = {"apply_along_axis", "checkpoint", "compile", "fromfunction", "grad", "piecewise", "set_memory_limit", "supports", "tree_map", "value_and_grad",
           "vjp", "on", "profile"}


def tell(error: Exception, name: str, parameters: Any = ()) -> None:
    """Puts the name of the function that was called before the text of its error, unless it is there."""
    if type(error) not in PLAIN or getattr(error, "_weft_told", False):
        return
    text = str(error.args[0]) if error.args else "there is not enough memory." if isinstance(error, MemoryError) else "it failed."
    if found := re.search(r"unexpected keyword argument '(\w+)'", text):
        if WORDS.get(found[1]) in parameters:
            text = f"{text.partition(' Did you mean')[0].rstrip('.')}; it is called '{WORDS[found[1]]}' here."
    if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
        text = f"{name}(): {text}"
    error.args = (text,)
    error._weft_told = True  # type: ignore[attr-defined]


def leave(error: Exception) -> None:
    """Lets the text of an error of the program's own stay as it is."""
    error._weft_told = True  # type: ignore[attr-defined]


def named(function: Callable[..., Any], name: str, owner: str) -> Callable[..., Any]:
    """The function, with errors that name it."""
    code = function.__code__
    parameters = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except PLAIN as error:
            tell(error, name, parameters)
            raise
        except AttributeError as error:  # of something that was given in place of a tensor
            raise TypeError(f"{name}(): {error}.") from error

    call.__name__, call.__qualname__, call.__module__ = name, name, owner
    return call


def telling_init(init: Callable[..., None]) -> Callable[..., None]:
    """A constructor whose errors name the class."""
    parameters = init.__code__.co_varnames

    @functools.wraps(init)
    def run(self: Any, *args: Any, **options: Any) -> None:
        try:
            init(self, *args, **options)
        except PLAIN as error:
            tell(error, type(self).__name__, parameters)
            raise
        except AttributeError as error:
            raise TypeError(f"{type(self).__name__}(): {error}.") from error

    return run


def name_functions(module: ModuleType) -> None:
    """Gives a module's public functions errors that name them; what the modules below import of each other stays as it is."""
    for name in [n for n in getattr(module, "__all__", dir(module)) if not n.startswith("_") and n not in CALLERS]:
        function = getattr(module, name)
        if isinstance(function, FunctionType) and str(function.__module__).startswith("weft") and not hasattr(function, "__wrapped__"):
            setattr(module, name, named(function, name, module.__name__))
