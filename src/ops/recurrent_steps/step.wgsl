// One step of a recurrent layer: h · wᵀ for a tile of units and sequences, the gates, the new state. With GIVEN the products
// come from q, without OWN and GIVEN there is no state before and they are 0. With MATRICES matrix units make them.
#let A = "h"
#include "map/helpers.wgsl" with DOMAIN="f32" NEEDS_ERF=0 NEEDS_EXPM1=0 NEEDS_LOG1P=0 NEEDS_POWER=0 NEEDS_REST=0 NEEDS_SPECIAL=0
#if MATRICES
#include "recurrent_steps/matrices.wgsl"
#else
#include "recurrent_steps/product.wgsl"
#endif

fn squashed(x: f32) -> f32 { return sigmoid4(V(x)).x; }
fn bent(x: f32) -> f32 { return tanh4(V(x)).x; }

// The new state of one unit.
fn unit_of(direction: u32, row: u32, unit: u32, products: array<f32, {{GATES}}>) -> f32 {
  let sum = p.sums_off + direction * p.sums_direction + row * p.sums_row + unit;
  let gate = p.gates_off + direction * p.gates_direction + row * p.gates_row + unit;
  let place = direction * p.saved_direction + row * p.saved_row + unit;
  var v = products;
#if GIVEN
#for g in 0..GATES
  v[{{g}}] = q_at(p.q_off + (direction * p.batch + row) * {{GATES}}u * p.hidden + {{g}}u * p.hidden + unit);
#endfor
#endif
#if HAS_STATE
  let before = h_at(p.h_off + direction * p.a_direction + row * p.a_row + unit);
#else
  let before = 0.0;
#endif
#if CELL == "lstm"
#if HAS_MEMORY
  let memory = memory_at(p.memory_off + direction * p.memory_direction + row * p.memory_row + unit);
#else
  let memory = 0.0;
#endif
#endif
#if HAS_LENGTHS
  if (i32(select(p.token_0, p.token_1, direction == 1u)) >= lengths_at(p.lengths_off + row * p.lengths_row)) {
#for g in 0..GATES
    gates_put(gate + {{g}}u * p.hidden, 0.0);
#endfor
#if CELL == "lstm" || CELL == "gru"
    saved_put(p.saved_off + place, {{CELL == "lstm" ? "memory" : "0.0"}});
#endif
    return before;
  }
#endif
#if CELL == "lstm"
  let i = squashed(sums_at(sum) + v[0]);
  let f = squashed(sums_at(sum + p.hidden) + v[1]);
  let g = bent(sums_at(sum + 2u * p.hidden) + v[2]);
  let o = squashed(sums_at(sum + 3u * p.hidden) + v[3]);
  let c = f * memory + i * g;
  gates_put(gate, i);
  gates_put(gate + p.hidden, f);
  gates_put(gate + 2u * p.hidden, g);
  gates_put(gate + 3u * p.hidden, o);
  saved_put(p.saved_off + place, c);
  return o * bent(c);
#elif CELL == "gru"
  var q = v[2];
#if HAS_BIAS
  q += bias_at(p.bias_off + direction * p.bias_direction + unit * p.bias_unit);
#endif
  let r = squashed(sums_at(sum) + v[0]);
  let z = squashed(sums_at(sum + p.hidden) + v[1]);
  let n = bent(sums_at(sum + 2u * p.hidden) + r * q);
  gates_put(gate, r);
  gates_put(gate + p.hidden, z);
  gates_put(gate + 2u * p.hidden, n);
  saved_put(p.saved_off + place, q);
  return n + z * (before - n);
#else
  let x = sums_at(sum) + v[0];
  let h = {{CELL == "tanh" ? "bent(x)" : "or_nan(V(x), V(max(x, 0.0))).x"}};
  gates_put(gate, h);
  return h;
#endif
}

fn finish(direction: u32, row: u32, unit: u32, v: Products) {
  let place = p.states_off + direction * p.states_direction + row * p.states_row + unit;
#for u in 0..UNITS
  var h{{u}} = 0.0;
  if (unit + {{u}}u < p.hidden) {
    var own: array<f32, {{GATES}}>;
#for g in 0..GATES
    own[{{g}}] = v[{{u * GATES + g}}];
#endfor
    h{{u}} = unit_of(direction, row, unit + {{u}}u, own);
#if !PAIRS
    states_put(place + {{u}}u, h{{u}});
#endif
  }
#endfor
#if PAIRS
#let COUPLES = UNITS / 2
#for u in 0..COUPLES
  if (unit + {{2 * u}}u < p.hidden) { states_put2(place + {{2 * u}}u, vec2<f32>(h{{2 * u}}, h{{2 * u + 1}})); }
#endfor
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
