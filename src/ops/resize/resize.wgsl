// An image stretched or shrunk. MODE: "nearest", "linear", "cubic", or "area" (linear over all that an element covers).
// Tile: 256 invocations, one per ITEMS rows of CHUNK neighbouring columns, because finding a place takes longer than an element
// itself: what depends on the column alone is computed once, and rows of x that neighbours share are joined once. No workgroup
// memory.
// Assumes: with CHUNK 2 the rows of y are even and aligned to words.
// Along a dimension that is interpolated, element i of y is at (i + offset) * scale - offset of x.

// Extents that differ are below 2^15, so that the product fits.
fn nearest(i: u32, scaled_from: u32, scaled_to: u32) -> u32 {
  if (scaled_from == scaled_to) { return i; }
  return i * scaled_from / scaled_to;
}

// Where a row of the image at `start` lies, and where a column in it; the nearest one that exists.
fn row_at(start: u32, h: i32) -> u32 { return start + u32(clamp(h, 0, i32(p.size_2) - 1)) * p.x_2; }
fn column_at(w: i32) -> u32 { return u32(clamp(w, 0, i32(p.size_3) - 1)) * p.x_3; }

#if MODE == "cubic"
#let TAPS = 4
fn near_weight(d: f32) -> f32 { return (1.25 * d - 2.25) * d * d + 1.0; }
fn far_weight(d: f32) -> f32 { return ((-0.75 * d + 3.75) * d - 6.0) * d + 3.0; }
fn weights(d: f32) -> vec4<f32> {
  return vec4<f32>(far_weight(d + 1.0), near_weight(d), near_weight(1.0 - d), far_weight(2.0 - d));
}
fn join(row: u32, columns: vec4<u32>, across: vec4<f32>) -> f32 {
  return dot(across, vec4<f32>(x_at(row + columns.x), x_at(row + columns.y), x_at(row + columns.z), x_at(row + columns.w)));
}
#elif MODE == "linear"
#let TAPS = 2
fn weights(d: f32) -> vec2<f32> { return vec2<f32>(1.0 - d, d); }
fn join(row: u32, columns: vec2<u32>, across: vec2<f32>) -> f32 {
  return dot(across, vec2<f32>(x_at(row + columns.x), x_at(row + columns.y)));
}
#endif
#if MODE == "area"
fn area(start: u32, h: u32, w: u32) -> f32 {
  let y = (f32(h) + p.offset) * p.scale_0;
  let x = (f32(w) + p.offset) * p.scale_1;
  let reach = max(vec2<f32>(1.0), vec2<f32>(p.scale_0, p.scale_1));
  let low = max(vec2<i32>(trunc(vec2<f32>(y, x) - reach + p.offset)), vec2<i32>(0));
  let high = min(vec2<i32>(trunc(vec2<f32>(y, x) + reach + p.offset)), vec2<i32>(vec2<u32>(p.size_2, p.size_3)));
  var sum = 0.0;
  var total = 0.0;
  for (var i = low.x; i < high.x; i++) {
    let weight_y = max(1.0 - abs((f32(i) - y + p.offset) / reach.x), 0.0);
    for (var j = low.y; j < high.y; j++) {
      let weight = weight_y * max(1.0 - abs((f32(j) - x + p.offset) / reach.y), 0.0);
      sum += weight * x_at(row_at(start, i) + column_at(j));
      total += weight;
    }
  }
  return select(sum / total, 0.0, total == 0.0);
}
#endif

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (g >= p.total) { return; }
  let width = p.out_3 / {{CHUNK}}u;
  let height = (p.out_2 + {{ITEMS - 1}}u) / {{ITEMS}}u;
  let line = g / width;
  let w = (g - line * width) * {{CHUNK}}u;
  let plane = line / height;
  let row = (line - plane * height) * {{ITEMS}}u;
  let n = plane / p.out_1;
  let c = plane - n * p.out_1;
  let start = p.x_off + nearest(n, p.from_0, p.to_0) * p.x_0 + nearest(c, p.from_1, p.to_1) * p.x_1;
  let to = p.y_off + n * p.y_0 + c * p.y_1 + row * p.y_2 + w * p.y_3;

#if MODE == "nearest"
#for o in 0..CHUNK
  let column{{o}} = column_at(i32(nearest(w + {{o}}u, p.from_3, p.to_3)));
#endfor
  // Row by row: from here `whole` rows on, and one more whenever the rest is full.
  var source = nearest(p.first + row, p.from_2, p.to_2);
  var rest = (p.first + row) * p.from_2 - source * p.to_2;
#for k in 0..ITEMS
  let at{{k}} = row_at(start, i32(source));
  source += p.whole;
  rest += p.part;
  if (rest >= p.to_2) {
    rest -= p.to_2;
    source += 1u;
  }
#for o in 0..CHUNK
  let v{{k}}_{{o}} = x_at(at{{k}} + column{{o}});
#endfor
#endfor
#for k in 0..ITEMS
  if (row + {{k}}u < p.out_2) { {{CHUNK == 2 ? "y_put2" : "y_put"}}(to + {{k}}u * p.y_2, {{CHUNK == 2 ? "vec2<f32>(v" + k + "_0, v" + k + "_1)" : "v" + k + "_0"}}); }
#endfor

#else
#if MODE != "area"
  // Each column takes TAPS neighbours across; `known` is the row of x that the first of TAPS joined rows is.
  var known = -0x7fffffff;
#for o in 0..CHUNK
  let x{{o}} = (f32(w + {{o}}u) + p.offset) * p.scale_1 - p.offset;
  let across{{o}} = weights(x{{o}} - floor(x{{o}}));
  var columns{{o}}: vec{{TAPS}}<u32>;
#for a in 0..TAPS
  columns{{o}}[{{a}}] = column_at(i32(floor(x{{o}})) + {{a + 1 - TAPS / 2}});
  var joined{{o}}_{{a}} = 0.0;
#endfor
#endfor
#endif
  for (var k = 0u; k < {{ITEMS}}u; k++) {
    if (row + k >= p.out_2) { break; }
#if MODE == "area"
#for o in 0..CHUNK
    let v{{o}} = area(start, p.first + row + k, w + {{o}}u);
#endfor
#else
    let y = (f32(p.first + row + k) + p.offset) * p.scale_0 - p.offset;
    let i = i32(floor(y)) + {{1 - TAPS / 2}};
    if (i != known) {
#for a in 0..TAPS
      let at{{a}} = row_at(start, i + {{a}});
#endfor
      if (i == known + 1) {
#for o in 0..CHUNK
#for a in 1..TAPS
        joined{{o}}_{{a - 1}} = joined{{o}}_{{a}};
#endfor
#endfor
      } else {
#for o in 0..CHUNK
#for a in 0..TAPS - 1
        joined{{o}}_{{a}} = join(at{{a}}, columns{{o}}, across{{o}});
#endfor
#endfor
      }
#for o in 0..CHUNK
      joined{{o}}_{{TAPS - 1}} = join(at{{TAPS - 1}}, columns{{o}}, across{{o}});
#endfor
      known = i;
    }
    let down = weights(y - floor(y));
#for o in 0..CHUNK
    let v{{o}} = dot(down, vec{{TAPS}}<f32>(joined{{o}}_0, joined{{o}}_1{{TAPS == 4 ? ", joined" + o + "_2, joined" + o + "_3" : ""}}));
#endfor
#endif
#if CHUNK == 2
    y_put2(to + k * p.y_2, vec2<f32>(v0, v1));
#else
    y_put(to + k * p.y_2, v0);
#endif
  }
#endif
}
