// Rows as f16, scaled by a power of two so that the largest value is near 2^exponent and no value too large; 1 / that power goes
// to `scales`. Small rows so keep the bits that f16 would take from them.
// Tile: a workgroup of 256 per row; workgroup memory: 256 floats. Rows are contiguous and aligned to 4 elements.
var<workgroup> largest: array<f32, {{WORKGROUP}}>;

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let row = group_index(group, groups);
  if (row >= p.rows) { return; }
  let x = row % p.shape_x;
  let batch = row / p.shape_x;
  let i2 = batch % p.batch_2;
  let i1 = batch / p.batch_2 % p.batch_1;
  let i0 = batch / p.batch_2 / p.batch_1;
  let start = p.x_off + i0 * p.x_0 + i1 * p.x_1 + i2 * p.x_2 + x * p.x_row;
  var most = vec4<f32>(0.0);
  for (var i = lane; i < p.chunks; i += {{WORKGROUP}}u) { most = max(most, abs(x_at4(start + i * 4u))); }
  largest[lane] = max(max(most.x, most.y), max(most.z, most.w));
  workgroupBarrier();
  for (var step = {{WORKGROUP / 2}}u; step > 0u; step /= 2u) {
    if (lane < step) { largest[lane] = max(largest[lane], largest[lane + step]); }
    workgroupBarrier();
  }
  // The exponent of the largest value, and what is missing to p.exponent.
  let exponent = i32((bitcast<u32>(largest[0]) >> 23u) & 255u) - 127i;
  let down = clamp(exponent - p.exponent, -126i, 126i);
  let scale = bitcast<f32>(u32(127i - down) << 23u);
  for (var i = lane; i < p.chunks; i += {{WORKGROUP}}u) {
    halves_put4(p.halves_off + row * p.chunks * 4u + i * 4u, x_at4(start + i * 4u) * scale);
  }
  if (lane == 0u) { scales_put(p.scales_off + row, bitcast<f32>(u32(127i + down) << 23u)); }
}
