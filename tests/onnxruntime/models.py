"""The real models of `./weft test --models` on Weft's provider in ONNX Runtime, held against the CPU: models.py FOLDER.

Each by two sessions at once, on two threads. What ONNX Runtime leaves to the CPU is counted.
"""
import json
import os
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import onnxruntime as ort

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "onnx"))
sys.dont_write_bytecode = True
import models as real

TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(bool)": np.bool_, "tensor(float16)": np.float16}


def given(session: ort.InferenceSession, model: real.Model) -> dict[str, np.ndarray]:
    random, out = np.random.default_rng(3), {}
    for port in session.get_inputs():
        shape = model.shapes.get(port.name, [n if isinstance(n, int) else model.dims.get(n, 1) for n in port.shape])
        kind = TYPES[port.type]
        if port.name in model.values:
            out[port.name] = np.full(shape, model.values[port.name], kind)
        else:
            out[port.name] = (random.uniform(-1, 1, shape) if kind in (np.float32, np.float16) else random.integers(0, 3, shape)).astype(kind)
    return out


def weft(path: Path, profile: str) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.enable_profiling, options.profile_file_prefix = bool(profile), profile
    options.add_provider_for_devices([one for one in ort.get_ep_devices() if one.ep_name == "WeftExecutionProvider"], {})
    return ort.InferenceSession(path, options)


def nodes(profile: str) -> tuple[int, int]:
    """How many nodes ran on Weft (groups count as one) and on the CPU, copies aside."""
    ran = [one["args"] for one in json.loads(Path(profile).read_text()) if one.get("cat") == "Node" and one["name"].endswith("kernel_time")]
    ours = [one for one in ran if one["provider"] == "WeftExecutionProvider"]
    return len(ours), len([one for one in ran if one not in ours and not one["op_name"].startswith("Memcpy")])


def check(folder: Path, model: real.Model) -> str:
    path = folder / model.path
    cpu = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    inputs = given(cpu, model)
    must = cpu.run(None, inputs)
    worst, failures = 0.0, []
    with tempfile.TemporaryDirectory() as work:
        sessions = [weft(path, f"{work}/{i}") for i in range(2)]

        def run(session: ort.InferenceSession) -> None:
            nonlocal worst
            try:
                for _ in range(2):
                    for port, ours, theirs in zip(session.get_outputs(), session.run(None, inputs), must, strict=True):
                        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
                            raise ValueError(f"{port.name} is {ours.dtype}{ours.shape} in place of {theirs.dtype}{theirs.shape}")
                        if theirs.size:
                            worst = max(worst, float(np.abs(ours - theirs).max()) / max(float(np.abs(theirs).max()), 1e-30))
            except Exception as error:  # of any kind, from a thread
                failures.append(str(error))

        threads = [threading.Thread(target=run, args=(session,)) for session in sessions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        groups, left = nodes(sessions[0].end_profiling())
        sessions[1].end_profiling()
    if failures:
        raise ValueError(failures[0])
    if not groups and not model.is_branch:
        raise ValueError("nothing ran on Weft")
    if worst > model.tolerance:
        raise ValueError(f"largest error {worst:.3g} of the largest value")
    return f"error {worst:.2g} of the largest value, {groups // 2} groups on Weft, {left // 2} nodes on the CPU"


def main() -> int:
    ort.set_default_logger_severity(4)
    ort.register_execution_provider_library("weft", os.environ["WEFT_PROVIDER"])
    bad = 0
    for model in real.MODELS:
        if len(sys.argv) > 2 and sys.argv[2] not in model.path:
            continue
        try:
            print(f"{Path(model.path).stem}: {check(Path(sys.argv[1]), model)}", flush=True)
        except Exception as error:  # The next model may work.
            bad += 1
            print(f"{Path(model.path).stem}: FAILED, {error}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
