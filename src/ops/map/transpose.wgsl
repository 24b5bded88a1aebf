// y[…, row, column] = a[…, column, row]: a copy (and cast) between a tensor that is contiguous along columns (y) and
// one that is contiguous along rows (a).
// Tile: 64 x 64 elements through 16 KiB of workgroup memory, 256 invocations that move 4 x 4 elements each, four at a
// time along the contiguous direction of either side. The groups of four inside a line of the tile are exchanged by
// xor with the line's number / 4, so that reading the tile across its lines meets different memory banks.
// Assumes: A_VEC / Y_VEC: the contiguous extents, strides and starts of a / y are multiples of four elements.
alias T = {{DOMAIN}};
var<workgroup> lines: array<vec4<y_t>, 1024>;

fn convert(v: vec4<a_t>) -> vec4<y_t> { return vec4<y_t>(vec4<T>(v)); }

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let number = group_index(group, groups);
  if (number >= p.groups) { return; }
  var rest = number / p.column_tiles;
  let column0 = (number - rest * p.column_tiles) * 64u;
  let batch0 = rest / p.row_tiles;
  let row0 = (rest - batch0 * p.row_tiles) * 64u;
  var a_base = p.a_off;
  var y_base = p.y_off;
  rest = batch0;
#for back in 0..BATCH_RANK
#let d = BATCH_RANK - 1 - back
  let q{{d}} = rest / p.shape_{{d}};
  a_base += (rest - q{{d}} * p.shape_{{d}}) * p.a_stride_{{d}};
  y_base += (rest - q{{d}} * p.shape_{{d}}) * p.y_stride_{{d}};
  rest = q{{d}};
#endfor

  // Line = column of y; four rows (contiguous in a) per group.
  let four = lane % 16u;
#for k in 0..(1024 / WORKGROUP)
  {
    let line = lane / 16u + {{k * WORKGROUP / 16}}u;
    let column = column0 + line;
    let row = row0 + four * 4u;
    if (column < p.columns && row < p.rows) {
      let at = a_base + column * p.a_column_stride + row;
#if A_VEC
      let v = a_at4(at);
#else
      var v = vec4<a_t>();
      for (var j = 0u; j < 4u; j++) {
        if (row + j < p.rows) { v[j] = a_at(at + j); }
      }
#endif
      lines[line * 16u + (four ^ (line / 4u))] = convert(v);
    }
  }
#endfor
  workgroupBarrier();
#for k in 0..(1024 / WORKGROUP)
  {
    let line = lane / 16u + {{k * WORKGROUP / 16}}u;  // now a row of y
    let row = row0 + line;
    let column = column0 + four * 4u;
    if (row < p.rows && column < p.columns) {
      let slot = (line / 4u) ^ four;
      let v = vec4<y_t>(lines[(four * 4u) * 16u + slot][line % 4u], lines[(four * 4u + 1u) * 16u + slot][line % 4u],
                        lines[(four * 4u + 2u) * 16u + slot][line % 4u], lines[(four * 4u + 3u) * 16u + slot][line % 4u]);
      let at = y_base + row * p.y_row_stride + column;
#if Y_VEC
      y_put4(at, v);
#else
      for (var j = 0u; j < 4u; j++) {
        if (column + j < p.columns) { y_put(at + j, v[j]); }
      }
#endif
    }
  }
#endfor
}
