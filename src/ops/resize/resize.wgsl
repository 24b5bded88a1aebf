// An image stretched or shrunk. MODE: "nearest", "linear", "cubic", or "area" (linear over all that an element covers).
// Tile: 256 invocations, one per ITEMS rows of CHUNK neighbouring columns, because finding a place takes longer than an element
// itself: what depends on the column alone is computed once. No workgroup memory.
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
fn near_weight(d: f32) -> f32 { return (1.25 * d - 2.25) * d * d + 1.0; }
fn far_weight(d: f32) -> f32 { return ((-0.75 * d + 3.75) * d - 6.0) * d + 3.0; }
fn weights(d: f32) -> vec4<f32> {
  return vec4<f32>(far_weight(d + 1.0), near_weight(d), near_weight(1.0 - d), far_weight(2.0 - d));
}
#elif MODE == "area"
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

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups) * 256u + lane;
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

#for o in 0..CHUNK
#if MODE == "nearest"
  let column{{o}} = column_at(i32(nearest(w + {{o}}u, p.from_3, p.to_3)));
#elif MODE != "area"
  let x{{o}} = (f32(w + {{o}}u) + p.offset) * p.scale_1 - p.offset;
  let j{{o}} = i32(floor(x{{o}}));
#if MODE == "linear"
  let across{{o}} = x{{o}} - floor(x{{o}});
  let columns{{o}} = vec2<u32>(column_at(j{{o}}), column_at(j{{o}} + 1));
#else
  let across{{o}} = weights(x{{o}} - floor(x{{o}}));
  let columns{{o}} = vec4<u32>(column_at(j{{o}} - 1), column_at(j{{o}}), column_at(j{{o}} + 1), column_at(j{{o}} + 2));
#endif
#endif
#endfor
#if MODE == "nearest"
  // Row by row: from here `whole` rows on, and one more whenever the rest is full.
  var source = nearest(p.first + row, p.from_2, p.to_2);
  var rest = (p.first + row) * p.from_2 - source * p.to_2;
#endif

#for k in 0..ITEMS
#if MODE == "nearest"
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
#elif MODE == "area"
#for o in 0..CHUNK
  let v{{k}}_{{o}} = area(start, p.first + min(row + {{k}}u, p.out_2 - 1u), w + {{o}}u);
#endfor
#else
  let y{{k}} = (f32(p.first + row + {{k}}u) + p.offset) * p.scale_0 - p.offset;
  let i{{k}} = i32(floor(y{{k}}));
#if MODE == "linear"
#for a in 0..2
  let at{{k}}_{{a}} = row_at(start, i{{k}} + {{a}});
#for o in 0..CHUNK
  let l{{k}}_{{o}}_{{a}} = mix(x_at(at{{k}}_{{a}} + columns{{o}}.x), x_at(at{{k}}_{{a}} + columns{{o}}.y), across{{o}});
#endfor
#endfor
#for o in 0..CHUNK
  let v{{k}}_{{o}} = mix(l{{k}}_{{o}}_0, l{{k}}_{{o}}_1, y{{k}} - floor(y{{k}}));
#endfor
#else
  let down{{k}} = weights(y{{k}} - floor(y{{k}}));
#for o in 0..CHUNK
  var v{{k}}_{{o}} = 0.0;
#endfor
#for a in 0..4
  let at{{k}}_{{a}} = row_at(start, i{{k}} + {{a}} - 1);
#for o in 0..CHUNK
  v{{k}}_{{o}} += down{{k}}[{{a}}] * dot(across{{o}}, vec4<f32>(
      x_at(at{{k}}_{{a}} + columns{{o}}.x), x_at(at{{k}}_{{a}} + columns{{o}}.y),
      x_at(at{{k}}_{{a}} + columns{{o}}.z), x_at(at{{k}}_{{a}} + columns{{o}}.w)));
#endfor
#endfor
#endif
#endif
#endfor

#for k in 0..ITEMS
  if (row + {{k}}u < p.out_2) {
#if CHUNK == 2
    y_put2(to + {{k}}u * p.y_2, vec2<f32>(v{{k}}_0, v{{k}}_1));
#else
    y_put(to + {{k}}u * p.y_2, v{{k}}_0);
#endif
  }
#endfor
}
