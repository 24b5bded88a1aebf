// Values out of blocks: one piece of 16 elements per invocation. Tile: 256 invocations, no workgroup memory.
// With VECTOR rows of `flat` are contiguous and aligned to 8 elements.
#include "quant/rows.wgsl"
#include "lib/quant/run.wgsl"
#include "lib/quant/decode.wgsl" with NAME="table"

fn put_run(at: u32, v: array<vec4<f32>, 2>) {
#if VECTOR
  flat_put8(at, v[0], v[1]);
#else
#for j in 0..8
  flat_put(at + {{j}}u * p.flat_step, v[{{j / 4}}][{{j % 4}}]);
#endfor
#endif
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let number = group_index(group, groups) * 256u + lane;
  if (number >= p.count) { return; }
  let r = number / p.per_row;
  let in_row = number - r * p.per_row;
  let row = find_row(r);
  let block = in_row / table_pieces;
  let piece = in_row - block * table_pieces;
  let at = row.flat + (block * table_block + table_first(piece)) * p.flat_step;
  if (row.live) {
    let v = table_piece(row.table + block * table_block_bytes, piece);
    put_run(at, run_value(v.a));
    put_run(at + table_gap * p.flat_step, run_value(v.b));
  } else if (!row.good && p.first_row == 0u) {
    put_run(at, array<vec4<f32>, 2>());
    put_run(at + table_gap * p.flat_step, array<vec4<f32>, 2>());
  }
}
