// C = A·B, one element of C per invocation: any strides, any sizes, K = 0 included. No workgroup memory. For tiny
// products and as the plain statement of what the other kernels compute.
#include "gemm/place.wgsl"
#include "gemm/epilogue.wgsl"

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let at = place(group.z);
  let number = group_index(group, groups) * {{WORKGROUP}}u + lane;
  // Four neighbouring columns where a vector store owns them, else one.
  let columns = {{C_VEC ? "(p.n + 3u) / 4u" : "p.n"}};
  let m = number / columns;
  let n = number % columns * {{C_VEC ? 4 : 1}}u;
  if (m >= p.m) { return; }
  var sum = vec4<f32>();
  for (var k = at.k_begin; k < at.k_end; k++) {
    let a = a_at(at.a + m * p.a_x + k * p.a_k);
    let b = at.b + k * p.b_k;
#for j in 0..C_VEC ? 4 : 1
    sum[{{j}}] += a * b_at(b + min(n + {{j}}u, p.n - 1u) * p.b_x);
#endfor
  }
#if C_VEC
  emit4(at, m, n, sum);
#else
  emit1(at, m, n, sum.x);
#endif
}
