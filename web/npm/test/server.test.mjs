// What `./weft web --serve` is made of: a server for this machine alone, that goes on with downloads and says what is wrong.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { serve } from '../../server.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'weft-serve-'));
let server;
before(async () => {
  writeFileSync(join(folder, 'index.html'), 'the page');
  writeFileSync(join(folder, 'model.gguf'), '0123456789');
  server = await serve({ '/': folder });
});
after(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

test('files, their parts, and what is not there', async () => {
  const ask = async (path, headers = {}) => {
    const response = await fetch(server.url + path, { headers });
    return { status: response.status, text: await response.text(), etag: response.headers.get('etag'), range: response.headers.get('content-range'), type: response.headers.get('content-type') };
  };
  const page = await ask('/');
  assert.deepEqual([page.status, page.text, page.type], [200, 'the page', 'text/html']);
  const { etag } = await ask('/model.gguf'), part = await ask('/model.gguf', { range: 'bytes=4-', 'if-range': etag });
  assert.deepEqual([part.status, part.text, part.range], [206, '456789', 'bytes 4-9/10']);
  assert.equal((await ask('/model.gguf', { range: 'bytes=4-' })).status, 206);
  assert.equal((await ask('/model.gguf', { range: 'bytes=10-' })).status, 416);
  for (const path of ['/nothing', '/../../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd']) assert.equal((await ask(path)).status, 404);
  // A file that was replaced, by one of the same size too, is given whole.
  await new Promise(resolve => setTimeout(resolve, 10));
  writeFileSync(join(folder, 'model.gguf'), 'abcdefghij');
  const other = await ask('/model.gguf', { range: 'bytes=4-', 'if-range': etag });
  assert.deepEqual([other.status, other.text], [200, 'abcdefghij']);
  assert.notEqual(other.etag, etag);
});

test('the command names its address, answers on this machine alone, and ends with Ctrl-C', async () => {
  const child = spawn(process.execPath, [`${root}web/serve.mjs`, folder, '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const line = await new Promise(resolve => child.stdout.once('data', data => resolve(String(data))));
    const [, port] = /^weft: http:\/\/127\.0\.0\.1:(\d+) \(Ctrl-C ends it\)\n$/.exec(line);
    assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), 'the page');
    for (const { address, family, internal } of Object.values(networkInterfaces()).flat()) {
      if (family === 'IPv4' && !internal) await assert.rejects(fetch(`http://${address}:${port}/`));
    }
    const taken = spawnSync(process.execPath, [`${root}web/serve.mjs`, folder, port], { encoding: 'utf8' });
    assert.deepEqual([taken.status, taken.stderr], [1, `weft: port ${port} is taken; name another one with --port\n`]);
    const ended = new Promise(resolve => child.once('exit', resolve));
    child.kill('SIGINT');
    assert.equal(await ended, 0);
  } finally {
    child.kill('SIGKILL');
  }
});

test('wrong options are told, before anything is built', () => {
  for (const options of [[], ['--port', '8000'], ['--serve', '--port'], ['--serve', '--port', 'x'], ['--serve', '--port', '70000'], ['--wrong'], ['a', 'b']]) {
    const { status, stderr } = spawnSync(`${root}tools/web`, options, { encoding: 'utf8' });
    assert.deepEqual([status, stderr], [2, 'usage: ./weft web DIR | ./weft web --serve [--port N] | ./weft web --compare [LIBRARY…]\n'], String(options));
  }
});
