// The weight of a row in a mean: one over the number of rows whose class counts (0 when none does).
// Tile: one workgroup of 256 that goes through all rows. Workgroup memory: 1 KiB.
var<workgroup> counts: array<u32, {{WORKGROUP}}>;

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(local_invocation_index) lane: u32) {
  var count = 0u;
  for (var row = lane; row < p.rows; row += {{WORKGROUP}}u) {
    let right = classes_at(p.classes_off + row);
    count += select(0u, 1u, right >= 0i && !(p.has_ignored != 0u && right == p.ignored));
  }
  counts[lane] = count;
  for (var step = {{WORKGROUP / 2}}u; step > 0u; step /= 2u) {
    workgroupBarrier();
    if (lane < step) { counts[lane] += counts[lane + step]; }
  }
  if (lane == 0u) { share_put(p.share_off, select(1.0 / f32(counts[0]), 0.0, counts[0] == 0u)); }
}
