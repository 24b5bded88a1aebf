// What a model of the package does when its device is lost, or has too little memory, at every moment of its life. A stand-in for
// the program (stand_in.mjs) makes that quick; llm.test.mjs and the tests in Chromium do some of it with the program itself.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import './stand_in.mjs';
import { follows, world } from './stand_in_program.mjs';

if (!('Suspending' in WebAssembly)) WebAssembly.Suspending = class {};  // Nothing here suspends.
const { LanguageModel, Lesson } = await import(new URL('../../../build/web/npm/dist/llm/index.js', import.meta.url).href);

const bytes = new Uint8Array(8192).fill(1), gpu = { requestAdapter: async () => null }, request = { prompt: 'The captain', max_tokens: 24 };
const continued = (text, count) => {
  const start = text.length;
  for (let i = 0; i < count; ++i) text += follows(text);
  return text.slice(start);
};
const said = async (model, more) => (await model.completions.create({ ...request, ...more })).choices[0].text;
const next = (target, name) => new Promise(resolve => target.addEventListener(name, ({ detail }) => resolve(detail), { once: true }));
const events = model => {
  const seen = [];
  for (const name of ['lost', 'recovered']) model.addEventListener(name, () => seen.push(name));
  return seen;
};
let model;

beforeEach(async () => {
  Object.assign(world, { programs: [], bytes: undefined, losses: 0 });
  model = await LanguageModel.load(bytes, { gpu });
});
afterEach(async () => {
  Object.assign(world, { bytes: undefined, losses: 0 });
  await model.close().catch(() => undefined);
});

test('nothing is lost: the stand-in says what it should', async () => {
  assert.equal(await said(model), continued('The captain', 24));
  assert.equal(world.programs.length, 1);
});

test('lost in the middle of an answer: it goes on with the same words, and nothing of the lost device is seen', async () => {
  const seen = events(model);
  let answer = '', count = 0;
  for await (const piece of model.stream(request)) {
    answer += piece;
    if (++count === 9) model.loseForTest();
  }
  assert.equal(answer, continued('The captain', 24));
  assert.deepEqual(seen, ['lost', 'recovered']);
});

test('lost in the middle of a conversation of several turns: the same words, and the next turn too', async () => {
  const messages = [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Who?' }, { role: 'assistant', content: 'Me.' }, { role: 'user', content: 'Why?' }];
  const create = async (lose, list) => {
    let answer = '', count = 0;
    for await (const chunk of await model.chat.completions.create({ messages: list, max_completion_tokens: 20, stream: true })) {
      answer += chunk.choices[0].delta.content ?? '';
      if (++count === lose) model.loseForTest();
    }
    return answer;
  };
  const whole = await create(-1, messages);
  assert.equal(await create(7, messages), whole);
  const more = [...messages, { role: 'assistant', content: whole }, { role: 'user', content: 'When?' }], after = await create(-1, more);
  assert.equal(await create(1, more), after);
  assert.equal(world.programs.length, 3);
});

test('lost while it is loaded: it is loaded once more', async () => {
  world.losses = 2;
  const other = await LanguageModel.load(bytes, { gpu });
  assert.equal(world.programs.length, 4);
  assert.equal(await said(other), continued('The captain', 24));
  await other.close();
});

test('lost again and again while it is loaded: an error, not a loop', async () => {
  world.losses = 100;
  await assert.rejects(LanguageModel.load(bytes, { gpu }), error => error.code === 'device_lost');
  assert.equal(world.programs.length, 5);
});

test('lost while nobody asks anything: it is loaded again at once', async () => {
  const seen = events(model), recovered = next(model, 'recovered'), lost = next(model, 'lost');
  model.loseForTest();
  assert.equal(await lost, 'taken away for a test');
  await recovered;
  assert.deepEqual([seen, world.programs.length], [['lost', 'recovered'], 2]);
  assert.equal(await said(model), continued('The captain', 24));
  assert.equal(world.programs.length, 2);
});

test('lost while nobody asks, and lost again while it is loaded again: one event each time it is back', async () => {
  const seen = events(model);
  world.losses = 1;
  const recovered = next(model, 'recovered');
  model.loseForTest();
  await recovered;
  await new Promise(resolve => setTimeout(resolve, 50));
  assert.deepEqual([seen, world.programs.length], [['lost', 'lost', 'recovered'], 3]);
});

test('a question that comes while it is loaded again waits, and can be taken back', async () => {
  const lost = next(model, 'lost');
  model.loseForTest();
  await lost;
  assert.equal(await said(model), continued('The captain', 24));
  assert.equal(world.programs.length, 2);
  const again = next(model, 'lost');
  model.loseForTest();
  await again;
  const controller = new AbortController(), taken = model.completions.create({ ...request, signal: controller.signal });
  await new Promise(resolve => setImmediate(resolve));
  controller.abort();
  const { choices: [{ text, finish_reason: finish }] } = await taken;
  assert.deepEqual([text, finish], ['', 'abort']);
});

test('closed while it is loaded again: nothing is left open', async () => {
  const lost = next(model, 'lost');
  model.loseForTest();
  await lost;
  await model.close();
  await assert.rejects(said(model), /was closed/);
});

test('lost while texts become vectors: the vectors are the same', async () => {
  const seen = events(model), asked = model.embeddings.create({ input: ['one', 'three'] });
  model.loseForTest();
  assert.deepEqual((await asked).data.map(({ embedding }) => embedding), [[3, 1], [5, 1]]);
  assert.deepEqual(seen, ['lost', 'recovered']);
});

test('a model that cannot be loaded again says so at the next question, and is there once it can', async () => {
  const lost = next(model, 'lost');
  world.bytes = 100;
  model.loseForTest();
  await lost;
  await assert.rejects(said(model), error => error.code === 'out_of_memory' && /8192 bytes could not be allocated\. The model's file has 8192 bytes, and the keys and values of its context come on top/.test(error.message));
  world.bytes = undefined;
  assert.equal(await said(model), continued('The captain', 24));
});

test('where memory is missing, loading and embeddings say how much is needed and what needs less', async () => {
  world.bytes = 2;
  const advice = /bytes could not be allocated\. The model's file has 8192 bytes, and the keys and values of .*A file with fewer bits per weight.*needs less/;
  await assert.rejects(model.embeddings.create({ input: 'one' }), error => error.code === 'out_of_memory' && advice.test(error.message));
  await assert.rejects(LanguageModel.load(bytes, { gpu, context: 99 }), error => error.code === 'out_of_memory' && /a context of 99 tokens/.test(error.message) && advice.test(error.message));
});

test('a training that is lost while it opens begins again, and says what it needs where memory is missing', async () => {
  world.losses = 1;
  const lesson = await Lesson.open(bytes, 'a text', { gpu, batch: 3, context: 16 });
  assert.equal(world.programs.length, 3);
  assert.equal((await lesson.step()).loss, 1);
  world.bytes = 10;
  const advice = /^1000 bytes could not be allocated\. The model's file has 8192 bytes; its training needs some 16 bytes for each parameter, and more for each of 3 × 16 tokens of a step\. A smaller `batch` or `context`/;
  for (const call of [() => lesson.step(), () => lesson.save(), () => Lesson.open(bytes, 'a text', { gpu, batch: 3, context: 16 })]) {
    await assert.rejects(call(), error => error.code === 'out_of_memory' && advice.test(error.message));
  }
  world.bytes = undefined;
  assert.equal(Buffer.from(await lesson.save()).toString(), 'GGUF');
  await lesson.close();
});

test('what OpenAI\'s clients expect of an answer is there', async () => {
  const begin = Math.floor(Date.now() / 1000), messages = [{ role: 'user', content: [{ type: 'text', text: 'one ' }, { type: 'text', text: 'two' }] }];
  const whole = await model.chat.completions.create({ model: 'whatever', messages, max_completion_tokens: 3, max_tokens: 9 });
  assert.match(whole.id, /^chatcmpl-\d+$/);
  assert.ok(Number.isInteger(whole.created) && whole.created >= begin && whole.created <= begin + 60);
  assert.deepEqual([whole.object, whole.model, whole.usage.completion_tokens, whole.choices[0].finish_reason], ['chat.completion', 'model', 3, 'length']);
  assert.equal(whole.choices[0].message.content, continued('user: one two\n', 3));
  const ids = new Set();
  for await (const chunk of await model.chat.completions.create({ messages, max_tokens: 3, stream: true })) ids.add(`${chunk.id} ${chunk.model} ${chunk.object}`);
  assert.equal(ids.size, 1);
  assert.match((await model.completions.create({ prompt: 'x', max_tokens: 1 })).id, /^cmpl-\d+$/);
  assert.equal((await model.embeddings.create({ model: 'whatever', input: 'x' })).model, 'model');
  for (const more of [{ tools: [{}] }, { n: 2 }, { logprobs: true }]) {
    await assert.rejects(model.chat.completions.create({ messages, ...more }), error => error.code === 'unsupported' && error.message.includes(`"${Object.keys(more)[0]}"`));
  }
  assert.equal((await model.chat.completions.create({ messages, n: 1, max_tokens: 1, tools: null })).usage.completion_tokens, 1);
  await assert.rejects(model.chat.completions.create({ messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }), /of the type "image_url"/);
});

test('a file and a handle of one are sources, and give the model its name', async () => {
  const file = new File([bytes], 'small.gguf'), handle = { kind: 'file', name: 'small.gguf', getFile: async () => file };
  for (const source of [file, handle]) {
    const other = await LanguageModel.load(source, { gpu });
    assert.equal(other.name, 'small.gguf');
    assert.equal(await said(other), continued('The captain', 24));
    await other.close();
  }
  const lesson = await Lesson.open(handle, 'a text', { gpu });
  assert.equal(lesson.info.steps, 9);
  await lesson.close();
});

test('500 models that are loaded and closed again leave no device behind', async () => {
  const before = world.programs.length;
  for (let i = 0; i < 500; ++i) await (await LanguageModel.load(bytes.subarray(0, 64), { gpu })).close();
  const mine = world.programs.slice(before);
  assert.equal(mine.length, 500);
  assert.ok(mine.every(({ device }) => device.gone), `${mine.filter(({ device }) => !device.gone).length} devices were not given back`);
});
