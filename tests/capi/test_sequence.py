"""Operations on sequences, and rope with options, against numpy."""
from common import DEVICE, Case, np
from weft import op

RNG = np.random.default_rng(11)


def draw(*shape):
    return RNG.standard_normal(shape, np.float32)


def tensors(*arrays):
    return [DEVICE.tensor(a) for a in arrays]


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype(np.float64)))


class CApiSequence(Case):
    def recur(self, arrays, **options):
        return op("gated_linear_attention", *tensors(*arrays), **options)

    def test_recurrences_and_their_snapshots(self):
        q, k, v, decay, state = draw(1, 3, 1, 4), draw(1, 3, 1, 4), draw(1, 3, 1, 3), draw(1, 3, 1, 4), draw(1, 1, 3, 4)
        s, read, states = state[0, 0].astype(np.float64), [], []
        for t in range(3):
            s = s * decay[0, t, 0] + np.outer(v[0, t, 0], k[0, t, 0])
            read.append(s @ q[0, t, 0])
            states.append(s)
        y, last = self.recur((q, k, v, decay, state))
        self.close(y.numpy()[0, :, 0], np.stack(read), scale=8, loose=8)
        self.close(last.numpy()[0, 0], s, scale=8, loose=8)
        y, some = self.recur((q, k, v, decay, state), snapshots=2)
        self.assertEqual(some.info().shape, (2, 1, 1, 3, 4))
        self.close(some.numpy()[:, 0, 0], np.stack([states[2], states[1]]), scale=8, loose=8)
        self.fails("invalid_argument", "4 snapshots", self.recur, (q, k, v, decay, state), snapshots=4)
        self.fails("invalid_argument", "`snapshots` is -1", self.recur, (q, k, v, decay, state), snapshots=-1)

    def test_convolutions(self):
        x, w = draw(1, 2, 5), draw(2, 3)
        wanted = np.stack([np.correlate(x[0, i], w[i]) for i in range(2)], 1)
        self.close(op("ssm_conv", *tensors(x, w)).numpy()[0], wanted, loose=8)

    def test_routes(self):
        logits = draw(3, 6)
        bias = DEVICE.tensor(np.float32([0, 0, 9, 0, 0, 0]))
        weights, ids = op("route", DEVICE.tensor(logits), 2, score="sigmoid", bias=bias, normalize=True, scale=2.5)
        weights, ids = weights.numpy(), ids.numpy()
        scores = sigmoid(logits)
        order = np.argsort(-(scores + np.float32([0, 0, 9, 0, 0, 0])), 1)[:, :2]
        self.assertTrue(np.array_equal(ids, order))
        chosen = np.take_along_axis(scores, order, 1)
        self.close(weights, 2.5 * chosen / chosen.sum(1, keepdims=True), loose=8)
        for wrong, part in [({"score": 4}, "one of 0 to 3"), ({"bias": 3}, "`bias`")]:
            self.fails("invalid_handle" if "bias" in wrong else "invalid_argument", part, op, "route",
                       DEVICE.tensor(logits), 2, **wrong)

    def test_hyper_connections(self):
        mixes, scale, base = draw(2, 24), draw(3), draw(24)
        m = np.exp((mixes[:, 8:].astype(np.float64) * scale[2] + base[8:]).reshape(2, 4, 4))
        m = m / m.sum(2, keepdims=True) + 1e-6
        for axis in (1, 2, 1):
            m = m / (m.sum(axis, keepdims=True) + 1e-6)
        self.close(op("hyper_combine", *tensors(mixes, scale, base), iterations=2).numpy(), m, loose=16)
        x, weights = draw(2, 4, 5), draw(2, 4)
        self.close(op("hyper_read", *tensors(x, weights), scale=0.5).numpy(), 0.5 * np.einsum("tsw,ts->tw", x, weights), loose=8)
        gates = draw(2, 4, 5)
        self.close(op("hyper_read", *tensors(x, gates)).numpy(), (x * sigmoid(gates)).sum(1), loose=8)
        y, share, mix = draw(2, 5), draw(2, 4), draw(2, 4, 4)
        added = np.einsum("tw,ts->tsw", y, share)
        self.close(op("hyper_write", *tensors(y, x, share)).numpy(), added + x, scale=8, loose=8)
        self.close(op("hyper_write", *tensors(y, x, share), mix=DEVICE.tensor(mix)).numpy(), added + np.einsum("tfw,tfs->tsw", x, mix), scale=8, loose=8)

    def test_index_scores(self):
        q, k, weights, mask = draw(1, 2, 3, 8), draw(1, 5, 8), draw(1, 2, 3), draw(1, 2, 5)
        products = np.maximum(np.einsum("sthd,skd->sthk", q.astype(np.float64), k), 0)
        wanted = np.einsum("sthk,sth->stk", products, weights) + mask
        self.close(op("index_scores", *tensors(q, k, weights), mask=DEVICE.tensor(mask)).numpy(), wanted, scale=16, loose=8)

    def test_rope_with_options(self):
        x = draw(1, 3, 2, 8)
        y = op("rope", DEVICE.tensor(x), mode="interleaved", dims=4, offset=2, first=5, base=100, scale=0.5)
        angle = (5 + np.arange(3))[:, None] * 0.5 * 100.0 ** (-np.arange(2) / 2)
        cos, sin = np.cos(angle)[None, :, None], np.sin(angle)[None, :, None]
        wanted = x.astype(np.float64)
        even, odd = x[..., 2:6:2], x[..., 3:6:2]
        wanted[..., 2:6:2], wanted[..., 3:6:2] = even * cos - odd * sin, even * sin + odd * cos
        self.close(y.numpy(), wanted, loose=64)
        default = op("rope", DEVICE.tensor(x)).numpy()
        self.assertTrue(np.array_equal(default, op("rope", DEVICE.tensor(x), mode="halves", base=10000.0).numpy()))
        self.fails("invalid_argument", "one of 0 to 4", op, "rope", DEVICE.tensor(x), mode=9)

    def test_products_with_x_in_8_bits(self):
        x, blocks = draw(2, 64), DEVICE.tensor(draw(8, 64)).cast("q4_0")
        exact = x.astype(np.float64) @ blocks.numpy().T
        self.close(op("linear", DEVICE.tensor(x), blocks).numpy(), exact, scale=16, loose=4)
        rounded = op("linear", DEVICE.tensor(x), blocks, allow_q8=True).numpy()
        self.assertLess(np.abs(rounded - exact).max(), 0.02 * np.abs(exact).max() + 0.1)
