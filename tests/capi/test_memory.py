"""Memory reports and limits, scopes, uploads, hints, and what is supported, of the C API."""
from common import Case, c, lib, np, weft
from weft import DTYPES, Device, Handle, Tensor, made, numbers, op

F32 = DTYPES.index("f32")


def report(device, capacity=0):
    found, classes = weft.MemoryReport(), (weft.MemoryClass * max(capacity, 1))()
    lib.weft_device_get_memory_report(device, c.byref(found), classes if capacity else None, capacity)
    return found, [(k.bytes, k.used, k.kept) for k in classes[: min(capacity, found.class_count)]]


class CApiMemory(Case):
    def test_reports_and_defragments(self):
        device = Device()
        kept = device.buffer(100_000)
        device.buffer(1000)  # goes at once
        found, classes = report(device, 4)
        self.assertEqual((found.asked, found.class_count), (100_000, 2))
        self.assertEqual([used for _, used, _ in classes], [0, 1])
        self.assertEqual([free for _, _, free in classes], [1, 0])
        self.assertAlmostEqual(found.fragmentation, 1 - 100_000 / (found.in_use + found.pooled))
        freed = c.c_uint64()
        lib.weft_device_defragment(device, c.byref(freed))
        self.assertEqual(freed.value, found.pooled)
        self.assertEqual(report(device)[0].pooled, 0)
        lib.weft_device_defragment(device, None)
        self.fails("invalid_argument", "`report` is NULL", lib.weft_device_get_memory_report, device, None, None, 0)
        self.fails("invalid_argument", "`classes` is NULL", lib.weft_device_get_memory_report, device, c.byref(found), None, 1)
        del kept

    def test_limits_tell_their_listener(self):
        device, events, cache = Device(), [], []

        def listen(context, event):
            events.append((event[0].full, event[0].asked, context))
            if event[0].full:
                cache.clear()

        listener = weft.MemoryListener(listen)
        lib.weft_device_set_memory_limit(device, 4 << 20, 0.5, listener, 77)
        cache.append(device.buffer(1 << 20))
        self.assertEqual(events, [])
        cache.append(device.buffer(1 << 20))
        self.assertEqual(events, [(False, 1 << 20, 77)])
        cache.append(device.buffer(2 << 20))
        held = device.buffer(3 << 20)  # the listener makes room
        self.assertEqual(events[1:2], [(True, 3 << 20, 77)])
        self.assertEqual(cache, [])
        self.fails("out_of_memory", "limit of 4194304 bytes", device.buffer, 2 << 20)
        self.fails("invalid_argument", "between 0 and 1", lib.weft_device_set_memory_limit, device, 1, -1.0, weft.MemoryListener(), None)
        lib.weft_device_set_memory_limit(device, 0, 0.5, weft.MemoryListener(), None)
        device.buffer(8 << 20)
        del held

    def test_scopes_free_what_was_made_in_them(self):
        device = Device()
        x = device.tensor(np.float32([1, 2, 3]))
        lib.weft_scope_begin()
        y = op("exp", x)
        lib.weft_scope_begin()
        inner, outer = op("add", y, y), op("mul", y, y)
        lib.weft_scope_keep(outer)
        self.fails("invalid_argument", "was not made in the present scope", lib.weft_scope_keep, x)
        lib.weft_scope_end()
        self.fails("invalid_handle", "freed before", inner.numpy)
        self.close(outer.numpy(), np.exp(np.float32([1, 2, 3])) ** 2, loose=8)
        lib.weft_scope_end()
        self.fails("invalid_handle", "freed before", outer.numpy)
        self.fails("invalid_handle", "freed before", y.numpy)
        self.assertEqual(x.numpy().tolist(), [1, 2, 3])
        self.fails("invalid_argument", "no scope", lib.weft_scope_end)
        self.fails("invalid_argument", "no scope", lib.weft_scope_keep, x)
        del inner, outer, y

    def test_uploads(self):
        device = Device()
        values = np.arange(24, dtype=np.float32).reshape(4, 6)
        upload = made(lib.weft_upload_start, device, F32, 2, numbers(c.c_int64, values.shape), values.ctypes.data, values.nbytes)
        ready = c.c_bool()
        lib.weft_upload_is_ready(upload, c.byref(ready))
        x = Tensor(made(lib.weft_upload_get, upload))
        self.assertTrue(np.array_equal(x.numpy(), values))
        self.fails("invalid_handle", "freed before", lib.weft_upload_is_ready, upload, c.byref(ready))
        self.fails("invalid_argument", "takes 96 bytes; 95 bytes were given", made, lib.weft_upload_start, device, F32, 2,
                   numbers(c.c_int64, values.shape), values.ctypes.data, 95)
        bits = np.array([0, 2, 1], np.uint8)
        truths = Tensor(made(lib.weft_upload_get, made(lib.weft_upload_start, device, DTYPES.index("bool"), 1, numbers(c.c_int64, [3]),
                                                       bits.ctypes.data, 3)))
        self.assertEqual(truths.numpy().tolist(), [False, True, True])

    def test_hints_and_support(self):
        device = Device()
        hints = weft.DeviceHints()
        lib.weft_device_get_hints(device, c.byref(hints))
        self.assertEqual(hints.binding_alignment, device.info().binding_alignment)
        self.assertEqual(hints.max_buffer_bytes, device.info().max_buffer_bytes)
        self.assertLessEqual(hints.workgroup, hints.most_invocations)
        self.assertGreater(hints.memory_rate, 0)

        def ask(dtype, shape):
            def body(context, inputs, count, outputs):
                try:
                    outputs[0] = made(lib.weft_tensor_softmax, Handle(inputs[0]), None).value
                    return 0
                except weft.Error as error:
                    return weft.STATUS.index(error.status)

            kind = weft.TensorType(DTYPES.index(dtype), len(shape), (c.c_int64 * 8)(*shape))
            supported, dispatches, reason = c.c_bool(), c.c_uint64(), c.create_string_buffer(400)
            lib.weft_supports(device, c.byref(kind), 1, weft.Function(body), None, c.byref(supported), c.byref(dispatches), reason, 400)
            return supported.value, dispatches.value, reason.value.decode()

        supported, dispatches, reason = ask("f16", (8, 64))
        self.assertEqual((supported, reason), (True, ""))
        self.assertGreaterEqual(dispatches, 1)
        supported, _, reason = ask("i32", (8, 64))
        self.assertFalse(supported)
        self.assertIn("softmax", reason)
