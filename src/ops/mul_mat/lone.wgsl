// The same products as packed.wgsl, for software adapters: there a kernel with a barrier runs as one fiber per subgroup, which
// takes microseconds to start, and every place that reads memory is compiled for lanes that read neighbours, the same, or anything.
// So a team is a subgroup of TEAM invocations, which shares nothing but what shuffles carry; it has ROWS rows, one after the
// other, of the column that group.z says, so that prompts run the kernel that is compiled for single tokens. With QUARTERS four
// lanes share a unit of 64 elements. With GATED two rows give a result, and with PACKS those of a team are a block of 32.
// Tile: THREADS invocations; no workgroup memory. Rows past the end are clamped and not stored.
#let TEAMS = THREADS / TEAM
#let EACH = GATED ? ROWS / 2 : ROWS
fn unit_word(i: u32) -> u32 { return w_word(i); }
#include "lib/quant/unit.wgsl"
#include "mul_mat/group.wgsl"
#if FUNCTION != "none"
#let DOMAIN = "f32"
#include "map/functions.wgsl"
#endif
#if PACKS
#include "mul_mat/pack_block.wgsl"
#let PER = EACH / TEAM
#endif

fn product(unit: Unit, a: Group, b: Group) -> f32 {
#if FINE
  let x_scale = vec4<f32>(a.scale, a.scale, b.scale, b.scale);
  var sums = unit.scale * vec4<f32>(vec4<i32>(dot16(unit.a0, a.lo), dot16(unit.a1, a.hi), dot16(unit.b0, b.lo), dot16(unit.b1, b.hi)));
#if LOWS
  sums += unit.low * vec4<f32>(vec4<i32>(sum16(a.lo), sum16(a.hi), sum16(b.lo), sum16(b.hi)));
#endif
#else
  let x_scale = vec2<f32>(a.scale, b.scale);
  var sums = unit.scale.xy * vec2<f32>(vec2<i32>(dot16(unit.a0, a.lo) + dot16(unit.a1, a.hi), dot16(unit.b0, b.lo) + dot16(unit.b1, b.hi)));
#if LOWS
  sums += unit.low.xy * vec2<f32>(vec2<i32>(sum16(a.lo) + sum16(a.hi), sum16(b.lo) + sum16(b.hi)));
#endif
#endif
  return dot(x_scale, sums);
}

// The sum over a team, for each of its lanes.
fn team_sum(v: f32) -> f32 {
  var sum = v;
#let STEP = 1
#for level in 0..3
#if STEP < TEAM
  sum += subgroupShuffleXor(sum, {{STEP}}u);
#let STEP = STEP * 2
#endif
#endfor
  return sum;
}

@compute @workgroup_size({{THREADS}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
#include "mul_mat/place.wgsl"
  let own = lane % {{TEAM}}u;
  let column = group.z % p.n;
  let x = x_start + column * p.x_column;
  let first = first_row{{GATED ? " / 2u" : ""}} + lane / {{TEAM}}u * {{EACH}}u;
  let rows = m{{GATED ? " / 2u" : ""}};
#if QUARTERS
  quarter = own % 4u;
#endif
#if PACKS
#for k in 0..PER / 4
  var kept{{k}} = vec4<f32>();
#endfor
#endif
  for (var i = 0u; i < {{EACH}}u; i++) {
    let r = min(first + i, rows - 1u);
    let w = w_start + r * p.w_row{{GATED ? " + p.part_w_0" : ""}};
    var sum = 0.0;
#if GATED
    let other = w_start + r * p.w_row + p.part_w_1;
    var through = 0.0;
#endif
    for (var u = own{{QUARTERS ? " / 4u" : ""}}; u < p.units; u += {{QUARTERS ? TEAM / 4 : TEAM}}u) {
      let g = unit_groups(u);
      let a = group_at(x, g.x);
      let b = group_at(x, g.y);
      sum += product(unit_at(w, u), a, b);
#if GATED
      through += product(unit_at(other, u), a, b);
#endif
    }
    sum = team_sum(sum);
#if GATED
    let result = f(V(sum), V(team_sum(through)), V()).x;
#else
#if BIAS
    sum += bias_at(bias_start + column * p.bias_column + r * p.bias_row);
#endif
    let result = {{FUNCTION == "none" ? "sum" : "f(V(sum), V(), V()).x"}};
#endif
    if (own == 0u && first + i < rows) { y_put(y_start + column * y_column + r * p.y_row, result); }
#if PACKS
#for k in 0..PER / 4
    kept{{k}} = select(kept{{k}}, vec4<f32>(result), vec4<u32>(i - own * {{PER}}u) == vec4<u32>({{4 * k}}u, {{4 * k + 1}}u, {{4 * k + 2}}u, {{4 * k + 3}}u));
#endfor
#endif
  }
#if PACKS
  var most = pack_magnitude(kept0);
#for k in 1..PER / 4
  most = max(most, pack_magnitude(kept{{k}}));
#endfor
#let STEP = 1
#for level in 0..3
#if STEP < TEAM
  most = max(most, subgroupShuffleXor(most, {{STEP}}u));
#let STEP = STEP * 2
#endif
#endfor
  if (first < rows) {
    let to = p.packed_off + column * p.packed_row;
#for k in 0..PER / 4
    packed_put(to + pack_word(first / 4u + own * {{PER / 4}}u + {{k}}u, p.packed_blocks), pack_bytes(kept{{k}}, most));
#endfor
    if (own == 0u) { packed_put(to + pack_scale_word(first / 4u, p.packed_blocks), bitcast<u32>(pack_scale(most))); }
  }
#endif
}
