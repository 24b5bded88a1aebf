import { waiting } from "../call.js";
import { Device, type DeviceOptions } from "../device.js";
import { Engine, type LoadOptions } from "../engine.js";
import { WeftError } from "../error.js";
import { Handle } from "../handle.js";
import { Tensor } from "../tensor.js";
import { beside, bytesOf, externalFiles, type FileSource } from "./source.js";
import make from "./weft-onnx.mjs";

/** The functions that this module's engine has over the others'. */
interface OnnxExports {
  weft_model_load(device: number, path: number, model: number): Promise<number>;
  weft_model_load_bytes(device: number, bytes: number, size: bigint, model: number): Promise<number>;
  weft_model_free(model: number): number;
  weft_model_to_text(model: number, dot: number, text: number, capacity: number, length: number): number;
  weft_model_run(model: number, names: number, tensors: number, count: number, receive: number, context: number): Promise<number>;
}

/** One value that a model takes or gives; extents that may differ from run to run have a name instead of a number. */
export interface ValueInfo {
  name: string;
  type: string;
  shape?: (number | string)[];
}

/** How a model is loaded. */
export interface ModelOptions {
  /** Files with weights, by the names that the model has for them. Those of a model with an address are looked for beside it otherwise. */
  externalData?: Readonly<Record<string, FileSource>>;
}

export type { FileSource };

let shared: Promise<Engine> | undefined;
let folders = 0;

/** The engine that runs ONNX models too: the one of `@weft/core`, with their reader and translator linked in. */
export function loadEngine(options: LoadOptions = {}): Promise<Engine> {
  const own = options.gpu !== undefined || options.wasmUrl !== undefined || options.wasmBinary !== undefined;
  return own ? Engine.load(options, make) : (shared ??= Engine.load({}, make));
}

/** Opens a device on which models run. Everything of `@weft/core` works on it. */
export async function openDevice(options: DeviceOptions = {}): Promise<Device> {
  return Device.open({ ...options, engine: options.engine ?? (await loadEngine(options)) });
}

function exportsOf(device: Device): OnnxExports {
  const found = device.engine.exports as unknown as Partial<OnnxExports>;
  if (!found.weft_model_run) {
    throw new WeftError("unsupported", "This device's engine has no ONNX: open the device with openDevice() of @weft/core/onnx.");
  }
  return found as OnnxExports;
}

/** An ONNX model on a device, ready to run. */
export class Model extends Handle {
  private constructor(device: Device, handle: number, also?: () => void) {
    super(device, handle, "weft_model_free", true, also);
  }

  /** Reads a model from its address (in Node a path too) or its bytes, and the files beside it in which weights lie. */
  static async load(device: Device, file: FileSource, options: ModelOptions = {}): Promise<Model> {
    const exports = exportsOf(device);
    const bytes = await bytesOf(file), names = [...externalFiles(bytes)];
    if (names.length === 0) {
      return waiting(device, async (frame) => {
        const from = frame.bytes(bytes), out = frame.u32s([0]);
        await device.engine.waitFor(() => exports.weft_model_load_bytes(device.handle, from, BigInt(bytes.byteLength), out));
        return new Model(device, frame.view().getUint32(out, true));
      });
    }
    const more = await Promise.all(names.map(async (name) => {
      const source = options.externalData?.[name] ?? beside(file, name);
      if (source === undefined) {
        throw new WeftError("not_found", `The model has weights in the file ${name}: give it as externalData, or load the model from its address.`);
      }
      return bytesOf(source);
    }));
    let own = "model.onnx";
    while (names.includes(own)) own = `_${own}`;
    return Model.#loadFolder(device, new Map([[own, bytes], ...names.map((name, i) => [name, more[i]!] as const)]));
  }

  /** From files that lie in a folder of the engine's for as long as the model does, because weights are read when they are needed. */
  static async #loadFolder(device: Device, files: ReadonlyMap<string, Uint8Array>): Promise<Model> {
    const { FS } = device.engine.module, exports = exportsOf(device);
    const folder = `/weft-onnx-${++folders}`, made: string[] = [];
    const remove = () => {
      for (const path of made) FS.unlink(path);
    };
    try {
      for (const [name, bytes] of files) {
        const path = `${folder}/${name}`;
        if (name.startsWith("/") || name.split("/").includes("..")) {
          throw new WeftError("invalid_argument", `The model has weights in the file ${name}, which is not beside it.`);
        }
        FS.mkdirTree(path.replace(/\/[^/]*$/, ""));
        FS.writeFile(path, bytes);
        made.push(path);
      }
      return await waiting(device, async (frame) => {
        const path = frame.text(made[0]!), out = frame.u32s([0]);
        await device.engine.waitFor(() => exports.weft_model_load(device.handle, path, out));
        return new Model(device, frame.view().getUint32(out, true), remove);
      });
    } catch (error) {
      remove();
      throw error;
    }
  }

  /** Runs the model on tensors for its inputs, by name, and gives its results by name. */
  async run(inputs: Readonly<Record<string, Tensor>>): Promise<Record<string, Tensor>> {
    const { device } = this, { module } = device.engine, exports = exportsOf(device);
    const entries = Object.entries(inputs), results: Record<string, Tensor> = {};
    const receive = module.addFunction((_context, name, tensor) => {
      results[device.engine.text(name!)] = new Tensor(device, tensor!);
    }, "viii");
    try {
      return await waiting(device, async (frame) => {
        const names = frame.u32s(entries.map(([name]) => frame.text(name))), tensors = frame.tensors(entries.map(([, tensor]) => tensor));
        await device.engine.waitFor(() => exports.weft_model_run(this.handle, names, tensors, entries.length, receive, 0));
        return results;
      });
    } finally {
      module.removeFunction(receive);
    }
  }

  /** What the model takes and gives, its operations, those that Weft cannot run, and how the last run went. */
  describe(): { inputs: ValueInfo[]; outputs: ValueInfo[] } & Record<string, unknown> {
    return JSON.parse(this.#text(false)) as { inputs: ValueInfo[]; outputs: ValueInfo[] } & Record<string, unknown>;
  }

  /** The graph that the last run compiled, in the DOT language. */
  graph(): string {
    return this.#text(true);
  }

  #text(dot: boolean): string {
    const { engine } = this.device, exports = exportsOf(this.device);
    const length = engine.exports.malloc(4);
    let text = 0;
    try {
      engine.check(exports.weft_model_to_text(this.handle, Number(dot), 0, 0, length));
      const room = new DataView(engine.module.HEAPU8.buffer).getUint32(length, true) + 1;
      text = engine.exports.malloc(room);
      engine.check(exports.weft_model_to_text(this.handle, Number(dot), text, room, length));
      return engine.text(text);
    } finally {
      engine.exports.free(text);
      engine.exports.free(length);
    }
  }
}
