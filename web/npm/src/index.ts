export { Buffer } from "./buffer.js";
export { compile, Compiled, type CompileOptions, type CompileReport, type Traced } from "./compile.js";
export { Loader, type Column, type LoaderOptions } from "./data.js";
export { Device, type DeviceInfo, type DeviceOptions, type Memory, type Profile } from "./device.js";
export { Engine, type LoadOptions } from "./engine.js";
export { WeftError } from "./error.js";
export type { NamedTensors } from "./files.js";
export type { DType, Exports, Status } from "./generated/raw.js";
export * from "./generated/ops.js";
export { Kernel, type KernelSource } from "./kernel.js";
export { grad, map, reduce, type Operand } from "./map.js";
export {
  scope, supports, type DeviceHints, type MemoryClass, type MemoryEvent, type MemoryReport, type Support, type TensorType,
} from "./memory.js";
export * as nn from "./nn.js";
export * as optim from "./optim.js";
export { Tensor, type Data } from "./tensor.js";
export type { Nested } from "./values.js";
