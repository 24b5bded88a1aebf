"""Variables, gradients and compiled functions of the C API."""
from common import DEVICE, Case, c, lib, np, weft
from weft import Compiled, Tensor, Variable, grad, made, map_, numbers, op, text_of, update

RNG = np.random.default_rng(3)


def tensor(*shape):
    return DEVICE.tensor(RNG.standard_normal(shape, np.float32))


class CApiGraph(Case):
    def test_moving_ops(self):
        a = RNG.standard_normal((4, 6), np.float32)
        x = DEVICE.tensor(a)
        rows = np.array([[3, 0], [1, 3]], np.int32)
        self.assertTrue(np.array_equal(op("embedding", x, DEVICE.tensor(rows)).numpy(), a[rows]))
        index = RNG.integers(0, 6, (4, 3)).astype(np.int32)
        self.assertTrue(np.array_equal(op("gather", x, DEVICE.tensor(index), 1).numpy(),
                                       np.take_along_axis(a, index, 1)))
        wanted = a.astype(np.float64)
        np.add.at(wanted, (np.arange(4)[:, None], index), 2.0)
        twos = DEVICE.tensor(np.full((4, 3), 2, np.float32))
        self.close(op("scatter_add", x, DEVICE.tensor(index), twos, -1).numpy(), wanted)
        padded = op("pad", x, [1, 0], [0, 2], value=7.0)
        self.assertTrue(np.array_equal(padded.numpy(), np.pad(a, [(1, 0), (0, 2)], constant_values=7)))
        labels = np.array([5, -1, 0, 2], np.int32)
        logs = a - np.log(np.exp(a).sum(1, keepdims=True))
        loss = op("cross_entropy", x, DEVICE.tensor(labels))
        self.close(loss.numpy(), -np.mean([logs[0, 5], logs[2, 0], logs[3, 2]]), loose=4)

    def test_gradients(self):
        a, b = RNG.standard_normal((3, 4), np.float32), RNG.standard_normal((4, 5), np.float32)
        x, w = Variable(DEVICE.tensor(a)), Variable(DEVICE.tensor(b))
        y = map_("tanh", x @ w)
        dx, dw = grad(y.reduce("sum"), [x, w])
        slope = 1 - np.tanh(a.astype(np.float64) @ b) ** 2
        self.close(dx.numpy(), slope @ b.T, loose=8)
        self.close(dw.numpy(), a.T @ slope, loose=8)
        weights = RNG.standard_normal((3, 5), np.float32)
        self.close(grad(y, [x], DEVICE.tensor(weights))[0].numpy(), (slope * weights) @ b.T, loose=8)
        self.fails("invalid_argument", "[3,5]", grad, y, [x])
        self.fails("invalid_handle", "`by[0]`", lib.weft_tensor_grad, y.reduce("sum"), None, numbers(c.c_void_p, [None]), 1,
                   (c.c_void_p * 1)())

    def test_updates_come_after_the_readers(self):
        v = Variable(DEVICE.tensor(np.float32([1, 2, 3])))
        before = v * v
        update([v], [v + v])
        self.assertEqual(v.numpy().tolist(), [2, 4, 6])
        self.assertEqual(before.numpy().tolist(), [1, 4, 9])
        constant = DEVICE.tensor(np.zeros(3, np.float32))
        self.fails("invalid_argument", "ariable", update, [constant], [v])
        self.fails("invalid_argument", "[2]", update, [v], [DEVICE.tensor(np.zeros(2, np.float32))])

    def test_compiled_functions_replay(self):
        calls = []

        def function(x, y):
            calls.append(x.info().shape)
            return [map_("relu", x @ y), (x @ y).reduce("sum")]

        passes = []
        compiled = Compiled(function, results=2, on_pass=lambda *report: passes.append(report), most_variants=1)
        for rows in (3, 3, 5, 5):
            x, y = tensor(rows, 4), tensor(4, 2)
            product, total = compiled(x, y)
            exact = x.numpy().astype(np.float64) @ y.numpy()
            self.close(product.numpy(), np.maximum(exact, 0), loose=4)
            self.close(total.numpy(), exact.sum(), scale=10, loose=4)
        self.assertEqual(calls, [(3, 4), (5, 4)])
        report = compiled.report()
        self.assertEqual((report.variants, report.built), (1, 2))
        self.assertEqual([name for name, *_ in passes].count("trace"), 2)
        self.assertIn("fuse", [name for name, *_ in passes])
        for name, text, dot in passes:
            self.assertTrue("return" in text and dot.startswith("digraph"), name)
        self.assertGreater(report.dispatches, 1)
        self.assertIn("matmul", text_of(lib.weft_compiled_to_text, compiled, False))
        self.assertIn("digraph", text_of(lib.weft_compiled_to_text, compiled, True))

    def test_a_training_step(self):
        # Least squares by gradient descent, one compiled step.
        x = RNG.standard_normal((64, 3), np.float32)
        truth = np.float32([[1], [-2], [0.5]])
        w = Variable(DEVICE.tensor(np.zeros((3, 1), np.float32)))
        rate = DEVICE.tensor(np.float32(0.2))

        def step(inputs, targets):
            error = inputs @ w - targets
            loss = (error * error).reduce("mean")
            return [loss, w - grad(loss, [w])[0] * rate]

        train = Compiled(step, results=1, variables=[w])
        losses = [train(DEVICE.tensor(x), DEVICE.tensor(x @ truth))[0].numpy() for _ in range(60)]
        self.assertLess(losses[-1], 1e-6 * losses[0])
        self.close(w.numpy(), truth, loose=1000)

    def test_errors_in_compiled_functions(self):
        failing = Compiled(lambda x: [x @ x])
        with self.assertRaises(weft.Error) as caught:
            failing(tensor(2, 3))
        self.assertIn("[2,3]", str(caught.exception))
        with self.assertRaises(ZeroDivisionError):
            Compiled(lambda x: 1 // 0)(tensor(2))
        self.fails("invalid_handle", "outputs[0]", Compiled(lambda x: []), tensor(2))
        inner = Compiled(lambda x: [x + x])
        self.fails("invalid_argument", "being compiled", Compiled(lambda x: inner(x)), tensor(2))
        self.assertEqual(inner(DEVICE.tensor(np.float32([4])))[0].numpy().tolist(), [8])
        peek = Compiled(lambda x: [DEVICE.tensor(x.numpy())])
        with self.assertRaises(weft.Error):
            peek(tensor(2))  # stand-ins have no values
        refused = []

        def look(*_):
            try:
                inner.report()
            except weft.Error as error:
                refused.append(str(error))

        Compiled(lambda x: [x + x], on_pass=look)(tensor(2))
        self.assertTrue(refused and all("being compiled" in text for text in refused))
        self.fails("invalid_argument", "at least one input", inner)
        source = weft.FunctionSource()
        self.fails("invalid_argument", "`source.function` is NULL", lib.weft_compile, c.byref(source), c.byref(c.c_void_p()))

    def test_nothing_stays_behind(self):
        def in_use():
            lib.weft_device_synchronize(DEVICE)
            memory = weft.MemoryInfo()
            lib.weft_device_get_memory(DEVICE, c.byref(memory))
            return memory.in_use

        def work():
            w = Variable(tensor(64, 64))
            Compiled(lambda x: [x @ w, w + w], variables=[w])(tensor(64, 64))
            grad((w * w).reduce("sum"), [w])[0].numpy()

        work()
        before = in_use()
        for _ in range(5):
            work()
        self.assertEqual(in_use(), before)
