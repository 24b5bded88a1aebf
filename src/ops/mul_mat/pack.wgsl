// Rows of f32 as signed bytes with a scale for each block of 32, laid out as pack_block.wgsl says.
// Tile: 256 invocations, one for four elements; workgroup memory: 256 floats. Rows are contiguous and aligned to 4 elements.
// With WHOLE, for devices with slow barriers, an invocation has a block to itself, and there is no workgroup memory.
#include "mul_mat/pack_block.wgsl"
#if !WHOLE
var<workgroup> largest: array<f32, {{WORKGROUP}}>;
#endif

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let number = group_index(group, groups);
  let row = number / p.groups;
  let chunk = (number - row * p.groups) * {{WORKGROUP}}u + lane;
  let q4 = row / p.shape_4;
  let q3 = q4 / p.shape_3;
  let q2 = q3 / p.shape_2;
  let c0 = q2 / p.shape_1;
  let start = p.x_off + (row - q4 * p.shape_4) * p.x_4 + (q4 - q3 * p.shape_3) * p.x_3 +
              (q3 - q2 * p.shape_2) * p.x_2 + (q2 - c0 * p.shape_1) * p.x_1 + c0 * p.x_0;
#if WHOLE
  if (row >= p.rows || chunk >= p.blocks) { return; }
  let first = start + chunk * 32u;
  var most = 0.0;
  for (var i = 0u; i < 8u; i++) { most = max(most, pack_magnitude(x_at4(first + i * 4u))); }
  let to = p.packed_off + row * p.row_words;
  for (var i = 0u; i < 8u; i++) { packed_put(to + pack_word(chunk * 8u + i, p.blocks), pack_bytes(x_at4(first + i * 4u), most)); }
  packed_put(to + pack_scale_word(chunk * 8u, p.blocks), bitcast<u32>(pack_scale(most)));
#else
  let mine = row < p.rows && chunk < p.blocks * 8u;
  var v = vec4<f32>(0.0);
  if (mine) { v = x_at4(start + chunk * 4u); }
  largest[lane] = pack_magnitude(v);
  workgroupBarrier();
  if (!mine) { return; }
  let first = lane & 0xf8u;
  var most = largest[first];
  for (var i = 1u; i < 8u; i++) { most = max(most, largest[first + i]); }
  let to = p.packed_off + row * p.row_words;
  packed_put(to + pack_word(chunk, p.blocks), pack_bytes(v, most));
  if ((chunk & 7u) == 0u) { packed_put(to + pack_scale_word(chunk, p.blocks), bitcast<u32>(pack_scale(most))); }
#endif
}
