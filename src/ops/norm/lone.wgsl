// The rows of norm.wgsl for software adapters: a workgroup is one subgroup of LANES invocations and has one row, so that there are
// neither barriers nor workgroup memory, and it goes through the row in rolled loops, which are quick to compile. Rows are dense
// and have whole blocks of 32 elements; a lane has 8 / LANES chunks of 4 of each block.
#let EACH = 8 / LANES
#if PACKED
#include "mul_mat/pack_block.wgsl"
#endif

// The sum over the row's lanes.
fn row_sum(v: vec4<f32>) -> f32 {
  var sum = (v.x + v.y) + (v.z + v.w);
#let STEP = 1
#for level in 0..3
#if STEP < LANES
  sum += subgroupShuffleXor(sum, {{STEP}}u);
#let STEP = STEP * 2
#endif
#endfor
  return sum;
}

// Four elements of what is normalised, in every pass but the first one.
fn value_at(row: u32, e: u32) -> vec4<f32> {
#if SUM
  return s_at4(p.s_off + row * p.length + e);
#else
  return x_at4(p.x_off + row * p.length + e){{RESIDUAL ? " + r_at4(p.r_off + row * p.length + e)" : ""}};
#endif
}

@compute @workgroup_size({{LANES}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let row = group_index(group, groups);
  if (row >= p.rows) { return; }
  var total = vec4<f32>();
  for (var e = lane * 4u; e < p.length; e += {{4 * LANES}}u) {
    let v = x_at4(p.x_off + row * p.length + e){{RESIDUAL ? " + r_at4(p.r_off + row * p.length + e)" : ""}};
#if SUM
    s_put4(p.s_off + row * p.length + e, v);
#endif
    total += {{CENTERED ? "v" : "v * v"}};
  }
#if CENTERED
  let mean = row_sum(total) / f32(p.length);
  var squares = vec4<f32>();
  for (var e = lane * 4u; e < p.length; e += {{4 * LANES}}u) {
    let v = value_at(row, e) - mean;
    squares += v * v;
  }
#else
  let squares = total;
#endif
  let factor = inverseSqrt(row_sum(squares) / f32(p.length) + p.eps);
  for (var block = 0u; block < p.length / 32u; block++) {
#for k in 0..EACH
    let e{{k}} = block * 32u + {{4 * LANES * k}}u + lane * 4u;
    let o{{k}} = (value_at(row, e{{k}}){{CENTERED ? " - mean" : ""}}) * factor{{WEIGHT ? " * w_at4(p.w_off + e" + k + ")" : ""}}{{BIAS ? " + b_at4(p.b_off + e" + k + ")" : ""}};
    y_put4(p.y_off + row * p.length + e{{k}}, o{{k}});
#endfor
#if PACKED
    var most = pack_magnitude(o0);
#for k in 1..EACH
    most = max(most, pack_magnitude(o{{k}}));
#endfor
#let STEP = 1
#for level in 0..3
#if STEP < LANES
    most = max(most, subgroupShuffleXor(most, {{STEP}}u));
#let STEP = STEP * 2
#endif
#endfor
    let to = p.packed_off + row * p.packed_row;
#for k in 0..EACH
    packed_put(to + pack_word(e{{k}} / 4u, p.length / 32u), pack_bytes(o{{k}}, most));
#endfor
    if (lane == 0u) { packed_put(to + pack_scale_word(block * 8u, p.length / 32u), bitcast<u32>(pack_scale(most))); }
#endif
  }
}
