// NAME_store4(row, d, v): stores elements d…d+3 of the row that starts at element `row`, those below p.SIZE. With VEC four
// neighbours are contiguous and aligned.
fn {{NAME}}_store4(row: u32, d: u32, v: vec4<f32>) {
#if VEC
  if (d < p.{{SIZE}}) { {{NAME}}_put4(row + d, v); }
#else
  for (var e = 0u; e < 4u{{ONCE}}; e++) {
    if (d + e < p.{{SIZE}}) { {{NAME}}_put(row + (d + e) * p.{{NAME}}_d, v[e]); }
  }
#endif
}
