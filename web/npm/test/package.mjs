// The built package (web/build_npm) and a device for the tests: Dawn through the npm package `webgpu`.
import { nodeGpu } from '../../tests/node_gpu.mjs';

export const weft = await import(new URL('../../../build/web/npm/dist/index.js', import.meta.url).href);
const gpu = await nodeGpu();
export const device = await weft.Device.open({ gpu });
export const close = (got, want, error = 1e-5) => got.length === want.length && want.every((value, i) => Math.abs(Number(got[i]) - value) <= error * Math.max(1, Math.abs(value)));
