"""The types and functions of Weft's C API (include/weft/weft.h) for ctypes; weft.py makes objects of them."""
import ctypes as c

MAX_RANK = 8
STATUS = ["ok", "invalid_argument", "unsupported", "out_of_memory", "not_found", "shader", "device_lost", "io", "internal",
          "invalid_handle"]
DTYPES = ["f32", "f16", "bf16", "i32", "u32", "i64", "i16", "i8", "u8", "bool"]
DTYPES += ["q1_0", "q2_0", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q8_1", "q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "q8_K", "iq1_s",
           "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s", "iq4_nl", "iq4_xs", "tq1_0", "tq2_0", "mxfp4", "nvfp4"]
Handle, Pointer, Text, Size = c.c_void_p, c.c_void_p, c.c_char_p, c.c_size_t
I32, U32, I64, U64, U8, F32, F64, Bool = (c.c_int, c.c_uint32, c.c_int64, c.c_uint64, c.c_uint8, c.c_float, c.c_double,
                                          c.c_bool)


class DeviceInfo(c.Structure):
    _fields_ = [("index", U32), ("name", c.c_char * 128), ("vendor", c.c_char * 64), ("architecture", c.c_char * 64),
                ("driver", c.c_char * 128), ("backend", c.c_char * 32), ("kind", c.c_char * 32), ("software", Bool), ("f16", Bool),
                ("subgroups", Bool), ("subgroup_matrix", Bool), ("timestamps", Bool), ("max_buffer_bytes", U64),
                ("max_binding_bytes", U64), ("binding_alignment", U32)]


class DeviceOptions(c.Structure):
    _fields_ = [("adapter", Text), ("caps_mask", Text), ("cache_dir", Text), ("safe", Bool), ("no_disk_cache", Bool),
                ("check_indices", Bool), ("profile", Bool)]


class MemoryInfo(c.Structure):
    _fields_ = [("in_use", U64), ("pooled", U64), ("peak", U64)]


class MemoryClass(c.Structure):
    _fields_ = [("bytes", U64), ("used", U64), ("kept", U64)]


class MemoryReport(c.Structure):
    _fields_ = [("in_use", U64), ("asked", U64), ("pooled", U64), ("peak", U64), ("staging", U64), ("limit", U64), ("class_count", U64),
                ("fragmentation", F64)]


class MemoryEvent(c.Structure):
    _fields_ = [("full", Bool), ("in_use", U64), ("pooled", U64), ("limit", U64), ("asked", U64)]


MemoryListener = c.CFUNCTYPE(None, Pointer, c.POINTER(MemoryEvent))


class DeviceHints(c.Structure):
    _fields_ = [("workgroup", U32), ("most_invocations", U32), ("workgroup_bytes", U32), ("most_workgroups", U32), ("subgroup_min", U32),
                ("subgroup_max", U32), ("binding_alignment", U32), ("most_bindings", U32), ("max_binding_bytes", U64),
                ("max_buffer_bytes", U64), ("processors", U32), ("matrix_units", Bool), ("memory_rate", F64), ("cache_bytes", U64),
                ("launch_bytes", U64), ("f16_rate", F64)]


class TensorType(c.Structure):
    _fields_ = [("dtype", I32), ("rank", U32), ("shape", I64 * MAX_RANK)]


class TensorInfo(c.Structure):
    _fields_ = [("dtype", I32), ("rank", U32), ("shape", I64 * MAX_RANK), ("size", I64)]


class Matrix(c.Structure):
    _fields_ = [("buffer", Handle), ("dtype", I32), ("offset", I64), ("leading_dimension", I64), ("batch_stride", I64)]


class Array(c.Structure):
    _fields_ = [("buffer", Handle), ("dtype", I32), ("rank", U32), ("offset", I64), ("shape", I64 * MAX_RANK),
                ("strides", I64 * MAX_RANK)]


class AttentionOptions(c.Structure):
    _fields_ = [("scale", F32), ("soft_cap", F32), ("max_bias", F32), ("causal", Bool), ("window", I64)]


class Conv2dOptions(c.Structure):
    _fields_ = [("stride", I64 * 2), ("padding", I64 * 2), ("dilation", I64 * 2), ("groups", I64)]


class Binding(c.Structure):
    _fields_ = [("buffer", Handle), ("offset", U64), ("bytes", U64)]


class KernelSource(c.Structure):
    _fields_ = [("wgsl", Text), ("entry", Text), ("label", Text), ("writes", c.POINTER(Bool)), ("bindings", U32), ("scalars", U32),
                ("constant_names", c.POINTER(Text)), ("constant_values", c.POINTER(F64)), ("constants", U32)]


P = c.POINTER
Receiver = c.CFUNCTYPE(None, Pointer, Text, Handle)
TextReceiver = c.CFUNCTYPE(None, Pointer, Text, Text)
PassReceiver = c.CFUNCTYPE(None, Pointer, Text, Text, Text)
Function = c.CFUNCTYPE(I32, Pointer, P(Handle), U32, P(Handle))
ElementsSource = c.CFUNCTYPE(I32, Pointer, Pointer, U64)
Part = c.CFUNCTYPE(I32, Pointer, P(Handle), U32, P(Handle))


class FunctionSource(c.Structure):
    _fields_ = [("function", Function), ("context", Pointer), ("results", U32), ("variables", P(Handle)), ("variable_count", U32),
                ("without", Text), ("on_pass", PassReceiver), ("most_variants", U32), ("check_indices", Bool)]


class CompileReport(c.Structure):
    _fields_ = [("operations", U64), ("dispatches", U64), ("arena_bytes", U64), ("bound_bytes", U64), ("variants", U64),
                ("built", U64)]


class ConvModule(c.Structure):
    _fields_ = [("rank", U32), ("kernel", U64 * 3), ("stride", U64), ("padding", U64), ("dilation", U64), ("groups", U64),
                ("output_padding", U64), ("transposed", Bool), ("no_bias", Bool)]


class AttentionModule(c.Structure):
    _fields_ = [("kv_heads", U64), ("causal", Bool), ("window", U64), ("rope_base", F64), ("no_bias", Bool)]


class BlockModule(c.Structure):
    _fields_ = [("attention", AttentionModule), ("hidden", U64), ("gated", Bool), ("rms", Bool), ("dropout", F32), ("eps", F32)]


class RecurrentModule(c.Structure):
    _fields_ = [("layers", U64), ("bidirectional", Bool), ("batch_first", Bool), ("no_bias", Bool), ("dropout", F32), ("projection", U64),
                ("activation", Text)]


class ParameterGroup(c.Structure):
    _fields_ = [("contains", Text), ("lr_scale", F64), ("weight_decay", F64)]


class OptimizerOptions(c.Structure):
    _fields_ = [("momentum", F64), ("nesterov", Bool), ("beta1", F64), ("beta2", F64), ("eps", F64), ("weight_decay", F64),
                ("groups", P(ParameterGroup)), ("group_count", U32)]


class Schedule(c.Structure):
    _fields_ = [("lr", F64), ("steps", U64), ("warmup", U64), ("decay", I32), ("floor", F64)]


class StepOptions(c.Structure):
    _fields_ = [("clip", F64), ("seed", U64), ("ema", Handle), ("loss_scale", F64)]


class Column(c.Structure):
    _fields_ = [("dtype", I32), ("rank", U32), ("shape", P(I64)), ("bytes", Pointer), ("size", U64)]


class LoaderOptions(c.Structure):
    _fields_ = [("batch", U64), ("in_order", Bool), ("seed", U64), ("keep_last", Bool), ("prefetch", U32)]


# The functions of the headers that return a status, and what they take. Those of operations are in description.json.
FUNCTIONS = {
    "weft_list_adapters": [P(DeviceInfo), U32, P(U32)],
    "weft_device_open": [P(DeviceOptions), P(Handle)],
    "weft_device_close": [Handle],
    "weft_device_get_info": [Handle, P(DeviceInfo)],
    "weft_device_synchronize": [Handle],
    "weft_device_get_memory": [Handle, P(MemoryInfo)],
    "weft_device_trim": [Handle],
    "weft_device_get_memory_report": [Handle, P(MemoryReport), P(MemoryClass), U64],
    "weft_device_defragment": [Handle, P(U64)],
    "weft_device_set_memory_limit": [Handle, U64, F64, MemoryListener, Pointer],
    "weft_device_get_hints": [Handle, P(DeviceHints)],
    "weft_scope_begin": [],
    "weft_scope_keep": [Handle],
    "weft_scope_end": [],
    "weft_upload_start": [Handle, I32, U32, P(I64), Pointer, U64, P(Handle)],
    "weft_upload_is_ready": [Handle, P(Bool)],
    "weft_upload_get": [Handle, P(Handle)],
    "weft_supports": [Handle, P(TensorType), U32, Function, Pointer, P(Bool), P(U64), Pointer, Size],
    "weft_device_take_profile": [Handle, TextReceiver, Pointer],
    "weft_device_is_lost": [Handle, P(Bool)],
    "weft_device_recover": [Handle],
    "weft_device_set_watchdog": [Handle, F64],
    "weft_device_recover_automatically": [Handle],
    "weft_tensor_keep": [Handle, ElementsSource, Pointer],
    "weft_buffer_alloc": [Handle, U64, P(Handle)],
    "weft_buffer_free": [Handle],
    "weft_buffer_get_size": [Handle, P(U64)],
    "weft_buffer_write": [Handle, U64, Pointer, U64],
    "weft_buffer_read": [Handle, U64, Pointer, U64],
    "weft_buffer_copy": [Handle, U64, Handle, U64, U64],
    "weft_buffer_fill": [Handle, U64, U64, U8],
    "weft_gemm": [Bool, Bool, I64, I64, I64, F32, P(Matrix), P(Matrix), F32, P(Matrix)],
    "weft_gemm_batched": [Bool, Bool, I64, I64, I64, F32, P(Matrix), P(Matrix), F32, P(Matrix), I64],
    "weft_array_dense": [Handle, I32, I64, U32, P(I64), P(Array)],
    "weft_unary": [Text, P(Array), P(Array), P(F64)],
    "weft_binary": [Text, P(Array), P(Array), P(Array), P(F64)],
    "weft_reduce": [Text, P(Array), U32, P(Array)],
    "weft_attention": [P(Array), P(Array), P(Array), P(Array), P(AttentionOptions), P(Array)],
    "weft_conv2d": [P(Array), P(Array), P(Array), P(Conv2dOptions), P(Array)],
    "weft_kernel_create": [Handle, P(KernelSource), P(Handle)],
    "weft_kernel_free": [Handle],
    "weft_kernel_run": [Handle, P(Binding), U32, P(U32), P(U32), U32],
    "weft_kernel_run_tensors": [Handle, P(Handle), U32, P(U32), P(U32), U32],
    "weft_tensor_from_data": [Handle, I32, U32, P(I64), Pointer, U64, P(Handle)],
    "weft_tensor_from_buffer": [Handle, I32, U64, U32, P(I64), P(I64), P(Handle)],
    "weft_tensor_free": [Handle],
    "weft_tensor_get_info": [Handle, P(TensorInfo)],
    "weft_tensor_read": [Handle, I32, Pointer, U64],
    "weft_tensor_to_text": [Handle, Pointer, Size, P(Size)],
    "weft_tensor_get_buffer": [Handle, P(Handle), P(U64), P(I64)],
    "weft_tensor_checkpoint": [Part, Pointer, P(Handle), U32, P(Handle)],
    "weft_save": [Text, P(Text), P(Handle), U32, P(Text), P(Text), U32],
    "weft_load": [Handle, Text, Receiver, TextReceiver, Pointer],
    "weft_model_load": [Handle, Text, P(Handle)],
    "weft_model_load_bytes": [Handle, Pointer, U64, P(Handle)],
    "weft_model_free": [Handle],
    "weft_model_to_text": [Handle, Bool, Pointer, Size, P(Size)],
    "weft_model_run": [Handle, P(Text), P(Handle), U32, Receiver, Pointer],
    "weft_init_create": [Handle, U64, P(Handle)],
    "weft_init_free": [Handle],
    "weft_module_linear": [Handle, U64, U64, Bool, P(Handle)],
    "weft_module_embedding": [Handle, U64, U64, P(Handle)],
    "weft_module_conv": [Handle, U64, U64, P(ConvModule), P(Handle)],
    "weft_module_batch_norm": [Handle, U64, F64, F64, P(Handle)],
    "weft_module_layer_norm": [Handle, U64, F32, Bool, P(Handle)],
    "weft_module_rms_norm": [Handle, U64, F32, P(Handle)],
    "weft_module_group_norm": [Handle, U64, U64, F32, P(Handle)],
    "weft_module_dropout": [F32, P(Handle)],
    "weft_module_flatten": [P(Handle)],
    "weft_module_activation": [Text, P(Handle)],
    "weft_module_mlp": [Handle, P(U64), U32, Text, P(Handle)],
    "weft_module_multihead_attention": [Handle, U64, U64, P(AttentionModule), P(Handle)],
    "weft_module_transformer_block": [Handle, U64, U64, P(BlockModule), P(Handle)],
    "weft_module_lstm": [Handle, U64, U64, P(RecurrentModule), P(Handle)],
    "weft_module_gru": [Handle, U64, U64, P(RecurrentModule), P(Handle)],
    "weft_module_rnn": [Handle, U64, U64, P(RecurrentModule), P(Handle)],
    "weft_module_sequential": [P(Handle), U32, P(Handle)],
    "weft_module_custom": [P(Text), P(Handle), U32, Part, Pointer, P(Handle)],
    "weft_module_free": [Handle],
    "weft_module_forward": [Handle, Handle, P(Handle)],
    "weft_module_attend": [Handle, Handle, Handle, P(Handle), P(Handle), P(Handle)],
    "weft_module_recur": [Handle, Handle, Handle, Handle, Handle, P(Handle), P(Handle), P(Handle)],
    "weft_module_parameters": [Handle, Receiver, Pointer],
    "weft_module_state": [Handle, Receiver, Pointer],
    "weft_module_load_state": [Handle, P(Text), P(Handle), U32],
    "weft_module_save": [Handle, Text],
    "weft_module_load": [Handle, Text],
    "weft_module_keep": [Handle],
    "weft_module_train": [Handle, Bool],
    "weft_module_set_key": [Handle, Handle],
    "weft_module_apply_updates": [Handle],
    **{f"weft_optimizer_{rule}": [Handle, P(OptimizerOptions), P(Handle)] for rule in ("sgd", "adam", "adamw", "lion")},
    "weft_optimizer_free": [Handle],
    "weft_optimizer_parameters": [Handle, P(Handle), U32, P(U32)],
    "weft_optimizer_apply": [Handle, P(Handle), U32, F64],
    "weft_optimizer_state": [Handle, Receiver, Pointer],
    "weft_optimizer_load_state": [Handle, P(Text), P(Handle), U32],
    "weft_optimizer_keep": [Handle],
    "weft_schedule_rate": [P(Schedule), U64, P(F64)],
    "weft_ema_create": [Handle, F64, P(Handle)],
    "weft_ema_averages": [Handle, Receiver, Pointer],
    "weft_ema_free": [Handle],
    "weft_step_create": [Handle, Handle, Part, Pointer, P(StepOptions), P(Handle)],
    "weft_step_run": [Handle, P(Handle), U32, F64, P(Handle)],
    "weft_step_get_count": [Handle, P(U32)],
    "weft_step_set_count": [Handle, U32],
    "weft_step_free": [Handle],
    "weft_loader_create": [Handle, P(Column), U32, P(LoaderOptions), P(Handle)],
    "weft_loader_get_size": [Handle, P(U64), P(U64)],
    "weft_loader_start": [Handle, U64],
    "weft_loader_next": [Handle, P(Handle), P(Bool)],
    "weft_loader_free": [Handle],
    "weft_tensor_eval": [Handle],
    "weft_tensor_variable": [Handle, P(Handle)],
    "weft_tensor_update": [P(Handle), P(Handle), U32],
    "weft_tensor_grad": [Handle, Handle, P(Handle), U32, P(Handle)],
    "weft_compile": [P(FunctionSource), P(Handle)],
    "weft_compiled_free": [Handle],
    "weft_compiled_run": [Handle, P(Handle), U32, P(Handle)],
    "weft_compiled_get_report": [Handle, P(CompileReport)],
    "weft_compiled_to_text": [Handle, Bool, Pointer, Size, P(Size)],
}


class Error(Exception):
    """A call that failed: `status` is its name, the text is the sentence of weft_last_error()."""

    def __init__(self, status: str, message: str):
        super().__init__(message)
        self.status = status


def load_library(path: str, operations: dict):
    """The library at a path, with the types of all functions set."""
    library = c.CDLL(path)
    FUNCTIONS.update({operation.c: operation.types() for operation in operations.values()})
    for name, result, arguments in [("weft_version", Text, []), ("weft_last_error", Text, []), ("weft_status_name", Text, [I32]),
                                    ("weft_dtype_name", Text, [I32]), ("weft_dtype_size", Size, [I32])]:
        getattr(library, name).restype, getattr(library, name).argtypes = result, arguments

    def check(status, function, arguments):
        if status != 0:
            raise Error(STATUS[status], library.weft_last_error().decode())
        return status

    for name, arguments in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes, function.errcheck = I32, arguments, check
    return library
