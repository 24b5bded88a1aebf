// How fast a GGUF model generates in Node, and what it needs of the host: node_speed.mjs PACKAGE MODEL [TOKENS [RUNS]]. Prints JSON.
// PACKAGE is build/web/npm/dist. The GPU is that of npm's `webgpu`, see node_gpu.mjs.
import { fstatSync, openSync, readSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { nodeGpu } from './node_gpu.mjs';

const [dist, path, tokens = '64', runs = '1'] = process.argv.slice(2);
const { LanguageModel } = await import(pathToFileURL(resolve(dist, 'llm/index.js')).href);
const gpu = await nodeGpu();
const file = openSync(path);
let largest = 0, most = 0;
const memory = () => {
  const { heapUsed, arrayBuffers, external } = process.memoryUsage();
  return heapUsed + Math.max(arrayBuffers, external);  // WebAssembly's memory is an array buffer.
};
const idle = memory();
const whole = new Uint8Array(1 << 20);  // Pieces of tensors are copied at once, so one place is enough for them.
const source = {
  size: fstatSync(file).size,
  read(position, length) {
    const bytes = length === whole.length ? whole : new Uint8Array(length);
    largest = Math.max(largest, length);
    most = Math.max(most, memory());
    return bytes.subarray(0, readSync(file, bytes, 0, length, position));
  },
};
const begin = performance.now();
const model = await LanguageModel.load(source, { gpu, context: 2048 });
const loaded = performance.now();
const ask = (prompt, count) => model.completions.create({ prompt, max_tokens: count, temperature: 0 });
await ask('Once', 2);
const first = performance.now();
const rates = [];
let usage;
for (let run = 0; run < Number(runs); ++run) {
  ({ usage } = await ask('There was a man', Number(tokens)));
  rates.push(usage.generation_rate);
}
const long = Number(tokens) >= 32 ? await ask('word '.repeat(500), 1) : undefined;  // Software adapters would take minutes.
console.log(JSON.stringify({
  model: model.description, file_bytes: source.size, load_s: (loaded - begin) / 1000, compile_s: (first - loaded) / 1000,
  largest_read_mb: largest / 2 ** 20, host_over_idle_mb: (most - idle) / 2 ** 20,
  tokens: usage.completion_tokens, tokens_per_s: rates, prompt_tokens: long?.usage.prompt_tokens, prompt_tokens_per_s: long?.usage.prompt_rate,
}, null, 1));
await model.close();
process.exit(0);
