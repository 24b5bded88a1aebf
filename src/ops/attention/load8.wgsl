// NAME_load8(row, d): elements d…d+7 of the row that starts at element `row`, as f32; zeros from p.SIZE on. With VEC eight
// neighbours are contiguous and aligned.
fn {{NAME}}_load8(row: u32, d: u32) -> array<vec4<f32>, 2> {
#if VEC
  return {{NAME}}_at8(row + d);
#else
  var v: array<vec4<f32>, 2>;
  for (var e = 0u; e < 8u * p.once; e++) {
    if (d + e < p.{{SIZE}}) { v[e / 4u][e % 4u] = {{NAME}}_at(row + (d + e) * p.{{NAME}}_d); }
  }
  return v;
#endif
}
