// The package's language models in Chromium: from a URL into the browser's file system, in a worker, and after a lost device.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { check } from '../../npm/test/llm_tests.mjs';
import { launch, serve } from '../chromium.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
let browser, server, page;

before(async () => {
  server = await serve({ '/': `${root}web/tests`, '/weft/': `${root}build/web/npm/dist`, '/models/': `${root}models`, '/test/': `${root}web/npm/test` });
  browser = await launch();
  page = await browser.newPage();
  page.on('pageerror', error => console.error(String(error)));
  page.on('console', message => console.log(`# ${message.text()}`));
  await page.goto(`${server.url}/blank.html`);
});
after(async () => {
  await browser?.close();
  server?.close();
});

test('a model from a URL generates in a worker', async () => {
  const seen = await page.evaluate(async () => {
    const { LanguageModel } = await import('/weft/llm/index.js');
    const { exercise } = await import('/test/llm_tests.mjs');
    let bytes = 0;
    globalThis.model = await LanguageModel.load('/models/english.gguf', { onDownload: got => { bytes = got; } });
    return { ...await exercise(model), bytes };
  });
  console.log(`# ${JSON.stringify(seen)}`);
  check(assert, seen);
  assert.equal(seen.bytes, 13108448);
});

test('a device that is lost in the middle of an answer comes back, and the answer is the same', async () => {
  const seen = await page.evaluate(async () => {
    const { opening } = await import('/test/llm_tests.mjs');
    const events = [];
    model.addEventListener('lost', () => events.push('lost'));
    model.addEventListener('recovered', () => events.push('recovered'));
    const whole = (await model.completions.create(opening)).choices[0].text;
    let answer = '', count = 0;
    for await (const piece of model.stream(opening)) {
      answer += piece;
      if (++count === 6) model.loseForTest();
    }
    await model.close();
    return { events, answer, whole };
  });
  assert.deepEqual(seen.events, ['lost', 'recovered']);
  assert.equal(seen.answer, seen.whole);
});

test('an interrupted download goes on, and a file that is there is not asked for again', async () => {
  const asked = [];
  page.on('request', request => { if (request.url().endsWith('.gguf')) asked.push(request.headers()['range'] ?? 'all'); });
  const seen = await page.evaluate(async () => {
    const { cachedModels, deleteCachedModels, download } = await import('/weft/llm/index.js');
    const before = (await cachedModels()).map(model => model.bytes);
    await download('/models/english.gguf');  // there already
    await deleteCachedModels();
    const controller = new AbortController();
    const stopped = await download('/models/english.gguf', { signal: controller.signal, onDownload: got => { if (got > 1e6) controller.abort(); } }).then(() => 'whole', error => error.name);
    const part = (await cachedModels()).map(model => model.bytes);
    const file = await download('/models/english.gguf');
    const sum = async blob => Array.from(new Uint8Array(await crypto.subtle.digest('SHA-256', await blob.arrayBuffer()))).join();
    const whole = await (await fetch('/models/english.gguf')).blob();
    const missing = await download('/models/nothing.gguf').then(() => 'there', error => error.message);
    return { before, stopped, part, size: file.size, same: await sum(file) === await sum(whole), missing };
  });
  assert.deepEqual(seen.before, [13108448]);
  assert.equal(seen.stopped, 'AbortError');
  assert.ok(seen.part[0] > 1e6 && seen.part[0] < 13108448, `${seen.part} bytes were kept`);
  assert.ok(seen.same);
  assert.match(seen.missing, /status 404/);
  assert.deepEqual(asked, ['all', `bytes=${seen.part[0]}-`, 'all', 'all']);
});
