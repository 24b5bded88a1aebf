// The gradients of k and v of slim heads: the own side are keys of one key head, the other side all queries that share it.
#include "attention/backward_slim.wgsl"
#include "attention/store.wgsl" with NAME="dk" SIZE="size" VEC=OUT_VEC
#include "attention/store.wgsl" with NAME="dv" SIZE="value_size" VEC=OUT_VEC
var<workgroup> lses: array<vec4<f32>, {{BK / 4}}>;
var<workgroup> deltas: array<vec4<f32>, {{BK / 4}}>;

@compute @workgroup_size({{THREADS}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32, @builtin(subgroup_id) sg: u32,
        @builtin(subgroup_invocation_id) lane: u32) {
  let job = group_index(group, groups);
  if (job >= p.jobs) { return; }
  // Early keys are seen by the most queries where there are causal rules: they go first.
  let heads = p.key_heads * (p.batches / p.batch_group);
  let j0 = job / heads * {{BO}}u;
  let key_head = job % heads % p.key_heads;
  let key_batch = job % heads / p.key_heads;
  let j_last = min({{BO}}u, p.keys - j0) - 1u;
  let sub_m = sg;
  let row = lane / {{LPR}}u;
  let part = lane % {{LPR}}u;
  let j = j0 + sg * {{MM}}u + row;
  let strip = sg * {{MM * STRIP_ROW}}u;
  let own = strip + row * {{STRIP_ROW}}u + part;
  let weight_strip = sg * {{MM * WEIGHT_ROW}}u;
  let weight_row = weight_strip + row * {{WEIGHT_ROW}}u + part;
  let k_at0 = p.k_off + key_batch * p.k_b + key_head * p.k_h + j0 * p.k_t;
  let v_at0 = p.v_off + key_batch * p.v_b + key_head * p.v_h + j0 * p.v_t;
#include "attention/factors.wgsl" with BATCH="key_batch" HEAD="key_head" GRADIENT=1
#include "attention/own.wgsl" with BO=BO MATRIX="k" NAME="k" TILE="tiles" SIZE=DK AT="k_at0" LAST="j_last"
#include "attention/own.wgsl" with BO=BO MATRIX="v" NAME="v" TILE="tiles" SIZE=DV AT="v_at0" LAST="j_last"
#for c in 0..TOK
  var dk0_{{c}} = {{SUMS}}();
#endfor
#for c in 0..TOV
  var dv0_{{c}} = {{SUMS}}();
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
  // One round only fetches.
  for (var step = 0u; step <= total; step += p.once) {
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
      if (t < {{BK}}u) { stat = row_stats(batch, head, next + min(t, next_last)); }
    }
    if (step > 0u) {
      let i0 = (first_block + (step - 1u) % count) * {{BK}}u;
#include "attention/backward_slim_product.wgsl" with NAME="z" OWN="k" AT=0 SIZE=DK
#include "attention/backward_slim_product.wgsl" with NAME="g" OWN="v" AT=V_AT SIZE=DV
#for g in 0..GROUPS
      var w{{g}} = exp2(z{{g}} * scale - lses[{{g * LPR}}u + part]);
#endfor
      // Only blocks at an edge hold queries that do not see some key.
      let i_last = min({{BK}}u, p.queries - i0) - 1u;
      let low = i32(j) - i32(i0);
      if (i_last < {{BK - 1}}u || i32(j0 + {{BO - 1}}u) - i32(i0) >= p.causal_end || i32(j0) - i32(i0 + {{BK - 1}}u) < p.window_start) {
#for g in 0..GROUPS
        {
          let i = vec4<i32>(i32({{g * LPR * 4}}u + part * 4u)) + vec4<i32>(0, 1, 2, 3);
          let seen4 = (i <= vec4<i32>(i32(i_last))) & (low - i < vec4<i32>(p.causal_end)) & (low - i >= vec4<i32>(p.window_start));
          w{{g}} = select(vec4<f32>(), w{{g}}, seen4);
        }
#endfor
      }
#for g in 0..GROUPS
      let dz{{g}} = lifted(w{{g}} * ({{PRODUCT_BY}}g{{g}} - {{DELTA_BY}}deltas[{{g * LPR}}u + part]));
#endfor
#include "attention/backward_slim_add.wgsl" with NAME="w" OUT="dv" AT=V_AT SIZE=DV
#include "attention/backward_slim_add.wgsl" with NAME="dz" OUT="dk" AT=0 SIZE=DK
    }
    workgroupBarrier();
#include "attention/fetch.wgsl" with PART="store" NAME="q" REG="qr" ROW=ROWK ROWS=BK TILE="tiles" TILE_ROW=K_ROW
#include "attention/fetch.wgsl" with PART="store" NAME="dy" REG="dyr" ROW=ROWV ROWS=BK TILE="tiles" TILE_ROW=V_ROW TILE_AT=V_AT
    if (t < {{BK}}u) {
      lses[t / 4u][t % 4u] = stat.x;
      deltas[t / 4u][t % 4u] = stat.y;
    }
    workgroupBarrier();
  }
  let dk_at0 = p.dk_off + key_batch * p.dk_b + key_head * p.dk_h + j * p.dk_t;
  let dv_at0 = p.dv_off + key_batch * p.dv_b + key_head * p.dv_h + j * p.dv_t;
#include "attention/slim_flush.wgsl" with NAME="dk" SUMS_OF="dk0_" COUNT=TOK AT="dk_at0" LIVE="j < p.keys" FACTOR=DK_BY
#include "attention/slim_flush.wgsl" with NAME="dv" SUMS_OF="dv0_" COUNT=TOV AT="dv_at0" LIVE="j < p.keys" FACTOR=DV_BY
}
