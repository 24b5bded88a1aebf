// A kernel of one's own in WGSL, on Weft's tensors: y = a · x + y.
import { Device, type Tensor } from "@weft/core";

const wgsl = `
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> a: f32;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&y)) { y[id.x] += a * x[id.x]; }
}`;

export async function axpy(device: Device, a: number, x: Tensor, y: Tensor): Promise<void> {
  using kernel = await device.kernel({ wgsl, writes: [false, true], scalars: 1, label: "axpy" });
  await kernel.run([x, y], [Math.ceil(y.size / 64)], new Float32Array([a]));
}
