// Modules, optimizers and compiled training steps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close, device, weft } from './package.mjs';

const { concat, crossEntropy, matmul, nn, optim, relu, slice, sum, square, tanh, WeftError } = weft;

const small = (seed = 3) => {
  const init = new nn.Init(device, seed);
  return new nn.Sequential(new nn.Linear(init, 2, 8), tanh, new nn.Linear(init, 8, 2));
};

test('parameters have names and start the same from the same seed', async () => {
  const [a, b, c] = await Promise.all([3, 3, 4].map(seed => small(seed).ready()));
  assert.deepEqual(a.namedParameters().map(([name, tensor]) => [name, ...tensor.shape]), [['0.weight', 8, 2], ['0.bias', 8], ['2.weight', 2, 8], ['2.bias', 2]]);
  assert.equal(a.parameterCount, 42);
  const first = async model => [...await model.state()['0.weight'].data()];
  assert.deepEqual(await first(a), await first(b));
  assert.notDeepEqual(await first(a), await first(c));
  await c.loadState(a.state());
  assert.deepEqual(await first(a), await first(c));
  await assert.rejects(c.loadState({ '0.weight': device.zeros([8, 2]) }), error => error instanceof WeftError && /3 are missing \(0\.bias/.test(error.message));
});

test('layers give what their formulas say', async () => {
  const init = new nn.Init(device, 5), linear = await new nn.Linear(init, 3, 2).ready();
  const x = device.tensor([[1, 2, 3], [4, 5, 6]]), { weight, bias } = linear.state();
  assert.ok(close(await linear.forward(x).data(), [...await matmul(x, weight.transpose()).add(bias).data()]));
  const table = await new nn.Embedding(init, 5, 4).ready();
  assert.deepEqual([...await table.forward(device.tensor([2], undefined, 'i32')).data()], [...(await table.state().weight.data())].slice(8, 12));
  const norm = await new nn.LayerNorm(init, 4).ready(), values = await norm.forward(device.tensor([[1, 2, 3, 4]])).data();
  assert.ok(close(values, [-1.3416, -0.4472, 0.4472, 1.3416], 1e-3));
  const conv = await new nn.Conv2d(init, 1, 2, 3, { padding: 1 }).ready();
  assert.deepEqual(conv.forward(device.zeros([1, 1, 5, 5])).shape, [1, 2, 5, 5]);
  assert.deepEqual((await new nn.RMSNorm(init, 4).ready()).forward(device.ones([2, 4])).shape, [2, 4]);
});

test('attention sees what it may, and a transformer block learns', async () => {
  const init = new nn.Init(device, 6), attention = await new nn.MultiheadAttention(init, 8, 2, { causal: true, kvHeads: 1, ropeBase: 10000 }).ready();
  assert.deepEqual(attention.namedParameters().map(([name, tensor]) => [name, ...tensor.shape]).slice(0, 3), [['q_proj.weight', 8, 8], ['q_proj.bias', 8], ['k_proj.weight', 4, 8]]);
  const x = init.normal([1, 4, 8], 1), changed = concat([slice(x, 1, 0, 3), device.ones([1, 1, 8])], 1);
  const [a, b] = await Promise.all([attention.forward(x).data(), attention.forward(changed).data()]);
  assert.ok(close(a.slice(0, 24), [...b.slice(0, 24)]), 'positions see what comes behind them');
  assert.ok(!close(a.slice(24), [...b.slice(24)]), 'the last position does not see itself');
  assert.throws(() => new nn.MultiheadAttention(init, 8, 3), /width of 8 into 3 heads/);
  for (const choices of [{}, { gated: true, rms: true, attention: { causal: true, bias: false } }]) {
    const model = new nn.Sequential(new nn.Embedding(init, 5, 8), new nn.TransformerBlock(init, 8, 2, choices), new nn.Linear(init, 8, 5));
    const step = new optim.TrainingStep(await optim.Adam.of(model), (ids, labels) => crossEntropy(model.forward(ids).reshape([6, 5]), labels));
    const ids = device.tensor([[0, 1, 2, 3, 4, 0]], undefined, 'i32'), labels = device.tensor([1, 2, 3, 4, 0, 1], undefined, 'i32');
    let loss;
    for (let i = 0; i < 40; ++i) loss = await step.run(0.03, ids, labels);
    assert.ok(loss < 0.1, `the loss is ${loss}`);
  }
  const norm = await new nn.GroupNorm(init, 2, 4).ready();
  assert.ok(close(await norm.forward(device.tensor([[[1], [3], [10], [30]]])).data(), [-1, 1, -1, 1], 1e-3));
});

class Point extends nn.Module {
  constructor() {
    super();
    this.parameter('at', device.tensor([3, -2]));
  }
  forward() { return sum(square(this.get('at'))); }
}

test('Lion and schedules follow their formulas', async () => {
  const point = new Point(), lion = await optim.Lion.of(point, { weightDecay: 0.5 }), step = new optim.TrainingStep(lion, () => point.forward());
  let at = [3, -2], m = [0, 0];
  for (let i = 0; i < 3; ++i) {
    await step.run(0.1, device.zeros([1]));
    const g = at.map(value => 2 * value);
    at = at.map((value, j) => value - 0.1 * (Math.sign(0.9 * m[j] + 0.1 * g[j]) + 0.5 * value));
    m = m.map((value, j) => 0.99 * value + 0.01 * g[j]);
    assert.ok(close(await point.state().at.data(), at));
  }
  const rates = decay => [0, 1, 2, 6, 10].map(one => optim.schedule(one, { lr: 1, steps: 10, warmup: 2, decay, floor: 0.1 }));
  assert.ok(close(rates('cosine'), [0.5, 1, 1, 0.55, 0.1]) && close(rates('linear'), [0.5, 1, 1, 0.55, 0.1]) && close(rates('constant'), [0.5, 1, 1, 1, 1]));
});

test('SGD with momentum follows its formula', async () => {
  const point = new Point(), sgd = await optim.SGD.of(point, { momentum: 0.5 });
  const step = new optim.TrainingStep(sgd, () => point.forward());
  let at = [3, -2], velocity = [0, 0];
  for (let i = 0; i < 4; ++i) {
    assert.ok(close([await step.run(0.1, device.zeros([1]))], [at[0] ** 2 + at[1] ** 2]));
    velocity = velocity.map((v, j) => 0.5 * v + 2 * at[j]);
    at = at.map((value, j) => value - 0.1 * velocity[j]);
    assert.ok(close(await point.state().at.data(), at));
  }
});

test('a network learns the exclusive or with AdamW, and clipping holds it back', async () => {
  const x = device.tensor([[0, 0], [0, 1], [1, 0], [1, 1]]), y = device.tensor([0, 1, 1, 0], undefined, 'i32');
  const model = small(), step = new optim.TrainingStep(await optim.AdamW.of(model, { weightDecay: 0 }), (a, b) => crossEntropy(model.forward(a), b));
  let loss;
  for (let i = 0; i < 120; ++i) loss = await step.run(0.05, x, y);
  assert.ok(loss < 0.05, `the loss is ${loss}`);
  const held = small(), slow = new optim.TrainingStep(await optim.SGD.of(held), (a, b) => crossEntropy(relu(held.forward(a)), b), { clipNorm: 1e-6 });
  const before = [...await held.state()['0.weight'].data()];
  await slow.run(1, x, y);
  assert.ok(close(await held.state()['0.weight'].data(), before, 1e-5));
});

test('a training that was saved goes on as if it had never ended', async () => {
  const x = device.tensor([[0, 0], [0, 1], [1, 0], [1, 1]]), y = device.tensor([0, 1, 1, 0], undefined, 'i32');
  const begin = async seed => {
    const model = small(seed), adam = await optim.AdamW.of(model);
    return { model, adam, step: new optim.TrainingStep(adam, (a, b) => crossEntropy(model.forward(a), b)) };
  };
  const first = await begin(3), want = [], got = [];
  for (let i = 0; i < 3; ++i) await first.step.run(0.05, x, y);
  const files = await Promise.all([first.model, first.adam].map(one => device.save('safetensors', { tensors: one.state() })));
  for (let i = 0; i < 4; ++i) want.push(await first.step.run(0.05, x, y));
  const second = await begin(4), [model, adam] = await Promise.all(files.map(file => device.load(file)));
  await second.model.loadState(model.tensors);
  await second.adam.loadState(adam.tensors);
  for (let i = 0; i < 4; ++i) got.push(await second.step.run(0.05, x, y));
  assert.deepEqual(got, want);
  await assert.rejects(second.adam.loadState({ count: device.zeros([1]) }), /8 are missing \(0\.0, 0\.1/);
});

test('a training goes on from its snapshot after the device was lost', async () => {
  const own = await weft.Device.open({ engine: device.engine });
  const x = own.tensor([[0, 0], [0, 1], [1, 0], [1, 1]]), y = own.tensor([0, 1, 1, 0], undefined, 'i32');
  await x.keep();
  await y.keep();
  const make = async () => {
    const init = new nn.Init(own, 3), model = new nn.Sequential(new nn.Linear(init, 2, 8), tanh, new nn.Linear(init, 8, 2));
    return new optim.TrainingStep(await optim.AdamW.of(model), (a, b) => crossEntropy(model.forward(a), b));
  };
  const undisturbed = await make(), want = [];
  for (let i = 0; i < 12; ++i) want.push(await undisturbed.run(0.05, x, y));
  const step = await make(), got = [];
  for (let i = 0; i < 6; ++i) got.push(await step.run(0.05, x, y));
  await step.snapshot();
  await step.run(0.05, x, y);  // lost with the device
  const lost = new Promise(resolve => own.addEventListener('lost', resolve, { once: true }));
  own.gpuDevice.destroy();
  await lost;
  await assert.rejects(step.run(0.05, x, y), error => error.code === 'device_lost');
  await own.recover();
  for (let i = 0; i < 6; ++i) got.push(await step.run(0.05, x, y));
  assert.deepEqual(got, want);
  own.close();
});
