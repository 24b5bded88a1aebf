// Loads of 8 elements of one operand as f32, whatever they are stored as; NAME, DIR and VEC, `base`, `last` and the edges as in
// halves.wgsl.
fn {{NAME}}_eights(base: u32, last: u32, k: u32, k_end: u32) -> array<vec4<f32>, 2> {
#if VEC
#if K_EDGE
  if (k >= k_end) { return array<vec4<f32>, 2>(); }
#endif
  var v = {{NAME}}_at8(base + {{DIR == "k" ? "k" : "k * p." + NAME + "_k"}});
#if K_EDGE && DIR == "k"
  // The tail of a row may be followed by anything, NaN included.
  let left = vec4<u32>(k_end - k);
  v[0] = select(vec4<f32>(), v[0], left > vec4<u32>(0u, 1u, 2u, 3u));
  v[1] = select(vec4<f32>(), v[1], left > vec4<u32>(4u, 5u, 6u, 7u));
#endif
  return v;
#else
  var v = array<vec4<f32>, 2>();
  for (var j = 0u; j < 4u; j++) {
#for h in 0..2
#if DIR == "k"
    if (k + j + {{h * 4}}u < k_end) { v[{{h}}][j] = {{NAME}}_at(base + (k + j + {{h * 4}}u) * p.{{NAME}}_k); }
#else
    if (k < k_end) { v[{{h}}][j] = {{NAME}}_at(base + min(j + {{h * 4}}u, last) * p.{{NAME}}_x + k * p.{{NAME}}_k); }
#endif
#endfor
  }
  return v;
#endif
}
