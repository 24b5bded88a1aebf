// X with A · X = B, and det A (LOG: its sign and the logarithm of its size too), by elimination with row pivots (Gauss and Jordan), in a copy [A | B] in memory.
// Tile: WORKGROUP invocations, one matrix. Workgroup memory: at most 2 KiB for the search of pivots.
var<workgroup> sizes: array<f32, {{WORKGROUP}}>;
var<workgroup> rows: array<u32, {{WORKGROUP}}>;

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups);
  if (g >= p.groups) { return; }
  var rest = g;
  var a = p.a_off;
#if SOLVE
  var b = p.b_off;
  var x = p.x_off;
#endif
#if DET
  var y = p.y_off;
#endif
#if LOG
  var s = p.s_off;
  var l = p.l_off;
#endif
#for back in 0..RANK
#let d = RANK - 1 - back
  {
    let at = rest % p.batch_{{d}};
    rest /= p.batch_{{d}};
    a += at * p.a_{{d}};
#if SOLVE
    b += at * p.b_{{d}};
    x += at * p.x_{{d}};
#endif
#if DET
    y += at * p.y_{{d}};
#endif
#if LOG
    s += at * p.s_{{d}};
    l += at * p.l_{{d}};
#endif
  }
#endfor
  let n = p.n;
  let width = n + p.k;
  let w = p.w_off + g * n * width;
  for (var e = lane; e < n * width; e += {{WORKGROUP}}u) {
    let i = e / width;
    let j = e % width;
    if (j < n) {
      w_put(w + e, a_at(a + i * p.a_row + j * p.a_column));
#if SOLVE
    } else {
      w_put(w + e, b_at(b + i * p.b_row + (j - n) * p.b_column));
#endif
    }
  }
  storageBarrier();
  workgroupBarrier();
  var product = 1.0;
#if LOG
  var sign_of_all = 1.0;
  var sum = 0.0;
#endif
  for (var c = 0u; c < n; c++) {
    // The largest element of the column, the first of equals. NaN counts as the largest.
    var size = -1.0;
    var row = c;
    for (var i = c + lane; i < n; i += {{WORKGROUP}}u) {
      let bits = bitcast<u32>(w_at(w + i * width + c)) & 0x7fffffffu;
      let here = bitcast<f32>(min(bits, 0x7f7fffffu));
      if (here > size) {
        size = here;
        row = i;
      }
    }
    sizes[lane] = size;
    rows[lane] = row;
    workgroupBarrier();
    for (var half = {{WORKGROUP / 2}}u; half > 0u; half /= 2u) {
      if (lane < half) {
        let other = sizes[lane + half];
        if (other > sizes[lane] || (other == sizes[lane] && rows[lane + half] < rows[lane])) {
          sizes[lane] = other;
          rows[lane] = rows[lane + half];
        }
      }
      workgroupBarrier();
    }
    let pivot = rows[0];
    if (pivot != c) {
      for (var j = c + lane; j < width; j += {{WORKGROUP}}u) {
        let upper = w_at(w + c * width + j);
        w_put(w + c * width + j, w_at(w + pivot * width + j));
        w_put(w + pivot * width + j, upper);
      }
      product = -product;
#if LOG
      sign_of_all = -sign_of_all;
#endif
    }
    storageBarrier();
    workgroupBarrier();
    let diagonal = w_at(w + c * width + c);
    product *= diagonal;
#if LOG
    // By its bits: not every driver has a logarithm of 0, or sees NaN.
    let without_sign = bitcast<u32>(diagonal) & 0x7fffffffu;
    if (without_sign == 0u) {
      sign_of_all = 0.0;
      sum = bitcast<f32>(p.minus_infinity);
    } else if (without_sign > 0x7f800000u) {
      sign_of_all = diagonal;
      sum = diagonal;
    } else {
      if (diagonal < 0.0) { sign_of_all = -sign_of_all; }
      sum += log(abs(diagonal));
    }
#endif
    let columns = width - c - 1u;
    for (var e = lane; e < n * columns; e += {{WORKGROUP}}u) {
      let i = e / columns;
      let j = c + 1u + e % columns;
      // Without a solution to find, rows above the pivot are done.
      if (i {{SOLVE ? "!=" : ">"}} c) {
#if SOLVE
        let factor = w_at(w + i * width + c) / diagonal;
#else
        // Below a diagonal of 0 are zeros: there is nothing to take away, and the determinant is 0.
        let factor = select(w_at(w + i * width + c) / diagonal, 0.0, diagonal == 0.0);
#endif
        w_put(w + i * width + j, w_at(w + i * width + j) - factor * w_at(w + c * width + j));
      }
    }
    storageBarrier();
    workgroupBarrier();
  }
#if SOLVE
  for (var e = lane; e < n * p.k; e += {{WORKGROUP}}u) {
    let i = e / p.k;
    let j = e % p.k;
    x_put(x + i * p.x_row + j * p.x_column, w_at(w + i * width + n + j) / w_at(w + i * width + i));
  }
#endif
#if DET
  if (lane == 0u) { y_put(y, product); }
#endif
#if LOG
  if (lane == 0u) {
    s_put(s, sign_of_all);
    l_put(l, sum);
  }
#endif
}
