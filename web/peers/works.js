// What is compared: the same work for every library. A run ends when all elements of the result are in the page.

/** The same numbers for everybody, in [-0.5, 0.5). */
export function ramp(...shape) {
  const count = shape.reduce((a, b) => a * b, 1);
  return { shape, data: Float32Array.from({ length: count }, (_, i) => ((i * 37) % 101) / 101 - 0.5) };
}

export const works = [
  { name: 'matmul 1024×1024', inputs: [ramp(1024, 1024), ramp(1024, 1024)] },
  { name: 'softmax 1024×1024', inputs: [ramp(1024, 1024)] },
  { name: 'layer norm 1024×1024', inputs: [ramp(1024, 1024), ramp(1024), ramp(1024)] },
  { name: 'conv 3×3, 32 to 32 channels, 64×64', inputs: [ramp(1, 32, 64, 64), ramp(32, 32, 3, 3)] },
  { name: 'training step: 64 rows, 64-256-10, SGD', inputs: [ramp(64, 64), ramp(64, 256), ramp(256, 10)], labels: Array.from({ length: 64 }, (_, i) => i % 10) },
];

/**
 * The least time of several runs in milliseconds, after one that warms up, and some elements of the result, so that one sees that
 * all libraries compute the same. The training's result is the loss of its first step. `processor` is what one run took of
 * all processors together, in milliseconds: on a busy machine only that can be compared.
 */
export async function best(run, repeats = 5) {
  const result = await run();
  const seen = [0, 1, Math.min(700, result.length - 1)].map(i => result[i] ?? result[0]);
  let least = Infinity;
  const before = await globalThis.computed();
  for (let i = 0; i < repeats; ++i) {
    const begin = performance.now();
    await run();
    least = Math.min(least, performance.now() - begin);
  }
  const processor = 1000 * (await globalThis.computed() - before) / repeats;
  return { milliseconds: least, processor, seen };
}
