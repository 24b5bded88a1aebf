// Few columns of x times blocks of weights: y[c, r] = Σ x[c, k] w[r, k]. Bound by reading the weights, which are read once.
// Tile: THREADS invocations in teams of TEAM; a team makes ROWS rows of COLS columns and steps through pieces of 16
// elements. SG invocations (1 without subgroups) add up by shuffles, the rest through workgroup memory:
// THREADS / SG * ROWS * COLS floats. Rows and columns past the end are clamped and not stored.
// Sums are kept as scale · Σ level · x + offset · Σ x, so that a level costs one multiplication.
// With IDS a workgroup works for one row of x (COLS is 1), whose matrix the ids name.
#include "lib/quant/run.wgsl"
#include "lib/quant/decode.wgsl" with NAME="w" QTYPE=QTYPE ALIGNED=ALIGNED
#let TEAMS = THREADS / TEAM
#let VALUES = ROWS * COLS
#let PARTS = TEAM / SG

var<workgroup> sums: array<f32, {{THREADS / SG * VALUES}}>;
#if IDS
var<workgroup> shared_id: i32;
#endif

@compute @workgroup_size({{THREADS}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let first_row = group_index(group, groups) * {{TEAMS * ROWS}}u;
#if IDS
  let token = group.z / p.used;
  let slot = group.z - token * p.used;
  if (lane == 0u) { shared_id = ids_at(p.ids_off + token * p.ids_token + slot * p.ids_slot); }
  let id = workgroupUniformLoad(&shared_id);
  let expert = bitcast<u32>(id) - p.first_expert;
  let known = expert < p.experts && id >= 0i;
  // Another launch has this matrix; the first one takes care of those that do not exist.
  if (!known && (p.first_expert != 0u || (id >= 0i && bitcast<u32>(id) < p.all_experts))) { return; }
  let w_start = p.w_off * w_unit + select(0u, expert, known) * p.w_3;
  let x_start = p.x_off + token * p.x_2 + (slot % p.x_slots) * p.x_3;
  let y_start = p.y_off + token * p.y_2 + slot * p.y_3;
#else
  let q3 = group.z / p.batch_3;
  let q2 = q3 / p.batch_2;
  let b3 = group.z - q3 * p.batch_3;
  let b2 = q3 - q2 * p.batch_2;
  let b0 = q2 / p.batch_1;
  let b1 = q2 - b0 * p.batch_1;
  let w_start = p.w_off * w_unit + b0 * p.w_0 + b1 * p.w_1 + b2 * p.w_2 + b3 * p.w_3;
  let x_start = p.x_off + b0 * p.x_0 + b1 * p.x_1 + b2 * p.x_2 + b3 * p.x_3;
  let y_start = p.y_off + b0 * p.y_0 + b1 * p.y_1 + b2 * p.y_2 + b3 * p.y_3;
#endif
  let team = lane / {{TEAM}}u;
  let row = first_row + team * {{ROWS}}u;
#for r in 0..ROWS
  let w{{r}} = w_start + min(row + {{r}}u, p.m - 1u) * p.w_row;
#endfor
#for c in 0..COLS
  let x{{c}} = x_start + min({{c}}u, p.n - 1u) * p.x_column;
#for r in 0..ROWS
  var sum{{r}}_{{c}} = 0.0;
#endfor
#endfor
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
#let STEP = 1
#for level in 0..7
#if STEP < SG
#for r in 0..ROWS
#for c in 0..COLS
  sum{{r}}_{{c}} += subgroupShuffleXor(sum{{r}}_{{c}}, {{STEP}}u);
#endfor
#endfor
#let STEP = STEP * 2
#endif
#endfor
  if (lane % {{SG}}u == 0u) {
    let at = lane / {{SG}}u * {{VALUES}}u;
#for r in 0..ROWS
#for c in 0..COLS
    sums[at + {{r * COLS + c}}u] = sum{{r}}_{{c}};
#endfor
#endfor
  }
  workgroupBarrier();
  for (var i = lane; i < {{TEAMS * VALUES}}u; i += {{THREADS}}u) {
    let mine = i / {{VALUES}}u;
    let value = i - mine * {{VALUES}}u;
    let r = first_row + mine * {{ROWS}}u + value / {{COLS}}u;
    let c = value % {{COLS}}u;
    if (r < p.m && c < p.n) {
      var total = 0.0;
      for (var part = 0u; part < {{PARTS}}u; part++) {
        total += sums[(mine * {{PARTS}}u + part) * {{VALUES}}u + value];
      }
#if IDS
      total = select(0.0, total, known);
#endif
      y_put(y_start + c * p.y_column + r * p.y_row, total);
    }
  }
}
