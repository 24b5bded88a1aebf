// Random numbers from a key and the number of the element.
// Tile: 256 invocations with CHUNK elements each, as many as share words or lie in a vector. No workgroup memory.
#include "random/draw.wgsl"

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let chunk = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (chunk >= p.chunks) { return; }
  let key = vec2<u32>(key_at(p.key_off), key_at(p.key_off + 1u));
  var y = p.y_off;
  var n = 0u;
#if WEIGHTS
  var w = p.weights_off;
#endif
  var rest = chunk * {{CHUNK}}u;
#for back in 0..RANK
#let d = RANK - 1 - back
#include "lib/coordinate.wgsl" with D=d LAST=back == RANK - 1
  y += c{{d}} * p.y_stride_{{d}};
  n += c{{d}} * p.n_stride_{{d}};
#if WEIGHTS
  w += c{{d}} * p.w_stride_{{d}};
#endif
#endfor
#if CHUNK == 4
#if PAIRS
  let v = vec4<y_t>(draw(block_of(key, n)), draw(block_of(key, n + 1u)), draw(block_of(key, n + 2u)), draw(block_of(key, n + 3u)));
#else
  let a = block_of(key, n);
  let b = block_of(key, n + 2u);
  let v = vec4<y_t>(draw(a.x), draw(a.y), draw(b.x), draw(b.y));
#endif
#if DTYPE == "f16"
  // y_put4 may be off by a step below 2^-14.
  y_put_words2(y / 2u, vec2<u32>(half_bits(v.x) | (half_bits(v.y) << 16u), half_bits(v.z) | (half_bits(v.w) << 16u)));
#elif WEIGHTS
  let more = weights_at4(w);
  y_put4(y, v + vec4<f32>(log_weight(more.x), log_weight(more.y), log_weight(more.z), log_weight(more.w)));
#else
  y_put4(y, v);
#endif
#else
  let block = block_of(key, n);
#if PAIRS
  let v = draw(block);
#else
  let v = draw(select(block.x, block.y, ((p.first_low + n) & 1u) == 1u));
#endif
#if DTYPE == "f16"
  let shift = (y & 1u) * 16u;
  y_put_bits(y / 2u, 0xffffu << shift, half_bits(v) << shift);
#elif WEIGHTS
  y_put(y, v + log_weight(weights_at(w)));
#else
  y_put(y, v);
#endif
#endif
}
