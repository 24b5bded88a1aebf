// What turns a transform of any length n into a circular convolution of m elements (Bluestein): with c[j] = exp(-iπ·j² / n)
//   MODE "kernel":   c = conj(c[j]), also at m - j; a table that the others read
//   MODE "start":    a[j] = x[j] · c[j], and 0 from n on
//   MODE "multiply": a[j] = a[j] · b[j], the same b for all rows
//   MODE "finish":   y[k] = scale · a[k] · c[k]
// Tile: 256 invocations, one element each. No workgroup memory. For the other sign see pass.wgsl.
#include "fft/turn.wgsl"

#if MODE == "kernel"
// j² modulo 2n, without overflow.
fn square(j: u32) -> u32 {
  let modulus = 2u * p.n;
  var sum = 0u;
  var double = j % modulus;
  for (var bits = j; bits > 0u; bits >>= 1u) {
    if ((bits & 1u) == 1u) { sum = (sum + double) % modulus; }
    double = (double * 2u) % modulus;
  }
  return sum;
}
#else
fn sided(v: vec2<f32>) -> vec2<f32> { return select(v, v.yx, p.inverse != 0u); }
fn chirp(j: u32) -> vec2<f32> { return bitcast<vec2<f32>>(c_words2(p.c_off + j * 2u)) * vec2<f32>(1.0, -1.0); }
#endif

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (g >= p.total) { return; }
#if MODE == "kernel"
  let near = min(g, p.m - g);
  var v = vec2<f32>();
  if (near < p.n) { v = turn(f32(square(near)) / f32(2u * p.n)); }
  c_put_words2(p.c_off + g * 2u, bitcast<vec2<u32>>(v));
#elif MODE == "finish"
  let row = g / p.n;
  let j = g % p.n;
  let v = times(bitcast<vec2<f32>>(a_words2(p.a_off + (row * p.m + j) * 2u)), chirp(j));
  y_put_words2(p.y_off + g * 2u, bitcast<vec2<u32>>(sided(v) * p.scale));
#else
  let j = g % p.m;
  let at = p.a_off + g * 2u;
#if MODE == "start"
  var v = vec2<f32>();
  if (j < p.n) { v = times(sided(bitcast<vec2<f32>>(x_words2(p.x_off + ((g / p.m) * p.n + j) * 2u))), chirp(j)); }
#else
  let v = times(bitcast<vec2<f32>>(a_words2(at)), bitcast<vec2<f32>>(b_words2(p.b_off + j * 2u)));
#endif
  a_put_words2(at, bitcast<vec2<u32>>(v));
#endif
}
