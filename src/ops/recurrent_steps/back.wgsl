// One step back through a recurrent layer: the derivative by a state, which is what its own results and the sums of the
// next step say (d · w, for a tile of units and sequences), and from it the derivatives by the sums of this step. With GIVEN the
// products come from q, with MATRICES matrix units make them; without OWN and GIVEN there is no next step. LAST has no sums: it leaves the derivative by the state at
// the start. With PEAKS `peak` gets the largest derivative of each sequence, by which the step before this one scales them.
#let A = "d"
#include "map/helpers.wgsl" with DOMAIN="f32" NEEDS_ERF=0 NEEDS_EXPM1=0 NEEDS_LOG1P=0 NEEDS_POWER=0 NEEDS_REST=0 NEEDS_SPECIAL=0
#if MATRICES
#include "recurrent_steps/matrices.wgsl"
#else
#include "recurrent_steps/product.wgsl"
#endif

// Returns the largest of the derivatives by the sums of a unit, without their signs.
fn unit_of(direction: u32, row: u32, unit: u32, product: f32) -> f32 {
  let carried = p.carry_off + direction * p.carry_direction + row * p.carry_row + unit;
  var dh = product;
#if GIVEN
  dh += q_at(p.q_off + (direction * p.batch + row) * p.hidden + unit);
#endif
#if HAS_CARRY && CARRIES_STATE
  dh += carry_at(carried);
#endif
#if LAST
  carry_put(carried, dh);
  return 0.0;
#else
#if HAS_DSTATES
  dh += dstates_at(p.dstates_off + direction * p.dstates_direction + row * p.dstates_row + unit);
#endif
  let gate = p.gates_off + direction * p.gates_direction + row * p.gates_row + unit;
  let out = p.d_off + p.d_first + direction * p.d_direction + row * p.d_row + unit;
#if CELL == "lstm"
  let carried_cell = carried + p.carry_cell;
  var dc = 0.0;
#if HAS_CARRY
  dc += carry_at(carried_cell);
#endif
#if HAS_DSAVED
  dc += dsaved_at(p.dsaved_off + direction * p.dsaved_direction + row * p.dsaved_row + unit);
#endif
#endif
#if HAS_LENGTHS
  if (i32(select(p.token_0, p.token_1, direction == 1u)) >= lengths_at(p.lengths_off + row * p.lengths_row)) {
#for g in 0..OUTPUTS
    d_put(out + {{g}}u * p.hidden, 0.0);
#endfor
    carry_put(carried, dh);
#if CELL == "lstm"
    carry_put(carried_cell, dc);
#endif
    return 0.0;
  }
#endif
#if CELL == "lstm" || CELL == "gru"
#if HAS_BEFORE
  let before = before_at(p.before_off + direction * p.before_direction + row * p.before_row + unit);
#else
  let before = 0.0;
#endif
#endif
#if CELL == "lstm"
  let i = gates_at(gate);
  let f = gates_at(gate + p.hidden);
  let g = gates_at(gate + 2u * p.hidden);
  let o = gates_at(gate + 3u * p.hidden);
  let t = tanh4(V(f * before + i * g)).x;
  dc += dh * o * (1.0 - t * t);
  let d = vec4<f32>(dc * g * i * (1.0 - i), dc * before * f * (1.0 - f), dc * i * (1.0 - g * g), dh * t * o * (1.0 - o));
  carry_put(carried_cell, dc * f);
#if CARRIES_STATE
  carry_put(carried, 0.0);
#endif
#elif CELL == "gru"
  let r = gates_at(gate);
  let z = gates_at(gate + p.hidden);
  let n = gates_at(gate + 2u * p.hidden);
  let dn = dh * (1.0 - z) * (1.0 - n * n);
  let q = saved_at(p.saved_off + direction * p.saved_direction + row * p.saved_row + unit);
  let d = vec4<f32>(dn, dn * q * r * (1.0 - r), dh * (before - n) * z * (1.0 - z), dn * r);
  carry_put(carried, dh * z);
#else
  let h = gates_at(gate);
  let d = vec4<f32>({{CELL == "tanh" ? "dh * (1.0 - h * h)" : "select(0.0, dh, h > 0.0)"}}, 0.0, 0.0, 0.0);
#if CARRIES_STATE
  carry_put(carried, 0.0);
#endif
#endif
#for g in 0..OUTPUTS
  d_put(out + {{g}}u * p.hidden, d[{{g}}]);
#endfor
  return max(max(abs(d.x), abs(d.y)), max(abs(d.z), abs(d.w)));
#endif
}

fn finish(direction: u32, row: u32, unit: u32, v: Products) {
  var most = 0.0;
#for u in 0..UNITS
  if (unit + {{u}}u < p.hidden) { most = max(most, unit_of(direction, row, unit + {{u}}u, v[{{u}}])); }
#endfor
#if PEAKS && !LAST
  peak_max(p.peak_off + p.peak_next + direction * p.batch + row, bitcast<u32>(most));
#endif
}

#if MATRICES
@compute @workgroup_size({{THREADS}}){{ASK}}
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32, @builtin(subgroup_id) sg: u32) {
  run(group_index(group, groups), t, sg);
}
#else
@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  run(group_index(group, groups) * {{GROUPS}}u, lane);
}
#endif
