"""What a name that is not there may have meant."""
from __future__ import annotations

import difflib
from collections.abc import Iterable
from types import ModuleType

# What others call it, or what is there instead, for the sentence of an AttributeError.
ELSEWHERE: dict[str, dict[str, str]] = {
    "weft": {
        "cat": "concat()", "randn": "random.normal()", "rand": "random.uniform(shape=…)", "randint": "random.randint()", "randperm": "random.permutation()",
        "rand_like": "random.uniform(shape=x.shape)", "randn_like": "random.normal(x.shape)", "manual_seed": "random.seed()",
        "no_grad": "gradients are taken by grad() and value_and_grad() alone", "jit": "compile()", "as_tensor": "asarray()",
        "vmap": "functions broadcast over leading axes", "vectorize": "functions take whole tensors; numpy.vectorize() takes tensors, too",
        "jvp": "vjp() goes the other way", "stop_gradient": "x.detach()", "ndarray": "Tensor", "float64": "the device has no doubles; float32 is nearest",
        "uint16": "int32 is nearest", "uint64": "int64 is nearest", "complex64": "complex() makes a Complex of two float32", "int_": "int32", "bool_": "bool",
        "float_": "float32", "float": "float32", "long": "int64", "half": "float16", "cuda": "Device() opens an adapter, and default_device() is the best one",
        "is_tensor": "isinstance(x, weft.Tensor)", "numel": "size()", "mm": "matmul()", "bmm": "matmul()", "addmm": "c + a @ b", "gather": "take_along_axis()",
        "conv1d": "conv() is for any number of dimensions", "conv2d": "conv() is for any number of dimensions",
        "conv3d": "conv() is for any number of dimensions", "max_pool2d": "max_pool()", "avg_pool2d": "avg_pool()", "chunk": "array_split()",
        "unbind": "unstack()", "scaled_dot_product_attention": "attention()", "savez": "save() writes .safetensors and .gguf files",
        "set_printoptions": "tensors are shown as numpy.set_printoptions() says", "printoptions": "tensors are shown as numpy.printoptions() says",
        "array2string": "numpy.array2string(x) takes tensors", "array_repr": "repr(x)", "errstate": "floats give infinities and NaN without a warning",
        "ndenumerate": "numpy.ndenumerate(x) takes tensors", "ndindex": "numpy.ndindex()", "in1d": "isin()", "testing": "numpy.testing takes tensors",
        "issubdtype": "isdtype(), or x.dtype.is_floating and x.dtype.is_integer", "functional": "its functions are weft's own"},
    "weft.nn": {
        "functional": "its functions are weft's own: weft.relu(), weft.softmax(), …", "ModuleList": "a list of modules as an attribute",
        "ModuleDict": "a dict of modules as an attribute", "Parameter": "nn.parameter()", "CrossEntropyLoss": "nn.cross_entropy()",
        "MSELoss": "weft.mse_loss()", "L1Loss": "weft.l1_loss()", "HuberLoss": "weft.huber_loss()", "NLLLoss": "weft.nll_loss() or nn.cross_entropy()",
        "BCEWithLogitsLoss": "weft.binary_cross_entropy_with_logits()", "losses": "the losses are weft's own: nn.cross_entropy(), weft.mse_loss(), …",
        "relu": "weft.relu()", "gelu": "weft.gelu()", "silu": "weft.silu()", "softmax": "weft.softmax()", "Swish": "nn.SiLU",
        "TransformerEncoderLayer": "nn.TransformerBlock", "MultiHeadAttention": "nn.MultiheadAttention", "utils": "optim.clip_by_global_norm()",
        "Upsample": "weft.resize()", "Unflatten": "x.reshape()"},
    "weft.optim": {
        "lr_scheduler": "rate = optim.schedule(…) and optimizer.lr = rate(i) before each step", "clip_grad_norm": "optim.clip_by_global_norm()",
        "clip_grad_norm_": "optim.clip_by_global_norm()", "ExponentialMovingAverage": "optim.Ema", "GradScaler": "optim.LossScale"},
    "weft.data": {"DataLoader": "data.Loader", "TensorDataset": "data.Loader takes arrays", "Dataset": "data.Loader takes arrays"},
    "weft.random": {
        "rand": "random.uniform(shape=…)", "randn": "random.normal()", "random": "random.uniform(shape=…)", "standard_normal": "random.normal()",
        "default_rng": "random.seed() starts the generator, and random.key() makes keys of one's own", "PRNGKey": "random.key()",
        "manual_seed": "random.seed()", "shuffle": "random.permutation(x), which changes nothing in place", "integers": "random.randint()"}}


def near(name: str, names: Iterable[str]) -> str:
    """"; did you mean 'softmax'?" for the end of a sentence, or nothing."""
    if name.startswith("_"):  # which programs ask for, not people
        return ""
    found = difflib.get_close_matches(name, [n for n in names if not n.startswith("_")], 3, 0.7)
    return "; did you mean " + " or ".join(f"'{n}'" for n in found) + "?" if found else ""


def explain_missing(module: ModuleType) -> None:
    """Lets a module say what a name that it has not may have meant."""
    elsewhere = ELSEWHERE.get(module.__name__, {})

    def missing(name: str) -> object:
        hint = f" ({elsewhere[name]})" if name in elsewhere else near(name, dir(module))
        raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'{hint}")

    setattr(module, "__getattr__", missing)
