// Rows of f32 as signed bytes with a scale for each block of 32: x ≈ scale · byte. A row of `packed` has the first 16
// bytes of every block, then the last 16 of every block, then the scales, so that neighbours read neighbours.
// Tile: 256 invocations, one for four elements; workgroup memory: 256 floats. Rows are contiguous and aligned to 4 elements.
var<workgroup> largest: array<f32, 256>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let number = group_index(group, groups);
  let row = number / p.groups;
  let chunk = (number - row * p.groups) * 256u + lane;
  let q4 = row / p.shape_4;
  let q3 = q4 / p.shape_3;
  let q2 = q3 / p.shape_2;
  let c0 = q2 / p.shape_1;
  let start = p.x_off + (row - q4 * p.shape_4) * p.x_4 + (q4 - q3 * p.shape_3) * p.x_3 +
              (q3 - q2 * p.shape_2) * p.x_2 + (q2 - c0 * p.shape_1) * p.x_1 + c0 * p.x_0;
  let mine = row < p.rows && chunk < p.blocks * 8u;
  var v = vec4<f32>(0.0);
  if (mine) { v = x_at4(start + chunk * 4u); }
  let size = abs(v);
  largest[lane] = max(max(size.x, size.y), max(size.z, size.w));
  workgroupBarrier();
  if (!mine) { return; }
  let first = lane & 0xf8u;
  var most = largest[first];
  for (var i = 1u; i < 8u; i++) { most = max(most, largest[first + i]); }
  // Blocks of zeros, and of values so small that the inverse would not be finite, become zeros.
  let inverse = select(0.0, 127.0 / most, most > 1e-36);
  let block = chunk / 8u;
  let part = chunk & 7u;
  let to = p.packed_off + row * p.row_words;
  let at = to + (select(0u, p.blocks, part >= 4u) + block) * 4u + (part & 3u);
  // The lowest byte of 1.5 · 2²³ + i is that of i.
  let bytes = bitcast<vec4<u32>>(fma(v, vec4<f32>(inverse), vec4<f32>(12582912.0))) & vec4<u32>(255u);
  packed_put(at, bytes.x | (bytes.y << 8u) | (bytes.z << 16u) | (bytes.w << 24u));
  if (part == 0u) { packed_put(to + p.blocks * 8u + block, bitcast<u32>(select(0.0, most / 127.0, most > 1e-36))); }
}
