// Rows of x that share a matrix times that matrix, tile by tile as assign.wgsl made them.
// Tile: 64 rows of weights x 32 rows of x in steps of 32 elements: two pieces of 16, in whatever order the blocks keep
// them. It has 128 parts of 4 x 4, each with a half of a row of weights and a quarter of one of x to load; an invocation
// has PARTS of them, WORKGROUP = 128 or 64 apart. Workgroup memory: 12 KiB.
#let PARTS = 128 / WORKGROUP
#let QUANTIZED = QTYPE != "f32" && QTYPE != "f16" && QTYPE != "bf16"
#if QUANTIZED
#include "lib/quant/run.wgsl"
#include "lib/quant/decode.wgsl" with NAME="w" QTYPE=QTYPE ALIGNED=ALIGNED
#endif
var<workgroup> w_tile: array<vec4<f32>, 512>;  // [k][row / 4]
var<workgroup> x_tile: array<vec4<f32>, 256>;  // [k][column / 4]
var<workgroup> tile: array<u32, 3>;

// The element at which run `run` (of four) of step i starts.
fn run_first(i: u32, run: u32) -> u32 {
#if QUANTIZED
  let number = i * 2u + run / 2u;
  let block = number / w_pieces;
  return block * w_block + w_first(number - block * w_pieces) + (run & 1u) * w_gap;
#else
  return i * 32u + run * 8u;
#endif
}

fn put_w(k: u32, row: u32, v: f32) { w_tile[k * 16u + row / 4u][row % 4u] = v; }

// Half of a row of the weights' tile: 16 elements.
fn load_w(i: u32, lane: u32, start: u32) {
  let row = lane / 2u;
  let part = lane & 1u;
#if QUANTIZED
  let number = i * 2u + part;
  let block = number / w_pieces;
  var values = array<vec4<f32>, 4>();
  if (number < p.pieces) {
    let v = w_piece(start + block * w_block_bytes, number - block * w_pieces);
    let a = run_value(v.a);
    let b = run_value(v.b);
    values = array<vec4<f32>, 4>(a[0], a[1], b[0], b[1]);
  }
#for j in 0..16
  put_w(part * 16u + {{j}}u, row, values[{{j / 4}}][{{j % 4}}]);
#endfor
#else
  for (var j = 0u; j < 16u; j++) {
    let k = i * 32u + part * 16u + j;
    var v = 0.0;
    if (k < p.k) { v = w_at(start + k * p.w_step); }
    put_w(part * 16u + j, row, v);
  }
#endif
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  if (lane < 3u) { tile[lane] = tiles_at(p.tiles_off + (group.y + group.z * p.tiles_y) * 3u + lane); }
  let mine = workgroupUniformLoad(&tile);
  let known = mine[0] < p.all_experts;
  let expert = mine[0] - p.first_expert;
  // Tiles of other launches; rows without a matrix belong to the first one.
  if (mine[2] == 0u || (known && expert >= p.experts) || (!known && p.first_expert != 0u)) { return; }
  let first_row = group.x * 64u;
  let run = lane & 3u;
  let m4 = lane % 16u;
#for i in 0..PARTS
  let part{{i}} = lane + {{i * WORKGROUP}}u;
  let w_start{{i}} = p.w_off + select(0u, expert, known) * p.w_expert + min(first_row + part{{i}} / 2u, p.m - 1u) * p.w_row;
  let column{{i}} = part{{i}} / 4u;
  let pair{{i}} = order_at(p.order_off + mine[1] + min(column{{i}}, mine[2] - 1u));
  let token{{i}} = pair{{i}} / p.used;
  let x_start{{i}} = p.x_off + token{{i}} * p.x_token + ((pair{{i}} - token{{i}} * p.used) % p.x_slots) * p.x_slot;
  let n4_{{i}} = part{{i}} / 16u;
#for r in 0..4
  var sum{{i}}_{{r}} = vec4<f32>(0.0);
#endfor
#endfor
  for (var i = 0u; i < p.steps; i++) {
    workgroupBarrier();
    let first = run_first(i, run);
#for i in 0..PARTS
    load_w(i, part{{i}}, w_start{{i}});
    for (var j = 0u; j < 8u; j++) {
      var v = 0.0;
      if (first + j < p.k) { v = x_at(x_start{{i}} + first + j); }
      x_tile[(run * 8u + j) * 8u + column{{i}} / 4u][column{{i}} % 4u] = v;
    }
#endfor
    workgroupBarrier();
    for (var k = 0u; k < 32u; k++) {
      let w = w_tile[k * 16u + m4];
#for i in 0..PARTS
      let x{{i}} = x_tile[k * 8u + n4_{{i}}];
#for r in 0..4
      sum{{i}}_{{r}} += w * x{{i}}[{{r}}];
#endfor
#endfor
    }
  }
#for i in 0..PARTS
#for r in 0..4
  if (n4_{{i}} * 4u + {{r}}u < mine[2]) {
    let to = order_at(p.order_off + mine[1] + n4_{{i}} * 4u + {{r}}u);
    let to_token = to / p.used;
    let y_start = p.y_off + to_token * p.y_token + (to - to_token * p.used) * p.y_slot;
    for (var j = 0u; j < 4u; j++) {
      let row = first_row + m4 * 4u + j;
      if (row < p.m) { y_put(y_start + row * p.y_row, select(0.0, sum{{i}}_{{r}}[j], known)); }
    }
  }
#endfor
#endfor
}
