// The npm package in Chromium: from a bare module script, from a bundle, in a worker, on a canvas, and after a lost device.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch, serve } from '../chromium.mjs';
import { pieces } from '../readme.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const work = `${root}build/web/browser-test`;
let browser, server, page;

before(async () => {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(`${work}/node_modules/@weft`, { recursive: true });
  symlinkSync(`${root}build/web/npm`, `${work}/node_modules/@weft/core`);
  cpSync(`${root}web/npm/examples`, `${work}/examples`, { recursive: true });
  writeFileSync(`${work}/index.html`, '<!doctype html><title>test</title><canvas id="canvas" width="32" height="24"></canvas>');
  server = await serve({ '/': work, '/weft/': `${root}build/web/npm/dist`, '/peers/': `${root}web/peers` });
  browser = await launch();
  page = await browser.newPage();
  page.on('pageerror', error => console.error(String(error)));
  await page.goto(`${server.url}/index.html`);
});
after(async () => {
  await browser?.close();
  server?.close();
});

test('a bare module script', async () => {
  const values = await page.evaluate(async () => {
    const { Device, matmul } = await import('/weft/index.js');
    globalThis.device = await Device.open();
    const x = device.tensor([[1, 2], [3, 4]]);
    return [...await matmul(x, x.transpose()).data()];
  });
  assert.deepEqual(values, [5, 11, 11, 25]);
});

test('what goes wrong on the GPU without a call that could say so is an event', async () => {
  const text = await page.evaluate(async () => {
    const { Device } = await import('/weft/index.js');
    const other = await Device.open();
    const told = new Promise(resolve => other.addEventListener('error', ({ detail }) => resolve(detail)));
    other.gpuDevice.createBuffer({ size: 3, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.STORAGE });
    await other.gpuDevice.queue.onSubmittedWorkDone();  // Chromium sends calls on when something waits.
    const detail = await told;
    other.close();
    return detail;
  });
  assert.match(text, /MapRead|MAP_READ/);
});

test('an ONNX model', async () => {
  const seen = await page.evaluate(async () => {
    const { Model, openDevice } = await import('/weft/onnx/index.js');
    const { model: write } = await import('/peers/onnx.js');
    const other = await openDevice(), model = await Model.load(other, write('MatMul', [[2, 3], [3, 2]], [2, 2]));
    const x0 = other.arange(6).reshape([2, 3]), { y } = await model.run({ x0, x1: x0.reshape([3, 2]) });
    const seen = { inputs: model.describe().inputs.map(({ name }) => name), y: [...await y.data()] };
    model.dispose();
    other.close();
    return seen;
  });
  assert.deepEqual(seen, { inputs: ['x0', 'x1'], y: [10, 13, 28, 40] });
});

test('a page without a bundler, as the package\'s page shows it', async () => {
  const [{ code }] = pieces('html');
  writeFileSync(`${work}/plain.html`, `<!doctype html><title>plain</title><body>${code}</body>`);
  const plain = await browser.newPage();
  await plain.goto(`${server.url}/plain.html`);
  await plain.waitForFunction(() => document.body.innerText.includes(']'));
  assert.match(await plain.innerText('body'), /f32\[2\] \[41, 42\]/);
  await plain.close();
});

test('a bundle by esbuild, made by the commands of the package\'s page', async () => {
  const [{ code }] = pieces('sh');
  writeFileSync(`${work}/app.js`, "import { Device } from '@weft/core';\nglobalThis.bundled = { Device };");
  assert.equal(execFileSync('bash', ['-euc', code.replace('--outfile', '--log-level=warning --outfile')], { cwd: work, encoding: 'utf8' }), '');
  const sum = await page.evaluate(async () => {
    await import('/out/app.js');
    const own = await bundled.Device.open(), values = [...await own.tensor([1, 2]).add(40).data()];
    own.close();
    return values;
  });
  assert.deepEqual(sum, [41, 42]);
});

test('a bundle by esbuild, with the examples in it', async () => {
  writeFileSync(`${work}/app.ts`, `import { Device } from '@weft/core';
import { hello } from './examples/hello.js';
import { train } from './examples/mlp.js';
import { filter } from './examples/image_filter.js';
import { axpy } from './examples/own_kernel.js';
Object.assign(globalThis, { app: { Device, hello, train, filter, axpy } });`);
  execFileSync('esbuild', ['app.ts', '--bundle', '--format=esm', '--target=es2022', '--outfile=app.js', '--log-level=error', '--external:node:*', '--external:module', '--external:fs', '--external:path', '--external:url'], { cwd: work });
  cpSync(`${root}build/web/npm/dist/weft.wasm`, `${work}/weft.wasm`);
  const seen = await page.evaluate(async () => {
    await import('/app.js');
    const device = await app.Device.open();
    const lines = [];
    await app.hello(device, line => lines.push(line));
    const loss = await app.train(device, 150, line => lines.push(line));
    const x = device.tensor([1, 2, 3]), y = device.full([3], 10);
    await y.eval();
    await app.axpy(device, 2, x, y);
    return { lines, loss, y: [...await y.data()] };
  });
  assert.match(seen.lines.join('\n'), /m · mᵀ.*\[\[5, 14\], \[14, 50\]\]/);
  assert.ok(seen.loss < 0.1, `the loss is ${seen.loss}`);
  assert.deepEqual(seen.y, [12, 14, 16]);
});

test('a filter on a canvas', async () => {
  const [left, edge, right] = await page.evaluate(async () => {
    const canvas = document.getElementById('canvas'), draw = canvas.getContext('2d');
    draw.fillStyle = '#000';
    draw.fillRect(0, 0, 16, 24);
    draw.fillStyle = '#f00';
    draw.fillRect(16, 0, 16, 24);
    const third = 1 / 9;
    await app.filter(device, canvas, [[third, third, third], [third, third, third], [third, third, third]]);
    return [8, 15, 24].map(x => [...draw.getImageData(x, 12, 1, 1).data]);
  });
  assert.deepEqual(left, [0, 0, 0, 255]);
  assert.ok(Math.abs(edge[0] - 85) <= 1, `the edge is ${edge}`);
  assert.deepEqual(right, [255, 0, 0, 255]);
});

test('a module worker', async () => {
  writeFileSync(`${work}/worker.mjs`, `const { Device } = await import('/weft/index.js');
const device = await Device.open();
postMessage(await device.tensor([20]).add(22).item());`);
  const answer = await page.evaluate(() => new Promise((resolve, reject) => {
    const worker = new Worker('/worker.mjs', { type: 'module' });
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = event => reject(new Error(event.message));
  }));
  assert.equal(answer, 42);
});

test('a lost device is told, refuses work, and comes back with what was kept', async () => {
  const seen = await page.evaluate(async () => {
    const events = [];
    device.addEventListener('lost', () => events.push('lost'));
    device.addEventListener('recovered', () => events.push('recovered'));
    const before = device.tensor([1]), kept = device.tensor([5, 6]);
    await kept.keep();
    const lost = new Promise(resolve => device.addEventListener('lost', resolve, { once: true }));
    device.gpuDevice.destroy();
    await lost;
    const code = await before.add(1).data().then(() => 'none', error => error.code);
    await device.recover();
    return { events, code, after: await device.tensor([20]).add(22).item(), kept: [...await kept.mul(2).data()] };
  });
  assert.deepEqual(seen, { events: ['lost', 'recovered'], code: 'device_lost', after: 42, kept: [10, 12] });
});
