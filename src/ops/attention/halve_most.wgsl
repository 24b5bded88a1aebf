// The largest magnitude among the finite values of a part of the rows of a head of keys, or of all queries that share that head, for each
// of COUNT tensors: PARTS parts of each of p.owners heads of each tensor, in `most` as the bits of an f32.
// Tile: a workgroup of WORKGROUP per part; workgroup memory: a word per invocation.
var<workgroup> tops: array<u32, {{WORKGROUP}}>;

fn largest(v: vec4<f32>) -> u32 {
  let bits = bitcast<vec4<u32>>(v) & vec4<u32>(0x7fffffffu);
  let finite = select(vec4<u32>(), bits, bits < vec4<u32>(0x7f800000u));
  return max(max(finite.x, finite.y), max(finite.z, finite.w));
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let job = group_index(group, groups);
  if (job >= p.jobs) { return; }
  let owner = job / p.parts % p.owners;
  var top = 0u;
#for n in 0..COUNT
#let NAME = n == 0 ? "q" : n == 1 ? "k" : n == 2 ? "v" : "dy"
  if (job / p.parts / p.owners == {{n}}u) {
#include "attention/halve_rows.wgsl" with PUT=0
  }
#endfor
  tops[lane] = top;
  workgroupBarrier();
  for (var step = {{WORKGROUP / 2}}u; step > 0u; step /= 2u) {
    if (lane < step) { tops[lane] = max(tops[lane], tops[lane + step]); }
    workgroupBarrier();
  }
  if (lane == 0u) { most_put(p.most_off + job, tops[0]); }
}
