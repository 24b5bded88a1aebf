"""What the Array API standard asks of a namespace about itself."""
from __future__ import annotations

from typing import Any

from ._core import Device, dtype
from ._device import default_device
from ._types import ALL, bfloat16, float16, float32, int32, isdtype

__all__ = ["__array_namespace_info__"]


class _Info:
    """Answers of `weft.__array_namespace_info__()`."""

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 8}

    def default_device(self) -> Device:
        return default_device()

    def devices(self) -> tuple[Device, ...]:
        return (default_device(),)

    def default_dtypes(self, *, device: Device | None = None) -> dict[str, dtype]:
        return {"real floating": float32, "integral": int32, "indexing": int32}

    def dtypes(self, *, device: Device | None = None, kind: Any = None) -> dict[str, dtype]:
        """Those that the standard knows: float16 and bfloat16 are not among them."""
        return {t.name: t for t in ALL if t not in (float16, bfloat16) and (kind is None or isdtype(t, kind))}


def __array_namespace_info__() -> _Info:
    """What the namespace can do, as the standard asks."""
    return _Info()

