// Adds up the parts of K that other launches summed: c = f(alpha·(slice 0 + slice 1 + …) + beta·c + bias), always in
// that order. a holds p.k slices of f32, p.a_k elements apart, each dense [batch…, M, N]. An invocation makes four
// neighbouring columns; A_VEC where N is a multiple of four. No workgroup memory.
#include "gemm/place.wgsl"
#include "gemm/epilogue.wgsl"

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let at = place(group.z);
  let columns = (p.n + 3u) / 4u;
  let number = group_index(group, groups) * {{WORKGROUP}}u + lane;
  let m = number / columns;
  let n = number % columns * 4u;
  if (m >= p.m) { return; }
  var sum = vec4<f32>();
  for (var k = 0u; k < p.k; k++) {
    let i = at.a + k * p.a_k + m * p.a_x + n;
#if A_VEC
    sum += a_at4(i);
#else
    let last = p.n - 1u - n;
    sum += vec4<f32>(a_at(i), a_at(i + min(1u, last)), a_at(i + min(2u, last)), a_at(i + min(3u, last)));
#endif
  }
  emit4(at, m, n, sum);
}
