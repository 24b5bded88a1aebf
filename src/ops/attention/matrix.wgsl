// Attention through subgroup matrices: f16 operands, f32 sums. A workgroup of SGS subgroups makes SGS * MM queries of one head,
// BK keys at a time; a subgroup has MM queries, their q in matrices throughout, and MM x DV sums.
// Elements of matrices cannot be reached, so logits go through workgroup memory, where LPR lanes have a row, and come
// back as weights in f16. Weights are relative to a maximum that may lag behind by a factor of 2^8: sums are rescaled,
// which takes a trip through workgroup memory, only when a row outgrows that.
// Workgroup memory: a tile of q, k or v (rows of 8-half groups, padded by one), logits and weights (MM rows per subgroup, padded by
// 16 bytes, which spreads banks): 45 KiB for heads of 128 and BK = 64.
// Assumes: subgroups of SG invocations, numbered subgroup by subgroup; DK and DV are sizes rounded up to matrices.
#let LPR = SG / MM
#let THREADS = SGS * SG
#let BQ = SGS * MM
#let ROWK = DK / 8
#let ROWV = DV / 8
#let GROUPS = BK / 4 / LPR
#let LEFT = "subgroup_matrix_left<f16, {{MK}}, {{MM}}>"
#let RIGHT = "subgroup_matrix_right<f16, {{MN}}, {{MK}}>"
#let SUMS = "subgroup_matrix_result<f32, {{MN}}, {{MM}}>"
#let STRIP_ROW = BK / 2 + 4
#let WEIGHT_ROW = BK / 4 + 2
#let STRIP = MM * STRIP_ROW
#let CHUNK_MATRICES = BK / MN
const log2e = 1.4426950408889634;
const slack = 8.0;
#let ONCE = ""
#include "attention/score.wgsl"
#include "attention/halves.wgsl" with NAME="q" SIZE="size" VEC=Q_VEC
#include "attention/halves.wgsl" with NAME="k" SIZE="size"
#include "attention/halves.wgsl" with NAME="v" SIZE="value_size"
#if PARTIAL
#include "attention/store.wgsl" with NAME="part" SIZE="value_size" VEC=1
#else
#include "attention/store.wgsl" with NAME="y" SIZE="value_size" VEC=Y_VEC
#endif
var<workgroup> tile: array<vec4<u32>, {{max(BQ, BK) * (max(ROWK, ROWV) + 1)}}>;
var<workgroup> strips: array<vec2<u32>, {{SGS * STRIP}}>;
var<workgroup> weights: array<vec2<u32>, {{SGS * MM * WEIGHT_ROW}}>;
var<workgroup> grown: array<u32, {{SGS}}>;

fn strip_load(at: u32) -> vec4<f32> {
  return vec4<f32>(bitcast<vec2<f32>>(strips[at]), bitcast<vec2<f32>>(strips[at + 1u]));
}
fn across(v: vec4<f32>) -> f32 { return max(max(v.x, v.y), max(v.z, v.w)); }

@compute @workgroup_size({{THREADS}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32, @builtin(subgroup_id) sg: u32,
        @builtin(subgroup_invocation_id) lane: u32) {
  let job = group_index(group, groups);
  if (job >= p.jobs) { return; }
  let split = job % p.splits;
  // Late queries see the most keys where there are causal rules: they go first.
  let block = p.blocks - 1u - job / p.splits % p.blocks;
  let head = job / p.splits / p.blocks % p.heads;
  let batch = job / p.splits / p.blocks / p.heads;
  let i0 = block * {{BQ}}u;
  let i_last = min({{BQ}}u, p.queries - i0) - 1u;
  let row = lane / {{LPR}}u;
  let part = lane % {{LPR}}u;
  let i = i0 + sg * {{MM}}u + row;
  let q_at0 = p.q_off + batch * p.q_b + head * p.q_h + i0 * p.q_t;
  let k_at0 = p.k_off + batch / p.batch_group * p.k_b + head / p.head_group * p.k_h;
  let v_at0 = p.v_off + batch / p.batch_group * p.v_b + head / p.head_group * p.v_h;
  let slope = slope_of(head + p.head_first) * log2e;
  let scale = p.scale * log2e;
#if MASK
  let mask_row = mask_head(batch, head) + min(i, p.queries - 1u) * p.mask_i;
#endif
  let strip = sg * {{STRIP}}u;
  let own = strip + row * {{STRIP_ROW}}u + part * 2u;
  let weight_row = sg * {{MM * WEIGHT_ROW}}u + row * {{WEIGHT_ROW}}u + part;

  for (var n = t; n < {{BQ * ROWK}}u; n += {{THREADS}}u) {
    tile[n / {{ROWK}}u * {{ROWK + 1}}u + n % {{ROWK}}u] = q_halves(q_at0 + min(n / {{ROWK}}u, i_last) * p.q_t, n % {{ROWK}}u * 8u);
  }
  workgroupBarrier();
#for d in 0..DK / MK
  let q{{d}} = subgroupMatrixLoad<{{LEFT}}, row_major>(&tile, sg * {{MM * (ROWK + 1)}}u + {{d * MK / 8}}u, {{ROWK + 1}}u);
#endfor
#for c in 0..DV / MN
  var o{{c}} = {{SUMS}}();
#endfor
#include "attention/fetch.wgsl" with PART="declare" NAME="k" REG="kr" ROW=ROWK ROWS=BK
#include "attention/fetch.wgsl" with PART="declare" NAME="v" REG="vr" ROW=ROWV ROWS=BK
  var m = hidden;
  var sum = 0.0;
  let seen = keys_seen(i0, i0 + i_last);
  let key_begin = max(seen.x, split * p.split_keys) / {{BK}}u * {{BK}}u;
  let key_end = min(seen.y, (split + 1u) * p.split_keys);
  if (key_begin < key_end) {
    let j_last = min({{BK}}u, p.keys - key_begin) - 1u;
#include "attention/fetch.wgsl" with PART="fetch" NAME="k" REG="kr" AT="k_at0 + key_begin * p.k_t" LAST="j_last" ROW=ROWK ROWS=BK
  }
  for (var j0 = key_begin; j0 < key_end; j0 += {{BK}}u) {
    let j_last = min({{BK}}u, p.keys - j0) - 1u;
    workgroupBarrier();
#include "attention/fetch.wgsl" with PART="store" NAME="k" REG="kr" ROW=ROWK ROWS=BK
    workgroupBarrier();
#include "attention/fetch.wgsl" with PART="fetch" NAME="v" REG="vr" AT="v_at0 + j0 * p.v_t" LAST="j_last" ROW=ROWV ROWS=BK
#for c in 0..BK / MN
    var s{{c}} = {{SUMS}}();
#for d in 0..DK / MK
    let k{{c}}_{{d}} = subgroupMatrixLoad<{{RIGHT}}, col_major>(&tile, {{c * MN * (ROWK + 1) + d * MK / 8}}u, {{ROWK + 1}}u);
    s{{c}} = subgroupMatrixMultiplyAccumulate(q{{d}}, k{{c}}_{{d}}, s{{c}});
#endfor
    subgroupMatrixStore<row_major>(&strips, strip + {{c * MN / 2}}u, s{{c}}, {{STRIP_ROW}}u);
#endfor
    workgroupBarrier();
#include "attention/fetch.wgsl" with PART="store" NAME="v" REG="vr" ROW=ROWV ROWS=BK
    if (j0 + {{BK}}u < key_end) {
      let next_last = min({{BK}}u, p.keys - j0 - {{BK}}u) - 1u;
#include "attention/fetch.wgsl" with PART="fetch" NAME="k" REG="kr" AT="k_at0 + (j0 + {{BK}}u) * p.k_t" LAST="next_last" ROW=ROWK ROWS=BK
    }

    // Logits in units of log2: this lane has groups of four keys, LPR groups apart.
#for g in 0..GROUPS
    var z{{g}} = strip_load(own + {{g * LPR * 2}}u);
#if CAP
    z{{g}} = vec4<f32>(capped(z{{g}}.x), capped(z{{g}}.y), capped(z{{g}}.z), capped(z{{g}}.w)) * log2e;
#else
    z{{g}} *= scale;
#endif
#if MASK
    {
      let j = j0 + {{g * LPR * 4}}u + part * 4u;
#if MASK_VEC
      if (j < p.keys) { z{{g}} += slope * mask_at4(mask_row + j); }
#else
      for (var e = 0u; e < 4u; e++) {
        if (j + e < p.keys) { z{{g}}[e] += slope * mask_at(mask_row + (j + e) * p.mask_j); }
      }
#endif
    }
#endif
#endfor
    // Only blocks at an edge hold keys that some query does not see.
    let low = i32(j0) - i32(i);
    if (j_last < {{BK - 1}}u || i32(j0 + {{BK - 1}}u) - i32(i0) >= p.causal_end || i32(j0) - i32(i0 + {{BQ - 1}}u) < p.window_start) {
#for g in 0..GROUPS
      {
        let first = {{g * LPR * 4}}u + part * 4u;
        let j = vec4<i32>(i32(first)) + vec4<i32>(0, 1, 2, 3);
        let seen4 = (j <= vec4<i32>(i32(j_last))) & (j + low < vec4<i32>(p.causal_end)) & (j + low >= vec4<i32>(p.window_start));
        z{{g}} = select(vec4<f32>(hidden), z{{g}}, seen4);
      }
#endfor
    }
    var top = across(z0);
#for g in 1..GROUPS
    top = max(top, across(z{{g}}));
#endfor
#if LPR > 1
    top = max(top, subgroupShuffleXor(top, 1u));
#endif
#if LPR > 2
    top = max(top, subgroupShuffleXor(top, 2u));
#endif
    let outgrown = top > m + slack;
    let shrink = select(1.0, exp2(m - top), outgrown);
    let rescale = subgroupAny(outgrown && m > counts_from);
    if (lane == 0u) { grown[sg] = select(0u, 1u, rescale); }
    m = select(m, top, outgrown);
    sum *= shrink;
#for g in 0..GROUPS
    let w{{g}} = select(exp2(z{{g}} - m), vec4<f32>(), z{{g}} < vec4<f32>(counts_from));
    sum += (w{{g}}.x + w{{g}}.y) + (w{{g}}.z + w{{g}}.w);
    weights[weight_row + {{g * LPR}}u] = vec2<u32>(pack_half_quickly(w{{g}}.xy), pack_half_quickly(w{{g}}.zw));
#endfor
    let any = workgroupUniformLoad(&grown);
    if (any[0]{{SGS > 1 ? " + any[1]" : ""}}{{SGS > 2 ? " + any[2] + any[3]" : ""}} > 0u) {
#for chunk in 0..(DV + BK - 1) / BK
#for c in chunk * CHUNK_MATRICES..min((chunk + 1) * CHUNK_MATRICES, DV / MN)
      subgroupMatrixStore<row_major>(&strips, strip + {{(c - chunk * CHUNK_MATRICES) * MN / 2}}u, o{{c}}, {{STRIP_ROW}}u);
#endfor
      workgroupBarrier();
#for g in 0..GROUPS
      {
        let v = strip_load(own + {{g * LPR * 2}}u) * shrink;
        strips[own + {{g * LPR * 2}}u] = bitcast<vec2<u32>>(v.xy);
        strips[own + {{g * LPR * 2 + 1}}u] = bitcast<vec2<u32>>(v.zw);
      }
#endfor
      workgroupBarrier();
#for c in chunk * CHUNK_MATRICES..min((chunk + 1) * CHUNK_MATRICES, DV / MN)
      o{{c}} = subgroupMatrixLoad<{{SUMS}}, row_major>(&strips, strip + {{(c - chunk * CHUNK_MATRICES) * MN / 2}}u, {{STRIP_ROW}}u);
#endfor
      workgroupBarrier();
#endfor
    }
#for k in 0..BK / MK
    let w_{{k}} = subgroupMatrixLoad<{{LEFT}}, row_major>(&weights, sg * {{MM * WEIGHT_ROW}}u + {{k * MK / 4}}u, {{WEIGHT_ROW}}u);
#for c in 0..DV / MN
    let v{{k}}_{{c}} = subgroupMatrixLoad<{{RIGHT}}, row_major>(&tile, {{k * MK * (ROWV + 1) + c * MN / 8}}u, {{ROWV + 1}}u);
    o{{c}} = subgroupMatrixMultiplyAccumulate(w_{{k}}, v{{k}}_{{c}}, o{{c}});
#endfor
#endfor
  }
#if LPR > 1
  sum += subgroupShuffleXor(sum, 1u);
#endif
#if LPR > 2
  sum += subgroupShuffleXor(sum, 2u);
#endif
  let most = select(m / log2e, hidden, m < counts_from);
#if PARTIAL
  let at = p.part_off + (((batch * p.heads + head) * p.queries + i) * p.splits_total + p.splits_first + split) * p.part_row;
  const factor = 1.0;
  if (i < p.queries && part == 0u) {
    part_put(at + p.part_stats, most);
    part_put(at + p.part_stats + 1u, sum);
  }
#else
#if SINKS
  let sink = sinks_at(p.sinks_off + head * p.sinks_h);
  let top = max(most, sink);
  let all = sum * exp(most - top) + exp(sink - top);
#else
  let top = most;
  let all = sum;
#endif
  let factor = select(exp(most - top) / all, 0.0, all == 0.0);
  let at = p.y_off + batch * p.y_b + head * p.y_h + i * p.y_t;
#if LSE
  if (i < p.queries && part == 0u) {
    lse_put(p.lse_off + batch * p.lse_b + head * p.lse_h + i * p.lse_t, select(top + log(all), hidden, all == 0.0));
  }
#endif
#endif
#for chunk in 0..(DV + BK - 1) / BK
  workgroupBarrier();
#for c in chunk * CHUNK_MATRICES..min((chunk + 1) * CHUNK_MATRICES, DV / MN)
  subgroupMatrixStore<row_major>(&strips, strip + {{(c - chunk * CHUNK_MATRICES) * MN / 2}}u, o{{c}}, {{STRIP_ROW}}u);
#endfor
  workgroupBarrier();
  if (i < p.queries) {
#for g in 0..GROUPS
    {{PARTIAL ? "part" : "y"}}_store4(at, {{chunk * BK + g * LPR * 4}}u + part * 4u, strip_load(own + {{g * LPR * 2}}u) * factor);
#endfor
  }
#endfor
}
