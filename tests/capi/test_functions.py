"""Functions that are made of others, and random numbers, compared with numpy."""
from common import DEVICE, Case, np
from weft import OPERATIONS, op

RNG = np.random.default_rng(11)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


class CApiFunctions(Case):
    def near(self, found, wanted):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-5)

    def test_new_tensors(self):
        self.near(op("zeros", DEVICE, (2, 3)), np.zeros((2, 3)))
        self.near(op("eye", DEVICE, 2, columns=3, diagonal=1), np.eye(2, 3, 1))
        self.near(op("linspace", DEVICE, -1, 2, 7), np.linspace(-1, 2, 7))
        x = DEVICE.tensor(floats(2, 2))
        self.near(op("full_like", x, 3), np.full((2, 2), 3))
        for found, wanted in zip(op("meshgrid", (x.reshape(4), x.reshape(4))), np.meshgrid(x.numpy().ravel(), x.numpy().ravel()), strict=True):
            self.near(found, wanted)

    def test_shapes(self):
        a = floats(2, 3, 4)
        x = DEVICE.tensor(a)
        self.near(op("flatten", x, first=1), a.reshape(2, 12))
        self.near(op("movedim", x, (0,), (-1,)), np.moveaxis(a, 0, -1))
        self.near(op("stack", (x, x), axis=1), np.stack([a, a], 1))
        for found, wanted in zip(op("split", x, 2, axis=-1), np.split(a, 2, -1), strict=True):
            self.near(found, wanted)
        for found, wanted in zip(op("split_at", x, (1, 3), axis=2), np.split(a, [1, 3], 2), strict=True):
            self.near(found, wanted)
        self.near(op("flip", x), a[::-1, ::-1, ::-1])
        index = DEVICE.tensor(np.int32([1, -1]))
        self.near(op("take", x, index, 2), np.take(a, [1, -1], 2))
        self.near(op("diagonal", x, axis1=1, axis2=2), np.diagonal(a, 0, 1, 2))
        self.fails("invalid_argument", "flip with the shape [2,3,4] takes an axis from -3 to 2; 5 was given.", op, "flip", x, axes=(5,))

    def test_statistics_and_contractions(self):
        a, b = floats(3, 4), floats(4, 5)
        x, y = DEVICE.tensor(a), DEVICE.tensor(b)
        self.near(op("var", x, axes=(0,), correction=1), a.var(0, ddof=1))
        self.near(op("std", x, keep_dims=True), a.std(keepdims=True))
        self.near(op("logsumexp", x, axes=(-1,)), np.log(np.exp(a).sum(-1)))
        self.near(op("norm", x, p=float("inf"), axes=(1,)), np.abs(a).max(1))
        self.near(op("einsum", "ij,jk->ki", (x, y)), np.einsum("ij,jk->ki", a, b))
        self.near(op("tensordot_axes", x, y, (1,), (0,)), a @ b)
        self.near(op("clip", x, high=0.5), np.minimum(a, 0.5))
        self.fails("invalid_argument", "einsum \"ij\" has 1 terms between commas; 2 tensors were given.", op, "einsum", "ij", (x, y))

    def test_what_is_out_of_range_is_an_error_that_says_so(self):
        x = DEVICE.tensor(floats(2, 3))

        def sample(p):
            if "default" in p:
                return p["default"]
            one = {"tensor": x, "list": [x] if p.get("element") == "tensor" else [1], "text": "a", "bool": True, "device": DEVICE}
            return one.get(p["type"], p.get("at_least", p.get("at_most", 1)))

        checked = 0
        for name, operation in OPERATIONS.items():
            for p in [*operation.required, *operation.optional]:
                ends = [p[e] for e in ("above", "below") if e in p] + [p[e] + step for e, step in (("at_least", -1), ("at_most", 1)) if e in p]
                bad = ["nonsense"] if "words" in p else ends if "range" in p else []
                for value in bad + ([float("nan")] if bad and p["type"] in ("f32", "f64") else []):
                    required = [value if r is p else sample(r) for r in operation.required]
                    options = {} if p["required"] else {p["name"]: value}
                    shown = f'"{value}"' if "words" in p else f"{value:g}"
                    told = "one of " + ", ".join(f'"{w}"' for w in p["words"]) if "words" in p else "in " + p["range"]
                    self.fails("invalid_argument", f"`{p['name']}` is {shown}; it must be {told}.", op, name, *required, **options)
                    checked += 1
        self.assertGreater(checked, 100)

    def test_losses_and_norms(self):
        a, b = floats(6, 3, 5), floats(6, 3, 5)
        x, y = DEVICE.tensor(a), DEVICE.tensor(b)
        self.near(op("mse_loss", x, y), ((a - b) ** 2).mean())
        labels = DEVICE.tensor(np.int32([0, 4, 2]))
        logs = a[:3, 0] - np.log(np.exp(a[:3, 0]).sum(-1, keepdims=True))
        chosen = -logs[[0, 1, 2], [0, 4, 2]]
        self.near(op("nll_loss", DEVICE.tensor(logs), labels), chosen.mean())
        self.near(op("cross_entropy", DEVICE.tensor(a[:3, 0].copy()), labels, label_smoothing=0.2), (0.8 * chosen - 0.2 * logs.mean(-1)).mean())
        mean, var = a.mean((0, 2)), a.var((0, 2))
        ones = DEVICE.tensor(np.ones(3, np.float32))
        made, new_mean, new_var = op("batch_norm", x, running_mean=ones, running_var=ones, training=True)
        self.near(made, (a - mean[:, None]) / np.sqrt(var[:, None] + 1e-5))
        self.near(new_mean, 0.9 + 0.1 * mean)
        self.near(new_var, 0.9 + 0.1 * var * 30 / 29)

    def test_random_numbers_follow_from_their_key(self):
        key = op("random_key", DEVICE, 42)
        first = op("random_normal", key, (1000,)).numpy()
        self.assertTrue(np.array_equal(first, op("random_normal", op("random_key", DEVICE, 42), (1000,)).numpy()))
        self.assertLess(abs(first.mean()), 0.15)
        other = op("random_normal", op("random_fold_in", key, 1), (1000,)).numpy()
        self.assertFalse(np.array_equal(first, other))
        self.assertEqual(sorted(op("random_permutation", key, 50).numpy().tolist()), list(range(50)))
