// What the backward pass of attention needs of each row: its lse, and delta = sum of dy * y, side by side in `stats`. LANES neighbouring
// invocations have a row, so that they read neighbours. Workgroup memory: a float per invocation where a row has several.
#let ONCE = ""
#include "attention/load.wgsl" with NAME="y" SIZE="value_size"
#include "attention/load.wgsl" with NAME="dy" SIZE="value_size"
#if LANES > 1
var<workgroup> sums: array<f32, {{WORKGROUP}}>;
#endif

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let own = group_index(group, groups) * {{WORKGROUP / LANES}}u + t / {{LANES}}u;
  let row = min(own, p.jobs - 1u);
  let i = row % p.queries;
  let head = row / p.queries % p.heads;
  let batch = row / p.queries / p.heads;
  let y_row = p.y_off + batch * p.y_b + head * p.y_h + i * p.y_t;
  let dy_row = p.dy_off + batch * p.dy_b + head * p.dy_h + i * p.dy_t;
  var products = vec4<f32>();
  for (var d = t % {{LANES}}u * 4u; d < p.value_size; d += {{4 * LANES}}u) { products += y_load4(y_row, d) * dy_load4(dy_row, d); }
  var sum = products.x + products.y + products.z + products.w;
#if LANES > 1
  sums[t] = sum;
  workgroupBarrier();
  if (t % {{LANES}}u > 0u) { return; }
  for (var n = 1u; n < {{LANES}}u; n++) { sum += sums[t + n]; }
#endif
  if (own >= p.jobs) { return; }
  stats_put(p.stats_off + row * 2u, lse_at(p.lse_off + batch * p.lse_b + head * p.lse_h + i * p.lse_t));
  stats_put(p.stats_off + row * 2u + 1u, sum);
}
