// Memory of a device: reports, limits, scopes; what it computes at all; and batches of examples.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { device, weft } from './package.mjs';

const { add, Loader, matmul, mul, scope, softmax, supports, WeftError } = weft;
const other = await weft.Device.open({ engine: device.engine });
after(() => other.close());

test('a report says where the bytes are, and defragment gives back what nothing holds', async () => {
  const x = other.full([1 << 18], 1);
  await x.eval();
  const { inUse, asked, peak, limit, classes, fragmentation } = other.memoryReport;
  assert.ok(inUse >= 1 << 20 && asked <= inUse && peak >= inUse && limit === 0 && fragmentation >= 0 && fragmentation < 1);
  assert.ok(classes.some(({ bytes, used }) => bytes >= 1 << 20 && used >= 1), JSON.stringify(classes));
  assert.deepEqual(classes.map(({ bytes }) => bytes), classes.map(({ bytes }) => bytes).sort((a, b) => a - b));
  x.dispose();
  assert.ok(await other.defragment() >= 1 << 20);
  assert.equal(other.memoryReport.pooled, 0);
});

test('a limit is kept, and its listeners are told in time to make room', async () => {
  const small = await weft.Device.open({ engine: device.engine });
  const events = [];
  small.addEventListener('memory', ({ detail }) => events.push(detail));
  small.setMemoryLimit(3 << 20, 0.5);
  assert.equal(small.memoryReport.limit, 3 << 20);
  const first = small.full([1 << 19], 1);
  await first.eval();
  assert.equal(events.length, 1);
  assert.equal(events[0].full, false);
  assert.equal(events[0].limit, 3 << 20);
  await assert.rejects(small.full([1 << 19], 2).eval(), error => error.code === 'out_of_memory' && /3/.test(error.message));
  assert.ok(events.some(({ full, asked }) => full && asked >= 2 << 20));
  small.addEventListener('memory', ({ detail }) => { if (detail.full) first.dispose(); });
  await small.full([1 << 19], 3).eval();  // Fits now: the listener has made room.
  assert.ok(first.disposed);
  small.setMemoryLimit(0);
  await Promise.all([small.full([1 << 19], 4).eval(), small.full([1 << 19], 5).eval()]);
  assert.throws(() => small.setMemoryLimit(1, 2), /between 0 and 1/);
  small.close();
});

test('a device says what it is good at', () => {
  const { workgroup, mostInvocations, maxBindingBytes, processors, memoryRate, f16Rate } = device.hints;
  assert.ok(workgroup >= 1 && workgroup <= mostInvocations && mostInvocations >= 256 && maxBindingBytes >= 128 << 20);
  assert.ok(processors >= 1 && memoryRate > 0 && f16Rate > 0);
});

test('whether something can be computed is known without computing it', () => {
  const yes = supports(device, [{ shape: [8, 64] }, { shape: [64, 8] }], (a, b) => softmax(matmul(a, b)));
  assert.ok(yes.supported && yes.dispatches >= 1 && yes.reason === '', JSON.stringify(yes));
  const no = supports(device, [{ shape: [8, 64] }, { shape: [8, 64] }], matmul);
  assert.ok(!no.supported && /matmul/.test(no.reason) && no.dispatches === 0, JSON.stringify(no));
  assert.throws(() => supports(device, [{ shape: [2] }], () => { throw new TypeError('on purpose'); }), /on purpose/);
});

test('a scope disposes of what it does not give back', async () => {
  let inner, kept;
  const y = scope(() => {
    inner = device.tensor([1, 2]);
    kept = scope(() => [mul(inner, 2), add(inner, 1)]);
    return { sum: add(...kept) };
  });
  assert.ok(inner.disposed && kept.every(one => one.disposed) && !y.sum.disposed);
  assert.deepEqual([...await y.sum.data()], [4, 7]);
  assert.throws(() => scope(() => { inner = device.tensor([1]); throw new RangeError('on purpose'); }), /on purpose/);
  assert.ok(inner.disposed);
});

test('batches hold every example once, in an order that follows from the seed', async () => {
  const values = Float32Array.from({ length: 20 }, (_, i) => i), labels = Int32Array.from({ length: 10 }, (_, i) => 2 * i);
  const loader = new Loader(device, [{ values, shape: [2] }, { values: labels }], { batch: 4, seed: 7, dropLast: false });
  assert.deepEqual([loader.examples, loader.batches], [10, 3]);
  const read = async epoch => {
    const seen = [];
    for (const [x, y] of loader.epoch(epoch)) {
      assert.deepEqual(x.shape, [y.shape[0], 2]);
      const rows = [...await x.data()], found = [...await y.data()];
      found.forEach((label, i) => assert.deepEqual(rows.slice(2 * i, 2 * i + 2), [label, label + 1]));
      seen.push(...found);
    }
    return seen;
  };
  const zero = await read(0), one = await read(1);
  assert.deepEqual([...zero].sort((a, b) => a - b), [...labels]);
  assert.notDeepEqual(zero, one);
  assert.deepEqual(zero, await read(0));
  assert.deepEqual([...new Loader(device, [{ values: labels }], { batch: 4, shuffle: false }).epoch()].length, 2);
  assert.throws(() => new Loader(device, [{ values, shape: [3] }]), error => error instanceof WeftError && /whole examples/.test(error.message));
});
