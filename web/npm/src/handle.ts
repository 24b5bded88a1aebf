import type { Device } from "./device.js";
import { WeftError } from "./error.js";

type Free = "weft_tensor_free" | "weft_buffer_free" | "weft_kernel_free" | "weft_compiled_free" | "weft_device_close" | "weft_model_free";

/** Frees what nobody can reach any more. `dispose()` and `using` do it at once. */
const registry = new FinalizationRegistry<() => void>((free) => free());

let made: Set<Handle> | undefined;

/** Runs `work`, and disposes of everything that was made in it but of what it keeps of its result, which then is of the outer one. */
export function disposing<T>(work: () => T, keep: (result: T) => readonly unknown[] = () => []): T {
  const outer = made, mine = new Set<Handle>();
  made = mine;
  try {
    const result = work();
    for (const one of keep(result)) if (mine.delete(one as Handle)) outer?.add(one as Handle);
    return result;
  } finally {
    made = outer;
    for (const one of mine) one.dispose();
  }
}

/** Something that the engine holds until it is freed. */
export abstract class Handle {
  readonly device: Device;
  #handle: number;
  readonly #end: () => void;
  readonly #owned: boolean;

  /** `also` runs after it was freed. What is not owned is only looked at. */
  constructor(device: Device, handle: number, free: Free, owned = true, also?: () => void) {
    this.device = device;
    this.#handle = handle;
    this.#owned = owned;
    const engine = device.engine;
    this.#end = () => {
      engine.call(free as Parameters<typeof engine.call>[0], handle);
      also?.();
    };
    made?.add(this);
    if (owned) registry.register(this, this.#end, this);
  }

  /** The number by which C functions know it. */
  get handle(): number {
    if (this.#handle === 0) throw new WeftError("invalid_handle", `This ${this.constructor.name.toLowerCase()} was disposed of.`);
    return this.#handle;
  }

  get disposed(): boolean {
    return this.#handle === 0;
  }

  /** Gives it back now. What was made from it stays. */
  dispose(): void {
    if (this.#handle === 0) return;
    this.#handle = 0;
    if (!this.#owned) return;
    registry.unregister(this);
    this.#end();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
