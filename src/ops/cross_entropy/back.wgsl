// dlogits = (softmax(x) - t) * dloss * share, over dense tensors as one run of elements.
// Tile: 256 invocations with a block of BLOCK elements each. Blocks are aligned whatever the length of rows is, so that
// one may hold the end of a row and the start of the next: then its elements find their rows one by one.
// Piece: p.count elements that start at column p.first_column of row p.first_row.
fn gradient(i: u32, v: f32) -> f32 {
  let at = p.first_column + i;
  let row = p.first_row + at / p.columns;
  let column = at % p.columns;
  return one(row, column, i, v);
}

struct Row { lse: f32, factor: f32, right: i32 }

fn row_of(row: u32) -> Row {
  var r: Row;
  r.lse = lse_at(p.lse_off + row);
  r.factor = dloss_at(p.dloss_off + row * p.dloss_row) * p.share;
#if HAS_SHARE
  r.factor *= share_at(p.share_off);
#endif
#if !PROBABILITIES
  r.right = classes_at(p.classes_off + row);
  if (r.right < 0i || (p.has_ignored != 0u && r.right == p.ignored)) {
    r.factor = 0.0;
  } else if (bitcast<u32>(r.right) >= p.columns) {
    var nan_bits = 0x7fc00000u;  // no such class
    r.factor = bitcast<f32>(nan_bits);
  }
#endif
  return r;
}

fn one(row: u32, column: u32, i: u32, v: f32) -> f32 {
  let r = row_of(row);
#if PROBABILITIES
  let t = t_at(p.t_off + i);
#else
  let t = select(0.0, 1.0, column == bitcast<u32>(r.right));
#endif
  return select((exp(v - r.lse) - t) * r.factor, 0.0, r.factor == 0.0);
}

#if BLOCK > 1
fn four(r: Row, column: u32, i: u32, v: vec4<f32>) -> vec4<f32> {
#if PROBABILITIES
  let t = t_at4(p.t_off + i);
#else
  let mine = vec4<u32>(column) + vec4<u32>(0u, 1u, 2u, 3u);
  let t = select(vec4<f32>(0.0), vec4<f32>(1.0), mine == vec4<u32>(bitcast<u32>(r.right)));
#endif
  return select((exp(v - r.lse) - t) * r.factor, vec4<f32>(0.0), vec4<bool>(r.factor == 0.0));
}
#endif

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = (group_index(group, groups) * {{WORKGROUP}}u + lane) * {{BLOCK}}u;
  if (i >= p.count) { return; }
#if BLOCK == 1
  dx_put(p.dx_off + i, gradient(i, x_at(p.x_off + i)));
#else
  if (i + {{BLOCK}}u > p.count) {
    for (var k = i; k < p.count; k++) { dx_put(p.dx_off + k, gradient(k, x_at(p.x_off + k))); }
    return;
  }
  let at = p.first_column + i;
  let row = at / p.columns;
  let column = at - row * p.columns;
#if BLOCK == 8
  let v = x_at8(p.x_off + i);
#else
  let v = array<vec4<f32>, 1>(x_at4(p.x_off + i));
#endif
  if (column + {{BLOCK}}u <= p.columns) {
    let r = row_of(p.first_row + row);
#if BLOCK == 8
    dx_put8(p.dx_off + i, four(r, column, i, v[0]), four(r, column + 4u, i + 4u, v[1]));
#else
    dx_put4(p.dx_off + i, four(r, column, i, v[0]));
#endif
  } else {
    let o0 = vec4<f32>(gradient(i, v[0].x), gradient(i + 1u, v[0].y), gradient(i + 2u, v[0].z), gradient(i + 3u, v[0].w));
#if BLOCK == 8
    let o1 = vec4<f32>(gradient(i + 4u, v[1].x), gradient(i + 5u, v[1].y), gradient(i + 6u, v[1].z), gradient(i + 7u, v[1].w));
    dx_put8(p.dx_off + i, o0, o1);
#else
    dx_put4(p.dx_off + i, o0);
#endif
  }
#endif
}
