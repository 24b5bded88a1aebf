// The blocks of keys that a block of queries has to look at, from the flags of mask_flags.wgsl: their count, then 4 times the number of
// each plus its flag. One workgroup of 256 invocations per block of queries, 256 flags at a time. Workgroup memory: 1 KiB.
var<workgroup> counts: array<u32, {{WORKGROUP}}>;

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) t: u32) {
  let row = group_index(group, groups);
  if (row >= p.jobs) { return; }
  let to = p.list_off + row * (p.flag_row + 1u);
  var before = 0u;
  for (var first = 0u; first < p.flag_row; first += {{WORKGROUP}}u) {
    let n = first + t;
    var flag = 0u;
    if (n < p.flag_row) { flag = flags_at(p.flags_off + row * p.flag_row + n); }
    var count = min(flag, 1u);
    workgroupBarrier();
    counts[t] = count;
    for (var step = 1u; step < {{WORKGROUP}}u; step *= 2u) {
      workgroupBarrier();
      let other = select(0u, counts[max(t, step) - step], t >= step);
      workgroupBarrier();
      count += other;
      counts[t] = count;
    }
    workgroupBarrier();
    if (flag != 0u) { list_put(to + before + count, n * 4u + flag); }
    before += counts[{{WORKGROUP - 1}}];
  }
  if (t == 0u) { list_put(to, before); }
}
