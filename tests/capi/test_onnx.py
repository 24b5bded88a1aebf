"""ONNX models through the C API."""
import json

from common import DEVICE, Case, c, lib, np, weft
from weft import Tensor, made, numbers, text_of


def varint(value: int) -> bytes:
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number: int, value: bytes | int) -> bytes:
    """A field of a message: bytes, or a whole number."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def port(name: bytes) -> bytes:
    shape = field(2, field(1, field(2, b"n")))
    return field(1, name) + field(2, field(1, field(1, 1) + shape))


# y = x + [1, 2] for f32 x [n]
WEIGHT = field(1, 2) + field(2, 1) + field(8, b"w") + field(9, np.float32([1, 2]).tobytes())
NODE = field(1, b"x") + field(1, b"w") + field(2, b"y") + field(4, b"Add")
MODEL = field(1, 9) + field(7, field(1, NODE) + field(5, WEIGHT) + field(11, port(b"x")) + field(12, port(b"y"))) + field(8, field(2, 21))


class CApiOnnx(Case):
    def run_model(self, model, **inputs):
        results = {}
        receiver = weft.Receiver(lambda _, name, handle: results.update({name.decode(): Tensor(weft.Handle(handle))}))
        names = (c.c_char_p * len(inputs))(*[name.encode() for name in inputs])
        tensors = numbers(c.c_void_p, [t.handle for t in inputs.values()])
        lib.weft_model_run(model, names, tensors, len(inputs), receiver, None)
        return results

    def test_a_model(self):
        model = made(lib.weft_model_load_bytes, DEVICE, MODEL, len(MODEL))
        for _ in range(2):
            results = self.run_model(model, x=DEVICE.tensor(np.float32([10, 20])))
            self.assertEqual(results["y"].numpy().tolist(), [11, 22])
        text = json.loads(text_of(lib.weft_model_to_text, model, False))
        self.assertEqual(text["inputs"], [{"name": "x", "type": "f32", "shape": ["n"]}])
        self.assertIn({"name": "x", "type": "f32", "shape": ["n"]}, text["shapes"])
        self.assertEqual((text["operations"], text["unsupported"], text["replayed"]), ({"Add": 1}, [], True))
        self.assertRegex(text_of(lib.weft_model_to_text, model, True), r"(?s)^digraph .*add")
        self.fails("invalid_argument", "The input 'x' is missing", self.run_model, model)
        self.fails("invalid_argument", "no input 'z'", self.run_model, model, z=DEVICE.tensor(np.float32([1])))
        lib.weft_model_free(model)
        self.fails("invalid_handle", "freed", lib.weft_model_free, model)

    def test_damaged_models(self):
        self.fails("invalid_argument", "Byte", made, lib.weft_model_load_bytes, DEVICE, MODEL[:-3], len(MODEL) - 3)
        self.fails("not_found", "nothing.onnx", made, lib.weft_model_load, DEVICE, b"/nothing.onnx")
