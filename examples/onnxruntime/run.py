"""Runs an ONNX model on Weft inside of ONNX Runtime, with ones for its inputs: run.py LIBRARY MODEL."""
import sys

import numpy as np
import onnxruntime as ort

ort.register_execution_provider_library("weft", sys.argv[1])  # libonnxruntime_providers_weft.so
options = ort.SessionOptions()
options.add_provider_for_devices([device for device in ort.get_ep_devices() if device.ep_name == "WeftExecutionProvider"], {})
session = ort.InferenceSession(sys.argv[2], options)

ones = {port.name: np.ones([n if isinstance(n, int) else 1 for n in port.shape], np.float32) for port in session.get_inputs()}
for port, result in zip(session.get_outputs(), session.run(None, ones), strict=True):
    print(f"{port.name} {list(result.shape)}: sum {float(np.sum(result)):g}")
