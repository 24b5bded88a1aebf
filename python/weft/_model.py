"""Described functions with the parameters that people know from elsewhere: norms, losses, medians, and shapes by other names."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ._array import asarray
from ._core import Tensor, functions
from ._shapes import Axis, axis_of, concat, reshape
from ._types import float32

__all__ = ["cross_entropy", "group_norm", "hstack", "median", "one_hot", "percentile", "quantile", "ravel", "vstack"]


def cross_entropy(logits: Any, labels: Any, *, reduction: Literal["none", "sum", "mean"] = "mean", ignored: int = -1,
                  label_smoothing: float = 0.0) -> Tensor:
    """-log(softmax(logits)[label]) of the rows of logits […, classes] with labels […] of whole numbers, of which negative ones count for nothing.
    The labels may also be probabilities of the shape of the logits. With `label_smoothing`, such a share of each label, from 0 to 1, is spread
    evenly over all classes."""
    labels = asarray(labels)
    if not labels.dtype.is_floating:
        labels = functions.cast(labels, "int32")
    if label_smoothing == 0:
        return functions.cross_entropy(logits, labels, reduction=reduction, ignored=ignored)
    return functions.cross_entropy_smoothed(logits, labels, label_smoothing, reduction=reduction, ignored=ignored)


def group_norm(x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5, axis: int = 1) -> Tensor:
    """As layer_norm(), over each of `groups` groups of neighbouring channels of [batch, channels, …] and all dimensions but the first; weight and
    bias are [channels]. The channels may lie along another axis, -1 say, but not along the first."""
    x = asarray(x)
    place = axis_of(axis, x.ndim, "group_norm")
    if place == 0:
        raise ValueError(f"group_norm() needs its channels behind the batch; the axis is {axis} of a tensor of shape {x.shape}.")
    if place == 1:
        return functions.group_norm(x, groups, weight, bias, eps)
    return functions.movedim(functions.group_norm(functions.movedim(x, place, 1), groups, weight, bias, eps), 1, place)


def _joined(x: Tensor, axis: Axis, function: str) -> tuple[Tensor, tuple[int, ...]]:
    """The axes as one, the last; and the shape with extents of 1 for them."""
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    gone = [axis_of(a, x.ndim, function) for a in axes] if x.ndim else []
    if len(set(gone)) != len(gone):
        raise ValueError(f"{function}(): an axis of {tuple(axes)} is named twice.")
    kept = [a for a in range(x.ndim) if a not in gone]
    last = functions.permute(x, [*kept, *gone]) if x.ndim > 1 else x
    count = 1
    for a in gone:
        count *= x.shape[a]
    return reshape(last, (*(x.shape[a] for a in kept), count)), tuple(1 if a in gone else x.shape[a] for a in range(x.ndim))


def quantile(x: Any, q: float | Sequence[float], /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The number below which a share q, from 0 to 1, of the elements lies, over some axes or over all, between two elements in proportion. Of
    several shares the results are side by side, in front."""
    x = asarray(x)
    if not isinstance(q, (int, float)):
        return functions.stack([quantile(x, float(share), axis, keepdims) for share in q], 0)
    rows, shape = _joined(x, axis, "quantile")
    made = functions.quantile(rows, float(q), -1)
    return reshape(made, shape) if keepdims else made


def percentile(x: Any, q: float | Sequence[float], /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """quantile() of a share in hundredths."""
    return quantile(x, q / 100 if isinstance(q, (int, float)) else [share / 100 for share in q], axis, keepdims)


def median(x: Any, /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The element in the middle of the order, or the mean of two, over some axes or over all."""
    rows, shape = _joined(asarray(x), axis, "median")
    made = functions.median(rows, -1)
    return reshape(made, shape) if keepdims else made


def one_hot(labels: Any, classes: int, *, dtype: Any = float32) -> Tensor:
    """1 at the place of each label along a new last dimension, and 0 elsewhere; all 0 for labels outside."""
    labels = asarray(labels)
    places = functions.arange(classes, 0, 1, "int32", device=labels.device)
    return functions.cast(functions.equal(functions.unsqueeze(labels, -1), places), dtype)


def ravel(x: Any, /) -> Tensor:
    """All elements in a row."""
    return reshape(x, -1)


def _at_least(x: Any, ndim: int) -> Tensor:
    x = asarray(x)
    return reshape(x, (*[1] * (ndim - x.ndim), *x.shape)) if x.ndim < ndim else x


def hstack(arrays: Sequence[Any], /) -> Tensor:
    """Tensors side by side: along the second dimension, vectors along their only one."""
    tensors = [_at_least(a, 1) for a in arrays]
    return concat(tensors, axis=0 if tensors and tensors[0].ndim == 1 else 1)


def vstack(arrays: Sequence[Any], /) -> Tensor:
    """Tensors below each other; vectors count as rows."""
    return concat([_at_least(a, 2) for a in arrays], axis=0)
