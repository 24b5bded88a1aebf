// Adds up the splits of attention: a workgroup of 64 invocations finishes one row, 4 columns per invocation at a time.
// Every invocation reads the two numbers of each split itself, which the cache serves. With PACKED y is also written as
// bytes, see mul_mat/pack_block.wgsl: rows of all heads, whose columns, 256 at most, are blocks of 32. Workgroup memory: 64
// floats with PACKED, else none.
const hidden = -3.0e38;
#let ONCE = ""
#include "attention/store.wgsl" with NAME="y" SIZE="value_size" VEC=Y_VEC
#if PACKED
#include "mul_mat/pack_block.wgsl"
var<workgroup> magnitudes: array<f32, 64>;
#endif

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let row = group_index(group, groups);
  if (row >= p.jobs) { return; }
  let i = row % p.queries;
  let head = row / p.queries % p.heads;
  let batch = row / p.queries / p.heads;
  let first = p.part_off + row * p.splits_total * p.part_row;
#if SINKS
  let sink = sinks_at(p.sinks_off + head * p.sinks_h);
  var top = sink;
#else
  var top = hidden;
#endif
  for (var s = 0u; s < p.splits_total; s++) { top = max(top, part_at(first + s * p.part_row + p.part_stats)); }
  var sum = {{SINKS ? "exp(sink - top)" : "0.0"}};
  for (var s = 0u; s < p.splits_total; s++) {
    let stats = part_at4(first + s * p.part_row + p.part_stats);
    sum += stats.y * exp(stats.x - top);
  }
  let factor = select(1.0 / sum, 0.0, sum == 0.0);
  let at = p.y_off + batch * p.y_b + head * p.y_h + i * p.y_t;
#if PACKED
  var packs = vec4<f32>();
#endif
  for (var d = t * 4u; d < p.value_size; d += 256u) {
    var o = vec4<f32>();
    for (var s = 0u; s < p.splits_total; s++) {
      let part = first + s * p.part_row;
      o += part_at4(part + d) * exp(part_at(part + p.part_stats) - top);
    }
    y_store4(at, d, o * factor);
#if PACKED
    packs = o * factor;
#endif
  }
#if PACKED
  magnitudes[t] = pack_magnitude(packs);
  workgroupBarrier();
  if (t * 4u < p.value_size) {
    let first = t & ~7u;
    var most = magnitudes[first];
    for (var n = 1u; n < 8u; n++) { most = max(most, magnitudes[first + n]); }
    let chunk = head * (p.value_size / 4u) + t;
    let to = p.packed_off + (batch * p.queries + i) * p.packed_row;
    packed_put(to + pack_word(chunk, p.packed_blocks), pack_bytes(packs, most));
    if (t == first) { packed_put(to + pack_scale_word(chunk, p.packed_blocks), bitcast<u32>(pack_scale(most))); }
  }
#endif
#if LSE
  if (t == 0u) {
    lse_put(p.lse_off + batch * p.lse_b + head * p.lse_h + i * p.lse_t, select(top + log(sum), hidden, sum == 0.0));
  }
#endif
}
