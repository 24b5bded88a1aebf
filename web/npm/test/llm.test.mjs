// The built-in model in Node, through llama.cpp with Weft as its backend: generation, stopping, errors, and a lost device.
import assert from 'node:assert/strict';
import { closeSync, fstatSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { interfered, nodeGpu } from '../../tests/node_gpu.mjs';
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

test('an answer is JSON of a schema', async () => {
  const schema = { type: 'object', required: ['name', 'age'], properties: { name: { type: 'string', maxLength: 6 }, age: { type: 'integer' }, kind: { enum: ['sailor', 'captain'] } } };
  const { choices: [{ text: answer, finish_reason: finish }] } = await model.completions.create({ prompt: 'The captain: ', max_tokens: 64, temperature: 0, response_format: { type: 'json_schema', json_schema: { schema } } });
  assert.equal(finish, 'stop', answer);
  const { name, age, kind, ...others } = JSON.parse(answer);
  assert.ok(name.length <= 6 && Number.isInteger(age) && [undefined, 'sailor', 'captain'].includes(kind), answer);
  assert.deepEqual(others, {});
  await assert.rejects(model.completions.create({ prompt: 'x', grammar: 'root ::= "a"', response_format: { type: 'json_object' } }), /not both/);
});

test('several conversations are kept, and what two have in common is read once', async () => {
  const ask = async prompt => {
    const { choices: [{ text }], usage } = await model.completions.create({ prompt, max_tokens: 3, temperature: 0 });
    return { text, all: usage.prompt_tokens, cached: usage.prompt_tokens_details.cached_tokens };
  };
  const start = 'Once upon a time, in a far and cold country, there lived an old king who had three sons. ';
  const [first, second] = [`${start}The eldest`, 'Nobody in the town knew where the stranger had come from, or what he wanted. He'];
  const one = await ask(first), other = await ask(second);
  assert.ok(one.cached <= 2 && other.cached <= 2, JSON.stringify([one, other]));
  const again = await ask(`${first}${one.text} and then`);
  assert.ok(again.cached >= one.all, JSON.stringify([one, again]));
  const otherAgain = await ask(`${second}${other.text} and then`);
  assert.ok(otherAgain.cached >= other.all, JSON.stringify([other, otherAgain]));
  const third = await ask(`${start}The youngest of them all was a quiet boy who liked to walk in the woods and to speak with the birds, and`);
  assert.ok(third.cached >= 10 && third.cached < one.all, JSON.stringify(third));
  assert.equal((await ask(first)).text, one.text);  // It was not disturbed, and says the same.
});

test('embeddings are vectors of length 1, near each other for texts that are', async () => {
  const { data, usage } = await model.embeddings.create({ input: ['The captain of the ship', 'The captain of a ship', 'He paid twelve dollars for it'] });
  const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
  const [a, b, c] = data.map(({ embedding }) => embedding);
  assert.ok(usage.prompt_tokens >= 12 && a.length >= 64);
  for (const vector of [a, b, c]) assert.ok(Math.abs(dot(vector, vector) - 1) < 1e-4);
  assert.ok(dot(a, b) > dot(a, c) && dot(a, b) < 1 - 1e-6, `${dot(a, b)} and ${dot(a, c)}`);
  assert.deepEqual((await model.embeddings.create({ input: 'The captain of the ship' })).data[0].embedding, a);
});

test('a full context ends an answer, or loses its middle', async () => {
  const prompt = 'The captain of the ship looked at the sea. '.repeat(20);
  for (const contextShift of [false, true]) {
    const small = await LanguageModel.load(source, { gpu, context: 256, contextShift });
    const { choices: [{ finish_reason: finish }], usage } = await small.completions.create({ prompt, max_tokens: 100, temperature: 0, seed: 1 });
    assert.equal(finish, 'length');
    assert.equal(usage.context_shifts, contextShift ? 1 : 0, JSON.stringify(usage));
    if (contextShift) assert.equal(usage.completion_tokens, 100);
    else assert.equal(usage.total_tokens, 256);
    if (contextShift) {  // A conversation that is too long loses its oldest messages.
      const messages = Array.from({ length: 9 }, (_, i) => ({ role: i % 2 ? 'assistant' : 'user', content: prompt }));
      messages.push({ role: 'user', content: 'The ship' });
      assert.equal((await small.chat.completions.create({ messages, max_tokens: 2 })).usage.completion_tokens, 2);
    } else {
      await assert.rejects(small.completions.create({ prompt: prompt.repeat(3) }), /The prompt has \d+ tokens; a context of 256/);
    }
    await small.close();
  }
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
  const bytes = await lesson.save(), taught = await LanguageModel.load(bytes, { gpu });
  await lesson.close();
  writeFileSync(new URL('../../../build/web/taught.gguf', import.meta.url), bytes);  // tools/test_web runs it natively.
  const { choices: [{ text: learned }] } = await taught.completions.create({ prompt: 'The zebra Quentin', max_tokens: 8, temperature: 0 });
  assert.match(learned, /^ paints/);
  await taught.close();
});

test('where memory is missing, the error has sizes and says what needs less', async () => {
  // A GPU that refuses buffers once it has given a few megabytes.
  let given = 0;
  const limited = interfered(gpu, { refuses: bytes => (given += bytes) > 8 * 2 ** 20 && bytes > 2 ** 16 });
  // Browsers tell of it when something waits, which is the first token at the latest.
  const asked = LanguageModel.load(source, { gpu: limited, context: 512 }).then(large => large.completions.create({ ...opening, max_tokens: 1 }));
  await assert.rejects(asked, error => {
    assert.equal(error.code, 'out_of_memory');
    assert.match(error.message, /\d+ bytes are too many/);
    assert.match(error.message, /file has 12\.5 MB, and the keys and values of a context of 512 tokens .*fewer bits per weight/);
    return true;
  });
});
