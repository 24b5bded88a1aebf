// What a replayed dispatch costs the page in Chromium: dispatch_times.mjs PACKAGE (build/web/npm/dist). Prints JSON: microseconds
// of the page's own thread, from functions of few and of many dispatches, so that what a call costs as a whole is left out.
// `bare` is the same number of dispatches by WebGPU itself: a pipeline, a group and a dispatch each.
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch, serve } from './chromium.mjs';

const [dist] = process.argv.slice(2);
const server = await serve({ '/': dirname(fileURLToPath(import.meta.url)), '/weft/': dist });
const browser = await launch();
try {
  const page = await browser.newPage();
  page.on('pageerror', error => console.error(String(error)));
  await page.goto(`${server.url}/blank.html`);
  const seen = await page.evaluate(async () => {
    const { compile, Device, matmul } = await import('/weft/index.js');
    const device = await Device.open(), gpu = device.gpuDevice;
    const few = 32, many = 4128, repeats = 60;
    const x = device.full([8, 8], 0.125), w = device.full([8, 8], 0.125);
    // The least time, which other programs on the machine do not change. The clock of a page has steps of 0.1 ms: with so many
    // dispatches that is 0.03 us of each.
    const least = async run => {
      const times = [];
      for (let i = 0; i < repeats; ++i) {
        const begin = performance.now();
        times.push(await run() - begin);
        await device.synchronize();
      }
      return Math.min(...times);
    };
    const chain = async count => {
      const compiled = compile(device, (a, b) => {
        let y = a;
        for (let i = 0; i < count; ++i) y = matmul(y, b);
        return y;
      });
      const once = async () => {
        const [y] = await compiled.run(x, w), end = performance.now();
        y.dispose();
        return end;
      };
      for (let i = 0; i < 3; ++i) await once();
      const milliseconds = await least(once);
      return { milliseconds, dispatches: compiled.report().dispatches };
    };
    const module = gpu.createShaderModule({ code: '@group(0) @binding(0) var<storage, read_write> y: array<f32>; @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) { y[i] += 1.0; }' });
    const pipeline = await gpu.createComputePipelineAsync({ layout: 'auto', compute: { module } });
    const buffer = gpu.createBuffer({ size: 256, usage: GPUBufferUsage.STORAGE });
    const groups = [0, 1].map(() => gpu.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries: [{ binding: 0, resource: { buffer } }] }));
    const bare = async count => ({ dispatches: count, milliseconds: await least(() => {
      const encoder = gpu.createCommandEncoder(), pass = encoder.beginComputePass();
      for (let i = 0; i < count; ++i) {
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, groups[i & 1]);
        pass.dispatchWorkgroups(1);
      }
      pass.end();
      gpu.queue.submit([encoder.finish()]);
      return performance.now();
    }) });
    const each = (a, b) => 1000 * (b.milliseconds - a.milliseconds) / (b.dispatches - a.dispatches);
    const short = await chain(few), long = await chain(many);
    return { short, long, weft_us: each(short, long), bare_us: each(await bare(few), await bare(many)) };
  });
  console.log(JSON.stringify({ load_average: readFileSync('/proc/loadavg', 'utf8').split(' ')[0], ...seen }, null, 1));
} finally {
  await browser.close();
  server.close();
}
