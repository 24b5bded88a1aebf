// A small benchmark: each work is compiled, run once to warm up, and then repeated; the best repetition counts.
import { compile, conv, gelu, layerNorm, matmul, softmax } from './weft/index.js';
import { network, spirals } from './train.js';

const repeats = 5;

async function best(run) {
  await run();
  let least = Infinity;
  for (let i = 0; i < repeats; ++i) {
    const begin = performance.now();
    await run();
    least = Math.min(least, performance.now() - begin);
  }
  return least;
}

/** [{ name, milliseconds, rate }] of some typical work. */
export async function benchmark(device, onStart = () => undefined) {
  const ramp = (...shape) => {
    const count = shape.reduce((a, b) => a * b, 1);
    return device.tensor(Float32Array.from({ length: count }, (_, i) => ((i * 37) % 101) / 101 - 0.5), shape);
  };
  const rows = [];
  const measure = async (name, inputs, body, operations, bytes) => {
    onStart(name);
    const compiled = compile(device, body);
    const milliseconds = await best(async () => {
      const [result] = await compiled.run(...inputs);
      await device.synchronize();
      result.dispose();
    });
    const rate = operations ? `${(operations / milliseconds / 1e6).toPrecision(3)} GFLOP/s` : `${(bytes / milliseconds / 1e6).toPrecision(3)} GB/s`;
    rows.push({ name, milliseconds, rate });
    for (const one of [...inputs, compiled]) one.dispose();
  };
  for (const n of [256, 512, 1024]) await measure(`matmul ${n}×${n}`, [ramp(n, n), ramp(n, n)], (a, b) => matmul(a, b), 2 * n ** 3);
  await measure('softmax 1024×1024', [ramp(1024, 1024)], x => softmax(x), 0, 8 * 1024 ** 2);
  await measure('layer norm 1024×1024', [ramp(1024, 1024)], x => layerNorm(x), 0, 8 * 1024 ** 2);
  await measure('gelu 1M', [ramp(1 << 20)], x => gelu(x), 0, 8 * 2 ** 20);
  await measure('conv 3×3, 32 to 32 channels, 64×64', [ramp(1, 32, 64, 64), ramp(32, 32, 3, 3)], (x, w) => conv(x, w), 2 * 32 * 32 * 9 * 62 * 62);
  onStart('a training step');
  const { points, labels } = spirals();
  const net = await network(device, points, labels);
  const milliseconds = await best(() => net.step());
  rows.push({ name: 'training step, 192 points, 2-32-32-2', milliseconds, rate: `${(1000 / milliseconds).toPrecision(3)} steps/s` });
  net.dispose();
  return rows;
}
