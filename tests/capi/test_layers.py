"""Operations of layers.h and train.h against numpy."""
from common import DEVICE, Case, c, lib, np, weft
from weft import Handle, Tensor, Variable, grad, handles, made, map_, numbers, op

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
        options = weft.ConvOptions(weft.Windows(stride=(2, 0, 0), pad=(1, 0, 0)))
        t = [DEVICE.tensor(v) for v in (x, w, b)]
        y = op("conv", *t, c.byref(options))
        self.close(y.numpy(), correlate(x, w, 2, 1) + b[:, None], loose=8)
        back = op("conv_transposed", y, t[1], None, c.byref(options))
        self.assertEqual(back.info().shape, (2, 3, 9))
        moved = DEVICE.tensor(draw(2, 3, 9))  # <conv(m), y> = <m, transposed(y)>
        left = (op("conv", moved, t[1], None, c.byref(options)) * y).reduce("sum").numpy()
        self.close((moved * back).reduce("sum").numpy(), left, scale=50, loose=8)
        three = numbers(I64, [3])
        self.close(op("pool", 0, t[0], three, None).numpy(), x.reshape(2, 3, 3, 3).max(3))
        self.close(op("pool", 1, t[0], three, None).numpy(), x.reshape(2, 3, 3, 3).mean(3), loose=4)
        columns = op("unfold", t[0], three, None)
        self.assertEqual(columns.info().shape, (2, 7, 3, 3))
        counts = np.minimum(np.minimum(np.arange(9) + 1, 9 - np.arange(9)), 3)
        self.close(op("fold", columns, 1, numbers(I64, [9]), None).numpy(), x * counts, loose=4)
        self.fails("invalid_argument", "[2,3,9]", lib.weft_tensor_conv, t[0], DEVICE.tensor(draw(4, 2, 3)), None, None,
                   c.byref(Handle()))
        self.fails("invalid_argument", "one of 0 to 2", lib.weft_tensor_pool, 3, t[0], three, None, c.byref(Handle()))
        image = DEVICE.tensor(np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2))
        self.assertEqual(op("resize", image, 2, 4, 0, False).numpy().tolist(), [[[[0, 0, 1, 1], [2, 2, 3, 3]]]])

    def test_moves(self):
        a = draw(4, 5)
        x = DEVICE.tensor(a)
        low, high = numbers(I64, [1, 2]), numbers(I64, [0, 3])
        for edge, mode in enumerate(["edge", "wrap", "reflect"]):
            padded = op("pad_edge", x, 2, low, high, edge).numpy()
            self.assertTrue(np.array_equal(padded, np.pad(a, [(1, 0), (2, 3)], mode)))
        self.assertTrue(np.array_equal(op("roll", x, 2, numbers(I64, [1, -2])).numpy(), np.roll(a, [1, -2], (0, 1))))
        self.assertTrue(np.array_equal(op("tile", x, 2, numbers(I64, [2, 3])).numpy(), np.tile(a, (2, 3))))
        self.assertTrue(np.array_equal(op("band", x, -100, 0, 0.0).numpy(), np.tril(a)))
        values, indices = Handle(), Handle()
        lib.weft_tensor_sort(x, -1, True, c.byref(values), c.byref(indices))
        self.assertTrue(np.array_equal(Tensor(values).numpy(), -np.sort(-a, 1)))
        self.assertTrue(np.array_equal(Tensor(indices).numpy(), np.argsort(-a, 1, kind="stable")))
        lib.weft_tensor_sort(x, 2, False, None, c.byref(indices))
        self.assertTrue(np.array_equal(Tensor(indices).numpy(), np.argsort(a, 1, kind="stable")[:, :2]))
        rows, source = np.int32([3, 0]), draw(2, 5)
        wanted = a.copy()
        wanted[rows] = source
        self.assertTrue(np.array_equal(op("set_rows", x, DEVICE.tensor(rows), DEVICE.tensor(source)).numpy(), wanted))

    def test_scans_and_transforms(self):
        a = draw(3, 12)
        x = DEVICE.tensor(a)
        exact = a.astype(np.float64)
        for name, wanted in [(b"sum", np.cumsum(exact, 1)), (b"prod", np.cumprod(exact, 1)), (b"max", np.maximum.accumulate(a, 1)),
                             (b"min", np.minimum.accumulate(a, 1)), (b"logsumexp", np.logaddexp.accumulate(exact, 1))]:
            self.close(op("scan", name, x, 1, False).numpy(), wanted, loose=64)
        self.fails("not_found", "`mean`", lib.weft_tensor_scan, b"mean", x, 1, False, c.byref(Handle()))
        half = op("rfft", x)
        wanted = np.fft.rfft(exact)
        self.close(half.numpy(), np.stack([wanted.real, wanted.imag], 2), scale=4, loose=8)
        self.close(op("irfft", half, 12).numpy(), a, scale=2, loose=8)
        pairs = draw(2, 11, 2)
        whole = op("fft", DEVICE.tensor(pairs), False)
        wanted = np.fft.fft(pairs[..., 0].astype(np.float64) + 1j * pairs[..., 1])
        self.close(whole.numpy(), np.stack([wanted.real, wanted.imag], 2), scale=4, loose=16)
        self.close(op("fft", whole, True).numpy(), pairs, scale=2, loose=16)
        self.fails("invalid_argument", "[3,12]", lib.weft_tensor_fft, x, False, c.byref(Handle()))

    def test_rows_and_products(self):
        a, mask, sinks = draw(2, 3, 4), draw(1, 4), draw(2)
        keep = [DEVICE.tensor(mask), DEVICE.tensor(sinks)]
        options = weft.SoftmaxOptions(0.5, keep[0].handle, keep[1].handle, 0, False)
        z = np.exp(0.5 * a.astype(np.float64) + mask)
        self.close(op("softmax_with", DEVICE.tensor(a), c.byref(options)).numpy(),
                   z / (z.sum(2, keepdims=True) + np.exp(sinks)[:, None, None]), loose=4)
        self.close(op("l2_norm", DEVICE.tensor(a), 1e-12).numpy(), a / np.linalg.norm(a, axis=2, keepdims=True), loose=4)
        g = a.reshape(2, 1, 12)
        self.close(op("group_norm", DEVICE.tensor(a), 1, None, None, 0.0).numpy().reshape(2, 1, 12),
                   (g - g.mean(2, keepdims=True)) / g.std(2, keepdims=True), loose=16)
        x, w = draw(3, 32), draw(8, 32)
        half = op("matmul_with", DEVICE.tensor(x), DEVICE.tensor(w).T, c.byref(weft.MatmulOptions(True, 1, False)))
        self.assertEqual(half.info().dtype, "f16")
        blocks = DEVICE.tensor(w).cast("q8_0")
        self.assertEqual((blocks.info().dtype, blocks.numpy().shape), ("q8_0", (8, 32)))
        self.close(op("matmul_rows", DEVICE.tensor(x), blocks, False).numpy(), x.astype(np.float64) @ blocks.numpy().T, loose=64)
        ids, many = np.int32([[1], [0], [1]]), draw(2, 4, 32)
        chosen = op("matmul_chosen", DEVICE.tensor(x.reshape(3, 1, 32)), DEVICE.tensor(many), DEVICE.tensor(ids), False).numpy()
        self.close(chosen[:, 0], np.einsum("tk,tmk->tm", x.astype(np.float64), many[ids[:, 0]]), scale=8, loose=8)
        lower = np.tril(draw(3, 3)) + 3 * np.eye(3, dtype=np.float32)
        solved = op("solve_triangular", DEVICE.tensor(lower), DEVICE.tensor(x[:, :2].copy()), False).numpy()
        self.close(solved, np.linalg.solve(lower.astype(np.float64), x[:, :2]), loose=16)

    def test_models(self):
        logits, labels = draw(3, 4), np.int32([2, 1, 0])
        logs = logits - np.log(np.exp(logits.astype(np.float64)).sum(1, keepdims=True))
        losses = -logs[np.arange(3), labels] * (labels != 1)
        for reduction, wanted in enumerate([losses.sum() / 2, losses.sum(), losses]):
            loss = op("cross_entropy_with", DEVICE.tensor(logits), DEVICE.tensor(labels), reduction, 1)
            self.close(loss.numpy(), wanted, loose=4)
        waves = op("sinusoid", DEVICE.tensor(np.float32([0, 2])), 4, 100.0).numpy()
        self.close(waves, [[1, 1, 0, 0], [np.cos(2), np.cos(0.2), np.sin(2), np.sin(0.2)]], loose=2000)
        heads = [DEVICE.tensor(draw(1, 2, 3, 4)) for _ in range(3)]
        sinks = DEVICE.tensor(np.float32([-60, -60]))  # so small that they take nothing
        self.close(op("attention_with", *heads, None, sinks, None).numpy(), op("attention", *heads, None, None).numpy(), loose=4)


class CApiTraining(Case):
    def test_steps(self):
        w, g = draw(5), draw(5)
        numbers_ = np.float32([0.1, 0.9, 0.99, 1e-8, 0.01, 1 / (1 - 0.9), 1 / (1 - 0.99)])
        zeros = DEVICE.tensor(np.zeros(5, np.float32))
        step = weft.Step()
        lib.weft_tensor_adamw(DEVICE.tensor(w), DEVICE.tensor(g), zeros, zeros, DEVICE.tensor(numbers_), None, c.byref(step))
        self.close(Tensor(Handle(step.weights)).numpy(), w * (1 - 0.001) - 0.1 * np.sign(g), loose=8)
        self.close(Tensor(Handle(step.m)).numpy(), 0.1 * g, loose=4)
        self.close(Tensor(Handle(step.v)).numpy(), 0.01 * g * g, loose=4)
        self.assertIsNone(step.working)
        scale, norm = Handle(), Handle()
        gradients = [DEVICE.tensor(g)]
        lib.weft_tensor_clip_by_norm(handles(gradients), 1, 0.5, None, c.byref(scale), c.byref(norm))
        length = np.linalg.norm(g.astype(np.float64))
        self.close(Tensor(norm).numpy().reshape(()), length, loose=4)
        scale = Tensor(scale)
        options = weft.StepOptions(scale.handle, True, 1, False)
        lib.weft_tensor_sgd(DEVICE.tensor(w), gradients[0], None, DEVICE.tensor(np.float32([0.2, 0])), c.byref(options), c.byref(step))
        wanted = w - 0.2 * g * min(1, 0.5 / length)
        self.close(Tensor(Handle(step.weights)).numpy(), wanted, loose=4)
        self.assertEqual(Tensor(Handle(step.working)).info().dtype, "f16")
        self.assertIsNone(step.m)

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
        y = op("checkpoint", kept, None, handles([x, w]), 2)
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
