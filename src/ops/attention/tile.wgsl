// Attention without special hardware: a workgroup makes 16 queries of one head, 64 keys at a time (tiles.wgsl; 15,872 bytes
// of workgroup memory). With PARTIAL the keys of this split only, and sums that combine.wgsl finishes.
#include "attention/tiles.wgsl"
#include "attention/score.wgsl"
#include "attention/load.wgsl" with NAME="q" SIZE="size"
#include "attention/load.wgsl" with NAME="k" SIZE="size"
#include "attention/load.wgsl" with NAME="v" SIZE="value_size"
#if PARTIAL
#include "attention/store.wgsl" with NAME="part" SIZE="value_size" VEC=1
#else
#include "attention/store.wgsl" with NAME="y" SIZE="value_size" VEC=Y_VEC
#endif
#let COUNT = ROLLED ? "p.chunks" : CHUNKS + "u"

fn across(v: vec4<f32>) -> f32 { return max(max(v.x, v.y), max(v.z, v.w)); }

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let job = group_index(group, groups);
  if (job >= p.jobs) { return; }
  let split = job % p.splits;
  let block = job / p.splits % p.blocks;
  let head = job / p.splits / p.blocks % p.heads;
  let batch = job / p.splits / p.blocks / p.heads;
  let i0 = block * 16u;
  let i_last = min(16u, p.queries - i0) - 1u;
  let group_row = t / 16u * 4u;
  let column = t % 16u;
  let q_at0 = p.q_off + batch * p.q_b + head * p.q_h + i0 * p.q_t;
  let k_at0 = p.k_off + batch / p.batch_group * p.k_b + head / p.head_group * p.k_h;
  let v_at0 = p.v_off + batch / p.batch_group * p.v_b + head / p.head_group * p.v_h;
  let slope = slope_of(head + p.head_first);
  let mask_at0 = {{MASK ? "mask_head(batch, head)" : "0u"}};

  var m = vec4<f32>(hidden);
  var sum = vec4<f32>();
  var o: array<vec4<f32>, {{4 * CHUNKS}}>;
  let seen = keys_seen(i0, i0 + i_last);
  let key_begin = max(seen.x, split * p.split_keys) / 64u * 64u;
  let key_end = min(seen.y, (split + 1u) * p.split_keys);
  for (var j0 = key_begin; j0 < key_end; j0 += 64u) {
    let j_last = min(64u, p.keys - j0) - 1u;
#include "attention/inner.wgsl" with A="q" B="k" SIZE="size" S="s" A_AT="q_at0" A_LAST="i_last" A_STEP="p.q_t" B_AT="(k_at0 + j0 * p.k_t)" B_LAST="j_last" B_STEP="p.k_t"
    for (var r = 0u; r < 4u{{ONCE}}; r++) {
      for (var c = 0u; c < 4u{{ONCE}}; c++) {
        s[r][c] = logit(s[r][c], i0 + group_row + r, j0 + column + 16u * c, slope, mask_at0);
      }
    }
    workgroupBarrier();
    pool[t] = vec4<f32>(across(s[0]), across(s[1]), across(s[2]), across(s[3]));
    workgroupBarrier();
    var top = m;
    for (var n = 0u; n < 16u{{ONCE}}; n++) { top = max(top, pool[t / 16u * 16u + n]); }
    let shrink = exp(m - top);
    m = top;
    for (var r = 0u; r < 4u{{ONCE}}; r++) {
      let weights = share4(s[r], m[r]);
      sum[r] = sum[r] * shrink[r] + dot(weights, vec4<f32>(1.0));
      pool[720u + (group_row + r) * 17u + column] = weights;
      for (var c = 0u; c < {{COUNT}}; c++) { o[c * 4u + r] *= shrink[r]; }
    }
#include "attention/outer.wgsl" with B="v" O="o" B_AT="(v_at0 + j0 * p.v_t)" B_LAST="j_last" B_STEP="p.v_t"
  }
  workgroupBarrier();
  pool[t] = sum;
  workgroupBarrier();
  var total = vec4<f32>();
  for (var n = 0u; n < 16u{{ONCE}}; n++) { total += pool[t / 16u * 16u + n]; }
  for (var r = 0u; r < 4u{{ONCE}}; r++) {
    let i = i0 + group_row + r;
    if (i >= p.queries) { break; }
#if PARTIAL
    let at = p.part_off + (((batch * p.heads + head) * p.queries + i) * p.splits_total + p.splits_first + split) * p.part_row;
    for (var c = 0u; c < {{COUNT}}; c++) { part_store4(at, c * 64u + column * 4u, o[c * 4u + r]); }
    if (column == 0u) {
      part_put(at + p.part_stats, m[r]);
      part_put(at + p.part_stats + 1u, total[r]);
    }
#else
#if SINKS
    let sink = sinks_at(p.sinks_off + head * p.sinks_h);
    let top = max(m[r], sink);
    let all = total[r] * exp(m[r] - top) + exp(sink - top);
#else
    let top = m[r];
    let all = total[r];
#endif
    let factor = select(exp(m[r] - top) / all, 0.0, all == 0.0);
    let at = p.y_off + batch * p.y_b + head * p.y_h + i * p.y_t;
    for (var c = 0u; c < {{COUNT}}; c++) { y_store4(at, c * 64u + column * 4u, o[c * 4u + r] * factor); }
#if LSE
    if (column == 0u) {
      lse_put(p.lse_off + batch * p.lse_b + head * p.lse_h + i * p.lse_t, select(top + log(all), hidden, all == 0.0));
    }
#endif
#endif
  }
}
