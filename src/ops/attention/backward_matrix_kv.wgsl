// The gradients of k and v through subgroup matrices: the own side are keys of one key head, the other side all queries that
// share it.
#include "attention/backward_matrix.wgsl"
#include "attention/store.wgsl" with NAME="dk" SIZE="size" VEC=OUT_VEC
#include "attention/store.wgsl" with NAME="dv" SIZE="value_size" VEC=OUT_VEC
var<workgroup> stats: array<vec2<f32>, {{BK}}>;

@compute @workgroup_size({{THREADS}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32, @builtin(subgroup_id) sg: u32,
        @builtin(subgroup_invocation_id) lane: u32) {
  let job = group_index(group, groups);
  if (job >= p.jobs) { return; }
  let j0 = job % p.blocks * {{BO}}u;
  let key_head = job / p.blocks % p.key_heads;
  let key_batch = job / p.blocks / p.key_heads;
  let j_last = min({{BO}}u, p.keys - j0) - 1u;
  let row = lane / {{LPR}}u;
  let part = lane % {{LPR}}u;
  let j = j0 + sg * {{MM}}u + row;
  let strip = sg * {{STRIP}}u;
  let own = strip + row * {{STRIP_ROW}}u + part * 2u;
  let weight_row = sg * {{MM * WEIGHT_ROW}}u + row * {{WEIGHT_ROW}}u + part;
  let k_at0 = p.k_off + key_batch * p.k_b + key_head * p.k_h + j0 * p.k_t;
  let v_at0 = p.v_off + key_batch * p.v_b + key_head * p.v_h + j0 * p.v_t;
  let scale = p.scale * log2e;
#include "attention/backward_stage.wgsl" with NAME="k" TILE="first_tile" COUNT=BO ROW=ROWK AT="k_at0" LAST="j_last"
#include "attention/backward_stage.wgsl" with NAME="v" TILE="second_tile" COUNT=BO ROW=ROWV AT="v_at0" LAST="j_last"
  workgroupBarrier();
#for d in 0..DK / MK
  let k{{d}} = subgroupMatrixLoad<{{LEFT}}, row_major>(&first_tile, sg * {{MM * (ROWK + 1)}}u + {{d * MK / 8}}u, {{ROWK + 1}}u);
#endfor
#for d in 0..DV / MK
  let v{{d}} = subgroupMatrixLoad<{{LEFT}}, row_major>(&second_tile, sg * {{MM * (ROWV + 1)}}u + {{d * MK / 8}}u, {{ROWV + 1}}u);
#endfor
#for c in 0..DK / MN
  var dk{{c}} = {{SUMS}}();
#endfor
#for c in 0..DV / MN
  var dv{{c}} = {{SUMS}}();
#endfor
  // Queries [first_query, end_query) see any of these keys.
  let first_query = clamp(i32(j0) - p.causal_end + 1, 0, i32(p.queries));
  let end_query = clamp(i32(j0 + j_last) - p.window_start + 1, first_query, i32(p.queries));
  for (var n_head = 0u; n_head < p.batch_group * p.head_group; n_head++) {
    let batch = key_batch * p.batch_group + n_head / p.head_group;
    let head = key_head * p.head_group + n_head % p.head_group;
    for (var i0 = u32(first_query) / {{BK}}u * {{BK}}u; i0 < u32(end_query); i0 += {{BK}}u) {
      let i_last = min({{BK}}u, p.queries - i0) - 1u;
      let q_at0 = p.q_off + batch * p.q_b + head * p.q_h + i0 * p.q_t;
      let dy_at0 = p.dy_off + batch * p.dy_b + head * p.dy_h + i0 * p.dy_t;
      workgroupBarrier();
#include "attention/backward_stage.wgsl" with NAME="q" TILE="first_tile" COUNT=BK ROW=ROWK AT="q_at0" LAST="i_last"
#include "attention/backward_stage.wgsl" with NAME="dy" TILE="second_tile" COUNT=BK ROW=ROWV AT="dy_at0" LAST="i_last"
      for (var n = t; n < {{BK}}u; n += {{THREADS}}u) {
        stats[n] = row_stats(batch, head, i0 + min(n, i_last)) * vec2<f32>(log2e, 1.0);
      }
      workgroupBarrier();
#include "attention/backward_product.wgsl" with OWN="k" TILE="first_tile" SIZE=DK
      workgroupBarrier();
      let low = i32(j) - i32(i0);
#for g in 0..GROUPS
#let I = "({{g * LPR * 4}}u + part * 4u)"
      var w{{g}} = strip_load(own + {{g * LPR * 2}}u) * scale;
      w{{g}} = exp2(w{{g}} - vec4<f32>(stats[{{I}}].x, stats[{{I}} + 1u].x, stats[{{I}} + 2u].x, stats[{{I}} + 3u].x));
      {
        let i = vec4<i32>(i32({{I}})) + vec4<i32>(0, 1, 2, 3);
        let seen4 = (i <= vec4<i32>(i32(i_last))) & (low - i < vec4<i32>(p.causal_end)) & (low - i >= vec4<i32>(p.window_start));
        w{{g}} = select(vec4<f32>(), w{{g}}, seen4);
      }
      weights[weight_row + {{g * LPR}}u] = packed(w{{g}});
#endfor
      workgroupBarrier();
#include "attention/backward_add.wgsl" with OUT="dv" TILE="second_tile" SIZE=DV
#include "attention/backward_product.wgsl" with OWN="v" TILE="second_tile" SIZE=DV
      workgroupBarrier();
#for g in 0..GROUPS
#let I = "({{g * LPR * 4}}u + part * 4u)"
      {
        let delta = vec4<f32>(stats[{{I}}].y, stats[{{I}} + 1u].y, stats[{{I}} + 2u].y, stats[{{I}} + 3u].y);
        weights[weight_row + {{g * LPR}}u] = packed(lifted(w{{g}} * (strip_load(own + {{g * LPR * 2}}u) - delta)));
      }
#endfor
      workgroupBarrier();
#include "attention/backward_add.wgsl" with OUT="dk" TILE="first_tile" SIZE=DK
    }
  }
  let dk_at0 = p.dk_off + key_batch * p.dk_b + key_head * p.dk_h + j * p.dk_t;
  let dv_at0 = p.dv_off + key_batch * p.dv_b + key_head * p.dv_h + j * p.dv_t;
  let factor = p.scale / lift;
#include "attention/backward_flush.wgsl" with NAME="dk" OUT="dk" SIZE=DK AT="dk_at0" LIVE="j < p.keys" FACTOR="factor"
#include "attention/backward_flush.wgsl" with NAME="dv" OUT="dv" SIZE=DV AT="dv_at0" LIVE="j < p.keys" FACTOR="1.0"
}
