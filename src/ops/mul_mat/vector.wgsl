// Few columns of x times blocks of weights: y[c, r] = Σ x[c, k] w[r, k]. Bound by reading the weights, which are read once.
// Tile: THREADS invocations in teams of TEAM; a team makes ROWS rows of COLS columns and steps through pieces of 16
// elements. SUBGROUP invocations (1 without subgroups) add up by shuffles, the rest through workgroup memory:
// THREADS / SUBGROUP * ROWS * COLS floats. Rows and columns past the end are clamped and not stored.
// Sums are kept as scale · Σ level · x + offset · Σ x, so that a level costs one multiplication.
// With IDS a workgroup works for one row of x (COLS is 1), whose matrix the ids name.
#include "lib/quant/run.wgsl"
#include "lib/quant/decode.wgsl" with NAME="w" QTYPE=QTYPE ALIGNED=ALIGNED
#let TEAMS = THREADS / TEAM
#let VALUES = ROWS * COLS
#let PARTS = TEAM / SUBGROUP

var<workgroup> sums: array<f32, {{THREADS / SUBGROUP * VALUES}}>;
#if IDS
var<workgroup> shared_id: i32;
#endif

#if FUNCTION != "none"
#let DOMAIN = "f32"
#include "map/functions.wgsl"
#endif

@compute @workgroup_size({{THREADS}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
#include "mul_mat/place.wgsl"
#include "mul_mat/team.wgsl"
  for (var i = lane % {{TEAM}}u; i < p.pieces; i += {{TEAM}}u) {
    let block = i / w_pieces;
    let piece = i - block * w_pieces;
#for r in 0..ROWS
    let v{{r}} = w_piece(w{{r}} + block * w_block_bytes, piece);
#endfor
    let first = block * w_block + w_first(piece);
    // Run by run, so that not all levels are in registers at once.
#for h in 0..2
#let RUN = h == 0 ? "a" : "b"
#for c in 0..COLS
    {
      let lo = x_at4(x{{c}} + first{{h == 0 ? "" : " + w_gap"}});
      let hi = x_at4(x{{c}} + first + {{h == 0 ? "4u" : "w_gap + 4u"}});
      let x_sum = dot(lo + hi, vec4<f32>(1.0));
#for r in 0..ROWS
      sum{{r}}_{{c}} += v{{r}}.{{RUN}}.scale * (dot(v{{r}}.{{RUN}}.lo, lo) + dot(v{{r}}.{{RUN}}.hi, hi)) + v{{r}}.{{RUN}}.offset * x_sum;
#endfor
    }
#endfor
#endfor
  }
#include "mul_mat/finish.wgsl"
}
