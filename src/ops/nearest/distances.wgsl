// The distances of all points from all queries: squares of differences of a tile of QUERIES x POINTS are summed in registers, EACH x
// EACH by an invocation. Where squares were too large or too small for f32, the differences are gone through once more,
// divided by the largest of them.
// Tile: ACROSS = 16 invocations along the points, QUERIES / EACH along the queries. Workgroup memory: STEP columns of both
// matrices.
#let ACROSS = 16
#let PARTS = EACH / 4

var<workgroup> left: array<vec4<f32>, {{STEP * QUERIES / 4}}>;   // [STEP][QUERIES / 4]
var<workgroup> right: array<vec4<f32>, {{STEP * POINTS / 4}}>;

fn query_at(row: u32, k: u32) -> f32 {
  if ((row >= p.query_count) | (k >= p.size)) { return 0.0; }
  return queries_at(p.queries_off + row * p.query_row + k * p.query_step);
}

fn point_at(row: u32, k: u32) -> f32 {
  if ((row >= p.point_count) | (k >= p.size)) { return 0.0; }
  return points_at(p.points_off + row * p.point_row + k * p.point_step);
}

fn put(row: u32, column: u32, sum: f32) {
  if ((row >= p.query_count) | (column >= p.point_count)) { return; }
  let bits = bitcast<u32>(sum);
  var distance = sqrt(sum);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    distance = sum;
  } else if ((bits < 0x0d800000u) | (bits >= 0x7e800000u)) {
    distance = 0.0;
    for (var k = 0u; k < p.size; k++) { distance = max(distance, abs(query_at(row, k) - point_at(column, k))); }
    if ((distance > 0.0) & (bitcast<u32>(distance) < 0x7f800000u)) {
      var shares = 0.0;
      for (var k = 0u; k < p.size; k++) {
        let share = (query_at(row, k) - point_at(column, k)) / distance;
        shares = fma(share, share, shares);
      }
      distance *= sqrt(shares);
    }
  }
  y_put(p.y_off + row * p.y_row + column * p.y_step, distance);
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups);
  if (g >= p.tiles * p.point_tiles) { return; }
  let first_row = (g % p.tiles) * {{QUERIES}}u;
  let first = g / p.tiles * {{POINTS}}u;
  let across = lane % {{ACROSS}}u;
  let down = lane / {{ACROSS}}u;
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
      let d{{r}}_{{c}} = a{{r / 4}}[{{r % 4}}] - b{{c}};
      sum{{r}}_{{c}} = fma(d{{r}}_{{c}}, d{{r}}_{{c}}, sum{{r}}_{{c}});
#endfor
#endfor
    }
  }
#for r in 0..EACH
#for c in 0..EACH
  put(first_row + {{r / 4 * (QUERIES / EACH) * 4}}u + down * 4u + {{r % 4}}u,
      first + {{c / 4 * ACROSS * 4}}u + across * 4u + {{c % 4}}u, sum{{r}}_{{c / 4}}[{{c % 4}}]);
#endfor
#endfor
}
