"""Gradients of random functions against differences in double: eager, compiled, and twice. A quick sample by default, more with --programs N."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from programs import WeftSpace
from reference import XP, Array, Ref

import weft as wt

Shape = tuple[int, ...]


class Chain:
    """Lines of a random function of x and y, whose shapes broadcast; each line makes v of v, x and y."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.shape: Shape = tuple(int(n) for n in self.rng.integers(1, 4, int(self.rng.integers(1, 4))))
        self.x = self.rng.uniform(-1.5, 1.5, self.shape)
        self.y = self.rng.uniform(0.3, 1.5, tuple(n if self.rng.random() < 0.6 else 1 for n in self.shape))
        self.lines = ["v = x * y"]
        for _ in range(6):
            self.step()
        self.lines.append("v = xp.mean(v * v + v)")

    def now(self) -> Array:
        return np.asarray(self.values("float64", self.x, self.y).v)

    def values(self, kind: str, x: Array, y: Array) -> Ref:
        space: dict[str, Any] = {"xp": XP, "x": Ref(x, kind), "y": Ref(y, kind)}
        for line in self.lines:
            exec(line, {}, space)
        made: Ref = space["v"]
        return made

    def one_of(self, items: list[str]) -> str:
        return items[int(self.rng.integers(len(items)))]

    def step(self) -> None:
        v = self.now()
        axis = int(self.rng.integers(-v.ndim, v.ndim)) if v.ndim else 0
        order = tuple(int(i) for i in self.rng.permutation(v.ndim))
        choices = ["v = xp.sin(v)", "v = xp.tanh(v) + v", "v = xp.exp(v * 0.3)", "v = xp.sqrt(v * v + 0.5)", "v = xp.log(v * v + 1.0)",
                   "v = v / (v * v + 1.0)", "v = xp.where(v > 0.1, v * 2.0, v * v)", "v = xp.maximum(v, 0.2) - xp.minimum(v, 0.1)",
                   "v = xp.abs(v + 0.01)", "v = xp.sigmoid(v)", "v = xp.atan2(v, v * v + 0.5)", "v = xp.logaddexp(v, 0.3 - v)", "v = 1.5 - v", "v = -v",
                   "v = xp.expm1(v * 0.5) + xp.log1p(v * v)", "v = xp.asinh(v)", "v = xp.square(v) * 0.5"]
        if v.ndim:
            kept = "True" if self.rng.random() < 0.5 else "False"
            choices += [f"v = xp.sum(v, axis={axis}, keepdims=True) + v",
                        f"v = xp.{self.one_of(['sum', 'mean', 'max', 'min'])}(v, axis={axis}, keepdims={kept})",
                        f"v = v - xp.logsumexp(v, axis={axis}, keepdims=True)", f"v = xp.cumsum(v, axis={axis})", f"v = xp.flip(v, axis={axis})",
                        f"v = xp.roll(v, 1, axis={axis})", f"v = xp.permute_dims(v, {order})", f"v = xp.concat([v, v * 0.5], axis={axis})",
                        f"v = xp.sort(v, axis={axis})", "v = v[..., ::-2]", "v = v[:1]", "v = v[None, ..., -1]", "v = xp.reshape(v, (-1,))",
                        f"v = xp.take(v, [0, -1, 0], axis={axis})", f"v = xp.repeat(v, 2, axis={axis})", f"v = xp.cumprod(v, axis={axis})",
                        f"v = xp.prod(v, axis={axis}, keepdims=True) + v", f"v = xp.var(v, axis={axis}, keepdims=True) + v", f"v = xp.cummax(v, axis={axis})",
                        f"v = xp.pad(v, {[(1, 0)] * v.ndim})", f"v = xp.stack([v, v], axis={axis})", f"v = xp.tile(v, {(2,) * v.ndim})"]
        if v.ndim == 2:
            choices += ["v = v @ v.T", "v = xp.einsum('ij,kj->ik', v, v)", "v = xp.tensordot(v, v, axes=2)", "v = xp.tril(v)", "v = xp.diagonal(v)"] * 2
        if v.ndim > 2:
            choices += ["v = v @ v.mT"] * 2
        if v.size > 60 or v.ndim > 4:
            choices = [f"v = xp.sum(v, axis={axis})"]
        line = self.one_of(choices)
        self.lines.append(line)
        if np.abs(self.now()).max(initial=0) > 30:
            self.lines.pop()

    def function(self) -> Callable[..., wt.Tensor]:
        def run(x: wt.Tensor, y: wt.Tensor) -> wt.Tensor:
            space: dict[str, Any] = {"xp": WeftSpace(), "x": x, "y": y}
            for line in self.lines:
                exec(line, {}, space)
            made: wt.Tensor = space["v"]
            return made

        return run


def slope(chain: Chain, which: str) -> tuple[Array, Array]:
    """The derivative by each element, by differences of two distances; and where these agree, so that no kink lies between."""
    base = {"x": chain.x, "y": chain.y}
    found = []
    for step in (1e-5, 3e-6):
        made = np.zeros(base[which].shape)
        for place in np.ndindex(made.shape):
            sides = []
            for sign in (1, -1):
                moved = {name: value.copy() for name, value in base.items()}
                moved[which][place] += sign * step
                sides.append(float(chain.values("float64", **moved).v))
            made[place] = (sides[0] - sides[1]) / (2 * step)
        found.append(made)
    return found[0], np.abs(found[0] - found[1]) < 1e-3 + 1e-3 * np.abs(found[0])


def run_chain(seed: int) -> None:
    chain = Chain(seed)
    x, y = wt.array(chain.x), wt.array(chain.y)
    function = chain.function()
    eager = wt.grad(function, (0, 1))(x, y)
    compiled = wt.compile(wt.grad(function, (0, 1)))(x, y)
    for which, one, other in zip("xy", eager, compiled, strict=True):
        wanted, smooth = slope(chain, which)
        bound = 2e-3 + 3e-3 * np.abs(wanted).max(initial=1)
        for made in (one.numpy(), other.numpy()):
            wrong = smooth & ~(np.abs(made - wanted) < bound)
            assert not wrong.any(), f"seed {seed}: gradient by {which}\n{made}\nwanted\n{wanted}\n" + "\n".join(chain.lines)


def test_gradients(seed: int) -> None:
    run_chain(seed)


def test_second_derivatives_of_products() -> None:
    """Where elements are 0 as well: nothing is divided by them."""
    for row in ([1.5, 2.0, 3.0], [0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]):
        x = wt.array([row, [2.0, 3.0, 4.0]])

        def slope(x: wt.Tensor) -> wt.Tensor:
            return wt.grad(lambda x: wt.prod(x, axis=1).sum())(x)  # type: ignore[no-any-return]

        for i in range(3):
            second = wt.grad(lambda x, i=i: slope(x)[0, i])(x)  # type: ignore[misc]
            wanted = [0.0 if i == j else np.prod([row[k] for k in range(3) if k not in (i, j)]) for j in range(3)]
            np.testing.assert_allclose(second.numpy(), [wanted, [0, 0, 0]], rtol=1e-5)
    y = wt.array(np.float32([[[2, 0], [3, 5]], [[0, 7], [0, 1]]]))
    got = wt.grad(lambda y: (wt.prod(y, axis=(0, 2)) * wt.array([1.0, 2.0])).sum())(y)
    np.testing.assert_array_equal(got.numpy(), [[[0, 0], [0, 0]], [[0, 0], [30, 0]]])
