// COUNT tensors as f16, times a power of two for each head of keys that takes its largest value near 2^14 (halve_most.wgsl found it);
// 1 / that power goes to `factors`. Values of bf16 so keep all their bits down to 2^-28 of the largest one.
// Tile: a workgroup of WORKGROUP per part of a head. Rows are contiguous and aligned to 8 elements.
@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let job = group_index(group, groups);
  if (job >= p.jobs) { return; }
  let owner = job / p.parts % p.owners;
  let tensor = job / p.parts / p.owners;
  var top = 0u;
  for (var i = 0u; i < p.parts; i++) { top = max(top, most_at(p.most_off + job / p.parts * p.parts + i)); }
  let down = select(clamp(i32(top >> 23u) - 141i, -126i, 126i), 0i, top == 0u);
  let scale = bitcast<f32>(u32(127i - down) << 23u);
#for n in 0..COUNT
#let NAME = n == 0 ? "q" : n == 1 ? "k" : n == 2 ? "v" : "dy"
  if (tensor == {{n}}u) {
#include "attention/halve_rows.wgsl" with PUT=1
  }
#endfor
  if (lane == 0u && job % p.parts == 0u) { factors_put(p.factors_off + owner * 4u + tensor, bitcast<f32>(u32(127i + down) << 23u)); }
}
