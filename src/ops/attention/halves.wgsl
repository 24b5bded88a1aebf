// NAME_halves(row, d): elements d…d+7 of the row that starts at element `row` as packed f16; zeros from p.SIZE on. With VEC
// eight neighbours are contiguous and aligned f16; with FULL there are no columns from p.SIZE on.
fn {{NAME}}_halves(row: u32, d: u32) -> vec4<u32> {
#if VEC
#if !FULL
  if (d >= p.{{SIZE}}) { return vec4<u32>(); }
#endif
  return {{NAME}}_words4((row + d) / 2u);
#else
  var v = vec4<u32>();
  for (var e = 0u; e < 4u{{ONCE}}; e++) {
    var pair = vec2<f32>();
    if (d + 2u * e < p.{{SIZE}}) { pair.x = {{NAME}}_at(row + (d + 2u * e) * p.{{NAME}}_d); }
    if (d + 2u * e + 1u < p.{{SIZE}}) { pair.y = {{NAME}}_at(row + (d + 2u * e + 1u) * p.{{NAME}}_d); }
    v[e] = pack_half(pair);
  }
  return v;
#endif
}
