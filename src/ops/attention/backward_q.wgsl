// The gradient of q without special hardware: a workgroup makes 16 queries of one head, 64 keys at a time (tiles.wgsl;
// 15,872 bytes of workgroup memory).
#include "attention/tiles.wgsl"
#include "attention/backward.wgsl"
#include "attention/store.wgsl" with NAME="dq" SIZE="size" VEC=OUT_VEC
#let COUNT = ROLLED ? "p.chunks" : CHUNKS + "u"

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let job = group_index(group, groups);
  if (job >= p.jobs) { return; }
  let i0 = job % p.blocks * 16u;
  let head = job / p.blocks % p.heads;
  let batch = job / p.blocks / p.heads;
  let i_last = min(16u, p.queries - i0) - 1u;
  let group_row = t / 16u * 4u;
  let column = t % 16u;
  let q_at0 = p.q_off + batch * p.q_b + head * p.q_h + i0 * p.q_t;
  let dy_at0 = p.dy_off + batch * p.dy_b + head * p.dy_h + i0 * p.dy_t;
  let k_at0 = p.k_off + batch / p.batch_group * p.k_b + head / p.head_group * p.k_h;
  let v_at0 = p.v_off + batch / p.batch_group * p.v_b + head / p.head_group * p.v_h;
  let slope = slope_of(head + p.head_first);
  let mask_at0 = {{MASK ? "mask_head(batch, head)" : "0u"}};
  var o: array<vec4<f32>, {{4 * CHUNKS}}>;
  let seen = keys_seen(i0, i0 + i_last);
  for (var j0 = seen.x / 64u * 64u; j0 < seen.y; j0 += 64u) {
    let j_last = min(64u, p.keys - j0) - 1u;
#include "attention/inner.wgsl" with A="q" B="k" SIZE="size" S="s" A_AT="q_at0" A_LAST="i_last" A_STEP="p.q_t" B_AT="(k_at0 + j0 * p.k_t)" B_LAST="j_last" B_STEP="p.k_t"
#include "attention/inner.wgsl" with A="dy" B="v" SIZE="value_size" S="g" A_AT="dy_at0" A_LAST="i_last" A_STEP="p.dy_t" B_AT="(v_at0 + j0 * p.v_t)" B_LAST="j_last" B_STEP="p.v_t"
    for (var r = 0u; r < 4u{{ONCE}}; r++) {
      let row = row_stats(batch, head, i0 + min(group_row + r, i_last));
      for (var c = 0u; c < 4u{{ONCE}}; c++) {
        let z = logit(s[r][c], i0 + group_row + r, j0 + column + 16u * c, slope, mask_at0);
        g[r][c] = share(z, row.x) * (g[r][c] - row.y){{CAP ? " * cap_slope(s[r][c])" : ""}};
      }
      pool[720u + (group_row + r) * 17u + column] = g[r];
    }
#include "attention/outer.wgsl" with B="k" O="o" B_AT="(k_at0 + j0 * p.k_t)" B_LAST="j_last" B_STEP="p.k_t"
  }
  for (var r = 0u; r < 4u{{ONCE}}; r++) {
    if (group_row + r > i_last) { break; }
    let at = p.dq_off + batch * p.dq_b + head * p.dq_h + (i0 + group_row + r) * p.dq_t;
    for (var c = 0u; c < {{COUNT}}; c++) { dq_store4(at, c * 64u + column * 4u, o[c * 4u + r] * p.scale); }
  }
}
