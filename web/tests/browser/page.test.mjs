// The page of `./weft web`: training, check and benchmark; what it looks like goes to build/web/screenshots.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch, serve } from '../chromium.mjs';
import { smallModel } from '../small_model.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const shots = `${root}build/web/screenshots`;
let browser, server, page;
const requests = [];

before(async () => {
  execFileSync(`${root}tools/web`, [`${root}build/web/page`], { stdio: 'inherit' });
  mkdirSync(shots, { recursive: true });
  server = await serve({ '/': `${root}build/web/page` });
  browser = await launch();
  page = await browser.newPage({ viewport: { width: 1100, height: 800 } });
  page.on('request', request => requests.push(request.url()));
  page.on('pageerror', error => console.error(String(error)));
  await page.goto(`${server.url}/?cases=1&warm=no`);  // What is compiled for an answer is not compiled beside it.
  await page.waitForFunction(() => document.documentElement.dataset.ready, undefined, { timeout: 60_000 });
});
after(async () => {
  await browser?.close();
  server?.close();
});

test('it opens a device and says which', async () => {
  assert.match(await page.textContent('#device'), /SwiftShader.*first result \(42\)/i);
});

test('the built-in model writes at once, and can be stopped', async () => {
  await page.waitForFunction(() => document.documentElement.dataset.model, undefined, { timeout: 120_000 });
  assert.match(await page.textContent('#model'), /the built-in model: llama/);
  await page.click('summary');
  await page.fill('#temperature', '0');
  await page.fill('#max-tokens', '12');
  await page.fill('#chat-text', 'The captain');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.documentElement.dataset.rate, undefined, { timeout: 300_000 });
  console.log(`# chat: ${await page.textContent('#model')} ${await page.textContent('#chat-status')}`);
  const { tokens, rate } = await page.evaluate(() => ({ ...document.documentElement.dataset }));
  assert.equal(tokens, '12');
  assert.ok(Number(rate) > 0, `${rate} tokens/s`);
  assert.match(await page.textContent('.message.assistant .text'), /^The captain and/);
  await page.screenshot({ path: `${shots}/chat-desktop.png` });
  await page.fill('#max-tokens', '400');
  await page.fill('#chat-text', 'The ship');
  await page.click('#chat-send');
  await page.waitForFunction(() => document.querySelectorAll('.message.assistant .text')[1]?.textContent.length > 12, undefined, { timeout: 120_000 });
  await page.evaluate(() => { delete document.documentElement.dataset.rate; });
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => document.documentElement.dataset.rate, undefined, { timeout: 60_000 });
  assert.ok(Number(await page.evaluate(() => document.documentElement.dataset.tokens)) < 400);
});

test('a lost device does not end an answer, and the page says so', async () => {
  await page.fill('#max-tokens', '8');
  await page.evaluate(() => { delete document.documentElement.dataset.rate; });
  await page.fill('#chat-text', 'The captain');
  await page.click('#chat-send');
  await page.waitForFunction(() => document.querySelectorAll('.message.assistant .text')[2]?.textContent.length > 14, undefined, { timeout: 120_000 });
  await page.evaluate(() => weftChat.model.loseForTest());
  await page.waitForFunction(() => document.getElementById('chat-status').textContent.includes('taken away'), undefined, { timeout: 30_000 });
  await page.waitForFunction(() => document.documentElement.dataset.rate, undefined, { timeout: 300_000 });
  const [first, , third] = await page.evaluate(() => [...document.querySelectorAll('.message.assistant .text')].map(one => one.textContent));
  assert.ok(first.startsWith(third), `"${third}" is not what "${first}" begins with`);
});

test('a dropped file becomes the model, and one that is none is refused', async () => {
  const give = async (path, name) => page.evaluate(async ({ path, name }) => {
    delete document.documentElement.dataset.model;
    const files = new DataTransfer();
    files.items.add(new File([await (await fetch(path)).blob()], name));
    document.dispatchEvent(new DragEvent('drop', { dataTransfer: files, cancelable: true }));
  }, { path, name });
  await give('icon.svg', 'no-model.gguf');
  await page.waitForFunction(() => document.documentElement.dataset.model === 'failed', undefined, { timeout: 60_000 });
  assert.match(await page.textContent('#model'), /no-model\.gguf cannot be used/);
  await give('english.gguf', 'dropped.gguf');
  await page.waitForFunction(() => document.documentElement.dataset.model === 'dropped.gguf', undefined, { timeout: 60_000 });
});

test('it says where the time goes', async () => {
  await page.click('#tab-time');
  await page.click('#time-start');
  await page.waitForFunction(() => document.documentElement.dataset.profiled, undefined, { timeout: 120_000 });
  assert.match(await page.textContent('#time-table'), /launches/);
  await page.screenshot({ path: `${shots}/time-desktop.png`, fullPage: true });
});

test('it is taught a text over a lost device, and writes then', async () => {
  // A page of its own, whose built-in model has one layer: what is computed and shown is the same, in a fraction of the time.
  const small = smallModel(`${root}models/english.gguf`, 1);
  const lesson = await browser.newPage({ viewport: { width: 1100, height: 800 }, serviceWorkers: 'block' });
  lesson.on('pageerror', error => console.error(String(error)));
  await lesson.route('**/english.gguf', route => route.fulfill({ body: small, contentType: 'application/octet-stream' }));
  await lesson.goto(`${server.url}/?warm=no#teach`);
  await lesson.waitForSelector('#teach-start:not([disabled])', { timeout: 60_000 });
  await lesson.evaluate(() => {
    const files = new DataTransfer();
    files.items.add(new File(['The zebra Quentin paints purple bicycles on Thursdays. '.repeat(20)], 'zebra.txt', { type: 'text/plain' }));
    document.dispatchEvent(new DragEvent('drop', { dataTransfer: files, cancelable: true }));
  });
  await lesson.waitForFunction(() => document.getElementById('teach-text').value.startsWith('The zebra'), undefined, { timeout: 10_000 });
  await lesson.fill('#teach-steps', '3');
  await lesson.fill('#teach-batch', '1');
  await lesson.fill('#teach-context', '8');
  await lesson.fill('#teach-rate', '0.002');
  await lesson.click('#teach-start');
  await lesson.waitForFunction(() => Number(document.documentElement.dataset.taught) >= 2, undefined, { timeout: 300_000 });
  await lesson.evaluate(() => weftLesson.loseForTest());
  await lesson.waitForSelector('#teach-chat:not([hidden])', { timeout: 300_000 });
  console.log(`# teach: ${await lesson.textContent('#teach-status')}`);
  const { taughtLoss, recoveries, taught } = await lesson.evaluate(() => ({ ...document.documentElement.dataset }));
  assert.equal(recoveries, '1');
  assert.equal(taught, '3');
  assert.ok(Number(taughtLoss) > 0 && Number.isFinite(Number(taughtLoss)), `the loss is ${taughtLoss}`);
  await lesson.screenshot({ path: `${shots}/teach-desktop.png`, fullPage: true });
  await lesson.evaluate(() => { delete document.documentElement.dataset.model; });
  await lesson.click('#teach-chat');
  await lesson.waitForFunction(() => document.documentElement.dataset.model === 'the taught model', undefined, { timeout: 60_000 });
  await lesson.click('summary');
  await lesson.fill('#max-tokens', '2');
  await lesson.fill('#chat-text', 'The zebra Quentin');
  await lesson.click('#chat-send');
  await lesson.waitForFunction(() => document.documentElement.dataset.tokens, undefined, { timeout: 120_000 });
  assert.match(await lesson.textContent('#model'), /^the taught model: llama/);
  await lesson.close();
});

test('the network learns, and the curve shows it', async () => {
  await page.click('#tab-train');
  await page.click('#train-start');
  await page.waitForFunction(() => /Step (\d+)/.exec(document.getElementById('train-status').textContent)?.[1] >= 40, undefined, { timeout: 240_000 });
  await page.click('#train-start');
  const [, step, loss] = /Step (\d+): loss ([\d.]+)/.exec(await page.textContent('#train-status'));
  assert.ok(Number(loss) < 0.69, `after step ${step} the loss is ${loss}`);
  await page.screenshot({ path: `${shots}/train-desktop.png` });
  // The GPU is taken away: it goes on from the last snapshot.
  await page.click('#train-start');
  await page.evaluate(() => weftDevice.gpuDevice.destroy());
  await page.waitForFunction(() => /went on from its last snapshot/.test(document.getElementById('train-status').textContent), undefined, { timeout: 120_000 });
  await page.click('#train-start');
  assert.match(await page.textContent('#device'), /taken away and is back/);
});

test('the check and the benchmark run, and their results are JSON', async () => {
  await page.keyboard.press('Tab');
  await page.focus('#tab-train');
  await page.keyboard.press('ArrowRight');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'tab-check');
  await page.click('#check-start');
  await page.waitForFunction(() => document.documentElement.dataset.checked, undefined, { timeout: 300_000 });
  const all = (await page.evaluate(() => document.documentElement.dataset.checked)).split('/')[1];
  const failed = await page.evaluate(() => weftResults.verdicts.failures);
  assert.deepEqual(failed, []);
  assert.ok(Number(all) >= 34);
  await page.click('#bench-start');
  await page.waitForFunction(() => document.documentElement.dataset.measured, undefined, { timeout: 120_000 });
  const results = JSON.parse(await page.evaluate(() => JSON.stringify(weftResults)));
  assert.ok(results.benchmark.every(row => row.milliseconds > 0) && results.verdicts.cases === Number(all) && results.device.software);
  console.log(JSON.stringify(results.benchmark));
  await page.screenshot({ path: `${shots}/check-desktop.png`, fullPage: true });
});

test('it works offline after the first visit', async () => {
  const own = await serve({ '/': `${root}build/web/page` });
  const context = await browser.newContext(), visit = await context.newPage();
  await visit.goto(`${own.url}/?warm=no`);
  await visit.evaluate(() => navigator.serviceWorker.ready);  // It is installed once everything is kept.
  await context.setOffline(true);
  await own.close();  // The service worker cannot reach it either.
  await visit.reload();
  await visit.waitForFunction(() => document.documentElement.dataset.model, undefined, { timeout: 120_000 });
  assert.match(await visit.textContent('#model'), /the built-in model: llama/);
  await visit.click('summary');
  await visit.fill('#temperature', '0');
  await visit.fill('#max-tokens', '4');
  await visit.fill('#chat-text', 'The captain');
  await visit.click('#chat-send');
  await visit.waitForFunction(() => document.documentElement.dataset.tokens === '4', undefined, { timeout: 300_000 });
  assert.match(await visit.textContent('.message.assistant .text'), /^The captain and/);
  await context.close();
});

test('on a phone, in the dark, nothing is cut off', async () => {
  const phone = await browser.newPage({ viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
  await phone.goto(server.url);
  await phone.waitForFunction(() => document.documentElement.dataset.ready, undefined, { timeout: 60_000 });
  assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  for (const name of ['chat', 'time', 'teach', 'train', 'check']) {  // Every tab can be reached, and what is hidden is not seen.
    await phone.click(`#tab-${name}`);
    const tab = await phone.locator(`#tab-${name}`).boundingBox();
    assert.ok(tab.x >= 0 && tab.x + tab.width <= 390, name);
    assert.deepEqual(await phone.evaluate(() => [...document.querySelectorAll('[hidden]')].filter(one => one.offsetParent !== null).map(one => one.id)), []);
  }
  await phone.click('#tab-chat');
  await phone.screenshot({ path: `${shots}/chat-phone-dark.png`, fullPage: true });
  await phone.close();
});

test('everything that can be used has a name for those who hear the page', async () => {
  const heard = await browser.newPage();
  await heard.goto(`${server.url}/?warm=no`);
  await heard.waitForFunction(() => document.documentElement.dataset.ready, undefined, { timeout: 60_000 });
  await heard.evaluate(() => { for (const one of document.querySelectorAll('[hidden], details')) one.hidden ? one.hidden = false : one.open = true; });
  const client = await heard.context().newCDPSession(heard), { nodes } = await client.send('Accessibility.getFullAXTree');
  const used = nodes.filter(({ ignored, role }) => !ignored && /^(button|tab|textbox|spinbutton|link|image|tabpanel|log|table|progressbar|DisclosureTriangle)$/.test(role.value));
  assert.ok(used.length >= 35, `${used.length} were found`);
  assert.deepEqual(used.filter(({ name }) => !name?.value).map(({ role, backendDOMNodeId }) => `${role.value} ${backendDOMNodeId}`), []);
  await heard.close();
});

test('no other host is asked for anything', () => {
  assert.deepEqual(requests.filter(url => !url.startsWith(server.url) && !url.startsWith('blob:') && !url.startsWith('data:')), []);
});
