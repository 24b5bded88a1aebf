// Values out of blocks: ITEMS pieces of 16 elements per invocation. Tile: 256 invocations, no workgroup memory.
// With VECTOR rows of `flat` are contiguous and aligned to 8 elements.
#include "quant/rows.wgsl"
#include "lib/quant/run.wgsl"
#include "lib/quant/decode.wgsl" with NAME="table"

// Stores two runs. Where they are stored in halves, the second run starts before the first one is done: a software adapter
// waits for memory in order, and so it waits for the lines of both at once.
fn put_runs(at: u32, a: array<vec4<f32>, 2>, b: array<vec4<f32>, 2>) {
  let at_b = at + table_gap * p.flat_step;
#if VECTOR && WIDE
  flat_put4(at, a[0]);
  flat_put4(at_b, b[0]);
  flat_put4(at + 4u, a[1]);
  flat_put4(at_b + 4u, b[1]);
#elif VECTOR
  flat_put8(at, a[0], a[1]);
  flat_put8(at_b, b[0], b[1]);
#else
#for j in 0..8
  flat_put(at + {{j}}u * p.flat_step, a[{{j / 4}}][{{j % 4}}]);
  flat_put(at_b + {{j}}u * p.flat_step, b[{{j / 4}}][{{j % 4}}]);
#endfor
#endif
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let number = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (number >= p.count) { return; }
  let r = number / p.per_row;
  let row = find_row(r);
#if ITEMS > 1
  let first = (number - r * p.per_row) * {{ITEMS}}u;
  for (var in_row = first; in_row < first + {{ITEMS}}u; in_row++) {
#else
  {
    let in_row = number - r * p.per_row;
#endif
    let block = in_row / table_pieces;
    let piece = in_row - block * table_pieces;
    let at = row.flat + (block * table_block + table_first(piece)) * p.flat_step;
    if (row.live) {
      let v = table_piece(row.table + block * table_block_bytes, piece);
      put_runs(at, run_value(v.a), run_value(v.b));
    } else if (!row.good && p.first_row == 0u) {
      put_runs(at, array<vec4<f32>, 2>(), array<vec4<f32>, 2>());
    }
  }
}
