// The lower triangle L with L · Lᵀ = A, column by column, in place of the result.
// Tile: WORKGROUP invocations, one matrix. No workgroup memory.
@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups);
  if (g >= p.groups) { return; }
  var rest = g;
  var a = p.a_off;
  var y = p.y_off;
#for back in 0..RANK
#let d = RANK - 1 - back
  {
    let at = rest % p.batch_{{d}};
    rest /= p.batch_{{d}};
    a += at * p.a_{{d}};
    y += at * p.y_{{d}};
  }
#endfor
  let n = p.n;
  for (var e = lane; e < n * n; e += {{WORKGROUP}}u) {
    let i = e / n;
    let j = e % n;
    var v = 0.0;
    if (j <= i) { v = a_at(a + i * p.a_row + j * p.a_column); }
    y_put(y + i * p.y_row + j * p.y_column, v);
  }
  storageBarrier();
  workgroupBarrier();
  for (var c = 0u; c < n; c++) {
    let at = y + c * p.y_row + c * p.y_column;
    let square = y_at(at);
    // The root of a number that is not positive is NaN, on every driver.
    var root = sqrt(max(square, 0.0));
    if (!(square > 0.0)) { root = bitcast<f32>(p.nan); }
    storageBarrier();
    workgroupBarrier();
    if (lane == 0u) { y_put(at, root); }
    for (var i = c + 1u + lane; i < n; i += {{WORKGROUP}}u) {
      let place = y + i * p.y_row + c * p.y_column;
      y_put(place, y_at(place) / root);
    }
    storageBarrier();
    workgroupBarrier();
    let left = n - c - 1u;
    for (var e = lane; e < left * left; e += {{WORKGROUP}}u) {
      let i = c + 1u + e / left;
      let j = c + 1u + e % left;
      if (j <= i) {
        let place = y + i * p.y_row + j * p.y_column;
        y_put(place, y_at(place) - y_at(y + i * p.y_row + c * p.y_column) * y_at(y + j * p.y_row + c * p.y_column));
      }
    }
    storageBarrier();
    workgroupBarrier();
  }
}
