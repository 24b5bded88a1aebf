"""What the C++ API has, the C API has too: every function of include/weft/*.hpp is described, or has a counterpart by hand."""
import os
import re
from pathlib import Path

from common import DEVICE, Case, np
from weft import DTYPES, OPERATIONS, lib, map_, op

INCLUDE = Path(__file__).resolve().parent.parent.parent / "include/weft"
GENERATED = Path(os.environ["WEFT_LIBRARY"]).resolve().parent / "generated/include/weft"


def text_of(headers) -> str:
    """Headers without comments and lines of the preprocessor."""
    text = "".join(h.read_text() for h in sorted(headers))
    return re.sub(r"//[^\n]*|^#[^\n]*(?:\\\n[^\n]*)*", "", text, flags=re.M)


# Functions of weft::random are weft_tensor_random_… in C; its classes are ways of writing C++.
RANDOM = text_of([INCLUDE / "random.hpp"])
# Modules, optimizers and loaders are compared by class, below. A profile is a part of a device in C (weft_device_options,
# weft_device_profile).
BY_CLASS = {"data.hpp", "optim.hpp"}
WITHOUT_C = BY_CLASS | {"profile.hpp"}
BY_HAND = text_of(h for h in INCLUDE.glob("*.hpp") if h.name not in WITHOUT_C | {"random.hpp"})
CPP = BY_HAND + text_of(GENERATED.glob("*.hpp"))
C = text_of([*(INCLUDE / "c").glob("*.h"), *(GENERATED / "c").glob("*.h")])

# Functions that have another name in C than weft_tensor_ and their own.
RENAMED = {"apply": "weft_tensor_update", "compile": "weft_compile", "save": "weft_save", "load": "weft_load",
           "version": "weft_version", "operator+": "weft_tensor_add", "operator-": "weft_tensor_sub", "operator*": "weft_tensor_mul",
           "operator/": "weft_tensor_div", "operator==": "weft_tensor_equal", "operator!=": "weft_tensor_not_equal",
           "operator<": "weft_tensor_less", "operator<=": "weft_tensor_less_equal", "operator>": "weft_tensor_greater",
           "operator>=": "weft_tensor_greater_equal", "operator%": "weft_tensor_remainder", "operator&": "weft_tensor_bitwise_and",
           "operator|": "weft_tensor_bitwise_or", "operator^": "weft_tensor_bitwise_xor", "operator~": "weft_tensor_bitwise_not",
           "allclose": "weft_tensor_isclose", "array_equal": "weft_tensor_equal", "is_lost": "weft_device_is_lost", "recover": "weft_device_recover",
           "recover_automatically": "weft_device_recover_automatically", "set_watchdog": "weft_device_set_watchdog",
           "memory_report": "weft_device_get_memory_report", "defragment": "weft_device_defragment", "set_memory_limit": "weft_device_set_memory_limit",
           "id_of": "weft_device_open",  # a device has one handle in C, which tells it from others
           "upload": "weft_upload_start", "device_hints": "weft_device_get_hints", "supports": "weft_supports"}
# Members of classes.
MEMBERS = {
    "Tensor": {"shape": "weft_tensor_get_info", "dtype": "weft_tensor_get_info", "size": "weft_tensor_get_info",
               "strides": "weft_tensor_get_buffer", "device": None, "reshape": "weft_tensor_reshape",
               "permute": "weft_tensor_permute", "at": "weft_tensor_slice", "transpose": "weft_tensor_transpose", "slice": "weft_tensor_slice",
               "broadcast_to": "weft_tensor_broadcast_to", "to": "weft_tensor_cast", "detach": "weft_tensor_detach",
               "is": None, "eval": "weft_tensor_eval", "to_vector": "weft_tensor_read", "item": "weft_tensor_read",
               "to_string": "weft_tensor_to_text"},
    "Device": {"name": "weft_device_get_info", "is_software": "weft_device_get_info", "tensor": "weft_tensor_from_data",
               "empty": "weft_tensor_from_buffer", "full": "weft_tensor_full", "arange": "weft_tensor_arange",
               "kernel": "weft_kernel_create", "synchronize": "weft_device_synchronize"},
    "Kernel": {"run": "weft_kernel_run_tensors"},
    "Upload": {"ready": "weft_upload_is_ready", "get": "weft_upload_get"},
    "Compiled": {"operator()": "weft_compiled_run", "one": "weft_compiled_run", "report": "weft_compiled_get_report",
                 "text": "weft_compiled_to_text", "dot": "weft_compiled_to_text"},
    "Model": {"run": "weft_model_run"} | dict.fromkeys(["inputs", "outputs", "shapes", "opsets", "operations", "unsupported", "report", "dot", "to_json"],
                                                       "weft_model_to_text"),
    "Comparison": {},  # a tensor
    "Error": {"code": None},  # the status of a call
}
# Structures that are no options: where C has their members (a structure, or the parameters of a function), and those with
# another name there.
STRUCTURES = {
    "QuantizeOptions": ("weft_tensor_quantize_options", {}), "DequantizeOptions": ("weft_tensor_dequantize_options", {}),
    "QuantizeDynamicOptions": ("weft_tensor_quantize_dynamic_options", {}), "FakeQuantizeOptions": ("weft_tensor_fake_quantize_options", {}),
    "QuantizationRangeOptions": ("weft_tensor_quantization_range_options", {}),
    "QuantizedLinearOptions": ("weft_tensor_quantized_linear_options", {"result": "scale"}),
    "QuantizedConvOptions": ("weft_tensor_quantized_conv_options", {"windows": "stride", "result": "scale"}),
    "QuantizedResult": ("weft_tensor_quantized_linear_options", {}),
    "MemoryClass": ("weft_memory_class", {}), "MemoryReport": ("weft_memory_report", {"classes": "class_count"}),
    "MemoryEvent": ("weft_memory_event", {}), "DeviceHints": ("weft_device_hints", {}),
    "TensorType": ("weft_tensor_type", {}), "Support": ("weft_supports", {}),
    "KnnOptions": ("weft_tensor_knn_options", {}), "StftOptions": ("weft_tensor_stft_options", {}),
    "SampleOptions": ("weft_tensor_sample_tokens_options", {}),
    "VarOptions": ("weft_tensor_var_options", {}), "CdistOptions": ("weft_tensor_cdist_options", {}),
    "BinaryCrossEntropyOptions": ("weft_tensor_binary_cross_entropy_with_logits_options", {}),
    "NllOptions": ("weft_tensor_nll_loss_options", {}), "KlDivOptions": ("weft_tensor_kl_div_options", {}),
    "BatchNormOptions": ("weft_tensor_batch_norm_options", {}),
    "DeviceChoice": ("weft_device_options", {}), "ConvOptions": ("weft_tensor_conv_options", {"windows": "stride"}),
    "NamedTensors": ("weft_save", {}), "KernelSource": ("weft_kernel_source", {}),
    "PassReport": ("weft_pass_receiver", {}), "CompileOptions": ("weft_function_source", {}),
    "CompileReport": ("weft_compile_report", {"nodes": "operations"}),
    "Update": ("weft_tensor_update", {"variable": "variables", "value": "values"}),
}
# Ways of writing C++, and results, which C gives one by one.
UNNEEDED = {"Port", "Extent", "RunReport",  # of weft_model_to_text
            "In", "Operand", "Extents", "Index", "Slice", "EllipsisIndex", "NewAxisIndex", "Outputs", "DTypeFacts", "AdamWStep", "SgdStep",
            "Clip", "Sorted", "Scanned", "Routed", "Recurrent", "Quantized", "Neighbours", "Runs", "Csr",
            "BatchNorm", "Bsr", "QuantizationRange", "QuantizationScale", "Slogdet"}
# What makes an object of each class of weft::nn, weft::optim and weft::data.
MAKERS = {"Init": "init_create", "Linear": "module_linear", "Embedding": "module_embedding", "Conv": "module_conv", "ConvNd": "module_conv",
          "BatchNorm": "module_batch_norm", "LayerNorm": "module_layer_norm", "RMSNorm": "module_rms_norm", "GroupNorm": "module_group_norm",
          "Dropout": "module_dropout", "Lambda": "module_custom", "Flatten": "module_flatten", "Sequential": "module_sequential",
          "MLP": "module_mlp", "MultiheadAttention": "module_multihead_attention", "TransformerBlock": "module_transformer_block",
          "LSTM": "module_lstm", "GRU": "module_gru", "RNN": "module_rnn", "SGD": "optimizer_sgd", "Adam": "optimizer_adam",
          "AdamW": "optimizer_adamw", "Lion": "optimizer_lion", "Ema": "ema_create", "LossScale": "step_create", "Step": "step_create",
          "Loader": "loader_create"}
BASES = {"Module", "Layer", "RecurrentLayers", "Optimizer"}


def functions(text: str) -> set[str]:
    """Declarations at the level of the namespace."""
    found = re.findall(r"^(?:\[\[nodiscard\]\] )?(?!using|template|inline|constexpr|struct|class|enum|namespace)[\w:<>]+ (operator\S+|\w+)\(",
                       text, re.M)
    return set(found) | set(re.findall(r"^std::\S+ (\w+)\(", text, re.M))


def body_of(kind: str, name: str, text: str) -> str | None:
    match = re.search(rf"\b{kind} {name}\b[^;{{]*\{{", text)
    if match is None:
        return None
    depth, at = 1, match.end()
    while depth > 0:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[match.end():at - 1]


def members(body: str) -> list[str]:
    """Names of data members: what stands before the value, the braces or the end."""
    body = re.sub(r"^  [A-Z]\w*\(.*?\}$", "", body, flags=re.M | re.S)
    statements = (re.sub(r"[={].*", "", s, flags=re.S).strip() for s in re.sub(r"\{[^{}]*\}", "", body).split(";"))
    return [s.split()[-1].split("[")[0].lstrip("*") for s in statements if s and "operator" not in s]


def parameters(name: str) -> list[str]:
    match = re.search(rf"\b{name}\)?\(([^)]*)\)", C)
    return [p.split()[-1].lstrip("*") for p in match[1].split(",")] if match else []


def methods(body: str) -> set[str]:
    public = body.split("private:")[0]
    return set(re.findall(r"^  (?:\[\[nodiscard\]\] )?(?! |explicit|friend)[\w:<>&, ]+? (operator\(\)|\w+)\(", public, re.M))


class CApiParity(Case):
    def test_every_function_has_a_counterpart(self):
        found = functions(CPP)
        self.assertGreater(len(found), 90)
        for name in sorted(found | {f"random_{name}" for name in functions(RANDOM)}):
            with self.subTest(function=name):
                counterpart = RENAMED.get(name, f"weft_tensor_{name}")
                self.assertTrue(parameters(counterpart), f"description/*.toml has no function `{name}` for weft::{name}()")
        self.assertLessEqual(set(RENAMED), found, "the table names what does not exist")

    def test_elementwise_functions_and_reductions_work_by_their_names(self):
        x = DEVICE.tensor(np.float32([0.5, 0.25]))
        whole = DEVICE.tensor(np.int32([3, 5]))
        for operation in OPERATIONS.values():
            if operation.kind == "map" and all(p["type"] == "tensor" for p in operation.required):
                given = whole if "bitwise" in operation.name or "shift" in operation.name else x
                self.assertEqual(op(operation.name, *[given] * len(operation.required)).numpy().shape, (2,), operation.name)
            if operation.kind == "reduce" and operation.name != "reduce":
                self.assertEqual(op(operation.name, x).numpy().shape, (), operation.name)
        self.assertEqual(map_("gelu", x).numpy().tolist(), op("gelu", x).numpy().tolist())
        self.fails("invalid_argument", "one of \"none\", \"tanh\", \"sigmoid\"", op, "gelu", x, approximate="erf")

    def test_every_member_of_a_class_has_a_counterpart(self):
        classes = set(re.findall(r"^class (\w+)[^;]*?\{", CPP, re.M))
        self.assertEqual(classes, set(MEMBERS))
        for name in classes:
            self.assertEqual(methods(body_of("class", name, CPP)), set(MEMBERS[name]), name)
            for counterpart in MEMBERS[name].values():
                self.assertTrue(counterpart is None or parameters(counterpart), counterpart)

    def test_every_module_optimizer_and_loader_can_be_made(self):
        text = text_of([*(INCLUDE / "nn").glob("*.hpp"), *[INCLUDE / name for name in BY_CLASS]])
        self.assertEqual(set(re.findall(r"^class (\w+)", text, re.M)) - BASES, set(MAKERS))
        for maker in MAKERS.values():
            self.assertTrue(parameters(f"weft_{maker}"), maker)

    def test_the_wrapper_knows_every_type(self):
        names = [lib.weft_dtype_name(number).decode() for number in range(len(DTYPES) + 1)]
        self.assertEqual(names, [*DTYPES, "unknown"])

    def test_every_structure_has_a_counterpart(self):
        self.assertEqual(set(re.findall(r"^struct (\w+) \{", BY_HAND, re.M)) - UNNEEDED, set(STRUCTURES))
        for name, (place, renamed) in STRUCTURES.items():
            body = body_of("struct", place, C)
            there = set(members(body)) if body is not None else set(parameters(place))
            own = members(body_of("struct", name, BY_HAND))
            self.assertTrue(own, name)
            for member in own:
                self.assertIn(renamed.get(member, member), there, f"{place} has no counterpart of {name}::{member}")

    def test_the_test_can_fail(self):
        text = "Tensor brand_new(In x);\nstruct Odd {\n  int a = 1;\n  std::vector<int> b{};\n};\n"
        self.assertEqual(functions(text), {"brand_new"})
        self.assertEqual(members(body_of("struct", "Odd", text)), ["a", "b"])
        self.assertEqual(parameters("weft_tensor_brand_new"), [])
