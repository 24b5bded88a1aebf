"""What the C++ API has, the C API has too: every function, every option and every choice of include/weft/*.hpp."""
import re
from pathlib import Path

from common import DEVICE, Case, np
from weft import map_, op

INCLUDE = Path(__file__).resolve().parent.parent.parent / "include/weft"


def text_of(headers) -> str:
    """Headers without comments and lines of the preprocessor."""
    text = "".join(h.read_text() for h in sorted(headers))
    return re.sub(r"//[^\n]*|^#[^\n]*(?:\\\n[^\n]*)*", "", text, flags=re.M)


# Headers whose functions C does not have yet.
NOT_YET = {"create.hpp", "losses.hpp", "math.hpp", "norms.hpp", "random.hpp", "shape.hpp"}
CPP = text_of(h for h in INCLUDE.glob("*.hpp") if h.name not in NOT_YET)
C = text_of((INCLUDE / "c").glob("*.h"))

# Functions that C has by the name of an elementwise function, of a reduction or of a scan.
MAPS = {n: n for n in ("exp log sqrt tanh sigmoid relu gelu silu abs sqr rsqrt sin cos erf softplus pow clamp swiglu geglu reglu "
                       "where").split()}
MAPS |= {"equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge"}
MAPS |= {"maximum": "max", "minimum": "min", "operator+": "add", "operator-": "sub", "operator*": "mul", "operator/": "div"}
REDUCTIONS = ["sum", "mean", "max", "min", "prod", "argmax", "argmin"]
SCANS = {"cumprod": "prod", "cummax": "max", "cummin": "min", "logcumsumexp": "logsumexp"}
# Functions that have another name in C than weft_tensor_ and their own.
RENAMED = {"apply": "weft_tensor_update", "compile": "weft_compile", "save": "weft_save_with_texts", "load": "weft_load_with_texts",
           "version": "weft_version", "ifft": "weft_tensor_fft", "max_pool": "weft_tensor_pool", "mean_pool": "weft_tensor_pool",
           "tril": "weft_tensor_band", "triu": "weft_tensor_band", "argsort": "weft_tensor_sort", "top_k": "weft_tensor_sort"}
# Members of classes.
MEMBERS = {
    "Tensor": {"shape": "weft_tensor_get_info", "dtype": "weft_tensor_get_info", "size": "weft_tensor_get_info",
               "strides": "weft_tensor_get_buffer", "device": None, "reshape": "weft_tensor_reshape",
               "permute": "weft_tensor_permute", "transpose": "weft_tensor_transpose", "slice": "weft_tensor_slice",
               "broadcast_to": "weft_tensor_broadcast", "to": "weft_tensor_cast", "detach": "weft_tensor_detach",
               "eval": "weft_tensor_eval", "to_vector": "weft_tensor_read", "item": "weft_tensor_read",
               "to_string": "weft_tensor_to_text"},
    "Device": {"name": "weft_device_get_info", "is_software": "weft_device_get_info", "tensor": "weft_tensor_from_data",
               "empty": "weft_tensor_from_buffer", "full": "weft_tensor_full", "arange": "weft_tensor_arange",
               "kernel": "weft_kernel_create", "synchronize": "weft_device_synchronize"},
    "Kernel": {"run": "weft_kernel_run_tensors"},
    "Compiled": {"operator()": "weft_compiled_run", "one": "weft_compiled_run", "report": "weft_compiled_get_report",
                 "text": "weft_compiled_to_text", "dot": "weft_compiled_to_text"},
    "Error": {"code": None},  # the status of a call
}
# Structures: where C has their members (a structure, or the parameters of a function), and those with another name there.
STRUCTURES = {
    "Windows": ("weft_windows", {}), "ConvOptions": ("weft_conv_options", {}), "DeviceChoice": ("weft_device_options", {}),
    "ResizeOptions": ("weft_tensor_resize", {"antialias": "mode"}), "SoftmaxOptions": ("weft_softmax_options", {}),
    "MatmulOptions": ("weft_matmul_options", {}), "RowsOptions": ("weft_tensor_matmul_rows", {}),
    "CrossEntropyOptions": ("weft_tensor_cross_entropy_with", {}), "RopeOptions": ("weft_rope_options", {}),
    "AttentionOptions": ("weft_attention_options weft_tensor_attention_with", {}), "AdamOptions": ("weft_step_options", {}),
    "AdamStep": ("weft_step", {}), "SgdStep": ("weft_step", {"momentum": "m"}), "Clip": ("weft_tensor_clip_by_norm", {}),
    "Sorted": ("weft_tensor_sort", {}), "RecurrenceInputs": ("weft_recurrence_inputs", {}),
    "RecurrenceOptions": ("weft_recurrence_inputs", {}), "Recurrence": ("weft_tensor_recurrence", {}),
    "RouteOptions": ("weft_route_options", {}), "Routed": ("weft_tensor_route", {}),
    "NamedTensors": ("weft_save_with_texts", {}), "KernelSource": ("weft_kernel_source", {}),
    "PassReport": ("weft_pass_receiver", {}), "CompileOptions": ("weft_function_source", {}),
    "CompileReport": ("weft_compile_report", {"nodes": "operations"}),
    "Update": ("weft_tensor_update", {"variable": "variables", "value": "values"}),
}
UNNEEDED = {"In", "Outputs", "DTypeFacts"}  # ways of writing C++, and what the C API says with several parameters
ENUMS = {"DType": "weft_dtype", "ErrorCode": "weft_status", "Edge": "weft_edge", "Interpolation": "weft_interpolation",
         "Reduction": "weft_reduction", "RopeMode": "weft_rope_mode", "RecurrenceKind": "weft_recurrence_kind",
         "ExpertScore": "weft_expert_score"}


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
    return set(re.findall(r"^  (?:\[\[nodiscard\]\] )?(?! |explicit|friend)[\w:<>& ]+? (operator\(\)|\w+)\(", public, re.M))


class CApiParity(Case):
    def test_every_function_has_a_counterpart(self):
        found = functions(CPP)
        self.assertGreater(len(found), 90)
        for name in sorted(found - set(MAPS) - set(REDUCTIONS) - set(SCANS)):
            with self.subTest(function=name):
                counterpart = RENAMED.get(name, f"weft_tensor_{name}")
                self.assertTrue(parameters(counterpart), f"include/weft/c has no {counterpart} for weft::{name}()")
        self.assertLessEqual(set(MAPS) | set(REDUCTIONS) | set(SCANS) | set(RENAMED), found, "the tables name what does not exist")

    def test_names_of_functions_work(self):
        x = DEVICE.tensor(np.float32([0.5, 0.25]))
        two = {"pow", "swiglu", "geglu", "reglu", "max", "min", "add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge"}
        for name in MAPS.values():
            with self.subTest(map=name):
                self.assertEqual(map_(name, *[x] * (3 if name == "where" else 2 if name in two else 1)).numpy().shape, (2,))
        for name in REDUCTIONS:
            self.assertEqual(x.reduce(name).numpy().shape, ())
        for name in SCANS.values():
            self.assertEqual(op("scan", name.encode(), x, 0, False).numpy().shape, (2,))

    def test_every_member_of_a_class_has_a_counterpart(self):
        classes = set(re.findall(r"^class (\w+)[^;]*?\{", CPP, re.M))
        self.assertEqual(classes, set(MEMBERS))
        for name in classes:
            self.assertEqual(methods(body_of("class", name, CPP)), set(MEMBERS[name]), name)
            for counterpart in MEMBERS[name].values():
                self.assertTrue(counterpart is None or parameters(counterpart), counterpart)

    def test_every_option_has_a_counterpart(self):
        structures = set(re.findall(r"^struct (\w+) \{", CPP, re.M)) - UNNEEDED
        self.assertEqual(structures, set(STRUCTURES))
        for name, (places, renamed) in STRUCTURES.items():
            there = set()
            for place in places.split():
                body = body_of("struct", place, C)
                there |= set(members(body)) if body is not None else set(parameters(place))
            own = members(body_of("struct", name, CPP))
            self.assertTrue(own, name)
            for member in own:
                self.assertIn(renamed.get(member, member), there, f"{places} has no counterpart of {name}::{member}")

    def test_every_choice_has_a_counterpart(self):
        self.assertEqual(set(re.findall(r"^enum class (\w+)", CPP, re.M)), set(ENUMS))
        for name, counterpart in ENUMS.items():
            own = [e.strip() for e in body_of("enum class", name, CPP).split(",") if e.strip()]
            there = re.findall(r"WEFT_(\w+) =", body_of("enum", counterpart, C))
            for choice in own:
                self.assertTrue(any(t == choice.upper() or t.endswith("_" + choice.upper()) for t in there),
                                f"{counterpart} has no counterpart of {name}::{choice}")

    def test_the_test_can_fail(self):
        text = "Tensor brand_new(In x);\nstruct Odd {\n  int a = 1;\n  std::vector<int> b{};\n};\n"
        self.assertEqual(functions(text), {"brand_new"})
        self.assertEqual(members(body_of("struct", "Odd", text)), ["a", "b"])
        self.assertEqual(parameters("weft_tensor_brand_new"), [])
