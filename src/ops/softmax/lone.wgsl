// softmax or log_softmax of scale * x for software adapters: a workgroup is one subgroup of LANES invocations and has one row,
// so that there are neither barriers nor workgroup memory. Rows are dense and have whole blocks of 4 * LANES elements.
// The smallest float stands in for -infinity where the maximum starts: a row of -infinity keeps it, and its sum is 0.

// The maximum and the sum over the row's lanes.
#for k in 0..2
fn row_{{k == 0 ? "max" : "sum"}}(v: f32) -> f32 {
  var all = v;
#let STEP = 1
#for level in 0..3
#if STEP < LANES
  all = {{k == 0 ? "max(all, " : "(all + "}}subgroupShuffleXor(all, {{STEP}}u));
#let STEP = STEP * 2
#endif
#endfor
  return all;
}
#endfor

@compute @workgroup_size({{LANES}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let row = group_index(group, groups);
  if (row >= p.rows) { return; }
  let x_start = p.x_off + row * p.length;
  let y_start = p.y_off + row * p.length;
  var most = vec4<f32>(-3.4028234e38);
  for (var e = lane * 4u; e < p.length; e += {{4 * LANES}}u) { most = max(most, x_at4(x_start + e) * p.scale); }
  let largest = row_max(max(max(most.x, most.y), max(most.z, most.w)));
  var sums = vec4<f32>();
  for (var e = lane * 4u; e < p.length; e += {{4 * LANES}}u) {
    let v = exp(x_at4(x_start + e) * p.scale - largest);
#if !LOG
    y_put4(y_start + e, v);
#endif
    sums += v;
  }
  let sum = row_sum((sums.x + sums.y) + (sums.z + sums.w));
#if LOG
  // With the sum 0 every logit is -infinity, and so is its logarithm.
  let log_sum = select(log(sum), 0.0, sum == 0.0);
#else
  let share = select(1.0 / sum, 0.0, sum == 0.0);
#endif
  for (var e = lane * 4u; e < p.length; e += {{4 * LANES}}u) {
    y_put4(y_start + e, {{LOG ? "(x_at4(x_start + e) * p.scale - largest) - log_sum" : "y_at4(y_start + e) * share"}});
  }
}
