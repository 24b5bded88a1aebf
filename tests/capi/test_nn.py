"""Modules, optimizers, training steps and loaders of the C API, against numpy."""
import tempfile
from pathlib import Path

from common import DEVICE, Case, c, lib, np, weft
from weft import Handle, Tensor, made

RNG = np.random.default_rng(8)


def draw(*shape):
    return RNG.standard_normal(shape, np.float32)


def named(function, handle) -> dict[str, np.ndarray]:
    """What a function gives to a receiver, by name and in order."""
    found = {}

    def receive(_context, name, tensor):
        found[name.decode()] = Tensor(Handle(tensor)).numpy()

    function(handle, weft.Receiver(receive), None)
    return found


def forward(module, x: np.ndarray) -> np.ndarray:
    return Tensor(made(lib.weft_module_forward, module, DEVICE.tensor(x))).numpy()


def filled(module) -> dict[str, np.ndarray]:
    """Gives a module other parameters than those it starts with, which are often ones and zeros."""
    values = {name: draw(*v.shape) for name, v in named(lib.weft_module_parameters, module).items()}
    tensors = [DEVICE.tensor(v) for v in values.values()]
    lib.weft_module_load_state(module, weft.numbers(c.c_char_p, [n.encode() for n in values]),
                               weft.numbers(Handle, [t.handle.value for t in tensors]), len(tensors))
    return values


def normalised(x: np.ndarray, axes: tuple[int, ...], eps: float) -> np.ndarray:
    x = x.astype(np.float64)
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def convolved(x: np.ndarray, w: np.ndarray, stride: int, pad: int, dilation: int, groups: int, transposed: bool, more: int) -> np.ndarray:
    """A convolution [N, C, spatial...] in double, element of the kernel by element; the transposed one adds what the other takes."""
    rank, kernel = x.ndim - 2, w.shape[2:]
    outs = w.shape[1] * groups if transposed else w.shape[0]
    sizes = x.shape[2:]
    span = [dilation * (k - 1) for k in kernel]
    wanted = [(n - 1) * stride - 2 * pad + s + 1 + more if transposed else (n + 2 * pad - s - 1) // stride + 1 for n, s in zip(sizes, span)]
    ins = x.shape[1] // groups
    y = np.zeros((x.shape[0], outs, *wanted))
    small, large = (sizes, wanted) if transposed else (wanted, sizes)
    for at in np.ndindex(*small):
        for k in np.ndindex(*kernel):
            place = tuple(a * stride + i * dilation - pad for a, i in zip(at, k))
            if any(not 0 <= p < n for p, n in zip(place, large)):
                continue
            for g in range(groups):
                into, out = slice(g * ins, (g + 1) * ins), slice(g * outs // groups, (g + 1) * outs // groups)
                if transposed:
                    y[(slice(None), out, *place)] += x[(slice(None), into, *at)].astype(float) @ w[(into, slice(None), *k)]
                else:
                    y[(slice(None), out, *at)] += x[(slice(None), into, *place)].astype(float) @ w[(out, slice(None), *k)].T
    assert y.ndim == rank + 2
    return y


class CApiNn(Case):
    def setUp(self):
        self.init = made(lib.weft_init_create, DEVICE, 7)

    def sequential(self, *modules):
        return made(lib.weft_module_sequential, weft.numbers(Handle, [m.value for m in modules]), len(modules))

    def test_layers_and_their_names(self):
        first = made(lib.weft_module_linear, self.init, 5, 4, True)
        last = made(lib.weft_module_linear, self.init, 4, 3, False)
        model = self.sequential(first, made(lib.weft_module_activation, b"relu"), last)
        for part in (first, last):
            lib.weft_module_free(part)  # the model keeps them
        weights = named(lib.weft_module_parameters, model)
        self.assertEqual([(n, w.shape) for n, w in weights.items()], [("0.weight", (4, 5)), ("0.bias", (4,)), ("2.weight", (3, 4))])
        x = draw(6, 5)
        hidden = np.maximum(x @ weights["0.weight"].T + weights["0.bias"], 0)
        self.close(forward(model, x), hidden @ weights["2.weight"].T, loose=8)
        again = made(lib.weft_init_create, DEVICE, 7)  # the same seed, the same values
        other = made(lib.weft_module_linear, again, 5, 4, True)
        np.testing.assert_array_equal(named(lib.weft_module_parameters, other)["weight"], weights["0.weight"])

    def test_norms_against_numpy(self):
        x, images = draw(3, 5, 6) * 2 + 1, draw(2, 6, 3, 4) * 2 - 1
        for eps in (0.0, 0.5):
            used = eps or 1e-5
            for bias in (True, False):
                model = made(lib.weft_module_layer_norm, self.init, 6, eps, bias)
                own = filled(model)
                self.assertEqual(list(own), ["weight", "bias"] if bias else ["weight"])
                self.close(forward(model, x), normalised(x, (-1,), used) * own["weight"] + own.get("bias", 0), loose=16)
            model = made(lib.weft_module_rms_norm, self.init, 6, eps)
            own = filled(model)
            exact = x.astype(np.float64)
            self.close(forward(model, x), exact / np.sqrt((exact**2).mean(-1, keepdims=True) + used) * own["weight"], loose=16)
            model = made(lib.weft_module_group_norm, self.init, 3, 6, eps)
            own = filled(model)
            wanted = normalised(images.reshape(2, 3, 2, 3, 4), (2, 3, 4), used).reshape(images.shape)
            self.close(forward(model, images), wanted * own["weight"][:, None, None] + own["bias"][:, None, None], loose=16)

    def test_embeddings_and_mlps_against_numpy(self):
        table = made(lib.weft_module_embedding, self.init, 7, 3)
        own, rows = filled(table), np.array([[6, 0], [3, 3]], np.int32)
        np.testing.assert_array_equal(forward(table, rows), own["weight"][rows])
        model = made(lib.weft_module_mlp, self.init, weft.numbers(c.c_uint64, [4, 6, 5, 2]), 4, b"tanh")
        own, x = filled(model), draw(3, 4)
        y = x.astype(np.float64)
        for place in ("0", "2", "4"):
            y = y @ own[f"{place}.weight"].T + own[f"{place}.bias"]
            y = np.tanh(y) if place != "4" else y
        self.close(forward(model, x), y, loose=32)

    def test_convolutions_against_numpy(self):
        for rank, size in ((1, (9,)), (2, (6, 5)), (3, (4, 5, 3))):
            for transposed in (False, True):
                for stride, pad, dilation, groups, more, bias in ((1, 0, 1, 1, 0, True), (2, 1, 1, 2, 1, True), (2, 1, 2, 1, 0, False)):
                    options = weft.ConvModule(rank=rank, kernel=(c.c_uint64 * 3)(2, 2, 2), stride=stride, padding=pad, dilation=dilation,
                                              groups=groups, output_padding=more * transposed, transposed=transposed, no_bias=not bias)
                    model = made(lib.weft_module_conv, self.init, 4, 6, options)
                    own, x = filled(model), draw(2, 4, *size)
                    self.assertEqual(own["weight"].shape, ((4, 6 // groups) if transposed else (6, 4 // groups)) + (2,) * rank)
                    wanted = convolved(x, own["weight"], stride, pad, dilation, groups, transposed, more * transposed)
                    with self.subTest(rank=rank, transposed=transposed, stride=stride, dilation=dilation):
                        self.close(forward(model, x), wanted + own.get("bias", np.zeros(6)).reshape(-1, *[1] * rank), loose=32)

    def test_state_goes_to_a_file_and_back(self):
        model = made(lib.weft_module_conv, self.init, 2, 3, None)
        x, before = draw(1, 2, 5, 5), named(lib.weft_module_state, model)
        y = forward(model, x)
        self.assertEqual(y.shape, (1, 3, 3, 3))
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "model.safetensors").encode()
            lib.weft_module_save(model, path)
            zeros = [DEVICE.tensor(np.zeros_like(v)) for v in before.values()]
            names = weft.numbers(c.c_char_p, [n.encode() for n in before])
            lib.weft_module_load_state(model, names, weft.numbers(Handle, [z.handle.value for z in zeros]), len(zeros))
            self.assertEqual(abs(forward(model, x)).max(), 0)
            lib.weft_module_load(model, path)
        np.testing.assert_array_equal(forward(model, x), y)
        self.fails("not_found", "weight", lib.weft_module_load_state, model, names, None, 0)

    def test_batch_norms_measure_while_training(self):
        model = made(lib.weft_module_batch_norm, self.init, 3, 0.0, 0.0)
        x = draw(4, 3, 2) * 3 + 1
        y = forward(model, x)
        self.close(y.mean((0, 2)), np.zeros(3), loose=8)
        lib.weft_module_apply_updates(model)
        state = named(lib.weft_module_state, model)
        mean = next(v for n, v in state.items() if "mean" in n)
        self.close(mean, 0.1 * x.mean((0, 2)), loose=8)
        lib.weft_module_train(model, False)
        self.assertGreater(abs(forward(model, x) - y).max(), 0.1)

    def test_attention_goes_on_with_its_cache(self):
        options = weft.AttentionModule(causal=True, rope_base=10000.0)
        model = made(lib.weft_module_multihead_attention, self.init, 8, 2, options)
        x = draw(1, 5, 8)
        whole = forward(model, x)
        keys, values, y = Handle(), Handle(), Handle()
        for i in range(5):
            lib.weft_module_attend(model, DEVICE.tensor(x[:, i:i + 1]), None, c.byref(keys), c.byref(values), c.byref(y))
            self.close(Tensor(Handle(y.value)).numpy()[0, 0], whole[0, i], loose=16)
        for kept in (keys, values):
            self.assertEqual(Tensor(kept).numpy().shape, (1, 2, 5, 4))
        flat = made(lib.weft_module_flatten)
        self.fails("invalid_argument", "attention or a transformer block", lib.weft_module_attend, flat, DEVICE.tensor(x), None, None, None,
                   c.byref(Handle()))

    def test_a_block_takes_the_epsilon_of_its_norms(self):
        x = draw(1, 3, 8)

        def result(**options):
            self.init = made(lib.weft_init_create, DEVICE, 5)
            return forward(made(lib.weft_module_transformer_block, self.init, 8, 2, weft.BlockModule(rms=True, **options)), x)

        plain = result()
        np.testing.assert_array_equal(result(eps=1e-5), plain)
        self.assertGreater(abs(result(eps=10.0) - plain).max(), 0.1)

    def test_recurrent_layers_give_their_last_states(self):
        model = made(lib.weft_module_lstm, self.init, 3, 4, weft.RecurrentModule(layers=2))
        y, state, cell = Handle(), Handle(), Handle()
        lib.weft_module_recur(model, DEVICE.tensor(draw(6, 2, 3)), None, None, None, c.byref(y), c.byref(state), c.byref(cell))
        y, state, cell = (Tensor(h).numpy() for h in (y, state, cell))
        self.assertEqual((y.shape, state.shape, cell.shape), ((6, 2, 4), (2, 2, 4), (2, 2, 4)))
        np.testing.assert_array_equal(y[-1], state[1])

    def test_a_model_of_ones_own_learns(self):
        linear = made(lib.weft_module_linear, self.init, 3, 1, True)

        @weft.Part
        def twice(_context, inputs, _count, output):
            doubled = Tensor(made(lib.weft_module_forward, linear, Handle(inputs[0]))) * 2.0
            output[0], doubled.handle = doubled.handle.value, None
            return 0

        model = made(lib.weft_module_custom, weft.numbers(c.c_char_p, [b"inner"]), weft.numbers(Handle, [linear.value]), 1, twice, None)
        self.assertEqual(list(named(lib.weft_module_parameters, model)), ["inner.weight", "inner.bias"])
        groups = (weft.ParameterGroup * 1)(weft.ParameterGroup(b"bias", 1.0, 0.0))
        options = weft.OptimizerOptions(weight_decay=1e-4, groups=groups, group_count=1)
        optimizer = made(lib.weft_optimizer_adamw, model, options)
        ema = made(lib.weft_ema_create, model, 0.5)

        @weft.Part
        def loss(_context, inputs, _count, output):
            y = Tensor(made(lib.weft_module_forward, model, Handle(inputs[0])))
            made_loss = made(lib.weft_tensor_mse_loss, y, Handle(inputs[1]), None)
            output[0] = made_loss.value
            return 0

        step = made(lib.weft_step_create, model, optimizer, loss, None, weft.StepOptions(clip=1.0, ema=ema, loss_scale=1024.0))
        x = draw(32, 3)
        y = x @ np.float32([[1], [-2], [0.5]]) + 0.25
        batch = [DEVICE.tensor(x), DEVICE.tensor(y)]
        handles, rate = weft.numbers(Handle, [t.handle.value for t in batch]), c.c_double()
        losses = []
        for i in range(150):
            lib.weft_schedule_rate(weft.Schedule(0.1, 150, 5, 2, 0.01), i, c.byref(rate))
            losses.append(Tensor(made(lib.weft_step_run, step, handles, 2, rate)).numpy().item())
        self.assertLess(losses[-1], 1e-3 * losses[0])
        count = c.c_uint32()
        lib.weft_step_get_count(step, c.byref(count))
        self.assertEqual(count.value, 150)
        averages, weights = named(lib.weft_ema_averages, ema), named(lib.weft_module_parameters, model)
        self.close(averages["inner.weight"], weights["inner.weight"], loose=1e4)
        self.assertIn("inner.weight", " ".join(named(lib.weft_optimizer_state, optimizer)))

    def test_loaders_give_every_example_once(self):
        numbers, pictures = np.arange(10, dtype=np.int32), draw(10, 2, 2)
        shape = weft.numbers(c.c_int64, [2, 2])
        columns = (weft.Column * 2)(weft.Column(weft.DTYPES.index("i32"), 0, None, numbers.ctypes.data, numbers.nbytes),
                                    weft.Column(weft.DTYPES.index("f32"), 2, shape, pictures.ctypes.data, pictures.nbytes))
        loader = made(lib.weft_loader_create, DEVICE, columns, 2, weft.LoaderOptions(batch=4, keep_last=True, seed=3))
        self.fails("invalid_argument", "weft_loader_start", lib.weft_loader_next, loader, (Handle * 2)(), c.byref(c.c_bool()))
        examples, batches = c.c_uint64(), c.c_uint64()
        lib.weft_loader_get_size(loader, c.byref(examples), c.byref(batches))
        self.assertEqual((examples.value, batches.value), (10, 3))
        orders = []
        for epoch in range(2):
            lib.weft_loader_start(loader, epoch)
            order, more, batch = [], c.c_bool(), (Handle * 2)()
            while True:
                lib.weft_loader_next(loader, batch, c.byref(more))
                if not more.value:
                    break
                which, pictured = (Tensor(Handle(h)).numpy() for h in batch)
                np.testing.assert_array_equal(pictured, pictures[which])
                order += which.tolist()
            self.assertEqual(sorted(order), list(range(10)))
            orders.append(order)
        self.assertNotEqual(*orders)
        # The same orders as in the other languages (python/tests/test_resume.py has these numbers, too).
        loader = made(lib.weft_loader_create, DEVICE, columns, 1, weft.LoaderOptions(batch=10, seed=7))
        for epoch, order in enumerate(([5, 4, 2, 7, 0, 9, 3, 1, 6, 8], [3, 6, 9, 7, 5, 8, 2, 4, 0, 1])):
            lib.weft_loader_start(loader, epoch)
            lib.weft_loader_next(loader, batch, c.byref(more))
            self.assertEqual(Tensor(Handle(batch[0])).numpy().tolist(), order)

    def test_wrong_numbers(self):
        for maker, arguments, words in [
                (lib.weft_module_linear, (self.init, 0, 4, True), "`in` is 0"),
                (lib.weft_module_linear, (self.init, 4, 2**40, True), "`out` is 1099511627776"),
                (lib.weft_module_mlp, (self.init, weft.numbers(c.c_uint64, [4]), 1, b"relu"), "`count` is 1"),
                (lib.weft_module_dropout, (1.5,), "`rate` is 1.5"),
                (lib.weft_module_conv, (self.init, 2, 2, weft.ConvModule(rank=4)), "`options.rank` is 4"),
                (lib.weft_module_multihead_attention, (self.init, 7, 2, None), "7")]:
            self.fails("invalid_argument", words, made, maker, *arguments)
        self.fails("not_found", "\"reluu\"", made, lib.weft_module_activation, b"reluu")
