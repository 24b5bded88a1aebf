// Counts the indices that are not below p.count in status, and keeps the place of the first.
// Tile: WORKGROUP invocations, one index each. No workgroup memory.
@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let number = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (number >= p.total) { return; }
  var rest = number;
  var place = p.indices_off;
#for back in 0..RANK
#let d = RANK - 1 - back
  let c{{d}} = rest % p.shape_{{d}};
  rest = rest / p.shape_{{d}};
  place += c{{d}} * p.step_{{d}};
#endfor
  let index = indices_at(place);
  var good = index >= 0i && bitcast<u32>(index) < p.count;
#if NEGATIVE
  good = good || index < 0i;
#endif
#if IGNORED
  good = good || index == p.ignored;
#endif
  if (!good) {
    status_add(p.status_off, 1u);
    status_max(p.status_off + 1u, ~(p.first + number));
  }
}
