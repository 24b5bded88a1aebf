// What the backward pass of attention needs of each row: its lse, and delta = sum of dy * y. One row per invocation;
// the two numbers go side by side to `stats`.
#let ONCE = ""
#include "attention/load.wgsl" with NAME="y" SIZE="value_size"
#include "attention/load.wgsl" with NAME="dy" SIZE="value_size"

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let row = group_index(group, groups) * {{WORKGROUP}}u + t;
  if (row >= p.jobs) { return; }
  let i = row % p.queries;
  let head = row / p.queries % p.heads;
  let batch = row / p.queries / p.heads;
  let y_row = p.y_off + batch * p.y_b + head * p.y_h + i * p.y_t;
  let dy_row = p.dy_off + batch * p.dy_b + head * p.dy_h + i * p.dy_t;
  var sum = vec4<f32>();
  for (var d = 0u; d < p.value_size; d += 4u) { sum += y_load4(y_row, d) * dy_load4(dy_row, d); }
  let lse = lse_at(p.lse_off + batch * p.lse_b + head * p.lse_h + i * p.lse_t);
  stats_put(p.stats_off + row * 2u, lse);
  stats_put(p.stats_off + row * 2u + 1u, sum.x + sum.y + sum.z + sum.w);
}
