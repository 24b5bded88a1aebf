"""weft_attention (and convolutions) on buffers, against numpy."""
from common import Case, Place, c, lib, np, weft

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

    def test_attention_errors_have_the_values(self):
        q, k, y = Place(np.ones((1, 4, 2, 8))), Place(np.ones((1, 3, 5, 8))), Place(np.ones((1, 4, 2, 8)))
        self.fails("invalid_argument", "[1,3,5,8]", lib.weft_attention, q.array(), k.array(), k.array(), None, None, y.array())
        self.fails("invalid_argument", "window is -2", lib.weft_attention, q.array(), q.array(), q.array(), None,
                   c.byref(weft.AttentionOptions(window=-2)), y.array())
        self.fails("invalid_argument", "`v` is NULL", lib.weft_attention, q.array(), q.array(), None, None, None, y.array())
        flat = Place(np.ones((8, 8)))
        self.fails("invalid_argument", "[8,8]", lib.weft_attention, flat.array(), flat.array(), flat.array(), None, None, y.array())
        self.fails("invalid_argument", "overlap", lib.weft_attention, q.array(), q.array(), q.array(), None, None, q.array())
