import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeGpu } from '../../tests/node_gpu.mjs';
import { close, device, weft } from './package.mjs';

const { add, argmax, cast, compile, concat, crossEntropy, embedding, exp, grad, layerNorm, matmul, maximum, relu, softmax, sort, sum, Tensor, where, WeftError } = weft;

test('values come back as they went in, in every type', async () => {
  for (const dtype of ['f32', 'f16', 'bf16', 'i32', 'u32', 'i64', 'i16', 'i8', 'u8']) {
    const x = device.tensor([[1, 2, 3], [4, 5, 6]], undefined, dtype);
    assert.equal(x.dtype, dtype);
    assert.deepEqual(x.shape, [2, 3]);
    assert.deepEqual(Array.from(await x.data(), Number), [1, 2, 3, 4, 5, 6], dtype);
  }
  assert.deepEqual([...await device.tensor(new Float32Array([1, 2, 3, 4]), [2, 2]).data()], [1, 2, 3, 4]);
  assert.equal(await device.tensor(7).item(), 7);
  assert.deepEqual(device.tensor([]).shape, [0]);
});

test('halves round to the nearest even, with infinities and subnormals', async () => {
  const values = [65504, 65519, 65520, 1e-8, 5.960464477539063e-8, 8.940696716308594e-8, -2049, 2051, Infinity, -Infinity];
  const want = [65504, 65504, Infinity, 0, 5.960464477539063e-8, 1.1920928955078125e-7, -2048, 2052, Infinity, -Infinity];
  assert.deepEqual([...await device.tensor(values, undefined, 'f16').data()], want);
  assert.ok(Number.isNaN((await device.tensor([NaN], undefined, 'f16').data())[0]));
});

test('expressions are lazy, broadcast, and take numbers', async () => {
  const x = device.arange(6).reshape([2, 3]);
  assert.deepEqual([...await x.mul(2).add(device.tensor([1, 2, 3])).data()], [1, 4, 7, 7, 10, 13]);
  assert.deepEqual([...await maximum(x, 2).data()], [2, 2, 2, 3, 4, 5]);
  assert.deepEqual([...await relu(x.sub(3)).data()], [0, 0, 0, 0, 1, 2]);
  assert.deepEqual([...await where(device.tensor([1, 0, 1]), device.tensor([1, 2, 3]), device.tensor([9, 9, 9])).data()], [1, 9, 3]);
  assert.ok(close(await softmax(device.tensor([[0, Math.log(3)]])).data(), [0.25, 0.75]));
  assert.deepEqual([...await argmax(x, [1]).data()], [2, 2]);
  assert.deepEqual([...await sum(x, [-1]).data()], [3, 12]);
  assert.deepEqual([...await concat([x, x], 0).data()].length, 12);
  assert.equal((await cast(x, 'i32').data()).constructor, Int32Array);
});

test('several results have names', async () => {
  const { values, indices } = sort(device.tensor([3, 1, 2]));
  assert.deepEqual([...await values.data()], [1, 2, 3]);
  assert.deepEqual([...await indices.data()], [1, 2, 0]);
});

test('gradients', async () => {
  const x = device.tensor([1, 2, 3]);
  const [dx] = grad(sum(exp(x)), [x]);
  assert.ok(close(await dx.data(), [1, 2, 3].map(Math.exp)));
  const w = device.tensor([[1, 2], [3, 4]]);
  const [dw] = grad(crossEntropy(matmul(device.tensor([[1, 0]]), w), device.tensor([1], undefined, 'i32')), [w]);
  const p = 1 / (1 + Math.exp(1));
  assert.ok(close(await dw.data(), [p, -p, 0, 0]));
});

test('optional tensors may be left out', async () => {
  const x = device.tensor([[1, 2, 3, 4]]);
  const plain = await layerNorm(x).data();
  const weighted = await layerNorm(x, device.full([4], 2), device.full([4], 1)).data();
  assert.ok(close(weighted, Array.from(plain, value => 2 * value + 1), 1e-4));
});

test('a compiled function is traced once, keeps variables, and says what was wrong in it', async () => {
  const counter = await device.variable(device.tensor([10]));
  let traced = 0;
  const step = compile(device, x => {
    ++traced;
    return [add(counter, x), add(counter, 1)];
  }, { variables: [counter] });
  for (let i = 0; i < 3; ++i) assert.equal(await (await step.run(device.tensor([i])))[0].item(), 10 + 2 * i);
  assert.equal(await counter.item(), 13);
  assert.equal(traced, 1);
  assert.equal(step.report().built, 1);
  assert.match(step.text(), /add/);
  step.dispose();
  const wrong = compile(device, () => { throw new TypeError('on purpose'); });
  await assert.rejects(wrong.run(device.tensor([1])), /on purpose/);
  const few = compile(device, x => x, { results: 2 });
  await assert.rejects(few.run(device.tensor([1])), /gave 1 tensors; 2 results/);
});

test('errors name the function and the values', async () => {
  assert.throws(() => matmul(device.zeros([2, 3]), device.zeros([4, 5])), error => {
    assert.ok(error instanceof WeftError);
    assert.equal(error.code, 'invalid_argument');
    return /matmul/.test(error.message) && /3/.test(error.message) && /4/.test(error.message);
  });
  const gone = device.zeros([1]);
  gone.dispose();
  await assert.rejects(gone.data(), /disposed/);
  assert.throws(() => device.tensor([[1, 2], [3]]), /1 elements where others have 2/);
  assert.throws(() => device.zeros([1], 'f64'), /f32/);
});

test('what is no tensor, number or list is an error, and no NaN', async () => {
  const x = device.tensor([1, 2]);
  const refused = (work, message) => assert.throws(work, error => error instanceof WeftError && error.code === 'invalid_argument' && message.test(error.message));
  refused(() => device.tensor(['a', 1]), /numbers; "a" is none/);
  refused(() => device.tensor([1, undefined]), /numbers; undefined is none/);
  refused(() => device.full([2], 'x'), /numbers; "x" is none/);
  refused(() => x.add([1, 2]), /a tensor or a number; a list was given/);
  refused(() => x.mul(null), /a tensor or a number; null was given/);
  refused(() => matmul(x, 3), /A tensor is needed; 3 was given/);
  refused(() => softmax('x'), /A tensor is needed; "x" was given/);
  refused(() => concat([x, 1], 0), /A tensor is needed; 1 was given/);
  refused(() => sum(x, { dims: [0] }), /A list of numbers is needed; an object was given/);
  refused(() => x.reshape([2, 0.5]), /whole numbers is needed; 0.5 is in it/);
  refused(() => grad(3, [x]), /A tensor is needed; 3 was given/);
  await assert.rejects(weft.Device.open({ gpu: {} }), /`gpu` is an object without requestAdapter/);
});

test('tensors of other engines are refused', async () => {
  const other = await weft.Device.open({ gpu: await nodeGpu() });
  const mine = device.tensor([1, 2]), theirs = other.tensor([3, 4]);
  assert.notEqual(other.engine, device.engine);
  for (const mixed of [() => mine.add(theirs), () => matmul(mine, theirs), () => concat([theirs, mine], 0), () => where(mine, theirs, mine)]) {
    assert.throws(mixed, /engines of their own do not meet/);
  }
  other.close();
});

test('calls that wait may overlap', async () => {
  const tensors = Array.from({ length: 20 }, (_, i) => device.full([100], i).mul(2).sum());
  const results = await Promise.all(tensors.map(async (tensor, i) => {
    const more = device.full([3], i).add(1);  // made while another call waits
    return [await tensor.item(), await more.sum().item()];
  }));
  results.forEach(([a, b], i) => assert.deepEqual([a, b], [200 * i, 3 * (i + 1)]));
});

test('memory is given back', async () => {
  await device.synchronize();
  const before = device.memory.inUse;
  {
    const x = device.full([1 << 20], 1);
    await x.eval();
    assert.ok(device.memory.inUse >= before + (4 << 20));
    x.dispose();
  }
  assert.ok(device.memory.inUse < before + (4 << 20));
  device.trim();
  assert.equal(device.memory.pooled, 0);
});

test('files: safetensors and GGUF, out and in', async () => {
  const w = device.tensor([[1, 2], [3, 4]]);
  for (const format of ['safetensors', 'gguf']) {
    const bytes = await device.save(format, { tensors: { w, bias: device.tensor([5, 6]) }, texts: { note: 'made by a test' } });
    const { tensors, texts } = await device.load(bytes);
    assert.deepEqual(Object.keys(tensors).sort(), ['bias', 'w']);
    assert.deepEqual([...await tensors.w.data()], [1, 2, 3, 4]);
    assert.deepEqual(tensors.w.shape, [2, 2]);
    assert.equal(texts.note, 'made by a test');
  }
  await assert.rejects(device.load(new TextEncoder().encode('not a file')), WeftError);
});

test('kernels of one\'s own', async () => {
  const kernel = await device.kernel({
    wgsl: `@group(0) @binding(0) var<storage, read> x: array<f32>;
           @group(0) @binding(1) var<storage, read_write> y: array<f32>;
           struct Scalars { factor: f32, count: u32 }
           @group(0) @binding(2) var<uniform> s: Scalars;
           @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
             if (id.x < s.count) { y[id.x] = s.factor * x[id.x]; }
           }`,
    writes: [false, true],
    scalars: 2,
  });
  const x = device.arange(100), y = device.zeros([100]);
  await y.eval();
  const scalars = new DataView(new ArrayBuffer(8));
  scalars.setFloat32(0, 2.5, true);
  scalars.setUint32(4, 100, true);
  await kernel.run([x, y], [2], scalars);
  assert.ok(close(await y.data(), Array.from({ length: 100 }, (_, i) => 2.5 * i)));
  await assert.rejects(device.kernel({ wgsl: 'not wgsl', writes: [] }), error => error.code === 'shader' && /not/.test(error.message));
});

test('buffers', async () => {
  const buffer = device.alloc(16);
  await buffer.write(new Uint32Array([1, 2, 3, 4]));
  await buffer.fill(0xff, 0, 4);
  assert.deepEqual([...new Uint32Array((await buffer.read()).buffer)], [0xffffffff, 2, 3, 4]);
  assert.deepEqual([...await device.view(buffer, [2], 'u32', 8).data()], [3, 4]);
  const x = device.tensor([1, 2, 3, 4]);
  const place = await x.buffer();
  assert.deepEqual(place.strides, [1]);
  assert.ok(place.buffer instanceof weft.Buffer);
});

test('a device can be weaker than it is', async () => {
  const weak = await weft.Device.open({ engine: device.engine, caps: '-f16,-subgroups' });
  assert.equal(weak.info.f16, false);
  assert.equal(weak.info.subgroups, false);
  assert.ok(close(await softmax(weak.tensor([[0, Math.log(3)]])).data(), [0.25, 0.75]));
  weak.close();
  assert.throws(() => weak.zeros([1]), /closed/);
  await assert.rejects(weft.Device.open({ engine: device.engine, caps: '-nonsense' }), /nonsense/);
});

test('a device says where the time went', async () => {
  const timed = await weft.Device.open({ engine: device.engine, profile: true });
  await softmax(timed.full([64, 64], 1)).data();
  const { table, trace } = await timed.profile();
  assert.match(table, /softmax/);
  assert.ok(JSON.parse(trace).traceEvents.length > 0);
  timed.close();
  await assert.rejects(device.profile(), /does not time what it does/);
});

test('indices out of range are errors where one asks for it', async () => {
  const strict = await weft.Device.open({ engine: device.engine, checkIndices: true });
  const rows = on => embedding(on.arange(12).reshape([4, 3]), on.tensor([1, 9], undefined, 'i32')).data();
  assert.deepEqual([...await rows(device)], [3, 4, 5, 0, 0, 0]);
  await assert.rejects(rows(strict), /embedding met 1 index out of range, the first at position 1/);
  strict.close();
});

test('`using` and types of handles', () => {
  const x = device.zeros([2]);
  assert.ok(x instanceof Tensor);
  x[Symbol.dispose]();
  assert.ok(x.disposed);
});
