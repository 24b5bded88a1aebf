// What emscripten's module (dist/onnx/weft-onnx.mjs) gives: the same as that of the smaller engine.
export { default } from "../weft.mjs";
