"""Bad handles, random arguments, and the agreement of header, library and the ctypes table."""
import os
import random
import re
import subprocess
import threading
from pathlib import Path

from common import DEVICE, Case, c, lib, np, weft

ROOT = Path(__file__).resolve().parent.parent.parent
GENERATED = Path(os.environ["WEFT_LIBRARY"]).resolve().parent / "generated/include/weft/c"
HEADERS = sorted([*(ROOT / "include/weft/c").glob("*.h"), *GENERATED.glob("*.h")])
# Not called at random: they wait on the driver, need texts that make sense, or change what the device of all tests may do (a
# watchdog of a second ends it on a busy machine).
SLOW = {"weft_list_adapters", "weft_device_open", "weft_kernel_create", "weft_compile", "weft_save", "weft_load",
        "weft_tensor_checkpoint", "weft_module_save", "weft_module_load",
        "weft_module_custom", "weft_step_create", "weft_loader_create", "weft_schedule_rate", "weft_model_load", "weft_model_load_bytes",
        "weft_supports", "weft_device_set_memory_limit", "weft_device_set_watchdog", "weft_upload_start", "weft_scope_begin", "weft_scope_end"}


def declared() -> dict[str, list[str]]:
    """The functions of the header and the types of their parameters."""
    text = "\n".join(re.sub(r"//.*|/\*.*?\*/", "", h.read_text()) for h in HEADERS)
    found = {}
    for name, parameters in re.findall(r"WEFT_API[\w\s*]*?\b(weft_\w+)\(([^)]*)\)", text):
        types = [re.sub(r"\s*\b\w+$", "", p.strip()) for p in parameters.split(",")]
        found[name] = [] if parameters.strip() == "void" else [re.sub(r"\s+", " ", re.sub(r"\bconst\b ?", "", t)).strip() for t in types]
    return found


C_TYPES = {"bool": weft.Bool, "int64_t": weft.I64, "uint64_t": weft.U64, "uint32_t": weft.U32, "uint8_t": weft.U8, "float": weft.F32,
           "double": weft.F64, "size_t": weft.Size, "char*": weft.Text, "void*": weft.Pointer, "weft_dtype": weft.I32,
           "weft_status": weft.I32, "weft_device_info": weft.DeviceInfo, "weft_device_options": weft.DeviceOptions,
           "weft_memory_info": weft.MemoryInfo, "weft_tensor_info": weft.TensorInfo, "weft_matrix": weft.Matrix,
           "weft_array": weft.Array, "weft_receiver": weft.Receiver,
           "weft_attention_options": weft.AttentionOptions, "weft_conv2d_options": weft.Conv2dOptions,
           "weft_function_source": weft.FunctionSource, "weft_compile_report": weft.CompileReport, "weft_binding": weft.Binding,
           "weft_kernel_source": weft.KernelSource}
C_TYPES |= {"weft_part": weft.Part, "weft_text_receiver": weft.TextReceiver, "int32_t": weft.I32, "weft_elements_source": weft.ElementsSource,
            "weft_profile_receiver": weft.TextReceiver}
C_TYPES |= {operation.options.__name__: operation.options for operation in weft.OPERATIONS.values() if operation.options}
C_TYPES |= {f"weft_{kind}": weft.I32 for kind in ("interpolation", "edge", "reduction", "rope_mode", "expert_score")}
C_TYPES |= {"weft_module_conv_options": weft.ConvModule, "weft_module_attention_options": weft.AttentionModule,
            "weft_module_block_options": weft.BlockModule, "weft_module_recurrent_options": weft.RecurrentModule,
            "weft_parameter_group": weft.ParameterGroup, "weft_optimizer_options": weft.OptimizerOptions, "weft_schedule": weft.Schedule,
            "weft_step_options": weft.StepOptions, "weft_column": weft.Column, "weft_loader_options": weft.LoaderOptions}
C_TYPES |= {"weft_memory_report": weft.MemoryReport, "weft_memory_class": weft.MemoryClass, "weft_memory_listener": weft.MemoryListener,
            "weft_device_hints": weft.DeviceHints, "weft_tensor_type": weft.TensorType, "weft_function": weft.Function}
C_TYPES |= {f"weft_{kind}": weft.Handle for kind in ("device", "buffer", "tensor", "kernel", "compiled", "model", "init", "module", "optimizer", "ema", "step",
                                                     "loader", "upload")}


def as_ctypes(text: str):
    if text in C_TYPES:
        return C_TYPES[text]
    assert text.endswith("*"), text
    return c.POINTER(as_ctypes(text[:-1].strip()))


class CApiSurface(Case):
    def test_the_library_exports_the_header_and_nothing_else(self):
        listing = subprocess.run(["nm", "-D", "--defined-only", os.environ["WEFT_LIBRARY"]], capture_output=True, text=True, check=True)
        exported = {line.split()[-1] for line in listing.stdout.splitlines()}
        self.assertGreater(len(exported), 40)
        self.assertEqual(exported, set(declared()))

    def test_the_ctypes_table_is_that_of_the_header(self):
        for name, types in declared().items():
            function = getattr(lib, name)
            wanted = [as_ctypes(t) for t in types]
            if name.endswith("_to_text"):
                wanted[-3] = weft.Pointer  # it writes the text
            if name == "weft_supports":
                wanted[-2] = weft.Pointer  # the same
            self.assertEqual(list(function.argtypes), wanted, name)
        self.assertEqual(set(weft.FUNCTIONS) - set(declared()), set())


class CApiHandles(Case):
    def test_every_function_checks_every_handle(self):
        freed = weft.made(lib.weft_buffer_alloc, DEVICE, 8)
        lib.weft_buffer_free(freed)
        bad = [None, freed.value, 1, 0xFFFFFFFFFFFFFFFF, 0xDEADBEEF, id(self), freed.value + 1, freed.value ^ (1 << 40)]
        tried = 0
        for name, types in weft.FUNCTIONS.items():
            if not types or types[0] is not weft.Handle:
                continue
            for handle in bad:
                arguments = [handle, *[zero(t) for t in types[1:]]]
                self.fails("invalid_handle", name, getattr(lib, name), *arguments)
                tried += 1
        self.assertGreater(tried, 150)

    def test_messages_are_utf8(self):
        out, x = c.byref(c.c_void_p()), DEVICE.tensor(np.zeros(4, np.float32))
        inputs = weft.numbers(c.c_void_p, [x.handle])
        for given, shown in [(b"\xff\xfe", "??"), ("h\u00e9\u20ac\U0001f600".encode(), "h\u00e9\u20ac\U0001f600"),
                             (b"\xe2\x82", "??"), (b"\xed\xa0\x80\xc0\x80", "?????"), (b"\xf4\x90\x80\x80z", "????z")]:
            self.fails("not_found", f"`{shown}`", lib.weft_tensor_map, given, inputs, 1, None, out)

    def test_wrong_kinds(self):
        objects = {"device": DEVICE, "buffer": DEVICE.buffer(16), "tensor": DEVICE.tensor(np.zeros(4, np.float32))}
        for kind in ("device", "buffer", "tensor", "kernel"):
            free = getattr(lib, f"weft_{kind}_{'close' if kind == 'device' else 'free'}")
            for other, thing in objects.items():
                if other != kind:
                    self.fails("invalid_handle", f"is a {other}, but a {kind} is needed", free, thing)
        DEVICE.info()

    def test_threads_free_what_others_use(self):
        outcomes = set()

        def use(buffers):
            for handle in buffers:
                for call in (lambda: lib.weft_buffer_fill(handle, 0, 16, 1), lambda: lib.weft_buffer_free(handle)):
                    try:
                        call()
                        outcomes.add("ok")
                    except weft.Error as error:
                        outcomes.add(error.status)

        buffers = [weft.made(lib.weft_buffer_alloc, DEVICE, 16) for _ in range(200)]
        threads = [threading.Thread(target=use, args=(buffers,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertLessEqual(outcomes, {"ok", "invalid_handle"})


def zero(kind):
    """An argument of that type that says nothing; pointers lead to something, so that the handle is what is wrong."""
    if kind in (weft.Handle, weft.Text):
        return None
    if issubclass(kind, c._CFuncPtr):
        return kind()
    if hasattr(kind, "_type_") and not isinstance(kind._type_, str):
        return (kind._type_ * 8)()
    return 0


class CApiFuzz(Case):
    """Random arguments: every call returns, and every failure has a status and a sentence. The seed is WEFT_SEED."""

    CALLS = 3000

    def setUp(self):
        self.seed = int(os.environ.get("WEFT_SEED") or 20)
        self.random = random.Random(self.seed)
        data = np.arange(64, dtype=np.float32)
        self.keep = [DEVICE.buffer(data) for _ in range(3)]
        self.keep += [DEVICE.tensor(data.reshape(shape)) for shape in [(64,), (8, 8), (1, 64), (4, 4, 4)]]
        self.keep += [DEVICE.tensor(np.arange(6, dtype=np.int32)), DEVICE.tensor(np.zeros((0, 3), np.float16))]
        self.handles = [k.handle.value for k in self.keep] + [DEVICE.handle.value]
        self.names = [b"add", b"gelu", b"sum", b"argmax", b"copy", b"where", b"scale", b"", b"\xff\xfe", b"x" * 1000, None]

    def number(self, kind):
        if kind is weft.Bool:
            return self.random.random() < 0.5
        if kind in (weft.F32, weft.F64):
            return self.random.choice([0.0, 1.0, -2.5, 1e30, float("inf"), float("nan")])
        small = self.random.randrange(9) if self.random.random() < 0.7 else self.random.choice(
            [-1, 64, 63, 65, 255, 2**31 - 1, 2**31, 2**32, 2**40, 2**56, 2**62, 2**63 - 1, -(2**63), 2**64 - 1])
        return kind(small).value

    def handle(self):
        if self.random.random() < 0.75:
            return self.random.choice(self.handles)
        return self.random.choice([None, 7, self.random.getrandbits(64), self.random.choice(self.handles) + 1])

    def structure(self, kind):
        made = kind()
        for name, field in kind._fields_:
            if name == "size" and field is weft.Size:
                made.size = c.sizeof(kind) if self.random.random() < 0.9 else self.random.choice([0, 8, c.sizeof(kind) - 4, 2**40])
            elif name.endswith("_count"):
                setattr(made, name, self.random.randrange(9) if self.random.random() < 0.3 else 0)
            elif field is weft.Text:
                setattr(made, name, self.random.choice(self.names))
            elif field is weft.Handle:
                setattr(made, name, self.handle() if self.random.random() < 0.3 else None)
            elif isinstance(getattr(made, name), c.Array) and field._type_ is weft.I64:
                getattr(made, name)[:] = [self.number(weft.I64) for _ in range(len(getattr(made, name)))]
            elif field in (weft.F32, weft.Bool):
                setattr(made, name, self.number(field))
            elif field in (weft.I32, weft.U32, weft.I64, weft.U64):
                setattr(made, name, self.number(field))
        return made

    def argument(self, kind, room):
        if kind is weft.Handle:
            return self.handle()
        if kind is weft.Text:
            return self.random.choice(self.names)
        if issubclass(kind, c._CFuncPtr):
            return kind()  # no function
        if hasattr(kind, "_type_") and not isinstance(kind._type_, str):  # a pointer
            if self.random.random() < 0.05:
                return None
            target = kind._type_
            if issubclass(target, c.Structure):
                return (target * 8)(*[self.structure(target) for _ in range(8)])
            if target is weft.Handle:
                return (target * 8)(*[self.handle() for _ in range(8)])
            if target is weft.Text:
                return (target * 8)(*[self.random.choice(self.names) for _ in range(8)])
            return (target * 8)(*[self.number(target) for _ in range(8)])
        return self.number(kind)

    def free_results(self, name, arguments):
        """Frees what a call made; a result was not among the handles before."""
        count = arguments[3] if name == "weft_tensor_grad" else 1
        for handle in (arguments[-1] or [])[:count]:  # a result that was not asked for has no place
            if handle is not None and handle not in self.handles:  # a result may be left out
                free = lib.weft_buffer_free if name.endswith(("_get_buffer", "_alloc")) else lib.weft_tensor_free
                if name.startswith("weft_module_") and not name.endswith(("_forward", "_attend", "_recur")):
                    free = lib.weft_module_free
                free(handle)

    def test_random_arguments(self):
        room = c.create_string_buffer(4096)
        names = [n for n in weft.FUNCTIONS if n not in SLOW and not n.endswith(("_free", "_close"))]
        worked = failed = 0
        for number in range(self.CALLS):
            name = self.random.choice(names)
            kinds = weft.FUNCTIONS[name]
            arguments = [self.argument(kind, room) for kind in kinds]
            # What is behind a pointer cannot be checked by the library: keep to what these arrays hold.
            for i, kind in enumerate(kinds):
                counts = i > 0 and hasattr(kinds[i - 1], "contents")  # a list
                if (kind is weft.Size and not counts) or (kind is weft.U64 and i > 0 and kinds[i - 1] is weft.Pointer):
                    arguments[i] = self.random.randrange(300)
                    arguments[i - 1] = c.cast(room, c.c_void_p).value
                room_of_list = kinds[i + 1 :i + 2] == [c.POINTER(weft.Handle)]
                if (kind is weft.Size and counts) or kind is weft.U32 and (
                        counts or room_of_list or name.startswith("weft_kernel_run") or name == "weft_tensor_update"):
                    arguments[i] = self.random.randrange(9)
            try:
                getattr(lib, name)(*arguments)
                worked += 1
                if kinds[-1] == c.POINTER(weft.Handle):
                    self.free_results(name, arguments)
            except weft.Error as error:
                failed += 1
                self.assertNotIn(error.status, ("ok", "internal"), f"call {number} of seed {self.seed}: {error}")
                self.assertRegex(str(error), f"^{name}: .+", f"call {number} of seed {self.seed}")
        self.assertGreater(worked, self.CALLS // 50)
        self.assertGreater(failed, self.CALLS // 10)
        lib.weft_device_synchronize(DEVICE)
