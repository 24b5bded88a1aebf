// Matrices [row][column] as f16, columns scaled by powers of two that bring their largest magnitude (its bits are in `largest`) near
// 2^exponent; 1 / these powers go to `scales`. Tile as in halve_columns.wgsl, without workgroup memory.
@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let column = (group.x * 64u + t % 64u) * 4u;
  if (column >= p.columns) { return; }
  let i2 = group.z % p.batch_2;
  let i1 = group.z / p.batch_2 % p.batch_1;
  let i0 = group.z / p.batch_2 / p.batch_1;
  let start = p.x_off + i0 * p.x_0 + i1 * p.x_1 + i2 * p.x_2;
  let end = min(p.rows, (group.y + 1u) * 128u);
  let first = group.z * p.columns + column;
  let bits = vec4<u32>(largest_at(p.largest_off + first), largest_at(p.largest_off + first + 1u),
                       largest_at(p.largest_off + first + 2u), largest_at(p.largest_off + first + 3u));
  // The exponent of the largest value, and what is missing to p.exponent.
  let down = clamp(vec4<i32>(bits >> vec4<u32>(23u)) - vec4<i32>(127i + p.exponent), vec4<i32>(-126i), vec4<i32>(126i));
  let scale = bitcast<vec4<f32>>(vec4<u32>(vec4<i32>(127i) - down) << vec4<u32>(23u));
  for (var row = group.y * 128u + t / 64u; row < end; row += {{WORKGROUP / 64}}u) {
    halves_put4(p.halves_off + (group.z * p.rows + row) * p.columns + column, x_at4(start + row * p.x_row + column) * scale);
  }
  if (group.y == 0u && t < 64u) {
    let back = bitcast<vec4<f32>>(vec4<u32>(vec4<i32>(127i) + down) << vec4<u32>(23u));
    for (var e = 0u; e < 4u; e++) { scales_put(p.scales_off + first + e, back[e]); }
  }
}
