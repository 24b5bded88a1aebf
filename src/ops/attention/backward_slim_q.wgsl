// The gradient of q of slim heads: the own side are queries, the other side keys.
#include "attention/backward_slim.wgsl"
#include "attention/store.wgsl" with NAME="dq" SIZE="size" VEC=OUT_VEC

@compute @workgroup_size({{THREADS}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32, @builtin(subgroup_id) sg: u32,
        @builtin(subgroup_invocation_id) lane: u32) {
  let job = group_index(group, groups);
  if (job >= p.jobs) { return; }
  // Late queries see the most keys where there are causal rules: they go first.
  let heads = p.heads * p.batches;
  let i0 = (p.blocks - 1u - job / heads) * {{BO}}u;
  let head = job % heads % p.heads;
  let batch = job % heads / p.heads;
  let i_last = min({{BO}}u, p.queries - i0) - 1u;
  let sub_m = sg;
  let row = lane / {{LPR}}u;
  let part = lane % {{LPR}}u;
  let i = i0 + sg * {{MM}}u + row;
  let strip = sg * {{MM * STRIP_ROW}}u;
  let own = strip + row * {{STRIP_ROW}}u + part;
  let weight_strip = sg * {{MM * WEIGHT_ROW}}u;
  let weight_row = weight_strip + row * {{WEIGHT_ROW}}u + part;
  let q_at0 = p.q_off + batch * p.q_b + head * p.q_h + i0 * p.q_t;
  let dy_at0 = p.dy_off + batch * p.dy_b + head * p.dy_h + i0 * p.dy_t;
  let k_at0 = p.k_off + batch / p.batch_group * p.k_b + head / p.head_group * p.k_h;
  let v_at0 = p.v_off + batch / p.batch_group * p.v_b + head / p.head_group * p.v_h;
  let stats = row_stats(batch, head, min(i, p.queries - 1u));
#include "attention/factors.wgsl" with BATCH="batch / p.batch_group" HEAD="head / p.head_group" GRADIENT=1
#include "attention/own.wgsl" with BO=BO MATRIX="q" NAME="q" TILE="tiles" SIZE=DK AT="q_at0" LAST="i_last"
#include "attention/own.wgsl" with BO=BO MATRIX="dy" NAME="dy" TILE="tiles" SIZE=DV AT="dy_at0" LAST="i_last"
#for c in 0..TOK
  var dq0_{{c}} = {{SUMS}}();
#endfor
#include "attention/fetch.wgsl" with PART="declare" NAME="k" REG="kr" ROW=ROWK ROWS=BK
#include "attention/fetch.wgsl" with PART="declare" NAME="v" REG="vr" ROW=ROWV ROWS=BK
  let seen = keys_seen(i0, i0 + i_last);
  let first = seen.x / {{BK}}u;
  let total = max((seen.y + {{BK - 1}}u) / {{BK}}u, first) - first;
  // One round only fetches.
  for (var step = 0u; step <= total; step += p.once) {
    if (step < total) {
      let next = (first + step) * {{BK}}u;
      let next_last = min({{BK}}u, p.keys - next) - 1u;
#include "attention/fetch.wgsl" with PART="fetch" NAME="k" REG="kr" AT="k_at0 + next * p.k_t" LAST="next_last" ROW=ROWK ROWS=BK
#include "attention/fetch.wgsl" with PART="fetch" NAME="v" REG="vr" AT="v_at0 + next * p.v_t" LAST="next_last" ROW=ROWV ROWS=BK
    }
    if (step > 0u) {
      let j0 = (first + step - 1u) * {{BK}}u;
#include "attention/backward_slim_product.wgsl" with NAME="z" OWN="q" AT=0 SIZE=DK
#include "attention/backward_slim_product.wgsl" with NAME="g" OWN="dy" AT=V_AT SIZE=DV
#for g in 0..GROUPS
      var dz{{g}} = lifted(exp2(z{{g}} * scale - stats.x) * ({{PRODUCT_BY}}g{{g}} - {{DELTA_BY}}stats.y));
#endfor
      // Only blocks at an edge hold keys that some query does not see.
      let j_last = min({{BK}}u, p.keys - j0) - 1u;
      let low = i32(j0) - i32(i);
      if (j_last < {{BK - 1}}u || i32(j0 + {{BK - 1}}u) - i32(i0) >= p.causal_end || i32(j0) - i32(i0 + {{BO - 1}}u) < p.window_start) {
#for g in 0..GROUPS
        {
          let j = vec4<i32>(i32({{g * LPR * 4}}u + part * 4u)) + vec4<i32>(0, 1, 2, 3);
          let seen4 = (j <= vec4<i32>(i32(j_last))) & (j + low < vec4<i32>(p.causal_end)) & (j + low >= vec4<i32>(p.window_start));
          dz{{g}} = select(vec4<f32>(), dz{{g}}, seen4);
        }
#endfor
      }
#include "attention/backward_slim_add.wgsl" with NAME="dz" OUT="dq" AT=0 SIZE=DK
    }
    workgroupBarrier();
#include "attention/fetch.wgsl" with PART="store" NAME="k" REG="kr" ROW=ROWK ROWS=BK TILE="tiles" TILE_ROW=K_ROW
#include "attention/fetch.wgsl" with PART="store" NAME="v" REG="vr" ROW=ROWV ROWS=BK TILE="tiles" TILE_ROW=V_ROW TILE_AT=V_AT
    workgroupBarrier();
  }
  let dq_at0 = p.dq_off + batch * p.dq_b + head * p.dq_h + i * p.dq_t;
#include "attention/slim_flush.wgsl" with NAME="dq" SUMS_OF="dq0_" COUNT=TOK AT="dq_at0" LIVE="i < p.queries" FACTOR=DQ_BY
}
