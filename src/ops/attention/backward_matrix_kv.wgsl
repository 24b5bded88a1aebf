// The gradients of k and v through subgroup matrices: the own side are keys of one key head, the other side all queries that
// share it.
#include "attention/backward_matrix.wgsl"
#include "attention/store.wgsl" with NAME="dk" SIZE="size" VEC=OUT_VEC
#include "attention/store.wgsl" with NAME="dv" SIZE="value_size" VEC=OUT_VEC
var<workgroup> second_weights: array<{{WEIGHT}}, {{BO * WEIGHT_ROW}}>;
var<workgroup> stats: array<vec2<f32>, {{BK}}>;

@compute @workgroup_size({{THREADS}}){{ASK}}
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32, @builtin(subgroup_id) sg: u32) {
  let job = group_index(group, groups);
  if (job >= p.jobs) { return; }
  // Early keys are seen by the most queries where there are causal rules: they go first.
  let heads = p.key_heads * (p.batches / p.batch_group);
  let j0 = job / heads * {{BO}}u;
  let key_head = job % heads % p.key_heads;
  let key_batch = job % heads / p.key_heads;
  let j_last = min({{BO}}u, p.keys - j0) - 1u;
  let sub_m = sg / {{WN}}u;
  let sub_n = sg % {{WN}}u;
  let row = t / {{LPR}}u;
  let part = t % {{LPR}}u;
  let j = j0 + row;
  let strip = sub_m * {{RM * STRIP_ROW}}u + sub_n * {{TC * MN / 4}}u;
  let own = row * {{STRIP_ROW}}u + part;
  let weight_row = row * {{WEIGHT_ROW}}u + part;
  let k_at0 = p.k_off + key_batch * p.k_b + key_head * p.k_h + j0 * p.k_t;
  let v_at0 = p.v_off + key_batch * p.v_b + key_head * p.v_h + j0 * p.v_t;
#include "attention/factors.wgsl" with BATCH="key_batch" HEAD="key_head" GRADIENT=1
#include "attention/own.wgsl" with BO=BO MATRIX="k" NAME="k" TILE="first_tile" SIZE=DK AT="k_at0" LAST="j_last"
#include "attention/own.wgsl" with BO=BO MATRIX="v" NAME="v" TILE="second_tile" SIZE=DV AT="v_at0" LAST="j_last"
#for r in 0..TM
#for c in 0..TOK
  var dk{{r}}_{{c}} = {{SUMS}}();
#endfor
#for c in 0..TOV
  var dv{{r}}_{{c}} = {{SUMS}}();
#endfor
#endfor
#include "attention/fetch.wgsl" with PART="declare" NAME="q" REG="qr" ROW=ROWK ROWS=BK
#include "attention/fetch.wgsl" with PART="declare" NAME="dy" REG="dyr" ROW=ROWV ROWS=BK
  var stat = vec2<f32>();
  // Queries [first_query, end_query) see any of these keys; blocks of them, head by head.
  let first_query = clamp(i32(j0) - p.causal_end + 1, 0, i32(p.queries));
  let end_query = clamp(i32(j0 + j_last) - p.window_start + 1, first_query, i32(p.queries));
  let first_block = u32(first_query) / {{BK}}u;
  let count = max((u32(end_query) + {{BK - 1}}u) / {{BK}}u, first_block) - first_block;
  let total = count * p.batch_group * p.head_group;
  for (var step = 0u; step <= total; step++) {
    // One round only fetches.
    let now = max(step, 1u) - 1u;
    let i0 = (first_block + now % max(count, 1u)) * {{BK}}u;
    let i_last = min({{BK}}u, p.queries - min(i0, p.queries - 1u)) - 1u;
    if (step > 0u) {
      workgroupBarrier();
#include "attention/fetch.wgsl" with PART="store" NAME="q" REG="qr" ROW=ROWK ROWS=BK TILE="first_tile" TILE_ROW=K_ROW
#include "attention/fetch.wgsl" with PART="store" NAME="dy" REG="dyr" ROW=ROWV ROWS=BK TILE="second_tile" TILE_ROW=V_ROW
      if (t < {{BK}}u) { stats[t] = stat; }
      workgroupBarrier();
    }
    if (step < total) {
      let n_head = step / count;
      let batch = key_batch * p.batch_group + n_head / p.head_group;
      let head = key_head * p.head_group + n_head % p.head_group;
      let next = (first_block + step % count) * {{BK}}u;
      let next_last = min({{BK}}u, p.queries - next) - 1u;
      let q_at = p.q_off + batch * p.q_b + head * p.q_h + next * p.q_t;
      let dy_at = p.dy_off + batch * p.dy_b + head * p.dy_h + next * p.dy_t;
#include "attention/fetch.wgsl" with PART="fetch" NAME="q" REG="qr" AT="q_at" LAST="next_last" ROW=ROWK ROWS=BK
#include "attention/fetch.wgsl" with PART="fetch" NAME="dy" REG="dyr" AT="dy_at" LAST="next_last" ROW=ROWV ROWS=BK
      if (t < {{BK}}u) { stat = row_stats(batch, head, next + min(t, next_last)) * vec2<f32>(log2e, 1.0); }
    }
    if (step > 0u) {
#include "attention/backward_product.wgsl" with OWN="k" TILE="first_tile" SIZE=DK STRIPS="strips"
#include "attention/backward_product.wgsl" with OWN="v" TILE="second_tile" SIZE=DV STRIPS="second_strips"
      workgroupBarrier();
      let low = i32(j) - i32(i0);
#for g in 0..GROUPS
#let I = "({{g * LPR * 4}}u + part * 4u)"
      {
        let s0 = stats[{{I}}];
        let s1 = stats[{{I}} + 1u];
        let s2 = stats[{{I}} + 2u];
        let s3 = stats[{{I}} + 3u];
        let i = vec4<i32>(i32({{I}})) + vec4<i32>(0, 1, 2, 3);
        let seen4 = (i <= vec4<i32>(i32(i_last))) & (low - i < vec4<i32>(p.causal_end)) & (low - i >= vec4<i32>(p.window_start));
        let w = select(vec4<f32>(), exp2(strip_load(own + {{g * LPR}}u) * scale - vec4<f32>(s0.x, s1.x, s2.x, s3.x)), seen4);
        weights[weight_row + {{g * LPR}}u] = packed(w);
        let slope = {{PRODUCT_BY}}bitcast<vec4<f32>>(second_strips[own + {{g * LPR}}u]) - {{DELTA_BY}}vec4<f32>(s0.y, s1.y, s2.y, s3.y);
        second_weights[weight_row + {{g * LPR}}u] = packed(lifted(w * slope));
      }
#endfor
      workgroupBarrier();
#include "attention/backward_add.wgsl" with OUT="dv" WEIGHTS="weights" TILE="second_tile" SIZE=DV COUNT=TOV
#include "attention/backward_add.wgsl" with OUT="dk" WEIGHTS="second_weights" TILE="first_tile" SIZE=DK COUNT=TOK
    }
  }
  let dk_at0 = p.dk_off + key_batch * p.dk_b + key_head * p.dk_h + j * p.dk_t;
  let dv_at0 = p.dv_off + key_batch * p.dv_b + key_head * p.dv_h + j * p.dv_t;
#include "attention/flush.wgsl" with NAME="dk" SUMS_OF="dk" COUNT=TOK AT="dk_at0" LIVE="j < p.keys" FACTOR=DK_BY
#include "attention/flush.wgsl" with NAME="dv" SUMS_OF="dv" COUNT=TOV AT="dv_at0" LIVE="j < p.keys" FACTOR=DV_BY
}
