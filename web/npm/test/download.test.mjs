// Downloads into the browser's file system (one in memory stands for it here): they go on where they stopped, but never with
// another file, and say what is wrong.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, beforeEach, test } from 'node:test';

const { cachedModels, deleteCachedModels, download } = await import(new URL('../../../build/web/npm/dist/llm/source.js', import.meta.url).href);

/** A folder with what the package uses of FileSystemDirectoryHandle: files change when what was written is closed. */
class Folder {
  files = new Map();
  room = Infinity;
  async getDirectoryHandle() { return this; }
  async getFileHandle(name, { create = false } = {}) {
    if (!this.files.has(name)) {
      if (!create) throw new DOMException(`${name} is not there`, 'NotFoundError');
      this.files.set(name, new Uint8Array());
    }
    const folder = this;
    return {
      name,
      getFile: async () => new File([folder.files.get(name)], name),
      async move(other) {
        folder.files.set(other, folder.files.get(name));
        folder.files.delete(name);
      },
      async createWritable({ keepExistingData = false } = {}) {
        let bytes = keepExistingData ? folder.files.get(name) : new Uint8Array(), at = 0, broken = false;
        return {
          async seek(to) { at = to; },
          async write(data) {
            const piece = typeof data === 'string' ? new TextEncoder().encode(data) : data, larger = new Uint8Array(Math.max(bytes.length, at + piece.length));
            if (larger.length > folder.room) {
              broken = true;
              throw new DOMException('no space is left', 'QuotaExceededError');
            }
            larger.set(bytes);
            larger.set(piece, at);
            bytes = larger;
            at += piece.length;
          },
          async close() {
            if (broken) throw new TypeError('the stream has failed already');
            folder.files.set(name, bytes);
          },
        };
      },
    };
  }
  async removeEntry(name) {
    if (!this.files.delete(name)) throw new DOMException(`${name} is not there`, 'NotFoundError');
  }
  async *values() {
    for (const name of [...this.files.keys()]) yield this.getFileHandle(name);
  }
}

const folder = new Folder();
Object.defineProperty(globalThis, 'navigator', { configurable: true, value: {
  storage: { getDirectory: async () => folder, estimate: async () => ({ usage: 3 * 2 ** 30, quota: 4 * 2 ** 30 }) },
} });

// A file on a server, which can be replaced, and whose answers can be cut off.
let content, etag, modified, ranges, cut, asked;
const server = createServer((request, response) => {
  asked.push([request.headers.range ?? 'all', request.headers['if-range'] ?? '']);
  const headers = { ...(etag ? { etag } : {}), ...(modified ? { 'last-modified': modified } : {}) };
  const wanted = /^bytes=(\d+)-$/.exec(request.headers.range ?? '');
  const from = ranges && wanted && [undefined, etag, modified].includes(request.headers['if-range']) ? Number(wanted[1]) : 0;
  if (from > 0 && from >= content.length) {
    response.writeHead(416, { ...headers, 'content-range': `bytes */${content.length}` }).end();
    return;
  }
  response.writeHead(from ? 206 : 200, { ...headers, 'content-length': content.length - from, ...(from ? { 'content-range': `bytes ${from}-${content.length - 1}/${content.length}` } : {}) });
  if (cut) {
    response.write(content.subarray(from, cut));
    setTimeout(() => response.destroy(), 50);
  } else response.end(content.subarray(from));
});
await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${server.address().port}/model.gguf`;
after(() => server.close());
const bytes = (length, seed) => Uint8Array.from({ length }, (_, i) => (i * seed + (i >> 8)) & 255);
const same = async (file, want) => assert.deepEqual(Buffer.compare(Buffer.from(await file.arrayBuffer()), Buffer.from(want)), 0, `${file.size} bytes are not the ${want.length} of the server`);

beforeEach(() => {
  folder.files.clear();
  folder.room = Infinity;
  [content, etag, modified, ranges, cut, asked] = [bytes(200_000, 7), '"one"', 'Tue, 17 Nov 2026 10:00:00 GMT', true, undefined, []];
});

/** Loads half of the file; gives how much that was. */
async function half() {
  cut = 100_000;
  await assert.rejects(download(url), /could not be loaded|ended after/);
  cut = undefined;
  const [{ bytes: have, complete, url: from }] = await cachedModels();
  assert.ok(have > 0 && have < 200_000, `${have} bytes`);
  assert.deepEqual([complete, from], [false, url]);
  asked = [];
  return have;
}

test('a download goes on where it stopped', async () => {
  const have = await half(), told = [];
  await same(await download(url, { onDownload: (got, total) => told.push([got, total]) }), content);
  assert.deepEqual(asked.map(([range]) => range), [`bytes=${have}-`]);
  assert.deepEqual(told.at(-1), [200_000, 200_000]);
  assert.deepEqual((await cachedModels()).map(({ bytes: size, complete, url: from }) => ({ size, complete, from })), [{ size: 200_000, complete: true, from: url }]);
  await same(await download(url), content);
  assert.equal(asked.length, 1);  // Nobody was asked for what is there.
  await deleteCachedModels();
  assert.equal(folder.files.size, 0);
});

test('a file that was replaced meanwhile is loaded from its beginning, never spliced', async () => {
  const changes = [
    () => { etag = '"two"'; },  // of the same size
    () => { [etag, content] = ['"two"', bytes(150_000, 11)]; },
    () => { [etag, content] = ['"two"', bytes(60, 11)]; },  // shorter than what is there: status 416
    () => { [etag, modified] = [undefined, 'Wed, 18 Nov 2026 10:00:00 GMT']; },
    () => { content = bytes(150_000, 11); },  // with the same ETag, but another size
  ];
  for (const change of changes) {
    folder.files.clear();
    [content, etag, modified] = [bytes(200_000, 7), '"one"', 'Tue, 17 Nov 2026 10:00:00 GMT'];
    await half();
    content = bytes(200_000, 13);
    change();
    await same(await download(url), content);
    assert.equal(asked.at(-1)[0], 'all', String(change));
    const [{ bytes: size, complete }] = await cachedModels();
    assert.deepEqual([size, complete], [content.length, true]);
  }
});

test('the server of one\'s own page is asked with If-Range, and others without it', async () => {
  const have = await half();
  globalThis.location = new URL(url);
  try {
    await same(await download(url), content);
    assert.deepEqual(asked, [[`bytes=${have}-`, '"one"']]);
    await deleteCachedModels();
    await half();
    [etag, content] = ['"two"', bytes(200_000, 13)];
    await same(await download(url), content);
    assert.equal(asked.length, 1);  // One answer with all of it.
  } finally {
    delete globalThis.location;
  }
});

test('what has no version that could be told from others is not gone on with', async () => {
  [etag, modified] = ['W/"weak"', undefined];
  await half();
  await same(await download(url), content);
  assert.deepEqual(asked.map(([range]) => range), ['all']);
});

test('a server without ranges gives all of it again', async () => {
  await half();
  ranges = false;
  await same(await download(url), content);
});

test('two calls for one file load it once', async t => {
  if (!globalThis.navigator.locks) {
    const held = new Map();
    navigator.locks = { request: (name, _options, work) => {
      const mine = (held.get(name) ?? Promise.resolve()).then(work);
      held.set(name, mine.catch(() => undefined));
      return mine;
    } };
    t.after(() => { delete navigator.locks; });
  }
  const [one, other] = await Promise.all([download(url), download(url)]);
  await same(one, content);
  await same(other, content);
  assert.equal(asked.length, 1);
});

test('where the storage is full, the error has sizes and says what makes room', async () => {
  folder.room = 120_000;
  await assert.rejects(download(url), error => {
    assert.equal(error.code, 'io');
    assert.match(error.message, /has no room for http.*model\.gguf: the file has 200000 bytes, and of the 4\.0 GB that this page may keep 3\.0 GB are used\. deleteCachedModels\(\) makes room/);
    return true;
  });
  folder.room = Infinity;
  await same(await download(url), content);
});
