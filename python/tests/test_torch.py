"""Functions and their gradients against PyTorch's, where Debian's python3-torch is installed: ./weft test --torch."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as wt

torch = pytest.importorskip("torch", reason="torch is not installed (./weft test --torch gets it)")
T: Any = torch.nn.functional if hasattr(torch, "nn") else None

Row = tuple[Callable[..., Any], Callable[..., Any], list[tuple[int, ...]], float, float]


def rows() -> dict[str, Row]:
    """Weft's function, PyTorch's, the shapes of the inputs, and the range of their elements."""
    made: dict[str, Row] = {}

    def add(name: str, mine: Callable[..., Any], theirs: Callable[..., Any], *shapes: tuple[int, ...], low: float = -2.0, high: float = 2.0) -> None:
        made[name] = (mine, theirs, list(shapes), low, high)

    for name in ("exp", "expm1", "sin", "cos", "tan", "tanh", "sinh", "cosh", "atan", "asinh", "sigmoid", "erf", "square", "abs", "exp2"):
        add(name, getattr(wt, name), getattr(torch, name), (3, 5), low=-1.4, high=1.4)
    for name in ("log", "log1p", "log2", "log10", "sqrt", "rsqrt", "reciprocal", "lgamma"):
        add(name, getattr(wt, name), getattr(torch, name), (3, 5), low=0.2, high=4.0)
    for name in ("asin", "acos", "atanh", "erfinv"):
        add(name, getattr(wt, name), getattr(torch, name), (3, 5), low=-0.9, high=0.9)
    add("acosh", wt.acosh, torch.acosh, (3, 5), low=1.2, high=4.0)
    for name, other in (("relu", T.relu), ("silu", T.silu), ("gelu", T.gelu), ("softplus", T.softplus), ("mish", T.mish), ("hardswish", T.hardswish),
                        ("leaky_relu", T.leaky_relu), ("elu", T.elu), ("hardsigmoid", T.hardsigmoid)):
        add(name, getattr(wt, name), other, (4, 6))
    add("gelu_tanh", lambda x: wt.gelu(x, approximate="tanh"), lambda x: T.gelu(x, approximate="tanh"), (4, 6))
    for name in ("add", "sub", "mul", "maximum", "minimum", "atan2", "logaddexp", "copysign"):
        add(name, getattr(wt, name), getattr(torch, name), (4, 1, 3), (2, 1))
    add("div", wt.divide, torch.div, (4, 3), (3,), low=0.5)
    add("pow", wt.pow, torch.pow, (4, 3), (3,), low=0.5)
    add("where", lambda a, b: wt.where(a > 0, a, b), lambda a, b: torch.where(a > 0, a, b), (4, 3), (3,))
    add("softmax", lambda x: wt.softmax(x, axis=1), lambda x: torch.softmax(x, 1), (3, 5, 2))
    add("log_softmax", wt.log_softmax, lambda x: torch.log_softmax(x, -1), (3, 5))
    add("logsumexp", lambda x: wt.logsumexp(x, axis=(0, 2)), lambda x: torch.logsumexp(x, (0, 2)), (3, 5, 2))
    for name in ("sum", "mean"):
        add(name, lambda x, n=name: getattr(wt, n)(x, axis=(0, 2)), lambda x, n=name: getattr(torch, n)(x, (0, 2)), (3, 5, 2))
    add("amax", lambda x: wt.max(x, axis=1), lambda x: torch.amax(x, 1), (3, 5))
    add("prod", lambda x: wt.prod(x, axis=1), lambda x: torch.prod(x, 1), (3, 5))
    add("var", lambda x: wt.var(x, axis=1, correction=1), lambda x: torch.var(x, 1), (3, 5))
    add("std", lambda x: wt.std(x, axis=0), lambda x: torch.std(x, 0, correction=0), (3, 5))
    add("norm", lambda x: wt.norm(x, 3, axis=1), lambda x: torch.linalg.vector_norm(x, 3, 1), (3, 5))
    add("cumsum", lambda x: wt.cumsum(x, axis=1), lambda x: torch.cumsum(x, 1), (3, 5))
    add("cumprod", lambda x: wt.cumprod(x, axis=1), lambda x: torch.cumprod(x, 1), (3, 5))
    add("cumprod_of_zeros", lambda x: wt.cumprod(wt.round(x) * x, axis=1), lambda x: torch.cumprod(torch.round(x) * x, 1), (3, 5), low=-1.4, high=1.4)
    add("logcumsumexp", lambda x: wt.logcumsumexp(x, 1), lambda x: torch.logcumsumexp(x, 1), (3, 5))
    add("sort", lambda x: wt.sort(x, axis=0), lambda x: torch.sort(x, 0)[0], (7, 3))
    add("top_k", lambda x: wt.top_k(x, 3)[0], lambda x: torch.topk(x, 3)[0], (4, 7))
    add("matmul", wt.matmul, torch.matmul, (2, 1, 3, 4), (3, 4, 2))
    add("einsum", lambda a, b: wt.einsum("bij,kj->bki", a, b), lambda a, b: torch.einsum("bij,kj->bki", a, b), (2, 3, 4), (5, 4))
    add("tensordot", lambda a, b: wt.tensordot(a, b, axes=([1, 0], [0, 2])), lambda a, b: torch.tensordot(a, b, ([1, 0], [0, 2])), (2, 3, 4), (3, 5, 2))
    add("linear", wt.linear, T.linear, (5, 4), (3, 4), (3,))
    add("conv1d", lambda x, w, b: wt.conv(x, w, b, stride=2, pad=1), lambda x, w, b: T.conv1d(x, w, b, 2, 1), (2, 3, 9), (4, 3, 3), (4,))
    add("conv2d", lambda x, w: wt.conv(x, w, pad=1, dilation=2), lambda x, w: T.conv2d(x, w, padding=1, dilation=2), (1, 2, 7, 6), (4, 2, 3, 3))
    add("conv_transpose", lambda x, w: wt.conv_transpose(x, w, stride=2), lambda x, w: T.conv_transpose2d(x, w, stride=2), (1, 3, 4, 4), (3, 2, 3, 3))
    add("max_pool", lambda x: wt.max_pool(x, (2, 2)), lambda x: T.max_pool2d(x, 2), (1, 2, 6, 6))
    add("avg_pool", lambda x: wt.avg_pool(x, (2, 2)), lambda x: T.avg_pool2d(x, 2), (1, 2, 6, 6))
    add("layer_norm", wt.layer_norm, lambda x, w, b: T.layer_norm(x, (5,), w, b), (4, 5), (5,), (5,))
    add("group_norm", lambda x, w, b: wt.group_norm(x, 2, w, b), lambda x, w, b: T.group_norm(x, 2, w, b), (2, 4, 3), (4,), (4,))
    add("group_norm_last", lambda x, w: wt.group_norm(x, 2, w, axis=-1), lambda x, w: T.group_norm(x.movedim(-1, 1), 2, w).movedim(1, -1), (2, 3, 4), (4,))
    add("rms_norm", wt.rms_norm, lambda x, w: T.rms_norm(x, (5,), w, 1e-5), (4, 5), (5,))
    add("batch_norm", lambda x, w, b: wt.batch_norm(x, None, None, w, b, training=True)[0],
        lambda x, w, b: T.batch_norm(x, None, None, w, b, True), (4, 3, 5), (3,), (3,))
    add("attention", lambda q, k, v: wt.attention(q, k, v, causal=True),
        lambda q, k, v: T.scaled_dot_product_attention(q, k, v, is_causal=True), (1, 2, 5, 4), (1, 2, 5, 4), (1, 2, 5, 4))
    labels = np.array([2, 0, 1, 2])
    add("cross_entropy", lambda x: wt.cross_entropy(x, labels.astype(np.int32)), lambda x: T.cross_entropy(x, torch.tensor(labels)), (4, 3))
    add("cross_entropy_smooth", lambda x: wt.cross_entropy(x, labels.astype(np.int32), label_smoothing=0.2),
        lambda x: T.cross_entropy(x, torch.tensor(labels), label_smoothing=0.2), (4, 3))
    for name in ("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss"):
        add(name, getattr(wt, name), getattr(T, name), (4, 3), (4, 3))
    add("bce_with_logits", lambda x, t: wt.binary_cross_entropy_with_logits(x, wt.sigmoid(t)),
        lambda x, t: T.binary_cross_entropy_with_logits(x, torch.sigmoid(t)), (4, 3), (4, 3))
    add("kl_div", lambda x, t: wt.kl_div(wt.log_softmax(x), wt.softmax(t)) * 12,
        lambda x, t: T.kl_div(torch.log_softmax(x, -1), torch.softmax(t, -1), reduction="sum"), (4, 3), (4, 3))
    add("cosine_similarity", wt.cosine_similarity, lambda a, b: torch.cosine_similarity(a, b, -1), (4, 3), (4, 3))
    add("pad_reflect", lambda x: wt.pad(x, ((0, 0), (2, 1)), mode="reflect"), lambda x: T.pad(x, (2, 1), "reflect"), (3, 5))
    add("flip_roll", lambda x: wt.roll(wt.flip(x, axis=1), 2, axis=0), lambda x: torch.roll(torch.flip(x, (1,)), 2, 0), (3, 5))
    add("index", lambda x: x[[0, 2, 0], 1:], lambda x: x[[0, 2, 0], 1:], (3, 5))
    add("gather", lambda x: wt.take_along_axis(x, np.array([[0, 1, 0]], np.int32), axis=0), lambda x: torch.gather(x, 0, torch.tensor([[0, 1, 0]])), (4, 3))
    add("cdist", wt.cdist, torch.cdist, (4, 3), (5, 3))
    add("solve", lambda a, b: wt.solve(a + 3.0 * wt.eye(3), b), lambda a, b: torch.linalg.solve(a + 3.0 * torch.eye(3), b), (3, 3), (3, 2), low=-0.5, high=0.5)
    add("cholesky", lambda a: wt.cholesky(a @ a.mT + wt.eye(3)), lambda a: torch.linalg.cholesky(a @ a.mT + torch.eye(3)), (3, 3))
    add("det", lambda a: wt.det(a + 2.0 * wt.eye(3)), lambda a: torch.linalg.det(a + 2.0 * torch.eye(3)), (3, 3))
    return made


ROWS = rows()


@pytest.mark.parametrize("name", ROWS)
def test_function_and_gradients(name: str, rng: np.random.Generator) -> None:
    mine, theirs, shapes, low, high = ROWS[name]
    given = [rng.uniform(low, high, shape).astype(np.float32) for shape in shapes]
    leaves = [torch.tensor(g, requires_grad=True) for g in given]
    wanted = theirs(*leaves)
    weights = rng.normal(size=tuple(wanted.shape)).astype(np.float32)
    found, back = wt.vjp(mine, *[wt.array(g) for g in given])
    np.testing.assert_allclose(found.numpy(), wanted.detach().numpy(), rtol=2e-4, atol=2e-5)
    slopes = torch.autograd.grad((wanted * torch.tensor(weights)).sum(), leaves)
    for got, slope in zip(back(wt.array(weights)), slopes, strict=True):
        np.testing.assert_allclose(got.numpy(), slope.numpy(), rtol=1e-3, atol=1e-4)


def test_dlpack() -> None:
    x = wt.array([[1.0, 2.0], [3.0, 4.0]])
    theirs = torch.from_dlpack(x)
    assert theirs.tolist() == x.tolist()
    assert wt.from_dlpack(theirs * 2).tolist() == [[2.0, 4.0], [6.0, 8.0]]
    assert wt.array(theirs).tolist() == x.tolist()


def test_count() -> None:
    assert len(ROWS) >= 60
