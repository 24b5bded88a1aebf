// ONNX models: an engine of their own, with everything that the other one has.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { after, test } from 'node:test';
import { model as onnxModel, modelWithWeights } from '../../peers/onnx.js';
import { nodeGpu } from '../../tests/node_gpu.mjs';
import { device as plain } from './package.mjs';

const { Model, openDevice } = await import(new URL('../../../build/web/npm/dist/onnx/index.js', import.meta.url).href);
const device = await openDevice({ gpu: await nodeGpu() });
after(() => device.close());

test('every function of onnx.h is exported by the module', () => {
  const header = readFileSync(new URL('../../../include/weft/c/onnx.h', import.meta.url), 'utf8');
  const names = [...header.matchAll(/WEFT_API[^;(]*\b(weft_\w+)\(/g)].map(match => match[1]);
  assert.ok(names.length >= 5);
  for (const name of names) assert.equal(typeof device.engine.exports[name], 'function', name);
});

test('a model runs on tensors by name, and says what it is', async () => {
  const model = await Model.load(device, onnxModel('MatMul', [[2, 3], [3, 2]], [2, 2]));
  const { inputs, outputs, operations } = model.describe();
  assert.deepEqual(inputs.map(({ name, shape }) => [name, shape]), [['x0', [2, 3]], ['x1', [3, 2]]]);
  assert.deepEqual(outputs[0].shape, [2, 2]);
  assert.deepEqual(operations, { MatMul: 1 });
  const x0 = device.arange(6).reshape([2, 3]);
  for (let i = 0; i < 3; ++i) {  // The first runs translate it, the third replays.
    const { y } = await model.run({ x0, x1: x0.reshape([3, 2]).add(i) });
    assert.deepEqual([...await y.data()], [10 + 3 * i, 13 + 3 * i, 28 + 12 * i, 40 + 12 * i]);
    assert.deepEqual([...await y.mul(2).data()].length, 4);  // Everything else works on the results.
  }
  assert.match(model.graph(), /digraph/);
  await assert.rejects(model.run({ x0 }), /x1/);
  model.dispose();
});

test('a model and its weights come from paths, addresses and bytes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weft-onnx-'));
  mkdirSync(join(folder, 'weights'));
  const file = modelWithWeights([4], 'weights/of the model.bin'), weights = new Uint8Array(Float32Array.from([10, 20, 30, 40]).buffer);
  writeFileSync(join(folder, 'model.onnx'), file);
  writeFileSync(join(folder, 'weights/of the model.bin'), weights);
  const server = createServer((request, response) => {
    try {
      response.end(readFileSync(join(folder, decodeURIComponent(request.url))));
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  const at = `http://127.0.0.1:${server.address().port}/`;
  const x = device.arange(4);
  for (const [source, options] of [
    [join(folder, 'model.onnx')], [pathToFileURL(join(folder, 'model.onnx'))], [`${at}model.onnx`],
    [file, { externalData: { 'weights/of the model.bin': weights } }],
    [new Blob([file]), { externalData: { 'weights/of the model.bin': `${at}weights/of%20the%20model.bin` } }],
  ]) {
    const model = await Model.load(device, source, options);
    for (let i = 0; i < 2; ++i) assert.deepEqual([...await (await model.run({ x })).y.data()], [10, 21, 32, 43], String(source));
    model.dispose();
  }
  await assert.rejects(Model.load(device, file), /of the model\.bin: give it as externalData/);
  await assert.rejects(Model.load(device, `${at}none.onnx`), /none\.onnx cannot be read: the server says 404/);
  await assert.rejects(Model.load(device, join(folder, 'none.onnx')), /none\.onnx cannot be read: ENOENT/);
  await assert.rejects(Model.load(device, modelWithWeights([4], '../weights'), { externalData: { '../weights': weights } }), /not beside it/);
  server.close();
  rmSync(folder, { recursive: true });
});

test('what is no model, or no engine for one, is said', async () => {
  await assert.rejects(Model.load(device, new TextEncoder().encode('not a model')), error => error.name === 'WeftError');
  await assert.rejects(Model.load(plain, onnxModel('Relu', [[2]], [2])), /openDevice\(\) of @weft\/core\/onnx/);
});
