// What grouped.wgsl does, through subgroup matrices: f16 or f32 operands (COMPONENT), f32 sums.
// Tile: 2 x 2 subgroups of SUBGROUP invocations make WIDTH rows of x (as f16, with a factor per row) x ROWS of weights, in
// steps of 32 elements: two pieces of 16, in whatever order the blocks keep them. Workgroup memory: both tiles, rows of
// 32 elements padded by 16 bytes, reused for the results on their way to y. A step is read and decoded before the barrier that ends
// the multiplication of the last one, so that subgroups which are done with that do not wait.
#include "lib/quant/run.wgsl"
#include "lib/quant/decode.wgsl" with NAME="w" QTYPE=QTYPE ALIGNED=ALIGNED
#let THREADS = 4 * SUBGROUP
#let W_LOADS = (ROWS * 2 + THREADS - 1) / THREADS
#let X_LOADS = (WIDTH * 4 + THREADS - 1) / THREADS
#let PER = COMPONENT == "f32" ? 4 : 8
#let LD = 32 / PER + 1
#let W_AT = WIDTH * LD
#let WP = WIDTH / 2
#let TM = WP / MM
#let WR = ROWS / 2
#let TN = WR / MN
#let STRIP_ROW = WR / 4 + 1
#let STRIP = MM * STRIP_ROW
#let LEFT = "subgroup_matrix_left<{{COMPONENT}}, {{MK}}, {{MM}}>"
#let RIGHT = "subgroup_matrix_right<{{COMPONENT}}, {{MN}}, {{MK}}>"
#let SUMS = "subgroup_matrix_result<f32, {{MN}}, {{MM}}>"

var<workgroup> memory: array<vec4<u32>, {{max(W_AT + ROWS * LD, 4 * STRIP)}}>;
var<workgroup> job: array<u32, 3>;

fn packed(v: array<vec4<f32>, 2>) -> vec4<u32> {
  return vec4<u32>(pack_half_quickly(v[0].xy), pack_half_quickly(v[0].zw), pack_half_quickly(v[1].xy), pack_half_quickly(v[1].zw));
}

// The element at which run `run` (of four) of step i starts.
fn run_first(i: u32, run: u32) -> u32 {
  let number = i * 2u + run / 2u;
  let block = number / w_pieces;
  return block * w_block + w_first(number - block * w_pieces) + (run & 1u) * w_gap;
}

// Where a row of x, by its number in `order`, lies among all rows of x.
fn x_row(pair: u32) -> u32 {
  let token = pair / p.used;
  return token * p.x_slots + (pair - token * p.used) % p.x_slots;
}

@compute @workgroup_size({{THREADS}}){{ASK}}
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32,
        @builtin(subgroup_id) sg: u32, @builtin(subgroup_invocation_id) lane: u32) {
  if (t < 3u) { job[t] = tiles_at(p.tiles_off + (group.y + group.z * p.tiles_y) * 3u + t); }
  let mine = workgroupUniformLoad(&job);
  let known = mine[0] < p.all_experts;
  let expert = mine[0] - p.first_expert;
  // Tiles of other launches; rows without a matrix belong to the first one.
  if (mine[2] == 0u || (known && expert >= p.experts) || (!known && p.first_expert != 0u)) { return; }
  let first_row = group.x * {{ROWS}}u;
  let w_start = p.w_off * w_unit + select(0u, expert, known) * p.w_expert;
  let sub_p = sg % 2u;
  let sub_r = sg / 2u;
#for i in 0..TM
#for j in 0..TN
  var c{{i}}_{{j}} = {{SUMS}}();
#endfor
#endfor
  // What this invocation moves in every step: pieces of weights and runs of x.
#for l in 0..W_LOADS
  let w_q{{l}} = t + {{l * THREADS}}u;
  let w_row{{l}} = w_start + min(first_row + w_q{{l}} / 2u, p.m - 1u) * p.w_row;
#endfor
#for l in 0..X_LOADS
  let x_q{{l}} = t + {{l * THREADS}}u;
  let x_row{{l}} = p.x_off + x_row(order_at(p.order_off + mine[1] + min(x_q{{l}} / 4u, mine[2] - 1u))) * p.k;
#endfor
  for (var i = 0u; i < p.steps; i++) {
#for l in 0..X_LOADS
    let x{{l}} = x_words4((x_row{{l}} + run_first(i, x_q{{l}} & 3u)) / 2u);
#endfor
#for l in 0..W_LOADS
    let number{{l}} = i * 2u + (w_q{{l}} & 1u);
    let block{{l}} = number{{l}} / w_pieces;
    let piece{{l}} = w_piece(w_row{{l}} + block{{l}} * w_block_bytes, number{{l}} - block{{l}} * w_pieces);
#endfor
    // The step before has been multiplied.
    workgroupBarrier();
#for l in 0..W_LOADS
{{W_LOADS * THREADS > ROWS * 2 ? "    if (w_q{{l}} < {{ROWS * 2}}u) {" : "    {"}}
      let at = {{W_AT}}u + w_q{{l}} / 2u * {{LD}}u + (w_q{{l}} & 1u) * {{16 / PER}}u;
#if PER == 4
      let a = run_value(piece{{l}}.a);
      let b = run_value(piece{{l}}.b);
      memory[at] = bitcast<vec4<u32>>(a[0]);
      memory[at + 1u] = bitcast<vec4<u32>>(a[1]);
      memory[at + 2u] = bitcast<vec4<u32>>(b[0]);
      memory[at + 3u] = bitcast<vec4<u32>>(b[1]);
#else
      memory[at] = packed(run_value(piece{{l}}.a));
      memory[at + 1u] = packed(run_value(piece{{l}}.b));
#endif
    }
#endfor
#for l in 0..X_LOADS
{{X_LOADS * THREADS > WIDTH * 4 ? "    if (x_q{{l}} < {{WIDTH * 4}}u) {" : "    {"}}
#if PER == 4
      let at = x_q{{l}} / 4u * {{LD}}u + (x_q{{l}} & 3u) * 2u;
      memory[at] = bitcast<vec4<u32>>(vec4<f32>(unpack2x16float(x{{l}}.x), unpack2x16float(x{{l}}.y)));
      memory[at + 1u] = bitcast<vec4<u32>>(vec4<f32>(unpack2x16float(x{{l}}.z), unpack2x16float(x{{l}}.w)));
#else
      memory[x_q{{l}} / 4u * {{LD}}u + (x_q{{l}} & 3u)] = x{{l}};
#endif
    }
#endfor
    workgroupBarrier();
#for step in 0..32 / MK
#for a in 0..TM
    let a{{step}}_{{a}} = subgroupMatrixLoad<{{LEFT}}, row_major>(&memory, (sub_p * {{WP}}u + {{a * MM}}u) * {{LD}}u + {{step * MK / PER}}u, {{LD}}u);
#endfor
#for b in 0..TN
    let b{{step}}_{{b}} = subgroupMatrixLoad<{{RIGHT}}, col_major>(&memory, {{W_AT}}u + (sub_r * {{WR}}u + {{b * MN}}u) * {{LD}}u + {{step * MK / PER}}u, {{LD}}u);
#for a in 0..TM
    c{{a}}_{{b}} = subgroupMatrixMultiplyAccumulate(a{{step}}_{{a}}, b{{step}}_{{b}}, c{{a}}_{{b}});
#endfor
#endfor
#endfor
  }
  let strip = sg * {{STRIP}}u;
#for a in 0..TM
  workgroupBarrier();
#for b in 0..TN
  subgroupMatrixStore<row_major>(&memory, strip + {{b * MN / 4}}u, c{{a}}_{{b}}, {{STRIP_ROW}}u);
#endfor
  workgroupBarrier();
  for (var q = lane; q < {{MM * WR / 4}}u; q += {{SUBGROUP}}u) {
    let number = sub_p * {{WP}}u + {{a * MM}}u + q / {{WR / 4}}u;
    let row = first_row + sub_r * {{WR}}u + q % {{WR / 4}}u * 4u;
    if (number < mine[2] && row < p.m) {
      let pair = order_at(p.order_off + mine[1] + number);
      let token = pair / p.used;
      let y_start = p.y_off + token * p.y_token + (pair - token * p.used) * p.y_slot;
      let factor = select(0.0, scales_at(p.scales_off + x_row(pair)), known);
      let v = bitcast<vec4<f32>>(memory[strip + q / {{WR / 4}}u * {{STRIP_ROW}}u + q % {{WR / 4}}u]) * factor;
      for (var j = 0u; j < min(4u, p.m - row); j++) { y_put(y_start + (row + j) * p.y_row, v[j]); }
    }
  }
#endfor
}
