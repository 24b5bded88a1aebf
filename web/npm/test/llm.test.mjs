// The built-in model in Node, through llama.cpp with Weft as its backend: generation, stopping, errors, and a lost device.
import assert from 'node:assert/strict';
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { nodeGpu } from '../../tests/node_gpu.mjs';
import { check, exercise, opening } from './llm_tests.mjs';

const { LanguageModel, Lesson } = await import(new URL('../../../build/web/npm/dist/llm/index.js', import.meta.url).href);
const path = fileURLToPath(new URL('../../../models/english.gguf', import.meta.url));
const gpu = await nodeGpu();
const file = openSync(path);
let model, asked = 0;

/** Reads the file piece by piece, as a page reads a File. */
const source = {
  size: fstatSync(file).size,
  read(position, length) {
    const bytes = new Uint8Array(length);
    asked = Math.max(asked, length);
    return bytes.subarray(0, readSync(file, bytes, 0, length, position));
  },
};

before(async () => {
  const parts = [];
  model = await LanguageModel.load(source, { gpu, onProgress: part => parts.push(part) });
  assert.equal(parts.at(-1), 1);
});
after(async () => {
  await model?.close();
  closeSync(file);
});

let text;
test('it generates, streams, stops, and follows a grammar', async () => {
  const seen = await exercise(model);
  console.log(`# ${JSON.stringify(seen)}`);
  check(assert, seen);
  text = seen.text;
  assert.ok(asked < source.size, `a piece of ${asked} bytes was read`);
});

test('a device that is lost in the middle of an answer comes back, and the answer is the same', async () => {
  const events = [];
  model.addEventListener('lost', () => events.push('lost'));
  model.addEventListener('recovered', () => events.push('recovered'));
  let answer = '', count = 0;
  for await (const piece of model.stream(opening)) {
    answer += piece;
    if (++count === 6) model.loseForTest();
  }
  assert.deepEqual(events, ['lost', 'recovered']);
  assert.equal(answer, text);
});

test('what is no model is refused with a reason', async () => {
  await assert.rejects(LanguageModel.load(new TextEncoder().encode('this is no model'), { gpu }), error => error.code === 'invalid_argument' && /magic|GGUF|load/.test(error.message));
  const half = readFileSync(path).subarray(0, 3_000_000);
  await assert.rejects(LanguageModel.load(half, { gpu }), error => /load|corrupt|bounds/.test(error.message));
});

test('where the time goes', async () => {
  const profiled = await LanguageModel.load(source, { gpu, profile: true });
  await profiled.completions.create({ ...opening, max_tokens: 4 });
  const { table, trace } = await profiled.profile();
  assert.match(table, /launches/);
  assert.ok(JSON.parse(trace).traceEvents.length > 10);
});

test('a model learns a text, also over a lost device, and what is saved has learned it', async () => {
  const line = 'The zebra Quentin paints purple bicycles on Thursdays. ';
  const lesson = await Lesson.open(source, line.repeat(60), { gpu, steps: 5, rate: 2e-3, batch: 1, context: 32, snapshot: 2 });
  assert.ok(lesson.info.parameters > 1e6);
  const losses = [];
  let recovered = 0;
  for await (const { step, loss, recovered: back } of lesson.steps()) {
    if (back) {
      ++recovered;
      assert.equal(step, 2);
      losses.length = step;
    } else losses.push(loss);
    if (step === 3 && !recovered) lesson.loseForTest();
  }
  assert.equal(recovered, 1);
  assert.ok(losses.at(-1) < 0.8 * losses[0], `from ${losses[0]} to ${losses.at(-1)}`);
  const taught = await LanguageModel.load(await lesson.save(), { gpu });
  await lesson.close();
  const { choices: [{ text: learned }] } = await taught.completions.create({ prompt: 'The zebra Quentin', max_tokens: 8, temperature: 0 });
  assert.match(learned, /^ paints/);
  await taught.close();
});
