"""weft_gemm and weft_gemm_batched against numpy."""
from common import DEVICE, FLOATS, Case, c, from_bits, lib, np, to_bits, weft


class Stored:
    """Matrices in a buffer: rows `ld` apart, batches `step` apart, after `offset` elements."""

    def __init__(self, rng, batches, rows, columns, dtype, ld=None, step=None, offset=0):
        self.dtype, self.offset, self.ld = dtype, offset, ld or max(columns, 1)
        self.shape = (batches, rows, columns)
        self.step = step if step is not None else rows * self.ld + 3
        count = offset + max(0, batches - 1) * self.step + rows * self.ld + 4
        self.bits = to_bits(rng.integers(-8, 9, count) / 4, dtype)
        self.buffer = DEVICE.buffer(self.bits)

    def window(self, bits):
        size = bits.itemsize
        return np.lib.stride_tricks.as_strided(bits[self.offset:], self.shape, [self.step * size, self.ld * size, size])

    @property
    def values(self):
        return from_bits(self.window(self.bits), self.dtype)

    def matrix(self):
        return c.byref(weft.Matrix(self.buffer.handle, weft.DTYPES.index(self.dtype), self.offset, self.ld, self.step))


class CApiProducts(Case):
    def product(self, m, n, k, batches=1, ta=False, tb=False, alpha=1.0, beta=0.0, types=("f32",) * 3, extra=(0, 0, 0),
                offsets=(0, 0, 0), steps=(None,) * 3):
        rng = np.random.default_rng(m * 1000 + n * 10 + k)
        sizes = [(k, m) if ta else (m, k), (n, k) if tb else (k, n), (m, n)]
        a, b, out = (Stored(rng, batches, r, col, t, max(col, 1) + e, s, o)
                     for (r, col), t, e, s, o in zip(sizes, types, extra, steps, offsets))
        before = out.values
        left = a.values.swapaxes(1, 2) if ta else a.values
        right = b.values.swapaxes(1, 2) if tb else b.values
        wanted = alpha * (left @ right) + (beta * before if beta else 0)
        arguments = [ta, tb, m, n, k, alpha, a.matrix(), b.matrix(), beta, out.matrix()]
        lib.weft_gemm_batched(*arguments, batches) if batches != 1 else lib.weft_gemm(*arguments)
        now = out.buffer.read(out.bits.dtype, out.bits.shape)
        self.close(from_bits(out.window(now), types[2]), wanted, types[2])
        out.window(now)[...] = out.window(out.bits)
        self.assertTrue(np.array_equal(now, out.bits), "memory outside of c changed")

    def test_transposes_and_leading_dimensions(self):
        for ta in (False, True):
            for tb in (False, True):
                self.product(17, 9, 33, ta=ta, tb=tb, extra=(0, 3, 5), offsets=(0, 7, 2))

    def test_types(self):
        for types in [("f16",) * 3, ("bf16",) * 3, ("f16", "f32", "f32"), ("f32", "bf16", "f16")]:
            self.product(8, 24, 40, types=types, extra=(1, 0, 1), offsets=(1, 3, 5))

    def test_alpha_and_beta(self):
        self.product(16, 16, 16, alpha=-2.5, beta=0.5)
        self.product(5, 64, 1, alpha=0.0, beta=3.0)
        self.product(1, 1, 100, alpha=2.0, beta=-1.0)

    def test_batches(self):
        self.product(7, 5, 3, batches=4, extra=(0, 2, 1))
        self.product(12, 8, 4, batches=3, ta=True, tb=True, types=("f16", "f16", "f32"))
        self.product(6, 10, 4, batches=5, steps=(None, 0, None))  # one b for all
        self.product(4, 2, 3, batches=0)

    def test_batches_between_the_rows(self):
        # Rows of two matrices take turns: [rows, batches, columns] in memory.
        self.product(3, 4, 5, batches=2, extra=(5, 0, 4), steps=(5, None, 4))

    def test_empty_products(self):
        self.product(0, 4, 3)
        self.product(4, 0, 3)
        self.product(4, 3, 0, beta=2.0)  # no terms: c is only scaled

    def test_c_is_not_read_with_beta_zero(self):
        a = DEVICE.buffer(np.ones(4, np.float32))
        out = DEVICE.buffer(np.full(4, np.nan, np.float32))
        one = weft.Matrix(a.handle, 0, 0, 2)
        lib.weft_gemm(False, False, 2, 2, 2, 1, c.byref(one), c.byref(one), 0, c.byref(weft.Matrix(out.handle, 0, 0, 2)))
        self.assertEqual(out.read(np.float32, 4).tolist(), [2, 2, 2, 2])

    def test_parts_of_one_buffer(self):
        values = np.arange(24, dtype=np.float32).reshape(4, 6)  # a | b in the first columns, c in the last two
        buffer = DEVICE.buffer(values)
        part = [c.byref(weft.Matrix(buffer.handle, 0, first, 6)) for first in (0, 2, 4)]
        lib.weft_gemm(False, False, 2, 2, 2, 1, part[0], part[1], 0, part[2])
        got = buffer.read(np.float32, (4, 6))
        self.assertTrue(np.array_equal(got[:2, 4:], values[:2, :2] @ values[:2, 2:4]))
        self.assertTrue(np.array_equal(got[:, :4], values[:, :4]))
        self.fails("invalid_argument", "overlaps", lib.weft_gemm, False, False, 2, 2, 2, 1, part[0], part[1], 0,
                   c.byref(weft.Matrix(buffer.handle, 0, 3, 6)))

    def test_errors_have_the_values(self):
        buffer, other = DEVICE.buffer(64), DEVICE.buffer(256)
        good, to = weft.Matrix(buffer.handle, 0, 0, 4), weft.Matrix(other.handle, 0, 0, 4)

        def gemm(m=4, n=4, k=4, a=good, b=good, out=to, batches=1):
            lib.weft_gemm_batched(False, False, m, n, k, 1, c.byref(a), c.byref(b), 0, c.byref(out), batches)

        gemm()
        short = weft.Matrix(buffer.handle, 0, 1, 4)
        self.fails("invalid_argument", "spans 16 elements from element 1 on, but its buffer of 64 bytes holds 16", gemm, a=short)
        self.fails("invalid_argument", "leading dimension of `b` is 3, less than the 4 columns", gemm,
                   b=weft.Matrix(buffer.handle, 0, 0, 3))
        self.fails("invalid_argument", "leading dimension of `a` is -4", gemm, a=weft.Matrix(buffer.handle, 0, 0, -4))
        self.fails("invalid_argument", "element -1 on", gemm, a=weft.Matrix(buffer.handle, 0, -1, 4))
        self.fails("invalid_argument", "`k` is -1", gemm, k=-1)
        self.fails("invalid_argument", "`batches` is -7", gemm, batches=-7)
        self.fails("invalid_argument", "too large", gemm, m=2**50, a=weft.Matrix(buffer.handle, 0, 0, 2**40))
        self.fails("invalid_argument", "2^56", gemm, m=2**40, k=2**40,
                   a=weft.Matrix(buffer.handle, 0, 0, 2**40))
        self.fails("invalid_argument", "share memory", gemm, batches=2, b=weft.Matrix(buffer.handle, 0, 0, 4, 0),
                   a=weft.Matrix(buffer.handle, 0, 0, 4, 0), out=weft.Matrix(other.handle, 0, 0, 4, 2))
        self.fails("invalid_argument", "Stride 0 of `a` is -16", gemm, batches=2, a=weft.Matrix(buffer.handle, 0, 0, 4, -16))
        self.fails("invalid_argument", "overlaps", gemm, out=good)
        self.fails("unsupported", "i32", gemm, a=weft.Matrix(buffer.handle, 3, 0, 4))
        self.fails("invalid_argument", "12, which is no type", gemm, a=weft.Matrix(buffer.handle, 12, 0, 4))
        self.fails("invalid_handle", "`b.buffer` is NULL", gemm, b=weft.Matrix(None, 0, 0, 4))
        elsewhere = weft.Device()
        far = elsewhere.buffer(256)
        self.fails("invalid_argument", "another device", gemm, out=weft.Matrix(far.handle, 0, 0, 4))
