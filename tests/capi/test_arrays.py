"""weft_unary, weft_binary and weft_reduce on strided arrays in buffers, against numpy."""
from common import DEVICE, Case, Place, c, lib, np, weft

RNG = np.random.default_rng(5)


class CApiArrays(Case):
    def test_unary(self):
        x = RNG.uniform(0.1, 3, (5, 6, 7))
        for name, wanted in [("sqrt", np.sqrt), ("log", np.log), ("neg", np.negative), ("tanh", np.tanh), ("exp", np.exp)]:
            for dtype in ("f32", "f16", "bf16"):
                a, y = Place(x, dtype, offset=2, pad=3), Place(np.zeros_like(x), dtype, offset=5, order=[2, 0, 1])
                lib.weft_unary(name.encode(), a.array(), y.array(), None)
                self.close(y.read(), wanted(a.exact), dtype, loose=4)
                a.read()

    def test_parameters(self):
        x, y = Place(RNG.standard_normal(100)), Place(np.zeros(100))
        lib.weft_unary(b"scale", x.array(), y.array(), weft.numbers(c.c_double, [2.0, -1.0, 0, 0]))
        self.close(y.read(), x.exact * 2 - 1)

    def test_types_may_differ(self):
        x, y = Place(RNG.integers(-100, 100, (4, 9)), "i32"), Place(np.zeros((4, 9)), "f16", pad=1)
        lib.weft_unary(b"copy", x.array(), y.array(), None)
        self.close(y.read(), x.exact, "f16")

    def test_in_place(self):
        x = Place(RNG.standard_normal((8, 8)), pad=2)
        wanted = x.exact * x.exact
        lib.weft_unary(b"square", x.array(), x.array(), None)
        self.close(x.read(), wanted)
        shifted = x.array()
        shifted.offset += 1
        self.fails("invalid_argument", "overlaps", lib.weft_unary, b"square", x.array(), shifted, None)

    def test_binary_broadcasts(self):
        a, b = Place(RNG.standard_normal((3, 1, 5))), Place(RNG.standard_normal((4, 1)), pad=1)
        y = Place(np.zeros((3, 4, 5)), order=[1, 2, 0])
        for name, wanted in [("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("maximum", np.maximum)]:
            lib.weft_binary(name.encode(), a.array(), b.array(), y.array(), None)
            self.close(y.read(), wanted(a.exact, b.exact))

    def test_reduce_every_axis(self):
        x = Place(RNG.standard_normal((4, 5, 6)), pad=2, order=[1, 0, 2])
        for axis in range(3):
            for name, wanted in [("sum", np.sum), ("mean", np.mean), ("max", np.max), ("min", np.min), ("prod", np.prod)]:
                for keep in (False, True):
                    exact = wanted(x.exact, axis=axis, keepdims=keep)
                    y = Place(np.zeros_like(exact), pad=1)
                    lib.weft_reduce(name.encode(), x.array(), axis, y.array())
                    self.close(y.read(), exact, loose=4)

    def test_argmax_counts_along_the_axis(self):
        x, y = Place(RNG.permutation(60).reshape(3, 4, 5)), Place(np.zeros((3, 5)), "i32")
        lib.weft_reduce(b"argmax", x.array(), 1, y.array())
        self.assertTrue(np.array_equal(y.read(), x.exact.argmax(1)))

    def test_no_elements_and_no_dimensions(self):
        x, y = Place(np.zeros((0, 3))), Place(np.ones(3))
        lib.weft_reduce(b"sum", x.array(), 0, y.array())
        self.assertEqual(y.read().tolist(), [0, 0, 0])
        one, two = Place(np.array(2.5)), Place(np.array(0.0))
        lib.weft_unary(b"neg", one.array(), two.array(), None)
        self.assertEqual(two.read(), -2.5)

    def test_dense_arrays(self):
        buffer, array = DEVICE.buffer(100), weft.Array()
        lib.weft_array_dense(buffer.handle, 0, 1, 2, weft.numbers(c.c_int64, [4, 6]), c.byref(array))
        self.assertEqual([*array.shape[:2], *array.strides[:2], array.offset], [4, 6, 6, 1, 1])
        self.fails("invalid_argument", "spans 24 elements from element 2 on, but its buffer of 100 bytes holds 25",
                   lib.weft_array_dense, buffer.handle, 0, 2, 2, weft.numbers(c.c_int64, [4, 6]), c.byref(array))
        self.fails("invalid_argument", "9 dimensions", lib.weft_array_dense, buffer.handle, 0, 0, 9,
                   weft.numbers(c.c_int64, [1] * 9), c.byref(array))

    def test_errors_have_the_values(self):
        x, y = Place(np.ones((2, 3))), Place(np.ones((2, 3)))
        self.fails("not_found", "`nonsense`", lib.weft_unary, b"nonsense", x.array(), y.array(), None)
        self.fails("not_found", "of 1 input", lib.weft_unary, b"add", x.array(), y.array(), None)
        self.fails("not_found", "`median`", lib.weft_reduce, b"median", x.array(), 0, y.array())
        self.fails("invalid_argument", "`function` is NULL", lib.weft_unary, None, x.array(), y.array(), None)
        self.fails("invalid_argument", "`y` is NULL", lib.weft_unary, b"neg", x.array(), None, None)
        self.fails("invalid_argument", "no axis 2", lib.weft_reduce, b"sum", x.array(), 2, y.array())
        self.fails("invalid_argument", "[2,3]", lib.weft_reduce, b"sum", x.array(), 0, y.array())
        wrong = x.array()
        wrong.shape[0], wrong.strides[0] = 2**40, 0
        self.fails("invalid_argument", "repeats its elements to 3298534883328", lib.weft_reduce, b"sum", wrong, 0, y.array())
        wrong = y.array()
        wrong.strides[0] = 1
        self.fails("invalid_argument", "share memory", lib.weft_unary, b"neg", x.array(), wrong, None)
        wrong = y.array()
        wrong.shape[1] = -3
        self.fails("invalid_argument", "Dimension 1 of `y` is -3", lib.weft_unary, b"neg", x.array(), wrong, None)
        wrong = x.array()
        wrong.strides[0] = -3
        self.fails("invalid_argument", "Stride 0 of `x` is -3", lib.weft_unary, b"neg", wrong, y.array(), None)
        wrong = x.array()
        wrong.shape[1] = 4
        self.fails("invalid_argument", "[2,4]", lib.weft_unary, b"neg", wrong, y.array(), None)
