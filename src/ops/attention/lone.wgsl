// Attention for software adapters, where a barrier costs more than the work between two of them: a workgroup is one subgroup of
// LANES invocations and makes one row of the result, one key after the other, relative to the largest logit so far. A lane has
// every LANES-th chunk of 4 columns: PARTS of q and of a key, VALUE_PARTS of a value. Keys that the mask hides are not read.
// No workgroup memory.
#include "attention/score.wgsl"
#let ONCE = ""
#if PARTIAL
#include "attention/store.wgsl" with NAME="part" SIZE="value_size" VEC=1
#else
#include "attention/store.wgsl" with NAME="y" SIZE="value_size" VEC=Y_VEC
#endif
const lowest = -3.4028234e38;  // Only -infinity is below it.

@compute @workgroup_size({{LANES}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let job = group_index(group, groups);
  if (job >= p.jobs) { return; }
  let split = job % p.splits;
  let i = job / p.splits % p.queries;
  let head = job / p.splits / p.queries % p.heads;
  let batch = job / p.splits / p.queries / p.heads;
  let q_at0 = p.q_off + batch * p.q_b + head * p.q_h + i * p.q_t;
  let k_at0 = p.k_off + batch / p.batch_group * p.k_b + head / p.head_group * p.k_h;
  let v_at0 = p.v_off + batch / p.batch_group * p.v_b + head / p.head_group * p.v_h;
  let slope = slope_of(head + p.head_first);
  let mask_at0 = {{MASK ? "mask_head(batch, head)" : "0u"}};
  // Chunks past the end are read as the last one, and count as zeros.
#for c in 0..PARTS
  let d{{c}} = min(lane * 4u + {{4 * LANES * c}}u, p.size - 4u);
  let q{{c}} = select(vec4<f32>(), q_at4(q_at0 + d{{c}}), lane * 4u + {{4 * LANES * c}}u < p.size);
#endfor
#for c in 0..VALUE_PARTS
  let e{{c}} = min(lane * 4u + {{4 * LANES * c}}u, p.value_size - 4u);
  var sum{{c}} = vec4<f32>();
#endfor
  var most = hidden;
  var total = 0.0;
  let seen = keys_seen(i, i);
  let end = min(seen.y, (split + 1u) * p.split_keys);
  for (var j = max(seen.x, split * p.split_keys); j < end; j++) {
#if MASK
    let masked = mask_at(mask_at0 + i * p.mask_i + j * p.mask_j);
    if (masked < lowest) { continue; }
#endif
    let k_row = k_at0 + j * p.k_t;
    var product = 0.0;
#for c in 0..PARTS
    product += dot(q{{c}}, k_at4(k_row + d{{c}}));
#endfor
#let STEP = 1
#for level in 0..3
#if STEP < LANES
    product += subgroupShuffleXor(product, {{STEP}}u);
#let STEP = STEP * 2
#endif
#endfor
    let z = capped(product){{MASK ? " + slope * masked" : ""}};
    let top = max(most, z);
    let shrink = exp(most - top);
    let weight = share(z, top);
    total = total * shrink + weight;
    most = top;
    let v_row = v_at0 + j * p.v_t;
#for c in 0..VALUE_PARTS
    sum{{c}} = sum{{c}} * shrink + weight * v_at4(v_row + e{{c}});
#endfor
  }
  // A loop keeps the text of the stores small.
  var sums = array<vec4<f32>, {{VALUE_PARTS}}>({{""}}
#for c in 0..VALUE_PARTS
    sum{{c}},
#endfor
  );
  for (var c = 0u; c < {{VALUE_PARTS}}u; c++) {
    let d = lane * 4u + {{4 * LANES}}u * c;
    if (d < p.value_size) { finish(sums[c], head * p.queries + i, most, total, d, batch, 0u, split); }
  }
}

#include "attention/finish.wgsl"
