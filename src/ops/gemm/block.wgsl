// Loads of 4 x 4 blocks of one operand: NAME, DIR ("k": neighbours along k, "x": along the other dimension), VEC.
// Returns four vectors along x, one per k. `base` is the element at x and k = 0, `last` the distance from x to the last
// valid x: past it the last one is read again, which only reaches sums that are never stored.
fn {{NAME}}_block(base: u32, last: u32, k: u32, k_end: u32) -> array<vec4<f32>, 4> {
  var rows = array<vec4<f32>, 4>();
#if VEC && DIR == "k"
#if K_EDGE
  if (k >= k_end) { return rows; }
#endif
#for j in 0..4
  var q{{j}} = {{NAME}}_at4(base + {{EDGE ? "min(" + j + "u, last)" : j + "u"}} * p.{{NAME}}_x + k);
#endfor
#if K_EDGE
  // The tail of a row may be followed by anything, NaN included.
  let valid = vec4<u32>(k) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(k_end);
#for j in 0..4
  q{{j}} = select(vec4<f32>(), q{{j}}, valid);
#endfor
#endif
#for c in 0..4
  rows[{{c}}] = vec4<f32>(q0[{{c}}], q1[{{c}}], q2[{{c}}], q3[{{c}}]);
#endfor
#elif VEC
#for c in 0..4
#if K_EDGE
  if (k + {{c}}u < k_end) { rows[{{c}}] = {{NAME}}_at4(base + (k + {{c}}u) * p.{{NAME}}_k); }
#else
  rows[{{c}}] = {{NAME}}_at4(base + (k + {{c}}u) * p.{{NAME}}_k);
#endif
#endfor
#else
#for c in 0..4
  if (k + {{c}}u < k_end) {
    let i = base + (k + {{c}}u) * p.{{NAME}}_k;
    rows[{{c}}] = vec4<f32>({{NAME}}_at(i), {{NAME}}_at(i + min(1u, last) * p.{{NAME}}_x), {{NAME}}_at(i + min(2u, last) * p.{{NAME}}_x),
                            {{NAME}}_at(i + min(3u, last) * p.{{NAME}}_x));
  }
#endfor
#endif
  return rows;
}
