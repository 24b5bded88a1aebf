// ONNX models: an engine of their own, with everything that the other one has.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { model as onnxModel } from '../../peers/onnx.js';
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

test('what is no model, or no engine for one, is said', async () => {
  await assert.rejects(Model.load(device, new TextEncoder().encode('not a model')), error => error.name === 'WeftError');
  await assert.rejects(Model.load(plain, onnxModel('Relu', [[2]], [2])), /openDevice\(\) of @weft\/core\/onnx/);
});
