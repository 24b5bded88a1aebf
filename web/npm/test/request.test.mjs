// What a request of a language model may say, before any model sees it.
import assert from 'node:assert/strict';
import { test } from 'node:test';

const { checked, texts } = await import(new URL('../../../build/web/npm/dist/llm/request.js', import.meta.url).href);
const { LanguageModel } = await import(new URL('../../../build/web/npm/dist/llm/index.js', import.meta.url).href);
const messages = [{ role: 'user', content: 'The captain' }];
const refused = (request, message, code = 'invalid_argument') => assert.throws(() => checked(request), error => error.name === 'WeftError' && error.code === code && message.test(error.message));

test('a request becomes what the program takes', () => {
  const signal = new AbortController().signal;
  assert.deepEqual(checked({ messages, model: 'any', signal, max_tokens: 3, temperature: 0, stop: 'x', n: 1, logprobs: false, top_p: null, seed: null }),
    { options: { messages, temperature: 0, n: 1, logprobs: false, max_tokens: 3 }, ends: ['x'] });
  assert.equal(checked({ prompt: '', max_tokens: 3, max_completion_tokens: 4 }).options.max_tokens, 4);
  assert.deepEqual(checked({ messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }, { type: 'text', text: 'b' }] }] }).options.messages, [{ role: 'user', content: 'ab' }]);
  assert.match(checked({ messages, response_format: { type: 'json_object' } }).options.grammar, /^root ::=/);
  assert.deepEqual(checked({ messages, stop: ['a', 'b'] }).ends, ['a', 'b']);
});

test('what a request cannot say is a sentence with the value', () => {
  refused({}, /needs `messages` or a `prompt`/);
  refused({ messages: [] }, /at least one message; an empty one was given/);
  refused({ messages: 'hello' }, /at least one message; "hello" was given/);
  refused({ messages: ['hello'] }, /a `role` and a `content`; "hello" was given/);
  refused({ messages: [{ role: 'user', content: null }] }, /a text or a list of parts; null was given/);
  refused({ messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }, /the type "image_url"/, 'unsupported');
  refused({ messages, tools: [] }, /"tools"/, 'unsupported');
  refused({ messages, max_tokens: -1 }, /from 0; -1 was given/);
  refused({ messages, max_tokens: 1.5 }, /from 0; 1.5 was given/);
  refused({ messages, temperature: 'hot' }, /`temperature` is a number; "hot" was given/);
  refused({ messages, stop: 7 }, /`stop` is a text or a list of texts; 7 was given/);
  refused({ messages, response_format: { type: 'xml' } }, /the type "xml"/);
  refused({ messages, response_format: { type: 'json_schema' } }, /needs `json_schema/);
  refused({ messages, grammar: 'root ::= "a"', response_format: { type: 'json_object' } }, /not both/);
  refused({ prompt: ['a'] }, /`prompt` is a text; a list was given/);
  assert.throws(() => texts('input', undefined), /`input` is a text or a list of texts; undefined was given/);
});

test('what is no model is refused before anything is loaded', async () => {
  await assert.rejects(LanguageModel.load(7), /a File or its handle, or bytes; 7 was given/);
  await assert.rejects(LanguageModel.load(undefined), /undefined was given/);
  await assert.rejects(LanguageModel.load(new Uint8Array(4), { context: -4 }), /`context` is a whole number from 1; -4 was given/);
});
