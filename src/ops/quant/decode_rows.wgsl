// Values out of blocks, for software adapters: a workgroup is one subgroup of LANES invocations, each of which decodes
// STEPS pieces of 16 elements in a row of `flat` that is contiguous and aligned to 8 elements of f32; TILES of them at once
// share what they read of a block. Tile: STEPS * LANES pieces, no workgroup memory.
// Mesa's software adapter compiles a subgroup to vector instructions. Stores of lanes to addresses of their own become
// scatters, which take longer than all the rest; a store whose address is the same for the whole subgroup is a plain one.
// So the elements of one lane after another are handed to all lanes, which store the same value at the same address.
// Lanes start far apart, so that the first step waits for all lines of the row at once.
#include "quant/rows.wgsl"
#include "lib/quant/run.wgsl"
#include "lib/quant/decode.wgsl" with NAME="table"

// Stores the run of every lane at the addresses `at` of the lanes.
fn put_lanes(at: u32, run: array<vec4<f32>, 2>) {
#for j in 0..LANES
  flat_put4(subgroupBroadcast(at, {{j}}u), subgroupBroadcast(run[0], {{j}}u));
  flat_put4(subgroupBroadcast(at, {{j}}u) + 4u, subgroupBroadcast(run[1], {{j}}u));
#endfor
}

@compute @workgroup_size({{LANES}}){{ASK}}
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let part = group_index(group, groups);
  if (part >= p.count) { return; }
  let r = part / p.per_row;
  let row = find_row(r);
  if (!row.live && (row.good || p.first_row != 0u)) { return; }
  let first = ((part - r * p.per_row) * {{LANES}}u + lane) * {{STEPS}}u;
  for (var step = 0u; step < {{STEPS}}u; step += {{TILES}}u) {
    let block = (first + step) / table_pieces;
    let piece = first + step - block * table_pieces;
    let to = row.flat + block * table_block;
    if (row.live) {
      let bytes = row.table + block * table_block_bytes;
#for tile in 0..TILES
#if TILES == 2
      let v{{tile}} = table_part(bytes, piece / 2u, {{tile}}u);
#else
      let v{{tile}} = table_piece(bytes, piece);
#endif
#endfor
#for tile in 0..TILES
      put_lanes(to + table_first(piece + {{tile}}u), run_value(v{{tile}}.a));
      put_lanes(to + table_first(piece + {{tile}}u) + table_gap, run_value(v{{tile}}.b));
#endfor
    } else {
#for tile in 0..TILES
      put_lanes(to + table_first(piece + {{tile}}u), array<vec4<f32>, 2>());
      put_lanes(to + table_first(piece + {{tile}}u) + table_gap, array<vec4<f32>, 2>());
#endfor
    }
  }
}
