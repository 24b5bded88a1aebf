"""What a name that is not there may have meant."""
from __future__ import annotations

import difflib
from collections.abc import Iterable


def near(name: str, names: Iterable[str]) -> str:
    """"; did you mean 'softmax'?" for the end of a sentence, or nothing."""
    if name.startswith("_"):  # which programs ask for, not people
        return ""
    found = difflib.get_close_matches(name, [n for n in names if not n.startswith("_")], 3, 0.7)
    return "; did you mean " + " or ".join(f"'{n}'" for n in found) + "?" if found else ""
