// NAME_load4(row, d): elements d…d+3 of the row that starts at element `row`, as f32; zeros from p.SIZE on. With VEC four
// neighbours are contiguous and aligned.
fn {{NAME}}_load4(row: u32, d: u32) -> vec4<f32> {
#if VEC
  if (d >= p.{{SIZE}}) { return vec4<f32>(); }
  return {{NAME}}_at4(row + d);
#else
  var v = vec4<f32>();
  for (var e = 0u; e < 4u{{ONCE}}; e++) {
    if (d + e < p.{{SIZE}}) { v[e] = {{NAME}}_at(row + (d + e) * p.{{NAME}}_d); }
  }
  return v;
#endif
}
