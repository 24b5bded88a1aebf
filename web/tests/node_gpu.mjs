// WebGPU for Node: Dawn through the npm package `webgpu`. WEFT_DAWN="toggle=value,…" are its options.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

export async function nodeGpu() {
  const modules = process.env.WEFT_NODE_MODULES;
  if (!modules) throw new Error('WEFT_NODE_MODULES must name the folder that env/web prints');
  const file = createRequire(`${modules}/`).resolve('webgpu');
  const { create, globals } = await import(pathToFileURL(file).href);
  Object.assign(globalThis, globals);
  return create((process.env.WEFT_DAWN ?? 'enable-dawn-features=allow_unsafe_apis').split(';').filter(Boolean));
}

/**
 * The same GPU for tests that interfere: `onDevice` is given every device that is opened, and `refuses(bytes)` says whether a
 * buffer of so many bytes is refused.
 */
export function interfered(target, { onDevice = () => undefined, refuses = () => false }) {
  return new Proxy(target, {
    get(object, name) {
      const value = object[name];
      if (typeof value !== 'function') return value;
      if (name === 'requestAdapter' || name === 'requestDevice') {
        return async (...values) => {
          const found = await value.apply(object, values);
          if (name === 'requestDevice') onDevice(found);
          return interfered(found, { onDevice, refuses });
        };
      }
      if (name !== 'createBuffer') return value.bind(object);
      return descriptor => {
        if (refuses(descriptor.size)) throw new RangeError(`${descriptor.size} bytes are too many`);
        return value.call(object, descriptor);
      };
    },
    set(object, name, value) {
      object[name] = value;
      return true;
    },
  });
}
