// Loads of 8 elements of one operand as packed f16: NAME, DIR ("k": along k, "x": along the other dimension), VEC (the
// 8 are contiguous and aligned) and F16 (already that type; others are rounded). `base` is the element at x and k = 0,
// `last` the distance from x to the last valid x: past it the last one is read again, which only reaches sums that
// are never stored. Elements past k_end are 0.
fn {{NAME}}_halves(base: u32, last: u32, k: u32, k_end: u32) -> vec4<u32> {
#if VEC
#if K_EDGE
  if (k >= k_end) { return vec4<u32>(); }
#endif
  let i = base + {{DIR == "k" ? "k" : "k * p." + NAME + "_k"}};
#if F16
  var v = {{NAME}}_words4(i / 2u);
#else
  let e = {{NAME}}_at8(i);
  var v = vec4<u32>(pack_half(e[0].xy), pack_half(e[0].zw), pack_half(e[1].xy), pack_half(e[1].zw));
#endif
#if K_EDGE && DIR == "k"
  // The tail of a row may be followed by anything, NaN included.
  let left = vec4<u32>(k_end - k);
  let low = vec4<u32>(0u, 2u, 4u, 6u);
  v &= select(vec4<u32>(), vec4<u32>(0xffffu), left > low) | select(vec4<u32>(), vec4<u32>(0xffff0000u), left > low + 1u);
#endif
  return v;
#else
  var v = vec4<u32>();
  for (var j = 0u; j < 4u; j++) {
    var pair = vec2<f32>();
#for h in 0..2
#if DIR == "k"
    if (k + j * 2u + {{h}}u < k_end) { pair[{{h}}] = {{NAME}}_at(base + (k + j * 2u + {{h}}u) * p.{{NAME}}_k); }
#else
    if (k < k_end) { pair[{{h}}] = {{NAME}}_at(base + min(j * 2u + {{h}}u, last) * p.{{NAME}}_x + k * p.{{NAME}}_k); }
#endif
#endfor
    v[j] = pack_half(pair);
  }
  return v;
#endif
}
