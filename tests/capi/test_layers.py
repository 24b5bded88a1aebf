"""Operations on rows, images and products, and steps of training, against numpy."""
from common import DEVICE, Case, c, lib, np, weft
from weft import Handle, Tensor, Variable, grad, handles, made, map_, op

RNG = np.random.default_rng(5)
I64 = c.c_int64


def draw(*shape):
    return RNG.standard_normal(shape, np.float32)


def correlate(x, w, stride, pad):
    """A convolution along the last dimension, from its definition."""
    x = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (pad, pad)])
    count = (x.shape[2] - w.shape[2]) // stride + 1
    windows = np.stack([x[:, :, o * stride:o * stride + w.shape[2]] for o in range(count)], 2)
    return np.einsum("ncok,dck->ndo", windows, w)


class CApiLayers(Case):
    def test_convolutions_and_windows(self):
        x, w, b = draw(2, 3, 9), draw(4, 3, 3), draw(4)
        options = {"stride": [2], "pad": [1]}
        t = [DEVICE.tensor(v) for v in (x, w, b)]
        y = op("conv", t[0], t[1], bias=t[2], **options)
        self.close(y.numpy(), correlate(x, w, 2, 1) + b[:, None], loose=8)
        back = op("conv_transpose", y, t[1], **options)
        self.assertEqual(back.info().shape, (2, 3, 9))
        moved = DEVICE.tensor(draw(2, 3, 9))  # <conv(m), y> = <m, transposed(y)>
        left = (op("conv", moved, t[1], **options) * y).reduce("sum").numpy()
        self.close((moved * back).reduce("sum").numpy(), left, scale=50, loose=8)
        self.close(op("max_pool", t[0], [3]).numpy(), x.reshape(2, 3, 3, 3).max(3))
        self.close(op("avg_pool", t[0], [3]).numpy(), x.reshape(2, 3, 3, 3).mean(3), loose=4)
        columns = op("unfold", t[0], [3])
        self.assertEqual(columns.info().shape, (2, 7, 3, 3))
        counts = np.minimum(np.minimum(np.arange(9) + 1, 9 - np.arange(9)), 3)
        self.close(op("fold", columns, [9]).numpy(), x * counts, loose=4)
        self.fails("invalid_argument", "[2,3,9]", op, "conv", t[0], DEVICE.tensor(draw(4, 2, 3)))
        self.fails("invalid_argument", "one of 0 to 2", op, "pad_edge", t[0], [0] * 3, [0] * 3, 3)
        image = DEVICE.tensor(np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2))
        self.assertEqual(op("resize", image, 2, 4).numpy().tolist(), [[[[0, 0, 1, 1], [2, 2, 3, 3]]]])

    def test_moves(self):
        a = draw(4, 5)
        x = DEVICE.tensor(a)
        for edge, mode in [("replicate", "edge"), ("circular", "wrap"), ("reflect", "reflect")]:
            padded = op("pad_edge", x, [1, 2], [0, 3], edge).numpy()
            self.assertTrue(np.array_equal(padded, np.pad(a, [(1, 0), (2, 3)], mode)))
        self.assertTrue(np.array_equal(op("roll", x, [1, -2]).numpy(), np.roll(a, [1, -2], (0, 1))))
        self.assertTrue(np.array_equal(op("tile", x, [2, 3]).numpy(), np.tile(a, (2, 3))))
        self.assertTrue(np.array_equal(op("band_part", x, -100, 0).numpy(), np.tril(a)))
        values, indices = op("sort", x, descending=True)
        self.assertTrue(np.array_equal(values.numpy(), -np.sort(-a, 1)))
        self.assertTrue(np.array_equal(indices.numpy(), np.argsort(-a, 1, kind="stable")))
        self.assertTrue(np.array_equal(op("sort", x, axis=0)[0].numpy(), np.sort(a, 0)))
        indices = Handle()  # of several results, those with a place are given
        lib.weft_tensor_top_k(x, 2, c.byref(weft.OPERATIONS["top_k"].given({"largest": False})), None, c.byref(indices))
        self.assertTrue(np.array_equal(Tensor(indices).numpy(), np.argsort(a, 1, kind="stable")[:, :2]))
        rows, source = np.int32([3, 0]), draw(2, 5)
        wanted = a.copy()
        wanted[rows] = source
        self.assertTrue(np.array_equal(op("index_copy", x, DEVICE.tensor(rows), DEVICE.tensor(source)).numpy(), wanted))

    def test_scans_and_transforms(self):
        a = draw(3, 12)
        x = DEVICE.tensor(a)
        exact = a.astype(np.float64)
        for name, wanted in [("cumsum", np.cumsum(exact, 1)), ("cumprod", np.cumprod(exact, 1)),
                             ("cummax", np.maximum.accumulate(a, 1)), ("cummin", np.minimum.accumulate(a, 1)),
                             ("logcumsumexp", np.logaddexp.accumulate(exact, 1))]:
            self.close(op(name, x, 1).numpy(), wanted, loose=64)
        half = op("rfft", x)
        wanted = np.fft.rfft(exact)
        self.close(half.numpy(), np.stack([wanted.real, wanted.imag], 2), scale=4, loose=8)
        self.close(op("irfft", half, 12).numpy(), a, scale=2, loose=8)
        pairs = draw(2, 11, 2)
        whole = op("fft", DEVICE.tensor(pairs))
        wanted = np.fft.fft(pairs[..., 0].astype(np.float64) + 1j * pairs[..., 1])
        self.close(whole.numpy(), np.stack([wanted.real, wanted.imag], 2), scale=4, loose=16)
        self.close(op("ifft", whole).numpy(), pairs, scale=2, loose=16)
        self.fails("invalid_argument", "[3,12]", op, "fft", x)

    def test_rows_and_products(self):
        a, mask, sinks = draw(2, 3, 4), draw(1, 4), draw(2)
        keep = [DEVICE.tensor(mask), DEVICE.tensor(sinks)]
        z = np.exp(0.5 * a.astype(np.float64) + mask)
        self.close(op("softmax", DEVICE.tensor(a), scale=0.5, mask=keep[0], sinks=keep[1]).numpy(),
                   z / (z.sum(2, keepdims=True) + np.exp(sinks)[:, None, None]), loose=4)
        self.close(op("normalize", DEVICE.tensor(a)).numpy(), a / np.linalg.norm(a, axis=2, keepdims=True), loose=4)
        g = a.reshape(2, 1, 12)
        self.close(op("group_norm", DEVICE.tensor(a), 1, eps=0.0).numpy().reshape(2, 1, 12),
                   (g - g.mean(2, keepdims=True)) / g.std(2, keepdims=True), loose=16)
        last = np.ascontiguousarray(np.moveaxis(a, 1, -1))
        self.close(np.moveaxis(op("group_norm", DEVICE.tensor(last), 1, eps=0.0, axis=-1).numpy(), -1, 1).reshape(2, 1, 12),
                   (g - g.mean(2, keepdims=True)) / g.std(2, keepdims=True), loose=16)
        x, w = draw(3, 32), draw(8, 32)
        half = op("matmul", DEVICE.tensor(x), DEVICE.tensor(w).T, dtype="f16")
        self.assertEqual(half.info().dtype, "f16")
        blocks = DEVICE.tensor(w).cast("q8_0")
        self.assertEqual((blocks.info().dtype, blocks.numpy().shape), ("q8_0", (8, 32)))
        self.close(op("linear", DEVICE.tensor(x), blocks).numpy(), x.astype(np.float64) @ blocks.numpy().T, loose=64)
        ids, many = np.int32([[1], [0], [1]]), draw(2, 4, 32)
        chosen = op("grouped_linear", DEVICE.tensor(x.reshape(3, 1, 32)), DEVICE.tensor(many), DEVICE.tensor(ids)).numpy()
        self.close(chosen[:, 0], np.einsum("tk,tmk->tm", x.astype(np.float64), many[ids[:, 0]]), scale=8, loose=8)
        lower = np.tril(draw(3, 3)) + 3 * np.eye(3, dtype=np.float32)
        solved = op("solve_triangular", DEVICE.tensor(lower), DEVICE.tensor(x[:, :2].copy())).numpy()
        self.close(solved, np.linalg.solve(lower.astype(np.float64), x[:, :2]), loose=16)

    def test_models(self):
        logits, labels = draw(3, 4), np.int32([2, 1, 0])
        logs = logits - np.log(np.exp(logits.astype(np.float64)).sum(1, keepdims=True))
        losses = -logs[np.arange(3), labels] * (labels != 1)
        for reduction, wanted in [("mean", losses.sum() / 2), ("sum", losses.sum()), ("none", losses)]:
            loss = op("cross_entropy", DEVICE.tensor(logits), DEVICE.tensor(labels), reduction=reduction, ignored=1)
            self.close(loss.numpy(), wanted, loose=4)
        waves = op("sinusoid", DEVICE.tensor(np.float32([0, 2])), 4, period=100.0).numpy()
        self.close(waves, [[1, 1, 0, 0], [np.cos(2), np.cos(0.2), np.sin(2), np.sin(0.2)]], loose=2000)
        heads = [DEVICE.tensor(draw(1, 2, 3, 4)) for _ in range(3)]
        sinks = DEVICE.tensor(np.float32([-60, -60]))  # so small that they take nothing
        self.close(op("attention", *heads, sinks=sinks).numpy(), op("attention", *heads).numpy(), loose=4)


class CApiTraining(Case):
    def test_steps(self):
        w, g = draw(5), draw(5)
        zeros = DEVICE.tensor(np.zeros(5, np.float32))
        first = DEVICE.tensor(np.float32([1]))
        weights, m, v, working = op("adamw", DEVICE.tensor(w), DEVICE.tensor(g), zeros, zeros, first, lr=0.1, beta2=0.99)
        self.close(weights.numpy(), w * (1 - 0.001) - 0.1 * np.sign(g), loose=8)
        self.close(m.numpy(), 0.1 * g, loose=4)
        self.close(v.numpy(), 0.01 * g * g, loose=4)
        self.assertIsNone(working)
        gradients = [DEVICE.tensor(g)]
        scale, norm = op("clip_by_global_norm", gradients, 0.5)
        length = np.linalg.norm(g.astype(np.float64))
        self.close(norm.numpy().reshape(()), length, loose=4)
        weights, velocity, working = op("sgd", DEVICE.tensor(w), gradients[0], lr=0.2, scale=scale, working="f16")
        self.close(weights.numpy(), w - 0.2 * g * min(1, 0.5 / length), loose=4)
        self.assertEqual(working.info().dtype, "f16")
        self.assertIsNone(velocity)
        weights, velocity, _ = op("sgd", DEVICE.tensor(w), gradients[0], velocity=DEVICE.tensor(g), lr=0.2, momentum=0.5,
                                  weight_decay=0.1)
        self.close(velocity.numpy(), 1.5 * g + 0.1 * w, loose=4)
        self.close(weights.numpy(), w - 0.2 * (1.5 * g + 0.1 * w), loose=4)

    def test_checkpoints(self):
        a, b = draw(3, 4), draw(4, 2)
        x, w = Variable(DEVICE.tensor(a)), Variable(DEVICE.tensor(b))
        calls = []

        def part(context, inputs, count, output):
            given = [Tensor(Handle(inputs[i])) for i in range(count)]
            calls.append(count)
            made_ = map_("tanh", given[0] @ given[1])
            output[0], made_.handle = made_.handle.value, None
            for tensor in given:
                tensor.handle = None  # the library's
            return 0

        kept = weft.Part(part)
        y = Tensor(made(lib.weft_tensor_checkpoint, kept, None, handles([x, w]), 2))
        dx, dw = grad(y.reduce("sum"), [x, w])
        slope = 1 - np.tanh(a.astype(np.float64) @ b) ** 2
        self.close(dx.numpy(), slope @ b.T, loose=8)
        self.close(dw.numpy(), a.T @ slope, loose=8)
        self.assertEqual(calls, [2, 2])
        refusing = weft.Part(lambda context, inputs, count, output: 2)
        self.fails("invalid_argument", "returned unsupported", lib.weft_tensor_checkpoint, refusing, None, handles([x]), 1,
                   c.byref(Handle()))
        self.fails("invalid_argument", "`part` is NULL", lib.weft_tensor_checkpoint, weft.Part(), None, handles([x]), 1,
                   c.byref(Handle()))
