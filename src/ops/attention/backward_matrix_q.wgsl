// The gradient of q through subgroup matrices: the own side are queries, the other side keys.
#include "attention/backward_matrix.wgsl"
#include "attention/store.wgsl" with NAME="dq" SIZE="size" VEC=OUT_VEC

@compute @workgroup_size({{THREADS}}){{ASK}}
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32, @builtin(subgroup_id) sg: u32) {
  let job = group_index(group, groups);
  if (job >= p.jobs) { return; }
  // Late queries see the most keys where there are causal rules: they go first.
  let heads = p.heads * p.batches;
  let i0 = (p.blocks - 1u - job / heads) * {{BO}}u;
  let head = job % heads % p.heads;
  let batch = job % heads / p.heads;
  let i_last = min({{BO}}u, p.queries - i0) - 1u;
  let sub_m = sg / {{WN}}u;
  let sub_n = sg % {{WN}}u;
  let row = t / {{LPR}}u;
  let part = t % {{LPR}}u;
  let i = i0 + row;
  let strip = sub_m * {{RM * STRIP_ROW}}u + sub_n * {{TC * MN / 4}}u;
  let own = row * {{STRIP_ROW}}u + part;
  let weight_row = row * {{WEIGHT_ROW}}u + part;
  let q_at0 = p.q_off + batch * p.q_b + head * p.q_h + i0 * p.q_t;
  let dy_at0 = p.dy_off + batch * p.dy_b + head * p.dy_h + i0 * p.dy_t;
  let k_at0 = p.k_off + batch / p.batch_group * p.k_b + head / p.head_group * p.k_h;
  let v_at0 = p.v_off + batch / p.batch_group * p.v_b + head / p.head_group * p.v_h;
  let stats = row_stats(batch, head, min(i, p.queries - 1u));
#include "attention/factors.wgsl" with BATCH="batch / p.batch_group" HEAD="head / p.head_group" GRADIENT=1
  let lse = stats.x * log2e;
#include "attention/own.wgsl" with BO=BO MATRIX="q" NAME="q" TILE="first_tile" SIZE=DK AT="q_at0" LAST="i_last"
#include "attention/own.wgsl" with BO=BO MATRIX="dy" NAME="dy" TILE="second_tile" SIZE=DV AT="dy_at0" LAST="i_last"
#for r in 0..TM
#for c in 0..TOK
  var dq{{r}}_{{c}} = {{SUMS}}();
#endfor
#endfor
#include "attention/fetch.wgsl" with PART="declare" NAME="k" REG="kr" ROW=ROWK ROWS=BK
#include "attention/fetch.wgsl" with PART="declare" NAME="v" REG="vr" ROW=ROWV ROWS=BK
  let seen = keys_seen(i0, i0 + i_last);
  let begin = seen.x / {{BK}}u * {{BK}}u;
  if (begin < seen.y) {
    let last = min({{BK}}u, p.keys - begin) - 1u;
#include "attention/fetch.wgsl" with PART="fetch" NAME="k" REG="kr" AT="k_at0 + begin * p.k_t" LAST="last" ROW=ROWK ROWS=BK
#include "attention/fetch.wgsl" with PART="fetch" NAME="v" REG="vr" AT="v_at0 + begin * p.v_t" LAST="last" ROW=ROWV ROWS=BK
  }
  for (var j0 = begin; j0 < seen.y; j0 += {{BK}}u) {
    let j_last = min({{BK}}u, p.keys - j0) - 1u;
    workgroupBarrier();
#include "attention/fetch.wgsl" with PART="store" NAME="k" REG="kr" ROW=ROWK ROWS=BK TILE="first_tile" TILE_ROW=K_ROW
#include "attention/fetch.wgsl" with PART="store" NAME="v" REG="vr" ROW=ROWV ROWS=BK TILE="second_tile" TILE_ROW=V_ROW
    workgroupBarrier();
    let next = j0 + {{BK}}u;
    if (next < seen.y) {
      let last = min({{BK}}u, p.keys - next) - 1u;
#include "attention/fetch.wgsl" with PART="fetch" NAME="k" REG="kr" AT="k_at0 + next * p.k_t" LAST="last" ROW=ROWK ROWS=BK
#include "attention/fetch.wgsl" with PART="fetch" NAME="v" REG="vr" AT="v_at0 + next * p.v_t" LAST="last" ROW=ROWV ROWS=BK
    }
#include "attention/backward_product.wgsl" with OWN="q" TILE="first_tile" SIZE=DK STRIPS="strips"
#include "attention/backward_product.wgsl" with OWN="dy" TILE="second_tile" SIZE=DV STRIPS="second_strips"
    workgroupBarrier();
    let low = i32(j0) - i32(i);
#for g in 0..GROUPS
    {
      let j = vec4<i32>(i32({{g * LPR * 4}}u + part * 4u)) + vec4<i32>(0, 1, 2, 3);
      let seen4 = (j <= vec4<i32>(i32(j_last))) & (j + low < vec4<i32>(p.causal_end)) & (j + low >= vec4<i32>(p.window_start));
      let w = select(vec4<f32>(), exp2(strip_load(own + {{g * LPR}}u) * scale - lse), seen4);
      weights[weight_row + {{g * LPR}}u] = packed(lifted(w * ({{PRODUCT_BY}}bitcast<vec4<f32>>(second_strips[own + {{g * LPR}}u]) - {{DELTA_BY}}stats.y)));
    }
#endfor
    workgroupBarrier();
#include "attention/backward_add.wgsl" with OUT="dq" WEIGHTS="weights" TILE="first_tile" SIZE=DK COUNT=TOK
  }
  let dq_at0 = p.dq_off + batch * p.dq_b + head * p.dq_h + i * p.dq_t;
#include "attention/flush.wgsl" with NAME="dq" SUMS_OF="dq" COUNT=TOK AT="dq_at0" LIVE="i < p.queries" FACTOR=DQ_BY
}
