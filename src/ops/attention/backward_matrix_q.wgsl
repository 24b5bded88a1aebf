// The gradient of q through subgroup matrices: the own side are queries, the other side keys.
#include "attention/backward_matrix.wgsl"
#include "attention/store.wgsl" with NAME="dq" SIZE="size" VEC=OUT_VEC

@compute @workgroup_size({{THREADS}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32, @builtin(subgroup_id) sg: u32,
        @builtin(subgroup_invocation_id) lane: u32) {
  let job = group_index(group, groups);
  if (job >= p.jobs) { return; }
  let i0 = (p.blocks - 1u - job % p.blocks) * {{BO}}u;
  let head = job / p.blocks % p.heads;
  let batch = job / p.blocks / p.heads;
  let i_last = min({{BO}}u, p.queries - i0) - 1u;
  let row = lane / {{LPR}}u;
  let part = lane % {{LPR}}u;
  let i = i0 + sg * {{MM}}u + row;
  let strip = sg * {{STRIP}}u;
  let own = strip + row * {{STRIP_ROW}}u + part * 2u;
  let weight_row = sg * {{MM * WEIGHT_ROW}}u + row * {{WEIGHT_ROW}}u + part;
  let q_at0 = p.q_off + batch * p.q_b + head * p.q_h + i0 * p.q_t;
  let dy_at0 = p.dy_off + batch * p.dy_b + head * p.dy_h + i0 * p.dy_t;
  let k_at0 = p.k_off + batch / p.batch_group * p.k_b + head / p.head_group * p.k_h;
  let v_at0 = p.v_off + batch / p.batch_group * p.v_b + head / p.head_group * p.v_h;
  let stats = row_stats(batch, head, min(i, p.queries - 1u));
  let scale = p.scale * log2e;
  let lse = stats.x * log2e;
#include "attention/backward_stage.wgsl" with NAME="q" TILE="first_tile" COUNT=BO ROW=ROWK AT="q_at0" LAST="i_last"
#include "attention/backward_stage.wgsl" with NAME="dy" TILE="second_tile" COUNT=BO ROW=ROWV AT="dy_at0" LAST="i_last"
  workgroupBarrier();
#for d in 0..DK / MK
  let q{{d}} = subgroupMatrixLoad<{{LEFT}}, row_major>(&first_tile, sg * {{MM * (ROWK + 1)}}u + {{d * MK / 8}}u, {{ROWK + 1}}u);
#endfor
#for d in 0..DV / MK
  let dy{{d}} = subgroupMatrixLoad<{{LEFT}}, row_major>(&second_tile, sg * {{MM * (ROWV + 1)}}u + {{d * MK / 8}}u, {{ROWV + 1}}u);
#endfor
#for c in 0..DK / MN
  var dq{{c}} = {{SUMS}}();
#endfor
  let seen = keys_seen(i0, i0 + i_last);
  for (var j0 = seen.x / {{BK}}u * {{BK}}u; j0 < seen.y; j0 += {{BK}}u) {
    let j_last = min({{BK}}u, p.keys - j0) - 1u;
    workgroupBarrier();
#include "attention/backward_stage.wgsl" with NAME="k" TILE="first_tile" COUNT=BK ROW=ROWK AT="k_at0 + j0 * p.k_t" LAST="j_last"
#include "attention/backward_stage.wgsl" with NAME="v" TILE="second_tile" COUNT=BK ROW=ROWV AT="v_at0 + j0 * p.v_t" LAST="j_last"
    workgroupBarrier();
#include "attention/backward_product.wgsl" with OWN="q" TILE="first_tile" SIZE=DK
    workgroupBarrier();
    let low = i32(j0) - i32(i);
#for g in 0..GROUPS
    var w{{g}} = exp2(strip_load(own + {{g * LPR * 2}}u) * scale - lse);
    {
      let j = vec4<i32>(i32({{g * LPR * 4}}u + part * 4u)) + vec4<i32>(0, 1, 2, 3);
      let seen4 = (j <= vec4<i32>(i32(j_last))) & (j + low < vec4<i32>(p.causal_end)) & (j + low >= vec4<i32>(p.window_start));
      w{{g}} = select(vec4<f32>(), w{{g}}, seen4);
    }
#endfor
    workgroupBarrier();
#include "attention/backward_product.wgsl" with OWN="dy" TILE="second_tile" SIZE=DV
    workgroupBarrier();
#for g in 0..GROUPS
    weights[weight_row + {{g * LPR}}u] = packed(lifted(w{{g}} * (strip_load(own + {{g * LPR * 2}}u) - stats.y)));
#endfor
    workgroupBarrier();
#include "attention/backward_add.wgsl" with OUT="dq" TILE="first_tile" SIZE=DK
  }
  let dq_at0 = p.dq_off + batch * p.dq_b + head * p.dq_h + i * p.dq_t;
  let factor = p.scale / lift;
#include "attention/backward_flush.wgsl" with NAME="dq" OUT="dq" SIZE=DK AT="dq_at0" LIVE="i < p.queries" FACTOR="factor"
}
