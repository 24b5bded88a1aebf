// C = A·B for few rows of a (M up to COLS) and b stored along n: an invocation sums 8 neighbouring columns over every
// KY-th k, reading b once, UNROLL loads in flight; the KY partial sums meet in workgroup memory (2 vectors per
// invocation). Layouts that are not contiguous along n or not aligned (not B_VEC) are read one by one. Any K.
#include "gemm/place.wgsl"
#include "gemm/epilogue.wgsl"
#let CX = THREADS / KY
var<workgroup> sums: array<vec4<f32>, {{2 * THREADS}}>;

fn b_chunk(base: u32, last: u32, k: u32) -> array<vec4<f32>, 2> {
#if B_VEC && B_DIR == "x"
  return b_at8(base + k * p.b_k);
#else
  var v = array<vec4<f32>, 2>();
#for j in 0..8
  v[{{j / 4}}][{{j % 4}}] = b_at(base + min({{j}}u, last) * p.b_x + k * p.b_k);
#endfor
  return v;
#endif
}

@compute @workgroup_size({{THREADS}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let number = group_index(group, groups);
  if (number * {{CX * 8}}u >= p.n) { return; }
  let at = place(group.z);
  let cx = t % {{CX}}u;
  let ky = t / {{CX}}u;
  let n = (number * {{CX}}u + cx) * 8u;
  let x = min(n, (p.n - 1u) / 8u * 8u);
  let last = p.n - 1u - x;
  let b = at.b + x * p.b_x;
#for c in 0..COLS
  let a{{c}} = at.a + {{c == 0 ? "0u" : "min(" + c + "u, p.m - 1u)"}} * p.a_x;
  var sum{{c}}_0 = vec4<f32>();
  var sum{{c}}_1 = vec4<f32>();
#endfor
  var k = at.k_begin + ky;
#for pass in 0..(UNROLL > 1 ? 2 : 1)
#let U = pass == 0 ? UNROLL : 1
  for (; k + {{(U - 1) * KY}}u < at.k_end; k += {{U * KY}}u) {
#for u in 0..U
    let w{{u}} = b_chunk(b, last, k + {{u * KY}}u);
#endfor
#for u in 0..U
#for c in 0..COLS
    {
      let v = a_at(a{{c}} + (k + {{u * KY}}u) * p.a_k);
      sum{{c}}_0 += v * w{{u}}[0];
      sum{{c}}_1 += v * w{{u}}[1];
    }
#endfor
#endfor
  }
#endfor
  // Two rows of invocations add up, one for each half of the 8 columns.
#for c in 0..COLS
  workgroupBarrier();
  sums[t] = sum{{c}}_0;
  sums[{{THREADS}}u + t] = sum{{c}}_1;
  workgroupBarrier();
  if (ky < 2u && n + ky * 4u < p.n && {{c}}u < p.m) {
    var v = vec4<f32>();
    for (var i = 0u; i < {{KY}}u; i++) { v += sums[ky * {{THREADS}}u + i * {{CX}}u + cx]; }
    emit4(at, {{c}}u, n + ky * 4u, v);
  }
#endfor
}
