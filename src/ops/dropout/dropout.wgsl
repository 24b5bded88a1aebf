// y = x * factor where the bits of an element are at least the threshold, else 0.
// Tile: 256 invocations with CHUNK elements each, as many as share words or lie in a vector; an element's number in the
// whole shape, which decides, is that of its place in `n`. No workgroup memory.
fn mix_bits(given: u32) -> u32 {
  var v = given;
  v ^= v >> 16u;
  v *= 0x7feb352du;
  v ^= v >> 15u;
  v *= 0x846ca68bu;
  v ^= v >> 16u;
  return v;
}

fn dropped(index: u32, seed: vec2<u32>, value: f32) -> f32 {
  let random = mix_bits(mix_bits(mix_bits(index + seed.x) ^ seed.y) + p.stream * 0x9e3779b9u);
  return select(value * p.factor, 0.0, random < p.threshold);
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let chunk = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (chunk >= p.chunks) { return; }
  let seed = vec2<u32>(seed_at(p.seed_off), seed_at(p.seed_off + 1u));
  var x = p.x_off;
  var y = p.y_off;
  var n = p.n_off;
  var rest = chunk * {{CHUNK}}u;
#for back in 0..RANK
#let d = RANK - 1 - back
#include "lib/coordinate.wgsl" with D=d LAST=back == RANK - 1
  x += c{{d}} * p.x_stride_{{d}};
  y += c{{d}} * p.y_stride_{{d}};
  n += c{{d}} * p.n_stride_{{d}};
#endfor
#if CHUNK == 4
  let v = x_at4(x);
  y_put4(y, vec4<f32>(dropped(n, seed, v.x), dropped(n + 1u, seed, v.y), dropped(n + 2u, seed, v.z), dropped(n + 3u, seed, v.w)));
#else
  y_put(y, dropped(n, seed, x_at(x)));
#endif
}
