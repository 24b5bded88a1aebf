// Models that are larger than what llama.cpp can measure in WebAssembly appear to it as several files.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { nodeGpu } from '../../tests/node_gpu.mjs';
import { opening } from './llm_tests.mjs';

const dist = new URL('../../../build/web/npm/dist/llm/', import.meta.url);
const { LanguageModel } = await import(new URL('index.js', dist).href);
const { shards, shardName } = await import(new URL('shards.js', dist).href);
const bytes = readFileSync(fileURLToPath(new URL('../../../models/english.gguf', import.meta.url)));
const file = { size: bytes.length, read: (position, length) => bytes.subarray(position, position + length) };
const gpu = await nodeGpu();

test('a file is cut between tensors, and every part has a header', () => {
  assert.deepEqual(shards(file), [file]);
  const parts = shards(file, 4e6);
  assert.ok(parts.length >= 4, `${parts.length} parts`);
  let tensors = 0;
  for (const part of parts) {
    const head = Buffer.from(part.read(0, 24));
    assert.equal(head.toString('latin1', 0, 4), 'GGUF');
    tensors += Number(head.readBigUInt64LE(8));
    assert.ok(part.size < 4.5e6, `${part.size} bytes`);
  }
  assert.equal(tensors, Number(bytes.readBigUInt64LE(8)));
  // The last bytes of the last part are those of the file.
  const last = parts.at(-1);
  assert.deepEqual(Buffer.from(last.read(last.size - 1000, 1000)), bytes.subarray(-1000));
  assert.equal(shardName(1, 12), '/model-00002-of-00012.gguf');
});

test('what cannot be cut is said', () => {
  assert.throws(() => shards(file, 1e6), /A tensor of this model has \d+ bytes/);
  assert.throws(() => shards({ size: 500, read: file.read }, 400), /ends inside of its header/);
});

test('a model in parts says the same as the whole one', async () => {
  const texts = [];
  for (const settings of [{}, { fileBytes: 4e6 }]) {
    const model = await LanguageModel.load(file, { gpu, ...settings });
    texts.push((await model.completions.create(opening)).choices[0].text);
    await model.close();
  }
  assert.equal(texts[1], texts[0]);
});
