import { waiting } from "./call.js";
import type { Device } from "./device.js";
import { WeftError } from "./error.js";
import { Tensor } from "./tensor.js";

/** What a file holds. */
export interface NamedTensors {
  tensors: Record<string, Tensor>;
  texts: Record<string, string>;
}

let files = 0;

async function bytesOf(file: Uint8Array | ArrayBuffer | Blob): Promise<Uint8Array> {
  if (file instanceof Uint8Array) return file;
  return new Uint8Array(file instanceof ArrayBuffer ? file : await file.arrayBuffer());
}

function isGguf(bytes: Uint8Array): boolean {
  return bytes.length >= 4 && String.fromCharCode(...bytes.subarray(0, 4)) === "GGUF";
}

export async function load(device: Device, file: Uint8Array | ArrayBuffer | Blob): Promise<NamedTensors> {
  const bytes = await bytesOf(file);
  const { module } = device.engine;
  const path = `/weft-${++files}.${isGguf(bytes) ? "gguf" : "safetensors"}`;
  const contents: NamedTensors = { tensors: {}, texts: {} };
  const receive = module.addFunction((_context, name, tensor) => {
    contents.tensors[device.engine.text(name!)] = new Tensor(device, tensor!);
  }, "viii");
  const receiveText = module.addFunction((_context, name, text) => {
    contents.texts[device.engine.text(name!)] = device.engine.text(text!);
  }, "viii");
  module.FS.writeFile(path, bytes);
  try {
    await waiting(device, (frame) =>
      frame.wait("weft_load", device.handle, frame.text(path), receive, receiveText, 0));
    return contents;
  } finally {
    module.FS.unlink(path);
    module.removeFunction(receive);
    module.removeFunction(receiveText);
  }
}

export async function save(device: Device, format: "safetensors" | "gguf", contents: Partial<NamedTensors>): Promise<Uint8Array> {
  const { module } = device.engine;
  const path = `/weft-${++files}.${format}`;
  const tensors = Object.entries(contents.tensors ?? {}), texts = Object.entries(contents.texts ?? {});
  if (tensors.length === 0) throw new WeftError("invalid_argument", "A file needs at least one tensor.");
  try {
    await waiting(device, (frame) => {
      const list = (values: readonly string[]) => frame.u32s(values.map((value) => frame.text(value)));
      return frame.wait("weft_save", frame.text(path), list(tensors.map(([name]) => name)),
        frame.tensors(tensors.map(([, tensor]) => tensor)), tensors.length, list(texts.map(([name]) => name)),
        list(texts.map(([, text]) => text)), texts.length);
    });
    return module.FS.readFile(path).slice();
  } finally {
    try {
      module.FS.unlink(path);
    } catch {
      // It was never written.
    }
  }
}
