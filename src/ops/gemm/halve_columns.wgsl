// The largest magnitudes of the columns of matrices [row][column], as bits of floats, to `largest`, which starts as zeros: magnitudes
// have the order of their bits. Tile: 64 invocations side by side with 4 columns each, WORKGROUP / 64 of them above one another, 128
// rows; workgroup memory: 4 KiB. Columns are neighbours, aligned to 4.
var<workgroup> most_of: array<vec4<u32>, {{WORKGROUP}}>;

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let column = (group.x * 64u + t % 64u) * 4u;
  let i2 = group.z % p.batch_2;
  let i1 = group.z / p.batch_2 % p.batch_1;
  let i0 = group.z / p.batch_2 / p.batch_1;
  let start = p.x_off + i0 * p.x_0 + i1 * p.x_1 + i2 * p.x_2;
  let end = min(p.rows, (group.y + 1u) * 128u);
  var most = vec4<u32>();
  if (column < p.columns) {
    for (var row = group.y * 128u + t / 64u; row < end; row += {{WORKGROUP / 64}}u) {
      most = max(most, bitcast<vec4<u32>>(x_at4(start + row * p.x_row + column)) & vec4<u32>(0x7fffffffu));
    }
  }
  most_of[t] = most;
  workgroupBarrier();
  if (t < 64u && column < p.columns) {
#for k in 1..(WORKGROUP / 64)
    most = max(most, most_of[t + {{k * 64}}u]);
#endfor
    let at = p.largest_off + group.z * p.columns + column;
    for (var e = 0u; e < 4u; e++) { largest_max(at + e, most[e]); }
  }
}
