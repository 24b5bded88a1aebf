// The lists of all ranges of points for a query become one, in order, and keys become distances. With LAST the last of them is
// written down, for a pass that finds those behind it.
// Tile: one invocation per query. No workgroup memory.
#include "nearest/list.wgsl"

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let row = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (row >= p.query_count) { return; }
  clear_list();
  let lists = row * p.all_ranges * {{KEEP}}u;
  for (var i = 0u; i < p.all_ranges * {{KEEP}}u; i++) {
    offer(list_keys_at(p.list_keys_off + lists + i), list_places_at(p.list_places_off + lists + i));
  }
  var last_key = 0u;
  var last_place = 0u;
  for (var j = 0u; j < p.wanted; j++) {
    var key = 0xffffffffu;
    var place = 0xffffffffu;
    for (var i = 0u; i < {{KEEP}}u; i++) {
      let behind = (j == 0u) | comes_before(last_key, last_place, kept_keys[i], kept_places[i]);
      if (behind & comes_before(kept_keys[i], kept_places[i], key, place)) {
        key = kept_keys[i];
        place = kept_places[i];
      }
    }
    last_key = key;
    last_place = place;
    let score = score_of(key);
    distances_put(p.distances_off + row * p.distance_row + (p.first_wanted + j) * p.distance_step,
                  {{METRIC == "euclidean" ? "sqrt(score)" : METRIC == "cosine" ? "1.0 + score" : "-score"}});
    indices_put(p.indices_off + row * p.index_row + (p.first_wanted + j) * p.index_step, i32(place));
  }
#if LAST
  last_put(p.last_off + row * 2u, last_key);
  last_put(p.last_off + row * 2u + 1u, last_place);
#endif
}
