// What turns a transform of any length n into a circular convolution of m elements (Bluestein): with c[j] = exp(∓iπ·j² / n)
//   MODE "start":    a[j] = x[j] · c[j], and 0 from n on
//   MODE "kernel":   a[j] = conj(c[j]), also at m - j
//   MODE "multiply": a[j] = a[j] · b[j], the same b for all rows
//   MODE "finish":   y[k] = scale · a[k] · c[k]
// Tile: 256 invocations, one element each. No workgroup memory.
#include "fft/turn.wgsl"

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

fn chirp(j: u32) -> vec2<f32> {
  return turn(f32(square(j)) / f32(2u * p.n)) * vec2<f32>(1.0, p.direction);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups) * 256u + lane;
  if (g >= p.total) { return; }
#if MODE == "finish"
  let row = g / p.n;
  let j = g % p.n;
  let v = times(bitcast<vec2<f32>>(a_words2(p.a_off + (row * p.m + j) * 2u)), chirp(j));
  y_put_words2(p.y_off + g * 2u, bitcast<vec2<u32>>(v * p.scale));
#else
  let j = g % p.m;
  let at = p.a_off + g * 2u;
  var v = vec2<f32>();
#if MODE == "start"
  if (j < p.n) { v = times(bitcast<vec2<f32>>(x_words2(p.x_off + ((g / p.m) * p.n + j) * 2u)), chirp(j)); }
#elif MODE == "kernel"
  let near = min(j, p.m - j);
  if (near < p.n) { v = chirp(near) * vec2<f32>(1.0, -1.0); }
#else
  v = times(bitcast<vec2<f32>>(a_words2(at)), bitcast<vec2<f32>>(b_words2(p.b_off + j * 2u)));
#endif
  a_put_words2(at, bitcast<vec2<u32>>(v));
#endif
}
