"""Tensors of the C API against numpy."""
import json

from common import DEVICE, Case, c, lib, np, weft
from weft import TextReceiver, made, map_, numbers, op

RNG = np.random.default_rng(9)
Tensor = weft.Tensor


class CApiTensors(Case):
    def test_all_types_come_back(self):
        for name, kind in weft.NUMPY.items():
            values = RNG.integers(0, 100, (3, 5)).astype(kind)
            tensor = DEVICE.tensor(values)
            self.assertEqual((tensor.info().dtype, tensor.info().shape, tensor.info().size), (name, (3, 5), 15))
            self.assertTrue(np.array_equal(tensor.numpy(), values))

    def test_arithmetic(self):
        a, b = RNG.standard_normal((4, 1, 6), np.float32), RNG.standard_normal((5, 6), np.float32)
        x, y = DEVICE.tensor(a), DEVICE.tensor(b)
        self.close((x + y).numpy(), a + b)
        self.close((x - y * x).numpy(), a - b * a)
        self.close((x / (y * y + DEVICE.tensor(np.float32(1)))).numpy(), a / (b * b + 1))
        self.close(map_("gelu_tanh", x).numpy(), 0.5 * a * (1 + np.tanh(np.sqrt(2 / np.pi) * (a + 0.044715 * a**3))), loose=8)

    def test_views(self):
        values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        x = DEVICE.tensor(values)
        permuted = op("permute", x, [2, 0, -2])
        self.assertTrue(np.array_equal(permuted.numpy(), values.transpose(2, 0, 1)))
        part = permuted.slice(0, 1, 2)
        self.assertTrue(np.array_equal(part.numpy(), values.transpose(2, 0, 1)[1:3]))
        self.assertTrue(np.array_equal(x.slice(2, 1, 2, 2).numpy(), values[:, :, 1::2]))
        self.assertTrue(np.array_equal(part.reshape(3, 4).numpy(), values.transpose(2, 0, 1)[1:3].reshape(3, 4)))
        self.assertEqual(op("reshape", x, [4, -1]).info().shape, (4, 6))
        self.assertTrue(np.array_equal(x.T.numpy(), values.swapaxes(1, 2)))
        wide = op("broadcast_to", DEVICE.tensor(np.float32([1, 2])), [3, 2])
        self.assertEqual(wide.numpy().tolist(), [[1, 2]] * 3)

    def test_reductions_and_models_pieces(self):
        a = RNG.standard_normal((4, 9), np.float32)
        x = DEVICE.tensor(a)
        self.close(x.reduce("sum").numpy(), a.sum(dtype=np.float64), loose=4)
        self.close(x.reduce("mean", 1, keep=True).numpy(), a.mean(1, keepdims=True), loose=4)
        self.assertTrue(np.array_equal(x.reduce("argmax", 1).numpy(), a.argmax(1)))
        soft = np.exp(2 * a) / np.exp(2 * a).sum(1, keepdims=True)
        self.close(x.softmax(scale=2.0).numpy(), soft, loose=4)
        columns = np.exp(a) / np.exp(a).sum(0, keepdims=True)
        self.close(x.softmax(0).numpy(), columns, loose=4)
        self.close(op("log_softmax", x).numpy(),
                   a - np.log(np.exp(a).sum(1, keepdims=True)), loose=4)
        self.close(op("cumsum", x, -1).numpy(), a.cumsum(1), loose=4)
        self.close(op("cumsum", x, 0, exclusive=True, reverse=True).numpy(), a[::-1].cumsum(0)[::-1] - a, loose=4)
        weight, bias = RNG.standard_normal(9, np.float32), RNG.standard_normal(9, np.float32)
        w, b = DEVICE.tensor(weight), DEVICE.tensor(bias)
        norm = (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5)
        self.close(op("layer_norm", x, weight=w, bias=b).numpy(), norm * weight + bias, loose=4)
        self.close(op("layer_norm", x).numpy(), norm, loose=4)
        rms = a / np.sqrt((a * a).mean(1, keepdims=True) + 1e-6)
        self.close(op("rms_norm", x, weight=w, eps=1e-6).numpy(), rms * weight, loose=4)

    def test_matmul_and_concat(self):
        a, b = RNG.standard_normal((3, 4, 5), np.float32), RNG.standard_normal((5, 6), np.float32)
        x, y = DEVICE.tensor(a), DEVICE.tensor(b)
        self.close((x @ y).numpy(), a @ b, loose=4)
        self.assertTrue(np.array_equal(op("concat", [x, x], 1).numpy(), np.concatenate([a, a], 1)))

    def test_sources(self):
        full = op("full", DEVICE, [2, 2], 1.5, dtype="bf16")
        self.assertEqual((full.info().dtype, full.numpy().tolist()), ("bf16", [[1.5, 1.5]] * 2))
        self.assertEqual(str(full), "bf16[2,2] [[1.5, 1.5], [1.5, 1.5]]")
        count = op("arange", DEVICE, 5, start=10, step=-2, dtype="i32")
        self.assertEqual(count.numpy().tolist(), [10, 8, 6, 4, 2])
        self.assertEqual(count.cast("f16").info().dtype, "f16")
        self.assertEqual(DEVICE.tensor(np.float32(3)).info().shape, ())
        self.assertEqual(DEVICE.tensor(np.zeros((0, 4), np.float32)).numpy().shape, (0, 4))

    def test_a_buffer_as_a_tensor_and_back(self):
        values = np.arange(20, dtype=np.float32)
        buffer = DEVICE.buffer(values)
        strided = Tensor(made(lib.weft_tensor_from_buffer, buffer, 0, 8, 2, numbers(c.c_int64, [3, 2]),
                              numbers(c.c_int64, [6, 2])))
        self.assertEqual(strided.numpy().tolist(), [[2, 4], [8, 10], [14, 16]])
        offset, strides = c.c_uint64(), (c.c_int64 * 2)()
        back = weft.Buffer(c.c_void_p())
        lib.weft_tensor_get_buffer(strided, c.byref(back.handle), c.byref(offset), strides)
        self.assertEqual((offset.value, list(strides)), (8, [6, 2]))
        lib.weft_buffer_fill(back, 8, 4, 0)  # the same memory
        self.assertEqual(buffer.read(np.float32, 4).tolist(), [0, 1, 0, 3])
        self.fails("invalid_argument", "from byte 8 on; the buffer has 80 bytes", lib.weft_tensor_from_buffer, buffer, 0,
                   8, 1, numbers(c.c_int64, [19]), None, c.byref(c.c_void_p()))
        self.fails("invalid_argument", "not a multiple of its 4-byte", lib.weft_tensor_from_buffer, buffer, 0, 3, 1,
                   numbers(c.c_int64, [1]), None, c.byref(c.c_void_p()))

    def test_kernels_on_tensors(self):
        source = weft.KernelSource(wgsl=b"""
            @group(0) @binding(0) var<storage, read> x: array<f32>;
            @group(0) @binding(1) var<storage, read_write> y: array<f32>;
            @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
              if (id.x < arrayLength(&x)) { y[id.x] = x[id.x] * 3.0; }
            }""", writes=numbers(c.c_bool, [False, True]), bindings=2)
        kernel = made(lib.weft_kernel_create, DEVICE, c.byref(source))
        x, y = DEVICE.tensor(np.arange(100, dtype=np.float32)), DEVICE.tensor(np.zeros(100, np.float32))
        pair, groups = numbers(c.c_void_p, [x.handle, y.handle]), numbers(c.c_uint32, [2, 1, 1])
        lib.weft_kernel_run_tensors(kernel, pair, 2, groups, None, 0)
        self.assertTrue(np.array_equal(y.numpy(), np.arange(100) * 3))
        self.fails("invalid_argument", "takes 2 bindings", lib.weft_kernel_run_tensors, kernel, pair, 1, groups, None, 0)
        lib.weft_kernel_free(kernel)

    def test_errors_have_the_values(self):
        x = DEVICE.tensor(np.zeros((2, 3), np.float32))
        out = c.byref(c.c_void_p())
        self.fails("invalid_argument", "[2,3]", op, "reshape", x, [7])
        self.fails("invalid_argument", "-2", op, "reshape", x, [-2])
        self.fails("invalid_argument", "too large", op, "reshape", DEVICE.tensor(np.zeros(0, np.float32)), [2**32, 2**32, 2**32])
        self.fails("invalid_argument", "no element -3", op, "slice", x, 0, -3, 1)
        self.fails("invalid_argument", "[2,3]", op, "slice", x, 1, 2, 2)
        self.fails("invalid_argument", "the shape [2,3] takes an axis from -2 to 1; 2 was given", op, "softmax", x, axis=2)
        self.fails("invalid_argument", "`size` of the options", lib.weft_tensor_softmax, x,
                   c.byref(weft.OPERATIONS["softmax"].options()), out)
        self.fails("invalid_argument", "[2,3]", op, "permute", x, [0, 0])
        self.fails("not_found", "nonsense", map_, "nonsense", x)
        self.fails("invalid_handle", "`inputs[1]` is NULL", lib.weft_tensor_map, b"add", numbers(c.c_void_p, [x.handle, None]), 2,
                   None, out)
        self.fails("invalid_argument", "12 bytes", lib.weft_tensor_from_data, DEVICE, 0, 1, numbers(c.c_int64, [3]),
                   b"0123456789", 10, out)
        huge = op("full", DEVICE, [2**50], 0)
        self.fails("out_of_memory", "largest buffer", lib.weft_tensor_get_buffer, huge, out, None, None)

    def test_where_the_time_went(self):
        found = []
        receive = TextReceiver(lambda _, table, trace: found.append((table.decode(), trace.decode())))
        timed = weft.Device(profile=True)
        op("softmax", timed.tensor(np.ones((8, 8), np.float32))).numpy()
        lib.weft_device_take_profile(timed, receive, None)
        self.assertIn("softmax", found[0][0])
        self.assertGreater(len(json.loads(found[0][1])["traceEvents"]), 0)
        self.fails("invalid_argument", "does not time what it does", lib.weft_device_take_profile, weft.Device(), receive, None)
