// Adds up the splits of attention: a workgroup of 64 invocations finishes one row, 4 columns per invocation at a time.
// Every invocation reads the two numbers of each split itself, which the cache serves. With TEAMS > 1 as many teams of 64
// invocations have every TEAMS-th split each, so that their loads do not wait for each other, and heads have at most 256 columns.
// With PACKED y is also written as bytes, see mul_mat/pack_block.wgsl: rows of all heads, whose columns, 256 at most, are
// blocks of 32. Workgroup memory: 64 floats with PACKED; with teams a column group and two numbers of each invocation.
const hidden = -3.0e38;
#let ONCE = ""
#include "attention/store.wgsl" with NAME="y" SIZE="value_size" VEC=Y_VEC
#if PACKED
#include "mul_mat/pack_block.wgsl"
var<workgroup> magnitudes: array<f32, 64>;
#endif

#if TEAMS > 1
var<workgroup> gathered: array<vec4<f32>, {{TEAMS * 64}}>;
var<workgroup> team_tops: array<f32, {{TEAMS}}>;
var<workgroup> team_sums: array<f32, {{TEAMS}}>;
#endif

@compute @workgroup_size({{64 * TEAMS}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let row = group_index(group, groups);
  if (row >= p.jobs) { return; }
  let i = row % p.queries;
  let head = row / p.queries % p.heads;
  let batch = row / p.queries / p.heads;
  let first = p.part_off + row * p.splits_total * p.part_row;
  let at = p.y_off + batch * p.y_b + head * p.y_h + i * p.y_t;
#if SINKS
  let sink = sinks_at(p.sinks_off + head * p.sinks_h);
#endif
#if PACKED
  var packs = vec4<f32>();
#endif
#if TEAMS > 1
  // A team sums relative to the largest logit that it has met; all loads of a round go out together.
  let team = t / 64u;
  let d = t % 64u * 4u;
  let column = min(d, p.part_stats - 4u);
  var own_top = hidden;
  var own_sum = 0.0;
  var o = vec4<f32>();
  for (var s = team; s < p.splits_total; s += {{4 * TEAMS}}u) {
#for n in 0..4
    let at{{n}} = first + min(s + {{n * TEAMS}}u, p.splits_total - 1u) * p.part_row;
    var stats{{n}} = part_at4(at{{n}} + p.part_stats);
    let v{{n}} = part_at4(at{{n}} + column);
#endfor
#for n in 1..4
    if (s + {{n * TEAMS}}u >= p.splits_total) { stats{{n}} = vec4<f32>(hidden, 0.0, 0.0, 0.0); }
#endfor
    let top = max(max(own_top, stats0.x), max(stats1.x, max(stats2.x, stats3.x)));
    let shrink = exp(own_top - top);
    own_sum *= shrink;
    o *= shrink;
#for n in 0..4
    {
      let factor = select(exp(stats{{n}}.x - top), 0.0, stats{{n}}.y == 0.0);
      own_sum += stats{{n}}.y * factor;
      o += v{{n}} * factor;
    }
#endfor
    own_top = top;
  }
  gathered[t] = o;
  if (t % 64u == 0u) {
    team_tops[team] = own_top;
    team_sums[team] = own_sum;
  }
  workgroupBarrier();
  var top = {{SINKS ? "sink" : "hidden"}};
  for (var n = 0u; n < {{TEAMS}}u; n++) { top = max(top, team_tops[n]); }
  var sum = {{SINKS ? "exp(sink - top)" : "0.0"}};
  o = vec4<f32>();
  for (var n = 0u; n < {{TEAMS}}u; n++) {
    let factor = exp(team_tops[n] - top);
    sum += team_sums[n] * factor;
    o += gathered[n * 64u + t % 64u] * factor;
  }
  let factor = select(1.0 / sum, 0.0, sum == 0.0);
  if (t < 64u && d < p.value_size) { y_store4(at, d, o * factor); }
#if PACKED
  packs = o * factor;
#endif
#else
  var top = {{SINKS ? "sink" : "hidden"}};
  for (var s = 0u; s < p.splits_total; s++) { top = max(top, part_at(first + s * p.part_row + p.part_stats)); }
  var sum = {{SINKS ? "exp(sink - top)" : "0.0"}};
  for (var s = 0u; s < p.splits_total; s++) {
    let stats = part_at4(first + s * p.part_row + p.part_stats);
    sum += stats.y * exp(stats.x - top);
  }
  let factor = select(1.0 / sum, 0.0, sum == 0.0);
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
#endif
#if PACKED
  if (t < 64u) { magnitudes[t] = pack_magnitude(packs); }
  workgroupBarrier();
  if (t < 64u && t * 4u < p.value_size) {
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
