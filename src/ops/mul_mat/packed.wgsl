// Few columns of packed x (pack.wgsl) times blocks of weights, by integer dot products: y[c, r] = Σ x[c, k] w[r, k]. Bound
// by reading the weights, which are read once.
// Tile: THREADS invocations in teams of TEAM; a team makes ROWS rows of COLS columns, an invocation a unit of 64 elements
// of each row at a time. Workgroup memory: see finish.wgsl, THREADS / SUBGROUP * ROWS * COLS floats, with PACKS also the results. Rows and columns past the
// end are clamped and not stored. With IDS a workgroup works for one row of x (COLS is 1), whose matrix the ids name.
#let TEAMS = THREADS / TEAM
#let VALUES = ROWS * COLS
#let PARTS = TEAM / SUBGROUP
fn unit_word(i: u32) -> u32 { return w_word(i); }
#include "lib/quant/unit.wgsl"
var<workgroup> sums: array<f32, {{THREADS / SUBGROUP * VALUES}}>;
#if IDS
var<workgroup> shared_id: i32;
#endif
#if PACKS
#let RESULTS = TEAMS * ROWS / 2
var<workgroup> results: array<f32, {{RESULTS * COLS}}>;
#include "mul_mat/pack_block.wgsl"
#endif

#include "mul_mat/group.wgsl"

#if FUNCTION != "none"
#let DOMAIN = "f32"
#include "map/functions.wgsl"
#endif

@compute @workgroup_size({{THREADS}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
#include "mul_mat/place.wgsl"
#include "mul_mat/team.wgsl"
#if TABLE
  unit_prepare(lane);
  workgroupBarrier();
#endif
  for (var u = lane % {{TEAM}}u; u < p.units; u += {{TEAM}}u) {
#for r in 0..ROWS
    let u{{r}} = unit_at(w{{r}}, u);
#endfor
    let g = unit_groups(u);
#for c in 0..COLS
    {
      let a = group_at(x{{c}}, g.x);
      let b = group_at(x{{c}}, g.y);
#if FINE
#if LOWS
      let x_sum = vec4<f32>(vec4<i32>(sum16(a.lo), sum16(a.hi), sum16(b.lo), sum16(b.hi)));
#endif
      let x_scale = vec4<f32>(a.scale, a.scale, b.scale, b.scale);
#for r in 0..ROWS
      sum{{r}}_{{c}} += dot(x_scale, u{{r}}.scale * vec4<f32>(vec4<i32>(dot16(u{{r}}.a0, a.lo), dot16(u{{r}}.a1, a.hi), dot16(u{{r}}.b0, b.lo),
                            dot16(u{{r}}.b1, b.hi))){{LOWS ? " + u" + r + ".low * x_sum" : ""}});
#endfor
#else
#if LOWS
      let x_sum = vec2<f32>(vec2<i32>(sum16(a.lo) + sum16(a.hi), sum16(b.lo) + sum16(b.hi)));
#endif
      let x_scale = vec2<f32>(a.scale, b.scale);
#for r in 0..ROWS
      sum{{r}}_{{c}} += dot(x_scale, u{{r}}.scale.xy * vec2<f32>(vec2<i32>(dot16(u{{r}}.a0, a.lo) + dot16(u{{r}}.a1, a.hi),
                            dot16(u{{r}}.b0, b.lo) + dot16(u{{r}}.b1, b.hi))){{LOWS ? " + u" + r + ".low.xy * x_sum" : ""}});
#endfor
#endif
    }
#endfor
  }
#include "mul_mat/finish.wgsl"
}
