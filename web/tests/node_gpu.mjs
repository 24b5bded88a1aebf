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
