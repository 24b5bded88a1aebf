// JSON schemas as grammars: which texts they allow. The grammar is turned into a matcher here, so that no model is needed.
import assert from 'node:assert/strict';
import { test } from 'node:test';

const { grammarOf } = await import(new URL('../../../build/web/npm/dist/llm/schema.js', import.meta.url).href);

/** Whether a text is of a grammar in GBNF: all places where a rule can end, by trying everything. */
function matches(grammar, text) {
  const rules = new Map(grammar.split('\n').map(line => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf('::=') + 3)]));
  const parsed = new Map();
  const parse = source => {
    let at = 0;
    const skip = () => { while (source[at] === ' ') ++at; };
    const choice = () => {
      const all = [sequence()];
      for (skip(); source[at] === '|'; skip()) {
        ++at;
        all.push(sequence());
      }
      return { all };
    };
    const sequence = () => {
      const parts = [];
      for (skip(); at < source.length && source[at] !== '|' && source[at] !== ')'; skip()) {
        let part;
        const token = /^"(?:\\.|[^"\\])*"|^\[(?:\\.|[^\]\\])*\]|^[a-z][a-z0-9]*/.exec(source.slice(at));
        if (source[at] === '(') {
          ++at;
          part = choice();
          assert.equal(source[at++], ')', source);
        } else {
          assert.ok(token, `what is at ${at} of ${source}?`);
          at += token[0].length;
          if (token[0][0] === '"') part = { text: token[0].slice(1, -1).replace(/\\(.)/g, (_, c) => ({ n: '\n', t: '\t', r: '\r' })[c] ?? c) };
          else if (token[0][0] === '[') part = { set: new RegExp(`^${token[0]}`, 'u') };
          else part = { rule: token[0] };
        }
        const times = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})/.exec(source.slice(at));
        if (times) {
          at += times[0].length;
          const [least, most] = { '*': [0, Infinity], '+': [1, Infinity], '?': [0, 1] }[times[0]] ?? [Number(times[1]), times[2] ? (times[3] ? Number(times[3]) : Infinity) : Number(times[1])];
          part = { part, least, most };
        }
        parts.push(part);
      }
      return parts;
    };
    return choice();
  };
  const ends = (part, from) => {
    if (Array.isArray(part)) return part.reduce((places, one) => new Set([...places].flatMap(place => [...ends(one, place)])), new Set([from]));
    if (part.all) return new Set(part.all.flatMap(one => [...ends(one, from)]));
    if (part.text !== undefined) return new Set(text.startsWith(part.text, from) ? [from + part.text.length] : []);
    if (part.set) return new Set(from < text.length && part.set.test(text.slice(from)) ? [from + String.fromCodePoint(text.codePointAt(from)).length] : []);
    if (part.rule) {
      assert.ok(rules.has(part.rule), `there is no rule ${part.rule} in\n${grammar}`);
      if (!parsed.has(part.rule)) parsed.set(part.rule, parse(rules.get(part.rule)));
      return ends(parsed.get(part.rule), from);
    }
    const found = new Set(part.least === 0 ? [from] : []);
    let places = new Set([from]);
    for (let i = 1; i <= part.most && places.size > 0 && i <= text.length + 1; ++i) {
      places = new Set([...places].flatMap(place => [...ends(part.part, place)]));
      if (i >= part.least) for (const place of places) found.add(place);
    }
    return found;
  };
  return ends({ rule: 'root' }, 0).has(text.length);
}

const cases = [
  [{ type: 'object', properties: { a: { type: 'integer' }, b: { type: 'string' } }, required: ['a'] },
    ['{"a":1}', '{"a": -20, "b": "x\\"y\\u00e9"}'], ['{}', '{"b":"x"}', '{"a":1.5}', '{"a":01}', '{"a":1,"c":2}', '{"a":1']],
  [{ properties: { a: { type: 'null' }, b: { type: 'boolean' }, c: { const: 'é' } } },
    ['{}', '{"a":null}', '{"b":true,"c":"é"}', '{"a":null,"c":"é"}'], ['{"c":"e"}', '{"c":"é","a":null}', '{,}']],
  [{ type: 'array', items: { enum: [1, 'two', null] }, minItems: 1, maxItems: 3 }, ['[1]', '[1, "two",null]'], ['[]', '[1,1,1,1]', '[2]']],
  [{ type: 'array', items: { type: 'number' }, minItems: 2 }, ['[0,1]', '[-1.5e-3, 2, 3]'], ['[1]', '[1,.5]']],
  [{ type: 'array', prefixItems: [{ type: 'integer' }, { type: 'string' }] }, ['[1,"a"]'], ['[1]', '["a",1]']],
  [{ type: 'array', maxItems: 0 }, ['[]'], ['[1]']],
  [{ type: ['string', 'null'], maxLength: 3 }, ['null', '""', '"abc"', '"\\n\\n\\n"'], ['"abcd"', 'true']],
  [{ anyOf: [{ type: 'boolean' }, { type: 'string', minLength: 2 }] }, ['true', '"ab"'], ['"a"', '1']],
  [{ type: 'string', format: 'date-time' }, ['"2026-11-16T14:00:00Z"'], ['"2026-13-16T14:00:00Z"', '"2026-11-16"']],
  [{ type: 'string', format: 'uuid' }, ['"123e4567-e89b-12d3-a456-426614174000"'], ['"123e4567"']],
  [{ type: 'object', additionalProperties: { type: 'integer' } }, ['{}', '{"x":1,"y":2}'], ['{"x":"1"}']],
  [{ type: 'object', additionalProperties: false }, ['{}'], ['{"x":1}']],
  [true, ['{"a":[1,{"b":null}]}', '[]', '"x"', '-0.5'], ['{a:1}', 'undefined', "'x'"]],
  [{ $defs: { tree: { type: 'object', properties: { left: { $ref: '#/$defs/tree' }, value: { type: 'integer' } }, required: ['value'] } }, $ref: '#/$defs/tree' },
    ['{"value":1}', '{"value":1,"left":{"value":2}}'], ['{"left":{"value":2}}', '{"value":1,"left":2}']],
];

for (const [schema, good, bad] of cases) {
  test(`texts of ${JSON.stringify(schema)}`, () => {
    const grammar = grammarOf(schema);
    for (const text of good) assert.ok(matches(grammar, text), `${text} is refused by\n${grammar}`);
    for (const text of bad) assert.ok(!matches(grammar, text), `${text} is allowed by\n${grammar}`);
    for (const text of good) JSON.parse(text);
  });
}

test('what a grammar cannot say is an error that names it', () => {
  const wrong = [[{ type: 'string', pattern: 'a+' }, /"pattern" at #/], [{ type: 'integer', minimum: 3 }, /"minimum"/], [{ $ref: 'http://x' }, /only "#/], [{ $ref: '#/$defs/no' }, /does not have/],
    [{ type: 'colour' }, /unknown type "colour"/], [{ enum: [] }, /empty enum/], [{ type: 'object', required: ['a'], properties: {} }, /requires the property "a"/],
    [false, /allows nothing/], [{ type: 'array', minItems: 3, maxItems: 2 }, /at least 3 and at most 2/], [{ type: 'string', format: 'email' }, /format "email"/], [{ type: 'string', minLength: 1.5 }, /minLength is 1.5/]];
  for (const [schema, message] of wrong) assert.throws(() => grammarOf(schema), error => error.code === 'invalid_argument' && message.test(error.message), JSON.stringify(schema));
});
