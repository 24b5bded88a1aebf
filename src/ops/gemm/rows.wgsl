// C = A·B for few rows of a (M up to COLS) and b stored along k: a team of TEAM invocations computes four neighbouring
// columns of C as dot products, reading b once, 8 elements at a time, 4·UNROLL such loads in flight per invocation.
// a is small and stays in the cache. Workgroup memory: a vector per subgroup and row of a (or, without SUBGROUPS, one
// per invocation) to add up the team's sums. Assumes: a subgroup does not reach across teams. Layouts that are not
// contiguous along k or not aligned (not A_VEC, B_VEC) are read one by one; K_EDGE where K is not a multiple of 8.
#include "gemm/place.wgsl"
#include "gemm/epilogue.wgsl"
#let TEAMS = THREADS / TEAM
#let STEP = TEAM * 8
var<workgroup> sums: array<vec4<f32>, {{SUBGROUPS ? THREADS / SUBGROUP_MIN * COLS : THREADS}}>;

#for which in 0..2
#let NAME = which == 0 ? "a" : "b"
fn {{NAME}}_chunk(base: u32, k: u32) -> array<vec4<f32>, 2> {
#if which == 0 ? A_VEC && A_DIR == "k" : B_VEC && B_DIR == "k"
  return {{NAME}}_at8(base + k);
#else
  var v = array<vec4<f32>, 2>();
#for j in 0..8
  v[{{j / 4}}][{{j % 4}}] = {{NAME}}_at(base + (k + {{j}}u) * p.{{NAME}}_k);
#endfor
  return v;
#endif
}
#endfor

fn dot8(x: array<vec4<f32>, 2>, y: array<vec4<f32>, 2>) -> f32 { return dot(x[0], y[0]) + dot(x[1], y[1]); }

@compute @workgroup_size({{THREADS}}){{ASK}}
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
{{SUBGROUPS ? "        @builtin(subgroup_size) sg_size: u32, @builtin(subgroup_invocation_id) sg_lane: u32," : ""}}
        @builtin(local_invocation_index) t: u32) {
  let number = group_index(group, groups);
  if (number * {{TEAMS * 4}}u >= p.n) { return; }
  let at = place(group.z);
  let team = t / {{TEAM}}u;
  let lane = t % {{TEAM}}u;
  let n = (number * {{TEAMS}}u + team) * 4u;
#for r in 0..4
  let b{{r}} = at.b + min(n + {{r}}u, p.n - 1u) * p.b_x;
#endfor
#for c in 0..COLS
  let a{{c}} = at.a + {{c == 0 ? "0u" : "min(" + c + "u, p.m - 1u)"}} * p.a_x;
  var sum{{c}} = vec4<f32>();
#endfor
  let whole = {{K_EDGE ? "at.k_begin + (at.k_end - at.k_begin) / 8u * 8u" : "at.k_end"}};
  var k = at.k_begin + lane * 8u;
#for pass in 0..(UNROLL > 1 ? 2 : 1)
#let U = pass == 0 ? UNROLL : 1
  for (; k + {{(U - 1) * STEP}}u < whole; k += {{U * STEP}}u) {
#for u in 0..U
#for r in 0..4
    let w{{u}}_{{r}} = b_chunk(b{{r}}, k + {{u * STEP}}u);
#endfor
#endfor
#for u in 0..U
#for c in 0..COLS
    {
      let x = a_chunk(a{{c}}, k + {{u * STEP}}u);
      sum{{c}} += vec4<f32>(dot8(w{{u}}_0, x), dot8(w{{u}}_1, x), dot8(w{{u}}_2, x), dot8(w{{u}}_3, x));
    }
#endfor
#endfor
  }
#endfor
#if K_EDGE
  for (var i = whole + lane; i < at.k_end; i += {{TEAM}}u) {
    let w = vec4<f32>(b_at(b0 + i * p.b_k), b_at(b1 + i * p.b_k), b_at(b2 + i * p.b_k), b_at(b3 + i * p.b_k));
#for c in 0..COLS
    sum{{c}} += w * a_at(a{{c}} + i * p.a_k);
#endfor
  }
#endif
#if SUBGROUPS
  let sg = t / sg_size;
#for c in 0..COLS
  {
    let v = subgroupAdd(sum{{c}});
    if (sg_lane == 0u) { sums[sg * {{COLS}}u + {{c}}u] = v; }
  }
#endfor
  workgroupBarrier();
  let sgs = {{TEAM}}u / sg_size;
  for (var m = lane; m < p.m; m += {{TEAM}}u) {
    var v = vec4<f32>();
    for (var i = 0u; i < sgs; i++) { v += sums[(team * sgs + i) * {{COLS}}u + m]; }
    if (n < p.n) { emit4(at, m, n, v); }
  }
#else
#for c in 0..COLS
  workgroupBarrier();
  sums[t] = sum{{c}};
  workgroupBarrier();
  for (var half = {{TEAM / 2}}u; half > 0u; half /= 2u) {
    if (lane < half) { sums[t] += sums[t + half]; }
    workgroupBarrier();
  }
  if (lane == 0u && n < p.n && {{c}}u < p.m) { emit4(at, {{c}}u, n, sums[t]); }
#endfor
#endif
}
