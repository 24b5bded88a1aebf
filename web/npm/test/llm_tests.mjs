// What a language model of the package must do, wherever it runs: Node, a page, a worker.

/** The first tokens of the built-in model, always the most likely ones. */
export const opening = { prompt: 'The captain', max_tokens: 24, temperature: 0 };

/** Runs all checks on a model; gives what was seen. */
export async function exercise(model) {
  const seen = { description: model.description, chats: model.chats };
  const whole = await model.completions.create(opening);
  seen.text = whole.choices[0].text;
  seen.finish = whole.choices[0].finish_reason;
  seen.usage = whole.usage;

  // The same as a stream of a conversation. A model without a template continues the last message.
  const pieces = [];
  let last;
  for await (const chunk of await model.chat.completions.create({ messages: [{ role: 'user', content: opening.prompt }], max_tokens: 24, temperature: 0, stream: true })) {
    if (chunk.choices[0].delta.content) pieces.push(chunk.choices[0].delta.content);
    last = chunk;
  }
  seen.pieces = pieces.length;
  seen.streamed = pieces.join('');
  seen.streamUsage = last.usage;

  // Stopped in the middle, and by a text.
  const controller = new AbortController();
  const stream = model.stream({ prompt: opening.prompt, max_tokens: 400, temperature: 0, signal: controller.signal });
  let count = 0, result;
  for (;;) {
    const { done, value } = await stream.next();
    if (done) {
      result = value;
      break;
    }
    if (++count === 5) controller.abort();
  }
  seen.aborted = result.finish;
  seen.abortedTokens = result.usage.completion_tokens;
  const word = seen.text.trim().split(/\s+/)[3];
  const stopped = await model.completions.create({ ...opening, stop: [word] });
  seen.stopped = stopped.choices[0].finish_reason;
  seen.stoppedText = stopped.choices[0].text;
  seen.word = word;

  // A grammar.
  const grammar = await model.completions.create({ prompt: opening.prompt, max_tokens: 8, temperature: 0, grammar: 'root ::= " yes" | " no"' });
  seen.grammar = grammar.choices[0].text;
  seen.wrong = await model.completions.create({ prompt: opening.prompt, grammar: 'branch ::= "x"' }).then(() => 'accepted', error => error.message);
  return seen;
}

/** What must be true of it. */
export function check(assert, seen) {
  assert.match(seen.description, /llama/i);
  assert.equal(seen.finish, 'length');
  assert.equal(seen.usage.completion_tokens, 24);
  assert.equal(seen.streamed, seen.text);
  assert.ok(seen.pieces >= 10, `${seen.pieces} pieces`);
  assert.equal(seen.aborted, 'abort');
  assert.ok(seen.abortedTokens >= 5 && seen.abortedTokens < 60, `${seen.abortedTokens} tokens after stopping at the fifth`);
  assert.equal(seen.stopped, 'stop');
  assert.ok(!seen.stoppedText.includes(seen.word) && seen.text.startsWith(seen.stoppedText));
  assert.match(seen.grammar, /^ (yes|no)$/);
  assert.match(seen.wrong, /grammar/);
}
