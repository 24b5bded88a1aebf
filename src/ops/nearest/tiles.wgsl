// The nearest of a range of points for QUERIES queries: distances of a tile of QUERIES x POINTS are summed in registers, EACH x
// EACH by an invocation, and go through workgroup memory, sixteen columns at a time, to the invocation that keeps the list of a query.
// Tile: ACROSS = 16 invocations along the points, QUERIES / EACH along the queries. Workgroup memory: STEP columns of both
// matrices, and keys of sixteen columns. Writes the lists of each range (KEEP of them, in no order) for join.wgsl.
// With AFTER only what comes behind the last neighbour of the passes before counts.
#include "nearest/list.wgsl"
#let ACROSS = 16
#let PARTS = EACH / 4

var<workgroup> left: array<vec4<f32>, {{STEP * QUERIES / 4}}>;   // [STEP][QUERIES / 4]
var<workgroup> right: array<vec4<f32>, {{STEP * POINTS / 4}}>;
var<workgroup> keys: array<u32, {{ACROSS * (QUERIES + 1)}}>;  // [ACROSS][QUERIES + 1]

fn query_at(row: u32, k: u32) -> f32 {
  if ((row >= p.query_count) | (k >= p.size)) { return 0.0; }
  return queries_at(p.queries_off + row * p.query_row + k * p.query_step);
}

fn point_at(row: u32, k: u32) -> f32 {
  if ((row >= p.point_count) | (k >= p.size)) { return 0.0; }
  return points_at(p.points_off + row * p.point_row + k * p.point_step);
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups);
  if (g >= p.tiles * p.ranges) { return; }
  let range = g / p.tiles;
  let first_row = (g % p.tiles) * {{QUERIES}}u;
  let end = min(p.point_count, (range + 1u) * p.range_length);
  let across = lane % {{ACROSS}}u;
  let down = lane / {{ACROSS}}u;
  clear_list();
#if AFTER
  let own_row = min(first_row + lane, p.query_count - 1u);
  let after_key = last_at(p.last_off + own_row * 2u);
  let after_place = last_at(p.last_off + own_row * 2u + 1u);
#endif
  for (var first = range * p.range_length; first < end; first += {{POINTS}}u) {
#for r in 0..EACH
#for c in 0..PARTS
    var sum{{r}}_{{c}} = vec4<f32>();
#endfor
#endfor
    for (var k0 = 0u; k0 < p.size; k0 += {{STEP}}u) {
      workgroupBarrier();
      for (var i = lane; i < {{STEP * QUERIES / 4}}u; i += {{WORKGROUP}}u) {
        let k = i % {{STEP}}u;
        let row = i / {{STEP}}u * 4u + first_row;
        left[k * {{QUERIES / 4}}u + i / {{STEP}}u] = vec4<f32>(
            query_at(row, k0 + k), query_at(row + 1u, k0 + k), query_at(row + 2u, k0 + k), query_at(row + 3u, k0 + k));
      }
      for (var i = lane; i < {{STEP * POINTS / 4}}u; i += {{WORKGROUP}}u) {
        let k = i % {{STEP}}u;
        let row = i / {{STEP}}u * 4u + first;
        right[k * {{POINTS / 4}}u + i / {{STEP}}u] = vec4<f32>(
            point_at(row, k0 + k), point_at(row + 1u, k0 + k), point_at(row + 2u, k0 + k), point_at(row + 3u, k0 + k));
      }
      workgroupBarrier();
      for (var k = 0u; k < {{STEP}}u; k++) {
#for c in 0..PARTS
        let a{{c}} = left[k * {{QUERIES / 4}}u + {{c * (QUERIES / EACH)}}u + down];
        let b{{c}} = right[k * {{POINTS / 4}}u + {{c * ACROSS}}u + across];
#endfor
#for r in 0..EACH
#for c in 0..PARTS
#if METRIC == "euclidean"
        let d{{r}}_{{c}} = a{{r / 4}}[{{r % 4}}] - b{{c}};
        sum{{r}}_{{c}} = fma(d{{r}}_{{c}}, d{{r}}_{{c}}, sum{{r}}_{{c}});
#else
        sum{{r}}_{{c}} = fma(vec4<f32>(a{{r / 4}}[{{r % 4}}]), b{{c}}, sum{{r}}_{{c}});
#endif
#endfor
#endfor
      }
    }
#for column in 0..EACH
    workgroupBarrier();
#for r in 0..EACH
    keys[across * {{QUERIES + 1}}u + {{r / 4 * (QUERIES / EACH) * 4}}u + down * 4u + {{r % 4}}u] =
        key_of({{METRIC == "euclidean" ? "" : "-"}}sum{{r}}_{{column / 4}}[{{column % 4}}]);
#endfor
    workgroupBarrier();
    if (lane < {{QUERIES}}u) {
      for (var c = 0u; c < {{ACROSS}}u; c++) {
        let place = first + {{column / 4 * ACROSS * 4}}u + c * 4u + {{column % 4}}u;
        let key = keys[c * {{QUERIES + 1}}u + lane];
        if ({{AFTER ? "(place < end) & comes_before(after_key, after_place, key, place + p.first_point)" : "place < end"}}) {
          offer(key, place + p.first_point);
        }
      }
    }
#endfor
  }
  let row = first_row + lane;
  if ((lane < {{QUERIES}}u) & (row < p.query_count)) {
    let list = (row * p.all_ranges + p.first_range + range) * {{KEEP}}u;
    for (var i = 0u; i < {{KEEP}}u; i++) {
      list_keys_put(p.list_keys_off + list + i, kept_keys[i]);
      list_places_put(p.list_places_off + list + i, kept_places[i]);
    }
  }
}
