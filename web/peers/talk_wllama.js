import { Wllama } from '/packages/@wllama/wllama/esm/index.js';

export async function load(file) {
  const wllama = new Wllama({ default: new URL('/packages/@wllama/wllama/esm/wasm/wllama.wasm', location.href).href });
  const adapter = await navigator.gpu?.requestAdapter();
  await wllama.loadModel([file], { n_ctx: 4096 });
  return {
    // Its kernels need 16-bit floats in shaders; without them it computes on the CPU, in one thread where pages are not isolated.
    where: adapter?.features.has('shader-f16') ? 'GPU' : 'CPU', close: () => wllama.exit(),
    say: async (prompt, tokens) => (await wllama.createCompletion({ prompt, max_tokens: tokens, temperature: 0 })).choices[0].text,
  };
}
