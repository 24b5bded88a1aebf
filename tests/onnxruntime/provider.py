"""Weft's provider in ONNX Runtime: what it takes of a graph, memory of devices, threads, options and errors."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnxruntime as ort
import wire
from wire import attribute, graph, model, node, port, tensor, text

LIBRARY = os.environ["WEFT_PROVIDER"]
ROOT = Path(__file__).resolve().parent.parent.parent
NAME = "WeftExecutionProvider"
VENDOR = 0x5745
FLOAT, INT64, BOOL, DOUBLE, HALF = 1, 7, 9, 11, 10
RANDOM = np.random.default_rng(7)


def options(*, alone: bool = True, **own: str) -> ort.SessionOptions:
    """Options of a session on Weft; alone: a node that would run on the CPU is an error."""
    out = ort.SessionOptions()
    out.log_severity_level = 4
    out.add_provider_for_devices([one for one in ort.get_ep_devices() if one.ep_name == NAME], own)
    if alone:
        out.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    return out


def on_weft(whole: bytes, **more: bool | str) -> ort.InferenceSession:
    return ort.InferenceSession(whole, options(**more), enable_fallback=0)  # type: ignore[arg-type]


def on_cpu(whole: bytes, given: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    return ort.InferenceSession(whole, providers=["CPUExecutionProvider"]).run(None, given)


def same(got: np.ndarray, must: np.ndarray, tolerance: float = 1e-5) -> None:
    assert got.dtype == must.dtype and got.shape == must.shape, f"{got.dtype}{got.shape} in place of {must.dtype}{must.shape}"
    np.testing.assert_allclose(got, must, tolerance, tolerance)


def refused(call: Callable[[], object], *parts: str) -> None:
    """The call must fail with a message that has these parts."""
    try:
        call()
    except Exception as error:
        missing = [one for one in parts if one not in str(error)]
        assert not missing, f"{missing} is not in: {error}"
        return
    raise AssertionError("it did not fail")


def floats(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def layers(weight: np.ndarray, bias: np.ndarray) -> bytes:
    """relu(x · weight + bias), for any number of rows."""
    return model(graph([node("MatMul", ["x", "w"], ["p"]), node("Add", ["p", "b"], ["s"]), node("Relu", ["s"], ["y"])],
                       [port("x", FLOAT, ["n", weight.shape[0]])], [port("y", FLOAT, ["n", weight.shape[1]])],
                       [tensor("w", weight), tensor("b", bias)]))


def test_is_listed() -> None:
    found = [one for one in ort.get_ep_devices() if one.ep_name == NAME]
    assert len(found) == 1 and found[0].ep_vendor == "Weft", found


def test_example() -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "model.onnx").write_bytes(layers(np.ones((5, 3), np.float32), np.ones(3, np.float32)))
        command = [sys.executable, ROOT / "examples/onnxruntime/run.py", LIBRARY, f"{folder}/model.onnx"]
        ran = subprocess.run(command, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "y [1, 3]: sum 18\n"), ran


def test_shapes_change() -> None:
    weight, bias = floats(5, 3), floats(3)
    session = on_weft(layers(weight, bias))
    for rows in (1, 3, 8, 3, 0):
        x = floats(rows, 5)
        same(session.run(None, {"x": x})[0], np.maximum(x @ weight + bias, 0))


def between(kind: int) -> bytes:
    """exp(x) on Weft, a sine of another type in the middle, and twice the sum of both."""
    nodes = [node("Exp", ["x"], ["e"]), node("Cast", ["e"], ["c"], attribute("to", kind)), node("Sin", ["c"], ["d"]),
             node("Cast", ["d"], ["s"], attribute("to", FLOAT)), node("Add", ["s", "e"], ["t"]), node("Mul", ["t", "two"], ["y"])]
    return model(graph(nodes, [port("x", FLOAT, ["n", 4])], [port("y", FLOAT, ["n", 4])], [tensor("two", np.array(2, np.float32))]))


def test_parts_of_a_graph() -> None:
    whole, x = between(DOUBLE), floats(3, 4)
    refused(lambda: on_weft(whole), "fallback to CPU EP has been explicitly disabled")
    with tempfile.TemporaryDirectory() as folder:
        chosen = options(alone=False)
        chosen.enable_profiling, chosen.profile_file_prefix = True, f"{folder}/ort"
        session = ort.InferenceSession(whole, chosen)
        for _ in range(2):
            same(session.run(None, {"x": x})[0], on_cpu(whole, {"x": x})[0])
        events = json.loads(Path(session.end_profiling()).read_text())
    ran = {(one["args"]["provider"], one["args"]["op_name"]) for one in events if one.get("cat") == "Node"}
    ours = {op for provider, op in ran if provider == NAME}
    theirs = {op for provider, op in ran if provider == "CPUExecutionProvider"} - {"MemcpyFromHost", "MemcpyToHost"}
    assert len(ours) >= 2 and "Sin" in theirs and not theirs & {"Exp", "Add", "Mul"}, ran


def test_one_whole_graph_is_one_node() -> None:
    whole, x = between(FLOAT), floats(3, 4)
    same(on_weft(whole).run(None, {"x": x})[0], on_cpu(whole, {"x": x})[0])


def test_values_stay_on_the_device() -> None:
    weight, bias = floats(6, 6), floats(6)
    first, second = on_weft(layers(weight, bias)), on_weft(layers(weight.T.copy(), bias))
    x = floats(2000, 6)
    must = np.maximum(np.maximum(x @ weight + bias, 0) @ weight.T + bias, 0)
    value = ort.OrtValue.ortvalue_from_numpy(x, "gpu", 0, VENDOR)
    same(value.numpy(), x)
    between_them = ort.OrtValue.ortvalue_from_shape_and_type(x.shape, np.float32, "gpu", 0, VENDOR)
    refused(between_them.numpy, "Nothing was written")
    result = ort.OrtValue.ortvalue_from_shape_and_type(x.shape, np.float32, "gpu", 0, VENDOR)
    for _ in range(2):
        for session, given, out in ((first, value, between_them), (second, between_them, result)):
            binding = session.io_binding()
            binding.bind_ortvalue_input("x", given)
            binding.bind_ortvalue_output("y", out)
            session.run_with_iobinding(binding)
        same(result.numpy(), must, 1e-4)
    value.update_inplace(np.zeros_like(x))
    binding = first.io_binding()
    binding.bind_ortvalue_input("x", value)
    binding.bind_output("y")  # on the host
    first.run_with_iobinding(binding)
    same(binding.copy_outputs_to_cpu()[0], np.broadcast_to(np.maximum(bias, 0), x.shape))


def test_sessions_in_threads() -> None:
    errors: list[BaseException] = []

    def work(session: ort.InferenceSession, weight: np.ndarray, bias: np.ndarray, seed: int) -> None:
        try:
            random = np.random.default_rng(seed)
            for i in range(12):
                x = random.standard_normal((1 + i % 3, weight.shape[0])).astype(np.float32)
                same(session.run(None, {"x": x})[0], np.maximum(x @ weight + bias, 0))
        except BaseException as error:
            errors.append(error)

    threads = []
    for i in range(2):  # two sessions, each in two threads
        weight, bias = floats(7, 5), floats(5)
        session = on_weft(layers(weight, bias))
        threads += [threading.Thread(target=work, args=(session, weight, bias, 2 * i + k)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors


def test_options() -> None:
    whole = layers(floats(2, 2), floats(2))
    refused(lambda: on_weft(whole, colour="red"), "There is no option 'colour'", "adapter, mode and profile")
    refused(lambda: on_weft(whole, mode="wild"), "The option mode is 'wild'")
    refused(lambda: on_weft(whole, adapter="no such adapter"), "no such adapter")
    x = floats(3, 2)
    same(on_weft(whole, mode="safe").run(None, {"x": x})[0], on_weft(whole, mode="fast").run(None, {"x": x})[0])


def test_profile() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        session = on_weft(layers(floats(2, 2), floats(2)), profile=str(file))
        session.run(None, {"x": floats(3, 2)})
        del session
        assert json.loads(file.read_text()), "the trace is empty"


def test_bad_input() -> None:
    whole = layers(floats(4, 4), floats(4))
    for length in (0, 1, len(whole) // 3, len(whole) - 5):
        refused(lambda length=length: on_weft(whole[:length]))
    session = on_weft(model(graph([node("Reshape", ["x", "to"], ["y"])], [port("x", FLOAT, ["n"]), port("to", INT64, ["r"])],
                                  [port("y", FLOAT, None)])))
    x = floats(6)
    same(session.run(None, {"x": x, "to": np.array([2, 3])})[0], x.reshape(2, 3))
    refused(lambda: session.run(None, {"x": x, "to": np.array([4, 3])}), "Reshape")
    same(session.run(None, {"x": x, "to": np.array([3, -1])})[0], x.reshape(3, 2))


def branches(source: str) -> bytes:
    """-x + k or -x * k, by a condition; both bodies read the value named `source` and k from outside."""
    bodies = [graph([node(one, [source, "k"], [f"{one} result"])], [], [port(f"{one} result", FLOAT, [3])]) for one in ("Add", "Mul")]
    return model(graph([node("Neg", ["x"], ["n"]), node("Neg", ["n"], ["x again"]),
                        node("If", ["c"], ["r"], attribute("then_branch", bodies[0]), attribute("else_branch", bodies[1])),
                        node("Sub", ["r", "x again"], ["y"])], [port("x", FLOAT, [3]), port("z", FLOAT, [3]), port("c", BOOL, [])],
                       [port("y", FLOAT, [3])], [tensor("k", np.array([1, 2, 3], np.float32))]))


def test_branches() -> None:
    x, z, k = floats(3), floats(3), np.array([1, 2, 3], np.float32)
    refused(lambda: on_weft(branches("z")), "fallback to CPU EP")  # ONNX Runtime would not give z to the group
    for session, value in ((on_weft(branches("n")), -x), (on_weft(branches("z"), alone=False), z)):
        for _ in range(2):
            same(session.run(None, {"x": x, "z": z, "c": np.array(True)})[0], value + k - x)
            same(session.run(None, {"x": x, "z": z, "c": np.array(False)})[0], value * k - x)


def test_loop() -> None:
    body = graph([node("Identity", ["go"], ["on"]), node("Mul", ["state", "x"], ["next"])],
                 [port("i", INT64, []), port("go", BOOL, []), port("state", FLOAT, [3])], [port("on", BOOL, []), port("next", FLOAT, [3])])
    whole = model(graph([node("Loop", ["times", "", "x"], ["y"], attribute("body", body))], [port("x", FLOAT, [3]), port("times", INT64, [])],
                        [port("y", FLOAT, [3])]))
    x = floats(3)
    same(on_weft(whole).run(None, {"x": x, "times": np.array(3)})[0], x**4)


def test_scan() -> None:
    """Its body is shown before the graph around it, and without it."""
    body = graph([node("Add", ["s", "x"], ["t"]), node("Mul", ["t", "t"], ["y"])], [port("s", FLOAT, [2]), port("x", FLOAT, [2])],
                 [port("t", FLOAT, [2]), port("y", FLOAT, [2])])
    whole = model(graph([node("Scan", ["start", "all"], ["last", "squares"], attribute("body", body), attribute("num_scan_inputs", 1))],
                        [port("start", FLOAT, [2]), port("all", FLOAT, ["n", 2])], [port("last", FLOAT, [2]), port("squares", FLOAT, ["n", 2])]).replace(
                            text(2, "graph"), text(2, "outer"), 1))
    start, values = floats(2), floats(5, 2)
    last, squares = on_weft(whole).run(None, {"start": start, "all": values})
    sums = start + np.cumsum(values, 0)
    same(last, sums[-1])
    same(squares, sums**2)


def test_sequences() -> None:
    """They stay inside of a group; one that is a result of the graph is left to the CPU, with what makes it."""
    nodes = [node("Neg", ["x"], ["n"]), node("SplitToSequence", ["n", "one"], ["parts"]), node("SequenceInsert", ["parts", "x"], ["more"]),
             node("ConcatFromSequence", ["more"], ["y"], attribute("axis", 0))]
    inputs, weights = [port("x", FLOAT, ["n", 2])], [tensor("one", np.array(1))]
    x = floats(3, 2)
    same(on_weft(model(graph(nodes, inputs, [port("y", FLOAT, None)], weights))).run(None, {"x": x})[0], np.concatenate([-x, x]))
    open_end = model(graph(nodes, inputs, [text(1, "more")], weights))
    refused(lambda: on_weft(open_end), "fallback to CPU EP")
    parts = on_weft(open_end, alone=False).run(None, {"x": x})[0]
    assert len(parts) == 4
    same(np.concatenate(parts), np.concatenate([-x, x]))


def test_half_sums() -> None:
    """Sums of f16 are kept in f32: 20,000 times 1/8 would stop at 256 in f16."""
    whole = model(graph([node("ReduceSum", ["x"], ["y"], attribute("keepdims", 0)), node("ReduceMean", ["x"], ["m"], attribute("keepdims", 0))],
                        [port("x", HALF, ["n"])], [port("y", HALF, []), port("m", HALF, [])]))
    x = np.full(20_000, 0.125, np.float16)
    total, mean = on_weft(whole).run(None, {"x": x})
    assert float(total) == 2500 and float(mean) == 0.125, (total, mean)


def test_half_reductions() -> None:
    """Against doubles, within the last digit of f16."""
    nodes = [node("ReduceSum", ["x", "axes"], ["sum"]), node("ReduceMean", ["x", "axes"], ["mean"]), node("ReduceL2", ["x", "axes"], ["length"]),
             node("Softmax", ["x"], ["share"], attribute("axis", -1)), node("LayerNormalization", ["x", "w"], ["norm"], attribute("axis", -1))]
    results = ["sum", "mean", "length", "share", "norm"]
    whole = model(graph(nodes, [port("x", HALF, ["n", 5000])], [port(one, HALF, None) for one in results],
                        [tensor("axes", np.array([1])), tensor("w", np.ones(5000, np.float16))]))
    x = RANDOM.standard_normal((3, 5000)).astype(np.float16)
    exact = x.astype(np.float64)
    powers = np.exp(exact)
    must = [exact.sum(1, keepdims=True), exact.mean(1, keepdims=True), np.sqrt((exact**2).sum(1, keepdims=True)), powers / powers.sum(1, keepdims=True),
            (exact - exact.mean(1, keepdims=True)) / np.sqrt(exact.var(1, keepdims=True) + 1e-5)]
    for name, got, right in zip(results, on_weft(whole).run(None, {"x": x}), must, strict=True):
        error = np.abs(got.astype(np.float64) - right) / np.maximum(np.abs(right), 2.0**-14)
        assert got.dtype == np.float16 and error.max() < 2.0**-10, (name, error.max())


def test_large() -> None:
    """Tensors of 4 MB, which are past one binding where test_small_bindings calls it."""
    nodes = [node("Softmax", ["x"], ["s"], attribute("axis", -1)), node("LayerNormalization", ["x", "w"], ["n"], attribute("axis", -1)),
             node("Add", ["s", "n"], ["y"])]
    whole = model(graph(nodes, [port("x", FLOAT, ["r", 500_000])], [port("y", FLOAT, ["r", 500_000])], [tensor("w", np.ones(500_000, np.float32))]))
    x = floats(2, 500_000)
    exact = x.astype(np.float64)
    powers = np.exp(exact)
    must = powers / powers.sum(-1, keepdims=True) + (exact - exact.mean(-1, keepdims=True)) / np.sqrt(exact.var(-1, keepdims=True) + 1e-5)
    same(on_weft(whole).run(None, {"x": x})[0], must.astype(np.float32), 1e-4)


def test_small_bindings() -> None:
    command = [sys.executable, ROOT / "tools/test_onnxruntime", "--library", LIBRARY, "provider/test_large"]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"WEFT_CAPS": "binding=1M,alignment=256"})
    assert ran.stdout.endswith("1 passed, 0 failed\n"), ran.stdout


def test_weights_in_a_file() -> None:
    weight = floats(40, 30)
    place = b"".join(wire.text(13, wire.text(1, key) + wire.text(2, value)) for key, value in
                     (("location", "weights.bin"), ("offset", "64"), ("length", str(weight.nbytes))))
    outside = wire.number(1, 40) + wire.number(1, 30) + wire.number(2, FLOAT) + wire.text(8, "w") + place + wire.number(14, 1)
    whole = model(graph([node("MatMul", ["x", "w"], ["y"])], [port("x", FLOAT, ["n", 40])], [port("y", FLOAT, ["n", 30])], [outside]))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "weights.bin").write_bytes(bytes(64) + weight.tobytes())
        (Path(folder) / "model.onnx").write_bytes(whole)
        session = ort.InferenceSession(f"{folder}/model.onnx", options())
        x = floats(2, 40)
        same(session.run(None, {"x": x})[0], x @ weight, 1e-4)


def test_random_numbers_stay_with_the_cpu() -> None:
    whole = model(graph([node("RandomUniformLike", ["x"], ["r"]), node("Add", ["x", "r"], ["y"])], [port("x", FLOAT, [64])],
                        [port("y", FLOAT, [64])]))
    session = on_weft(whole, alone=False)
    x = np.zeros(64, np.float32)
    assert not np.array_equal(session.run(None, {"x": x})[0], session.run(None, {"x": x})[0])
