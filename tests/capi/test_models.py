"""weft_attention and weft_conv2d on buffers, against numpy."""
import tempfile

from common import DEVICE, Case, Place, c, lib, np, weft
from weft import numbers, op

RNG = np.random.default_rng(11)


def attention(q, k, v, mask=None, scale=None, causal=False, window=0):
    """In double, with heads and batches of q sharing those of k and v."""
    k, v = (np.repeat(np.repeat(t, q.shape[0] // t.shape[0], 0), q.shape[1] // t.shape[1], 1) for t in (k, v))
    logits = (scale or q.shape[3] ** -0.5) * q @ k.swapaxes(2, 3)
    if mask is not None:
        logits = logits + mask
    position = np.arange(q.shape[2])[:, None] + k.shape[2] - q.shape[2]
    key = np.arange(k.shape[2])[None]
    if causal:
        logits = np.where(key <= position, logits, -np.inf)
    if window:
        logits = np.where((key <= position) & (key > position - window), logits, -np.inf)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)) @ v


def conv2d(x, w, bias=None, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1):
    """In double, window by window."""
    x = np.pad(x, [(0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2])
    out = [(x.shape[2 + i] - dilation[i] * (w.shape[2 + i] - 1) - 1) // stride[i] + 1 for i in (0, 1)]
    y = np.zeros((x.shape[0], w.shape[0], *out))
    each_in, each_out = x.shape[1] // groups, w.shape[0] // groups
    for i, j in np.ndindex(*w.shape[2:]):
        part = x[:, :, i * dilation[0]:, j * dilation[1]:][:, :, ::stride[0], ::stride[1]][:, :, :out[0], :out[1]]
        for g in range(groups):
            y[:, g * each_out:(g + 1) * each_out] += np.einsum(
                "nchw,oc->nohw", part[:, g * each_in:(g + 1) * each_in], w[g * each_out:(g + 1) * each_out, :, i, j])
    return y if bias is None else y + bias[:, None, None]


class CApiModels(Case):
    def attend(self, batch=2, heads=4, key_heads=2, queries=5, keys=9, size=16, value_size=12, dtype="f32", order=None, mask=False, **rules):
        q = Place(RNG.standard_normal((batch, heads, queries, size)), dtype, offset=4, order=order)
        k = Place(RNG.standard_normal((batch, key_heads, keys, size)), dtype, offset=8, order=order)
        v = Place(RNG.standard_normal((batch, key_heads, keys, value_size)), dtype, offset=0, order=order)
        m = Place(RNG.standard_normal((1, 1, queries, keys))) if mask else None
        y = Place(np.zeros((batch, heads, queries, value_size)), dtype, offset=4, order=order)
        options = c.byref(weft.AttentionOptions(**rules)) if rules else None
        lib.weft_attention(q.array(), k.array(), v.array(), m.array() if m else None, options, y.array())
        self.close(y.read(), attention(q.exact, k.exact, v.exact, m.exact if m else None, **rules), dtype, loose=8)

    def test_attention(self):
        self.attend()
        self.attend(mask=True, scale=0.3)
        self.attend(causal=True, dtype="f16")
        self.attend(causal=True, window=3, queries=9)

    def test_attention_with_heads_between_positions(self):
        self.attend(order=[0, 2, 1, 3])  # [batch, positions, heads, size] in memory

    def test_attention_of_tensors_and_its_gradient(self):
        q, k, v = (RNG.standard_normal((1, 2, 4, 8), np.float32) for _ in range(3))
        qv = weft.Variable(DEVICE.tensor(q))
        y = op("attention", qv, DEVICE.tensor(k), DEVICE.tensor(v), causal=True)
        self.close(y.numpy(), attention(q.astype(float), k, v, causal=True), loose=8)
        slope = weft.grad(y.reduce("sum"), [qv])[0].numpy()
        step, place = 1e-4, (0, 1, 2, 3)
        moved = [q.astype(float), q.astype(float)]
        moved[0][place] += step
        moved[1][place] -= step
        high, low = (attention(m, k, v, causal=True).sum() for m in moved)
        self.assertAlmostEqual(slope[place], (high - low) / (2 * step), places=4)

    def test_rope_and_dropout(self):
        x = RNG.standard_normal((1, 3, 2, 8), np.float32)
        y = op("rope", DEVICE.tensor(x)).numpy()
        angle = np.arange(3)[:, None] * 10000.0 ** (-np.arange(4) / 4)
        cos, sin = np.cos(angle)[None, :, None], np.sin(angle)[None, :, None]
        low, high = x[..., :4], x[..., 4:]
        self.close(y, np.concatenate([low * cos - high * sin, low * sin + high * cos], -1), loose=16)
        seed = DEVICE.tensor(np.uint32([1, 2]))
        ones = DEVICE.tensor(np.ones(4000, np.float32))
        kept = op("dropout", ones, 0.25, seed).numpy()
        self.assertTrue(set(np.unique(kept.round(5))) == {0, np.float32(1.33333)})
        self.assertAlmostEqual(kept.mean(), 1, delta=0.1)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for ending in ("safetensors", "gguf"):
                path = f"{folder}/weights.{ending}"
                given = {"a": RNG.standard_normal((3, 4), np.float32), "b.weight": np.arange(5, dtype=np.int32)}
                words = {"general.name": "a café", "note": ""}
                weft.save(path, {name: DEVICE.tensor(value) for name, value in given.items()}, words)
                texts = {}
                found = weft.load(DEVICE, path, texts)
                self.assertEqual(texts, words)
                self.assertEqual(list(found), list(given))
                for name, value in given.items():
                    self.assertTrue(np.array_equal(found[name].numpy(), value))
                kept = weft.Variable(DEVICE.tensor(np.zeros((3, 4), np.float32)))
                weft.update([kept], [found["a"]])
                self.assertTrue(np.array_equal(kept.numpy(), given["a"]))
            with open(path, "r+b") as file:
                file.truncate(40)
            with self.assertRaises(weft.Error):
                weft.load(DEVICE, path)
            self.fails("invalid_argument", "weights.txt", weft.save, f"{folder}/weights.txt", {})
            with self.assertRaises(weft.Error):
                weft.load(DEVICE, f"{folder}/none.gguf")

    def test_attention_errors_have_the_values(self):
        q, k, y = Place(np.ones((1, 4, 2, 8))), Place(np.ones((1, 3, 5, 8))), Place(np.ones((1, 4, 2, 8)))
        self.fails("invalid_argument", "[1,3,5,8]", lib.weft_attention, q.array(), k.array(), k.array(), None, None, y.array())
        self.fails("invalid_argument", "window is -2", lib.weft_attention, q.array(), q.array(), q.array(), None,
                   c.byref(weft.AttentionOptions(window=-2)), y.array())
        self.fails("invalid_argument", "`v` is NULL", lib.weft_attention, q.array(), q.array(), None, None, None, y.array())
        flat = Place(np.ones((8, 8)))
        self.fails("invalid_argument", "[8,8]", lib.weft_attention, flat.array(), flat.array(), flat.array(), None, None, y.array())
        self.fails("invalid_argument", "overlap", lib.weft_attention, q.array(), q.array(), q.array(), None, None, q.array())

    def convolve(self, x_shape, w_shape, dtype="f32", order=None, bias=False, **options):
        x, w = Place(RNG.standard_normal(x_shape), dtype, order=order), Place(RNG.standard_normal(w_shape), dtype, order=order)
        b = Place(RNG.standard_normal(w_shape[0])) if bias else None
        wanted = conv2d(x.exact, w.exact, b.exact if b else None, **options)
        y = Place(np.zeros_like(wanted), dtype, order=order)
        given = {k: numbers(c.c_int64, v) if k != "groups" else v for k, v in options.items()}
        lib.weft_conv2d(x.array(), w.array(), b.array() if b else None, c.byref(weft.Conv2dOptions(**given)) if given else None, y.array())
        self.close(y.read(), wanted, dtype, loose=8)

    def test_convolutions(self):
        self.convolve((2, 3, 9, 8), (4, 3, 3, 3))
        self.convolve((1, 4, 7, 7), (6, 2, 3, 2), groups=2, padding=(1, 2), stride=(2, 1), bias=True)
        self.convolve((1, 2, 10, 9), (3, 2, 2, 3), dilation=(2, 3), dtype="f16")
        self.convolve((2, 8, 6, 6), (8, 8, 1, 1), order=[0, 2, 3, 1])  # channels last in memory

    def test_convolution_errors_have_the_values(self):
        x, w, y = Place(np.ones((1, 2, 5, 5))), Place(np.ones((3, 2, 3, 3))), Place(np.ones((1, 3, 3, 3)))
        lib.weft_conv2d(x.array(), w.array(), None, None, y.array())
        stride = weft.Conv2dOptions(stride=numbers(c.c_int64, [2, 2]))
        self.fails("invalid_argument", "has 3 elements, but there are 2 windows", lib.weft_conv2d, x.array(), w.array(), None,
                   c.byref(stride), y.array())
        for wrong, part in [({"padding": (-1, 0)}, "padding is -1"), ({"dilation": (-1, 0)}, "dilation is -1"),
                            ({"stride": (2**62, 0)}, "stride is 4611686018427387904"), ({"dilation": (2**31, 1)}, "too wide")]:
            given = weft.Conv2dOptions(**{k: numbers(c.c_int64, v) for k, v in wrong.items()})
            self.fails("invalid_argument", part, lib.weft_conv2d, x.array(), w.array(), None, c.byref(given), y.array())
        self.fails("invalid_argument", "groups is -1", lib.weft_conv2d, x.array(), w.array(), None,
                   c.byref(weft.Conv2dOptions(groups=-1)), y.array())
        flat = Place(np.ones((5, 5)))
        self.fails("invalid_argument", "[5,5]", lib.weft_conv2d, flat.array(), w.array(), None, None, y.array())
        image, one = Place(np.ones((1, 1, 3, 3))), Place(np.ones((1, 1, 1, 1)))
        self.fails("invalid_argument", "over its input", lib.weft_conv2d, image.array(), one.array(), None, None, image.array())
