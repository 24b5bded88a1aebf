// y[b] += how many elements of x are first_bin + b; with PHASE "clear" y becomes 0 instead.
// Tile: WORKGROUP invocations, p.each elements ("clear": one bin each). With LOCAL > 0 a workgroup counts for itself, and then adds
// what it has to y; workgroup memory: 4 bytes for each of LOCAL bins. Sums of whole numbers do not depend on their order.
#if LOCAL > 0
var<workgroup> counts: array<atomic<u32>, {{LOCAL}}>;
#endif

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
#if PHASE == "clear"
  let bin = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (bin < p.bins) { y_put(p.y_off + bin * p.y_step, 0u); }
#else
  // The grid may have more workgroups than are needed.
  let first = min(group_index(group, groups), p.groups) * p.each;
  let end = min(first + p.each, p.count);
#if LOCAL > 0
  for (var bin = lane; bin < {{LOCAL}}u; bin += {{WORKGROUP}}u) { atomicStore(&counts[bin], 0u); }
  workgroupBarrier();
#endif
  for (var i = first + lane; i < end; i += {{WORKGROUP}}u) {
    // What lies below the first bin becomes large.
    let bin = bitcast<u32>(x_at(p.x_off + i * p.x_step)) - p.first_bin;
    if (bin < p.bins) {
#if LOCAL > 0
      atomicAdd(&counts[bin], 1u);
#else
      y_add(p.y_off + bin * p.y_step, 1u);
#endif
    }
  }
#if LOCAL > 0
  workgroupBarrier();
  for (var bin = lane; bin < p.bins; bin += {{WORKGROUP}}u) {
    let found = atomicLoad(&counts[bin]);
    if (found > 0u) { y_add(p.y_off + bin * p.y_step, found); }
  }
#endif
#endif
}
