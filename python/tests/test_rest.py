"""numpy's rarer names (_rest.py) as expressions, layers without parameters, and what is said where a name is another library's."""
from __future__ import annotations

import numpy as np
import pytest
from common import same
from expressions import check, check_change

import weft as wt
from weft import _rest, nn

CASES: dict[str, list[str]] = {
    "apply_along_axis": ["xp.apply_along_axis(lambda row: row[0] + row[-1], 0, f)", "xp.apply_along_axis(lambda row: row[::-1][:2], 1, f)",
                         "xp.apply_along_axis(lambda row, k: row.sum() * k, 0, xp.stack([f, p]), 2)", "xp.apply_along_axis(xp.outer, 0, i, i[0, :2])"],
    "asanyarray": ["xp.asanyarray(f)"], "ascontiguousarray": ["xp.ascontiguousarray(f.T)"],
    **{n: [f"xp.{n}(5)", f"xp.{n}(1)", f"xp.{n}(0)"] for n in ("bartlett", "blackman", "hamming", "hanning")}, "kaiser": ["xp.kaiser(6, 14)"],
    "c_": ["xp.c_[v, v]", "xp.c_[f, f]", "xp.c_[1:4, 4:7]", "xp.c_[v[:3], f]"], "r_": ["xp.r_[1:4, 0, 4]", "xp.r_[v, 0.5, v]", "xp.r_[f, p]", "xp.r_[0:1:5j]"],
    "mgrid": ["xp.mgrid[0:3, 0:2]", "xp.mgrid[0:6:2]", "xp.mgrid[-1:1:5j]"], "ogrid": ["list(xp.ogrid[0:3, 0:2])"],
    "diag_indices": ["list(xp.diag_indices(3))", "list(xp.diag_indices(2, 3))"], "frexp": ["list(xp.frexp(f))", "list(xp.frexp(i))"],
    "fromfunction": ["xp.fromfunction(lambda i, j: 10 * i + j, (5, 4), dtype='int32')", "xp.fromfunction(lambda i: i / 2, (3,))"],
    "fromiter": ["xp.fromiter((k * k for k in range(5)), 'int32')", "xp.fromiter(range(9), 'float32', count=3)"],
    "histogram2d": ["list(xp.histogram2d(v, v * 2, bins=3))", "list(xp.histogram2d(v, v, bins=[2, 3], range=[[-1, 1], [-2, 2]]))",
                    "list(xp.histogram2d(v, v, bins=2, density=True, weights=v * v))"],
    "matvec": ["xp.matvec(f, v)", "xp.matvec(xp.stack([f, p]), v)", "xp.matvec(i, i)"],
    "vecmat": ["xp.vecmat(v[:3], f)", "xp.vecmat(f.T, f)"],
    "piecewise": ["xp.piecewise(f, [f < 0, f >= 0.5], [-1, 1])", "xp.piecewise(f, [f < 0], [lambda x: -x, lambda x: x * x])",
                  "xp.piecewise(i, [i > 1], [7, 0])"],
    "polyfit": ["xp.polyfit(v, v * 3 + 1, 1)", "xp.polyfit(xp.asarray([0.0, 1.0, 2.0, 3.0]), xp.asarray([0.0, 0.8, 0.9, 0.1]), 3)"],
    "tril_indices_from": ["list(xp.tril_indices_from(f))"], "triu_indices_from": ["list(xp.triu_indices_from(f, 1))"],
    # Not of _rest.py.
    "gradient": ["xp.gradient(v, xp.asarray([0.0, 1.0, 1.5, 3.5]))", "xp.gradient(v, xp.asarray([0.0, 1.0, 1.5, 3.5]), edge_order=2)",
                 "xp.gradient(f, axis=1, edge_order=2)",
                 "list(xp.gradient(f, 2.0, xp.asarray([0.0, 1.0, 1.5, 3.5])))"],
    "ravel": ["xp.ravel(f, order='F')"], "tobytes": ["list(xp.asarray([1, 258], dtype='int32').tobytes())"], "finfo": ["xp.finfo('float16').tiny"],
}
CHANGES = ["xp.copyto(x, 5.0)", "xp.copyto(x, x.T[:1].T, where=x > 0)", "xp.putmask(x, x > 0, [1.0, 2.0, 3.0])", "xp.place(x, x > 0, [1.0, 2.0])"]


@pytest.mark.parametrize("name", CASES)
def test_name(name: str) -> None:
    check(CASES[name])


@pytest.mark.parametrize("text", CHANGES)
def test_changes(text: str) -> None:
    check_change(text)


def test_every_name_is_tested() -> None:
    assert set(_rest.__all__) - set(CASES) == {"copyto", "place", "putmask"}


def test_wrong_arguments_are_sentences() -> None:
    x = wt.ones((2, 3))
    for call, words in [(lambda: wt.mgrid[0:], "end"), (lambda: wt.fromiter(range(2), "int32", 3), "2 numbers"), (lambda: wt.tril_indices_from(x[0]), "matrix"),
                        (lambda: wt.piecewise(x, [x > 0], []), "choices"), (lambda: wt.apply_along_axis(wt.sum, 0, x[:, :0]), "elements"),
                        (lambda: wt.matvec(x[0], x[0]), "matrices"), (lambda: wt.polyfit(x, x, 1), "degree"), (lambda: wt.histogram2d(x, x), "vectors"),
                        (lambda: wt.putmask(x, x[0] > 0, 1.0), "mask"), (lambda: wt.place(x, x[0] > 0, 1.0), "mask"),
                        (lambda: wt.gradient(x[0], wt.ones(2)), "places"), (lambda: nn.Conv2d(1, 1, 4, padding="same"), "same"),
                        (lambda: nn.GELU("fast"), "fast")]:
        with pytest.raises(ValueError, match=words):
            call()


def test_layers_of_functions() -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 7, 6)).astype(np.float32)
    p = wt.array(x)
    e = np.exp(x - x.max(1, keepdims=True))
    for layer, wanted in ((nn.Softmax(1), e / e.sum(1, keepdims=True)), (nn.LogSoftmax(1), np.log(e / e.sum(1, keepdims=True))), (nn.Identity(), x),
                          (nn.LeakyReLU(0.1), np.where(x > 0, x, 0.1 * x)), (nn.ELU(2.0), np.where(x > 0, x, 2 * np.expm1(x))),
                          (nn.Softplus(), np.log1p(np.exp(x))), (nn.Mish(), x * np.tanh(np.log1p(np.exp(x)))),
                          (nn.Hardswish(), x * np.clip(x + 3, 0, 6) / 6), (nn.GELU("tanh"), 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))),
                          (nn.AdaptiveAvgPool2d(1), x.mean((2, 3), keepdims=True)), (nn.AdaptiveAvgPool2d((7, 3)), x.reshape(2, 3, 7, 3, 2).mean(-1)),
                          (nn.AdaptiveAvgPool2d(2), np.stack([np.stack([x[:, :, a, b].mean((2, 3)) for b in (slice(0, 3), slice(3, 6))], -1)
                                                              for a in (slice(0, 4), slice(3, 7))], -2))):
        same(layer(p), wanted, rtol=1e-4, atol=1e-5)
    assert nn.MaxPool2d((2, 3))(p).shape == (2, 3, 3, 2) and nn.AvgPool2d(2, (1, 2))(p).shape == (2, 3, 6, 3)
    assert nn.Conv2d(3, 4, 5, padding="same", dilation=2)(p).shape == (2, 4, 7, 6) and nn.Conv2d(3, 4, 5, padding="valid")(p).shape == (2, 4, 3, 2)
    assert wt.grad(lambda x: (nn.AdaptiveAvgPool2d(2)(x) ** 2).sum())(p).shape == p.shape


def test_names_of_other_libraries_in_modules() -> None:
    model = nn.Linear(1, 1)
    for call, words in [(lambda: nn.CrossEntropyLoss, "cross_entropy"), (lambda: wt.random.randn, r"random\.normal"), (lambda: wt.data.DataLoader, "Loader"),
                        (lambda: wt.optim.lr_scheduler, "schedule"), (lambda: nn.Lineer, "did you mean 'Linear'"), (lambda: model.zero_grad(), "gradients"),
                        (lambda: model.wieght, "did you mean 'weight'"), (lambda: wt.optim.SGD(model).zero_grad(), "gradients"),
                        (lambda: wt.ones(1).clone(), r"copy\(\)"), (lambda: wt.ones(1).masked_fill, "where")]:
        with pytest.raises(AttributeError, match=words):
            call()
