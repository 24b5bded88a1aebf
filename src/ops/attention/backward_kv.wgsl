// The gradients of k and v without special hardware: a workgroup makes 16 keys of one key head, over all queries that share
// it, 64 at a time. The tiles are those of tiles.wgsl with queries and keys exchanged: the own rows are keys.
// Workgroup memory: 15,872 bytes.
#include "attention/tiles.wgsl"
#include "attention/backward.wgsl"
#include "attention/store.wgsl" with NAME="dk" SIZE="size" VEC=OUT_VEC
#include "attention/store.wgsl" with NAME="dv" SIZE="value_size" VEC=OUT_VEC
#let COUNT = ROLLED ? "p.chunks" : CHUNKS + "u"
#let VALUE_COUNT = ROLLED ? "p.value_chunks" : VALUE_CHUNKS + "u"

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let job = group_index(group, groups);
  if (job >= p.jobs) { return; }
  let j0 = job % p.blocks * 16u;
  let key_head = job / p.blocks % p.key_heads;
  let key_batch = job / p.blocks / p.key_heads;
  let j_last = min(16u, p.keys - j0) - 1u;
  let group_row = t / 16u * 4u;
  let column = t % 16u;
  let k_at0 = p.k_off + key_batch * p.k_b + key_head * p.k_h + j0 * p.k_t;
  let v_at0 = p.v_off + key_batch * p.v_b + key_head * p.v_h + j0 * p.v_t;
  var dk: array<vec4<f32>, {{4 * CHUNKS}}>;
  var dv: array<vec4<f32>, {{4 * VALUE_CHUNKS}}>;
  // Queries [first_query, end_query) see any of these keys.
  let first_query = clamp(i32(j0) - p.causal_end + 1, 0, i32(p.queries));
  let end_query = clamp(i32(j0 + j_last) - p.window_start + 1, first_query, i32(p.queries));
  for (var n = 0u; n < p.batch_group * p.head_group; n++) {
    let batch = key_batch * p.batch_group + n / p.head_group;
    let head = key_head * p.head_group + n % p.head_group;
    let slope = slope_of(head + p.head_first);
    let mask_at0 = {{MASK ? "mask_head(batch, head)" : "0u"}};
    for (var i0 = u32(first_query) / 64u * 64u; i0 < u32(end_query); i0 += 64u) {
      let i_last = min(64u, p.queries - i0) - 1u;
      let q_at0 = p.q_off + batch * p.q_b + head * p.q_h + i0 * p.q_t;
      let dy_at0 = p.dy_off + batch * p.dy_b + head * p.dy_h + i0 * p.dy_t;
#include "attention/inner.wgsl" with A="k" B="q" SIZE="size" S="s" A_AT="k_at0" A_LAST="j_last" A_STEP="p.k_t" B_AT="q_at0" B_LAST="i_last" B_STEP="p.q_t"
#include "attention/inner.wgsl" with A="v" B="dy" SIZE="value_size" S="g" A_AT="v_at0" A_LAST="j_last" A_STEP="p.v_t" B_AT="dy_at0" B_LAST="i_last" B_STEP="p.dy_t"
      for (var c = 0u; c < 4u{{ONCE}}; c++) {
        let i = column + 16u * c;
        let row = row_stats(batch, head, i0 + min(i, i_last));
        for (var r = 0u; r < 4u{{ONCE}}; r++) {
          let weight = share(logit(s[r][c], i0 + i, j0 + group_row + r, slope, mask_at0), row.x);
          g[r][c] = weight * (g[r][c] - row.y){{CAP ? " * cap_slope(s[r][c])" : ""}};
          s[r][c] = weight;
        }
      }
#for r in 0..4
      pool[720u + (group_row + {{r}}u) * 17u + column] = s[{{r}}];
#endfor
#include "attention/outer.wgsl" with B="dy" O="dv" COUNT=VALUE_COUNT B_AT="dy_at0" B_LAST="i_last" B_STEP="p.dy_t"
      workgroupBarrier();
#for r in 0..4
      pool[720u + (group_row + {{r}}u) * 17u + column] = g[{{r}}];
#endfor
#include "attention/outer.wgsl" with B="q" O="dk" B_AT="q_at0" B_LAST="i_last" B_STEP="p.q_t"
    }
  }
  for (var r = 0u; r < 4u{{ONCE}}; r++) {
    if (group_row + r > j_last) { break; }
    let j = j0 + group_row + r;
    let dk_at0 = p.dk_off + key_batch * p.dk_b + key_head * p.dk_h + j * p.dk_t;
    let dv_at0 = p.dv_off + key_batch * p.dv_b + key_head * p.dv_h + j * p.dv_t;
    for (var c = 0u; c < {{COUNT}}; c++) { dk_store4(dk_at0, c * 64u + column * 4u, dk[c * 4u + r] * p.scale); }
    for (var c = 0u; c < {{VALUE_COUNT}}; c++) { dv_store4(dv_at0, c * 64u + column * 4u, dv[c * 4u + r]); }
  }
}
