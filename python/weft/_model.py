"""Described functions with the parameters that people know from elsewhere: losses, medians and counts."""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ._array import array, asarray, to_numpy
from ._core import Tensor, functions, tracing
from ._shapes import Axis, axis_of, reshape
from ._types import float32, is_one, wholes

__all__ = ["bincount", "cov", "cross_entropy", "histogram", "median", "one_hot", "percentile", "quantile"]


def cross_entropy(logits: Any, labels: Any, *, reduction: Literal["none", "sum", "mean"] = "mean", ignored: int = -1,
                  label_smoothing: float = 0.0) -> Tensor:
    """-log(softmax(logits)[label]) of the rows of logits […, classes] with labels […] of whole numbers, of which negative ones count for nothing.
    The labels may also be probabilities of the shape of the logits. With `label_smoothing`, such a share of each label, from 0 to 1, is spread
    evenly over all classes."""
    labels = asarray(labels)
    if not labels.dtype.is_floating:
        labels = functions.cast(labels, "int32")
    return functions.cross_entropy(logits, labels, reduction=reduction, ignored=ignored, label_smoothing=label_smoothing)


def _joined(x: Tensor, axis: Axis, function: str) -> tuple[Tensor, tuple[int, ...]]:
    """The axes as one, the last; and the shape with extents of 1 for them."""
    axes = range(x.ndim) if axis is None else wholes(axis)
    gone = [axis_of(a, x.ndim, function) for a in axes] if x.ndim else []
    if len(set(gone)) != len(gone):
        raise ValueError(f"{function}(): an axis of {tuple(axes)} is named twice.")
    kept = [a for a in range(x.ndim) if a not in gone]
    last = functions.permute(x, [*kept, *gone]) if x.ndim > 1 else x
    count = 1
    for a in gone:
        count *= x.shape[a]
    return reshape(last, (*(x.shape[a] for a in kept), count)), tuple(1 if a in gone else x.shape[a] for a in range(x.ndim))


def quantile(x: Any, /, q: Any, axis: Axis = None, keepdims: bool = False, *, method: str = "linear") -> Tensor:
    """The number below which a share q, from 0 to 1, of the elements lies, over some axes or over all, by one of numpy's methods: between two elements in
    proportion ("linear", "hazen", "weibull", …), in their middle ("midpoint"), or one of them ("lower", "higher", "nearest", "inverted_cdf", …).
    Of several shares the results are side by side, in front."""
    x = asarray(x)
    if not is_one(q):
        shares = np.asarray(to_numpy(q) if isinstance(q, Tensor) else q, np.float64)
        parts = [quantile(x, float(share), axis, keepdims, method=method) for share in shares.reshape(-1)]
        if not parts:
            raise ValueError("quantile() needs at least one share.")
        return reshape(functions.stack(parts, 0), (*shares.shape, *parts[0].shape))
    rows, shape = _joined(x, axis, "quantile")
    made = functions.quantile(rows, float(q), -1, method=method)
    return reshape(made, shape) if keepdims else made


def percentile(x: Any, /, q: Any, axis: Axis = None, keepdims: bool = False, *, method: str = "linear") -> Tensor:
    """quantile() of a share in hundredths."""
    share = float(q) / 100 if is_one(q) else np.asarray(to_numpy(q) if isinstance(q, Tensor) else q, np.float64) / 100
    return quantile(x, share, axis, keepdims, method=method)


def cov(x: Any, /, *, rowvar: bool = True, bias: bool = False, ddof: float | None = None, correction: float = 1) -> Tensor:
    """The covariances of the rows of x (with rowvar=False of its columns): a matrix, or the variance of one row. What the number of observations is less
    by is `correction`, which numpy calls ddof; with `bias` it is 0."""
    x = asarray(x)
    if x.ndim == 2 and not rowvar:
        x = functions.transpose(x)
    made = functions.cov(x, ddof if ddof is not None else 0 if bias else correction)
    return reshape(made, ()) if made.size == 1 else made


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


def bincount(x: Any, /, weights: Any = None, minlength: int = 0, *, count: int | None = None) -> Tensor:
    """How often 0, 1, … are among the whole numbers x (int32), or the sums of their weights: up to the largest of x, but at least `minlength` of them.
    With `count`, exactly so many, and what is beyond counts for nothing; without it the device is waited for."""
    x = asarray(x)
    if x.dtype.is_floating:
        raise TypeError(f"bincount() counts whole numbers; it was given {x.dtype.name}.")
    x = functions.cast(reshape(x, -1), "int32")
    if count is None:
        if tracing():
            raise ValueError("bincount() in a compiled function needs `count`: how many numbers to count is part of a shape.")
        found = to_numpy(x)
        if found.size and found.min() < 0:
            raise ValueError(f"bincount() counts numbers from 0 on; {found.min()} is among them.")
        count = max(int(found.max(initial=-1)) + 1, minlength)
        if count == 0:
            return functions.zeros(0, "int32" if weights is None else float32, device=x.device)
    return functions.bincount(x, count, None if weights is None else functions.cast(reshape(weights, -1), float32))


def histogram(x: Any, /, bins: int | Sequence[float] = 10, range: tuple[float, float] | None = None, density: bool = False) -> tuple[Tensor, Tensor]:
    """How many elements lie in each of some equal parts of a range, or between given edges, as int32, and the edges; the last edge belongs to the last
    part. Without a range it goes from the least element to the largest: the device is waited for. With `density`, shares per unit instead of counts."""
    x = reshape(x, -1)
    x = x if x.dtype.is_floating else functions.cast(x, float32)
    bins = operator.index(bins) if is_one(bins) else bins  # type: ignore[arg-type]
    if isinstance(bins, int) and range is None and x.size == 0:
        range = (0.0, 1.0)
    if isinstance(bins, int) and bins < 1:
        raise ValueError(f"histogram() needs at least 1 part; it was given {bins}.")
    if isinstance(bins, int) and range is not None and not float(range[0]) <= float(range[1]):
        raise ValueError(f"histogram(): the range {range} ends before it begins.")
    if isinstance(bins, int) and range is None and tracing():
        raise ValueError("histogram() in a compiled function needs a range.")
    edges = np.histogram_bin_edges(to_numpy(x) if range is None else np.zeros(0), bins, range) if isinstance(bins, int) else np.asarray(bins, np.float64)
    if edges.ndim != 1 or edges.size < 2 or np.any(np.diff(edges) < 0):
        raise ValueError("histogram() needs at least 2 edges in ascending order.")
    if isinstance(bins, int):
        counts = functions.histogram(x, bins, float(edges[0]), float(edges[-1]))
    else:
        ascending, borders = functions.sort(functions.cast(x, float32))[0], array(edges.astype(np.float32), device=x.device)
        below = functions.searchsorted(ascending, borders[:-1])
        counts = functions.concat([below[1:], functions.searchsorted(ascending, borders[-1:], True)], 0) - below
    shown = array(edges.astype(np.float32), device=x.device)
    if density:
        return functions.cast(counts, float32) / functions.cast(functions.sum(counts), float32) / functions.sub(shown[1:], shown[:-1]), shown
    return counts, shown
