// C = A·B in f32 for software adapters: there a barrier takes microseconds, and memory of a workgroup is no nearer than any other.
// So an invocation computes TM x TN of C by itself, in steps of 4 along k: TM/4 blocks of 4 x 4 of a and TN/4 of b, and
// TM·TN multiplies for each k of them. Neighbouring invocations have neighbouring columns, so that they read the same of a.
// Tile: THREADS invocations in a row; no workgroup memory. Any strides (A_DIR, A_VEC, …: see block.wgsl), any M, N; K_EDGE where K
// is not a multiple of 4, EDGE where M or N is none of the tile.
#include "gemm/place.wgsl"
#include "gemm/epilogue.wgsl"
#include "gemm/block.wgsl" with NAME="a" DIR=A_DIR VEC=A_VEC
#include "gemm/block.wgsl" with NAME="b" DIR=B_DIR VEC=B_VEC

@compute @workgroup_size({{THREADS}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let at = place(group.z);
  let columns = (p.n + {{TN - 1}}u) / {{TN}}u;
  let number = group_index(group, groups) * {{THREADS}}u + lane;
  let m0 = number / columns * {{TM}}u;
  let n0 = number % columns * {{TN}}u;
  if (m0 >= p.m) { return; }
#for i in 0..TM
#for g in 0..TN / 4
  var c{{i}}_{{g}} = vec4<f32>();
#endfor
#endfor
#for g in 0..TM / 4
  let am{{g}} = {{EDGE ? "min(m0 + {{4 * g}}u, (p.m - 1u) / 4u * 4u)" : "m0 + {{4 * g}}u"}};
#endfor
#for g in 0..TN / 4
  let bn{{g}} = {{EDGE ? "min(n0 + {{4 * g}}u, (p.n - 1u) / 4u * 4u)" : "n0 + {{4 * g}}u"}};
#endfor
  for (var k = at.k_begin; k < at.k_end; k += 4u) {
#for g in 0..TM / 4
    let a{{g}} = a_block(at.a + am{{g}} * p.a_x, p.m - 1u - am{{g}}, k, at.k_end);
#endfor
#for g in 0..TN / 4
    let b{{g}} = b_block(at.b + bn{{g}} * p.b_x, p.n - 1u - bn{{g}}, k, at.k_end);
#endfor
#for c in 0..4
#for i in 0..TM
#for g in 0..TN / 4
    c{{i}}_{{g}} = fma(vec4<f32>(a{{i / 4}}[{{c}}][{{i % 4}}]), b{{g}}[{{c}}], c{{i}}_{{g}});
#endfor
#endfor
#endfor
  }
  // A loop keeps the text of the stores small.
  var sums = array<vec4<f32>, {{TM * TN / 4}}>({{""}}
#for i in 0..TM
#for g in 0..TN / 4
    c{{i}}_{{g}},
#endfor
#endfor
  );
  for (var i = 0u; i < {{TM}}u; i++) {
    for (var g = 0u; g < {{TN / 4}}u; g++) {
      let n = n0 + g * 4u;
      if (m0 + i < p.m && n < p.n) { emit4(at, m0 + i, n, sums[i * {{TN / 4}}u + g]); }
    }
  }
}
