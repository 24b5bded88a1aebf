// What the page does around the engine: models from URLs, devices that are lost, memory that ends, results that are copied, what it
// looks like. Stand-ins for the engine and for the program of language models make that quick; page.test.mjs has the real ones.
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch, serve } from '../chromium.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const work = `${root}build/web/page-parts`;
let browser, server, page;
const requests = [];

before(async () => {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(`${work}/tests/program`, { recursive: true });
  cpSync(`${root}web/page`, work, { recursive: true });
  cpSync(`${root}build/web/npm/dist`, `${work}/weft`, { recursive: true, filter: file => !file.endsWith('.wasm') });
  cpSync(`${root}web/tests/stand_ins/core.js`, `${work}/weft/stand_in.js`);
  cpSync(`${root}web/npm/test/stand_in_program.mjs`, `${work}/weft/llm/weft-llm.mjs`);
  cpSync(`${root}web/tests/device_tests_worker.mjs`, `${work}/tests/device_tests_worker.mjs`);
  cpSync(`${root}web/tests/stand_ins/device_tests.mjs`, `${work}/tests/program/device_tests.mjs`);
  cpSync(`${work}/weft/index.js`, `${work}/weft/real.js`);
  writeFileSync(`${work}/weft/weft.mjs`, 'export default () => { throw new Error("not here"); };');
  writeFileSync(`${work}/weft/index.js`, "export * from './stand_in.js';");
  for (const name of ['english', 'other']) writeFileSync(`${work}/${name}.gguf`, Buffer.alloc(4096, 1));
  writeFileSync(`${work}/files.json`, '["./"]');
  server = await serve({ '/': work });
  browser = await launch();
  page = await visit({ permissions: ['clipboard-read', 'clipboard-write'] }, '/?cases=4');
  await until(page, () => document.documentElement.dataset.model === 'the built-in model' && document.documentElement.dataset.warm);
});
after(async () => {
  await browser?.close();
  server?.close();
});

/** A page in a context of its own, every request of which is noted: also those of its workers. */
async function visit(options = {}, address = '/') {
  const context = await browser.newContext({ viewport: { width: 1100, height: 800 }, serviceWorkers: 'block', ...options });
  context.on('request', request => requests.push(request.url()));
  const opened = await context.newPage();
  opened.on('pageerror', error => console.error(String(error)));
  if (address) await opened.goto(server.url + address);
  return opened;
}
const until = (where, what, given) => where.waitForFunction(what, given, { timeout: 60_000 });
const status = (where, part, id = 'chat-status') => until(where, ([id, part]) => document.getElementById(id).textContent.includes(part), [id, part]);
const forget = (where, name) => where.evaluate(name => { delete document.documentElement.dataset[name]; }, name);

test('a URL becomes the model, is kept, is there the next time, and is deleted', async () => {
  await page.click('#from-url summary');
  assert.ok(await page.isVisible('#kept-none'));
  await forget(page, 'model');
  await page.fill('#chat-url', `${server.url}/other.gguf`);
  await page.keyboard.press('Enter');
  await until(page, () => document.documentElement.dataset.model === 'other.gguf' && document.querySelector('#kept button'));
  assert.match(await page.textContent('#kept li'), /other\.gguf, 0\.0 MB/);
  const asked = () => requests.filter(url => url.endsWith('other.gguf')).length, before = asked();
  await forget(page, 'model');
  await page.click('#kept button:has-text("Load")');
  await until(page, () => document.documentElement.dataset.model === 'other.gguf');
  assert.equal(asked(), before);
  await page.click('#kept button:has-text("Delete")');
  await until(page, () => !document.querySelector('#kept button') && !document.getElementById('kept-none').hidden);
  await forget(page, 'model');
  await page.fill('#chat-url', `${server.url}/nothing.gguf`);
  await page.keyboard.press('Enter');
  await until(page, () => document.documentElement.dataset.model === 'failed');
  assert.match(await page.textContent('#model'), /^nothing\.gguf cannot be used: .*answers with status 404/);
  assert.ok(await page.isDisabled('#chat-send'));
  await forget(page, 'model');
  await page.click('#chat-builtin');  // The way back from a model that cannot be used, or is not wanted any more.
  await until(page, () => document.documentElement.dataset.model === 'the built-in model');
  assert.ok(await page.isHidden('#chat-builtin') && await page.isEnabled('#chat-send'));
  await forget(page, 'model');
  await page.fill('#chat-url', `${server.url}/other.gguf`);
  await page.keyboard.press('Enter');
  await until(page, () => document.documentElement.dataset.model === 'other.gguf');
});

test('two tabs that want the same file load it once', async () => {
  writeFileSync(`${work}/two.gguf`, Buffer.alloc(3_000_000, 1));
  const tabs = [page, await page.context().newPage()];
  await tabs[1].goto(`${server.url}/?cases=4`);
  const load = tab => tab.evaluate(async url => {
    const { LanguageModel } = await import('/weft/llm/index.js');
    const model = await LanguageModel.load(url), { choices: [{ text }] } = await model.completions.create({ prompt: 'two', max_tokens: 8 });
    await model.close();
    return text;
  }, `${server.url}/two.gguf`);
  const [one, other] = await Promise.all(tabs.map(load));
  assert.ok(one.length === 8 && one === other);
  assert.equal(requests.filter(url => url.endsWith('two.gguf')).length, 1);
  await tabs[1].close();
});

test('models that are closed, measured or cannot be opened leave no worker behind, and answer no more', async () => {
  const before = page.workers().length;
  const seen = await page.evaluate(async url => {
    const { LanguageModel, Lesson } = await import('/weft/llm/index.js'), said = async promise => promise.then(() => 'fine', error => error.message);
    const bytes = new Uint8Array(await (await fetch(url)).arrayBuffer()), model = await LanguageModel.load(bytes.slice());
    await model.close();
    const measured = await LanguageModel.load(bytes.slice(), { profile: true });
    await said(measured.profile());
    return {
      closed: await said(model.completions.create({ prompt: 'one' })), again: await said(model.close()),
      refused: await said(LanguageModel.load(new Uint8Array([]))), lesson: await said(Lesson.open(new Uint8Array([]), '')),
    };
  }, `${server.url}/other.gguf`);
  assert.deepEqual([seen.closed, seen.again], ['This model was closed.', 'fine']);
  assert.match(`${seen.refused} ${seen.lesson}`, /^an empty file .*an empty file$/);
  for (let i = 0; i < 100 && page.workers().length > before; ++i) await new Promise(resolve => setTimeout(resolve, 20));
  assert.equal(page.workers().length, before);
});

test('a device that is lost while nobody asks anything is back before the next question', async () => {
  await page.evaluate(() => weftChat.model.loseForTest());
  await status(page, 'The GPU was taken away and is back; the model is loaded again.');
  await page.fill('#chat-text', 'The captain');
  await page.click('#chat-send');
  await until(page, () => document.documentElement.dataset.rate);
  assert.match(await page.textContent('.message.assistant .text'), /^[a-z ]{100,}$/);
});

test('a device that is lost in the middle of an answer: the page says that it goes on', async () => {
  await page.fill('#chat-text', 'The captain');
  await page.click('#chat-send');
  await until(page, () => [...document.querySelectorAll('.message.assistant .text')].at(-1).textContent.length > 20);
  await page.evaluate(() => weftChat.model.loseForTest());
  await status(page, 'the answer goes on');
  await status(page, 'tokens/s');
});

test('where memory is missing, the page says how much is needed and what needs less', async () => {
  const poor = await visit({}, null);
  await poor.context().route('**/llm/weft-llm.mjs', async route => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replace('bytes: undefined', 'bytes: 100') });
  });
  await poor.goto(server.url);
  await until(poor, () => document.documentElement.dataset.model === 'failed');
  assert.match(await poor.textContent('#model'), /^the built-in model cannot be used: 4096 bytes could not be allocated\. The model's file has 4096 bytes, and the keys .*needs less/);
  await poor.context().close();
});

test('the check goes on after a lost device, and its results are copied as JSON', async () => {
  await page.click('#tab-check');
  await page.click('#check-start');
  await until(page, () => document.getElementById('check-progress').value > 0.3);
  await page.evaluate(() => weftCheck.loseForTest());
  await until(page, () => document.documentElement.dataset.checked);
  assert.match(await page.textContent('#check-status'), /^7 of 8 cases came out right, in \d+ s\. The GPU was taken away once meanwhile\.$/);
  const { verdicts } = await page.evaluate(() => weftResults);
  assert.deepEqual(verdicts.operations, { Op_add: { passed: 3, failed: 1 }, Op_softmax: { passed: 4, failed: 0 } });
  assert.deepEqual(verdicts.failures.map(failure => failure.case), ['Op_add.wrong']);
  assert.match(await page.textContent('#failures'), /Op_add\.wrong[^]*got 1, expected 2/);
  await page.click('#copy');
  await status(page, 'The results are on the clipboard.', 'check-status');
  assert.deepEqual(JSON.parse(await page.evaluate(() => navigator.clipboard.readText())), JSON.parse(await page.evaluate(() => JSON.stringify(weftResults))));
});

test('the benchmark begins again after a lost device', async () => {
  await page.click('#bench-start');
  await until(page, () => document.getElementById('check-status').textContent.startsWith('Measuring softmax'));
  await page.evaluate(() => weftDevice.gpuDevice.destroy());
  await until(page, () => document.documentElement.dataset.measured);
  assert.equal(await page.textContent('#check-status'), 'Measured: the best of several runs of each. The GPU was taken away once meanwhile.');
  assert.match(await page.textContent('#device'), /taken away and is back/);
  assert.equal(await page.evaluate(() => document.querySelectorAll('#times tbody tr').length), 8);
});

test('where the clipboard is not to be had, the results are on the page', async () => {
  await page.evaluate(() => { navigator.clipboard.writeText = () => Promise.reject(new Error('not here')); });
  await page.click('#copy');
  await until(page, () => document.getElementById('failures').textContent.startsWith('{'));
  assert.equal(JSON.parse(await page.textContent('#failures')).device.name, 'A stand-in');
});

test('a browser without promise integration gets one clear sentence', async () => {
  const old = await visit({}, null);
  await old.context().route('**/weft/index.js', route => route.fulfill({ contentType: 'text/javascript', body: "export * from './real.js';" }));
  await old.addInitScript(() => { delete WebAssembly.Suspending; });
  await old.goto(server.url);
  await until(old, () => document.documentElement.dataset.ready === 'failed');
  assert.match(await old.textContent('#device'), /^This browser has no JavaScript Promise Integration .*Chromium 137, Firefox 153 and Node 24 have it\.$/);
  await old.context().close();
});

test('it is light and dark, on a phone and on a desktop, and nothing is cut off', async () => {
  for (const [size, viewport] of Object.entries({ phone: { width: 390, height: 844 }, desktop: { width: 1100, height: 800 } })) {
    for (const colorScheme of ['light', 'dark']) {
      const seen = await visit({ viewport, colorScheme });
      await until(seen, () => document.documentElement.dataset.model);
      await seen.click('#from-url summary');
      for (const tab of ['time', 'teach', 'train', 'check', 'chat']) await seen.click(`#tab-${tab}`);
      const { ground, ink, wide } = await seen.evaluate(() => {
        const light = colour => colour.match(/[\d.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 765;
        const { backgroundColor, color } = getComputedStyle(document.body);
        return { ground: light(backgroundColor), ink: light(color), wide: document.documentElement.scrollWidth <= innerWidth };
      });
      assert.ok(wide && (colorScheme === 'dark' ? ground < 0.2 && ink > 0.7 : ground > 0.8 && ink < 0.3), `${size} ${colorScheme}: ${ground} ${ink} ${wide}`);
      await seen.context().close();
    }
  }
});

test('everything that was added has a name for those who hear the page', async () => {
  const client = await page.context().newCDPSession(page);
  await page.evaluate(() => { for (const one of document.querySelectorAll('[hidden], details')) one.hidden ? one.hidden = false : one.open = true; });
  const { nodes } = await client.send('Accessibility.getFullAXTree');
  const used = nodes.filter(({ ignored, role }) => !ignored && /^(button|tab|textbox|spinbutton|link|image|list|tabpanel|log|table|progressbar|DisclosureTriangle)$/.test(role.value));
  assert.ok(used.length >= 38, `${used.length} were found`);
  assert.deepEqual(used.filter(({ name }) => !name?.value).map(({ role, backendDOMNodeId }) => `${role.value} ${backendDOMNodeId}`), []);
});

test('no other host is asked for anything, by any of these pages', () => {
  assert.ok(requests.length > 100, `${requests.length} requests`);
  assert.deepEqual(requests.filter(url => !url.startsWith(server.url) && !url.startsWith('blob:') && !url.startsWith('data:')), []);
});
