// Files beyond what 32 bits can say: a made-up one of 6.4 GB, whose bytes are computed where they are read.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tensorsOf } from '../../tests/gguf.mjs';
import { huge } from '../../tests/made_models.mjs';

const { shards } = await import(new URL('../../../build/web/npm/dist/llm/shards.js', import.meta.url).href);

test('places beyond 2 and 4 GB of a file are those that its parts name', () => {
  const file = huge(), parts = shards(file), seen = [];
  assert.ok(file.size > 1.4 * 2 ** 32 && parts.length >= 4, `${file.size} bytes in ${parts.length} parts`);
  for (const part of parts) {
    assert.ok(part.size < 2 ** 31, `${part.size} bytes`);
    for (const { name, position } of tensorsOf(part)) {
      const { offset, bytes } = file.tensors.find(one => one.name === name);
      for (const from of [0, 2 * Math.floor(bytes / 4), Math.max(0, bytes - 64)]) {
        const length = Math.min(64, bytes - from);
        assert.deepEqual(Buffer.from(part.read(position + from, length)), Buffer.from(file.read(file.headerBytes + offset + from, length)), `${name} at ${from}`);
      }
      seen.push(name);
    }
  }
  assert.deepEqual(seen, file.tensors.map(({ name }) => name));
});

test('reads across the end of a part\'s header and across 4 GB are those of one file', () => {
  const file = huge(), parts = shards(file), whole = parts.at(-1);
  const [first] = tensorsOf(whole), near = file.tensors.find(({ name }) => name === first.name), at = file.headerBytes + near.offset;
  const both = Buffer.from(whole.read(first.position - 16, 80));
  assert.deepEqual(both.subarray(16), Buffer.from(file.read(at, 64)));
  assert.equal(whole.read(whole.size - 8, 64).length, 8);
  const across = file.tensors.find(({ offset, bytes }) => file.headerBytes + offset < 2 ** 32 && file.headerBytes + offset + bytes > 2 ** 32);
  const part = parts.find(one => tensorsOf(one).some(({ name }) => name === across.name)), { position } = tensorsOf(part).find(({ name }) => name === across.name);
  const inside = 2 ** 32 - file.headerBytes - across.offset - 32;
  assert.deepEqual(Buffer.from(part.read(position + inside, 64)), Buffer.from(file.read(2 ** 32 - 32, 64)));
});
