// The page of `./weft web`: training, check and benchmark; what it looks like goes to build/web/screenshots.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch, serve } from '../chromium.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const shots = `${root}build/web/screenshots`;
let browser, server, page;
const requests = [];
const known = /^Op_rope\./;  // SwiftShader's sines and cosines are a little less exact than the test allows (docs/browser.md).

before(async () => {
  execFileSync(`${root}tools/web`, [`${root}build/web/page`], { stdio: 'inherit' });
  mkdirSync(shots, { recursive: true });
  server = await serve({ '/': `${root}build/web/page` });
  browser = await launch();
  page = await browser.newPage({ viewport: { width: 1100, height: 800 } });
  page.on('request', request => requests.push(request.url()));
  page.on('pageerror', error => console.error(String(error)));
  await page.goto(`${server.url}/?cases=1`);
  await page.waitForFunction(() => document.documentElement.dataset.ready, undefined, { timeout: 60_000 });
});
after(async () => {
  await browser?.close();
  server?.close();
});

test('it opens a device and says which', async () => {
  assert.match(await page.textContent('#device'), /SwiftShader.*first result \(42\)/i);
});

test('the network learns, and the curve shows it', async () => {
  await page.click('#train-start');
  await page.waitForFunction(() => /Step (\d+)/.exec(document.getElementById('train-status').textContent)?.[1] >= 40, undefined, { timeout: 240_000 });
  await page.click('#train-start');
  const [, step, loss] = /Step (\d+): loss ([\d.]+)/.exec(await page.textContent('#train-status'));
  assert.ok(Number(loss) < 0.69, `after step ${step} the loss is ${loss}`);
  await page.screenshot({ path: `${shots}/train-desktop.png` });
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
  assert.deepEqual(failed.filter(one => !known.test(one.case)), []);
  assert.ok(Number(all) >= 34);
  await page.click('#bench-start');
  await page.waitForFunction(() => document.documentElement.dataset.measured, undefined, { timeout: 120_000 });
  const results = JSON.parse(await page.evaluate(() => JSON.stringify(weftResults)));
  assert.ok(results.benchmark.every(row => row.milliseconds > 0) && results.verdicts.cases === Number(all) && results.device.software);
  console.log(JSON.stringify(results.benchmark));
  await page.screenshot({ path: `${shots}/check-desktop.png`, fullPage: true });
});

test('on a phone, in the dark, nothing is cut off', async () => {
  const phone = await browser.newPage({ viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
  await phone.goto(server.url);
  await phone.waitForFunction(() => document.documentElement.dataset.ready, undefined, { timeout: 60_000 });
  assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await phone.screenshot({ path: `${shots}/train-phone-dark.png`, fullPage: true });
  await phone.close();
});

test('no other host is asked for anything', () => {
  assert.deepEqual(requests.filter(url => !url.startsWith(server.url) && !url.startsWith('blob:') && !url.startsWith('data:')), []);
});
