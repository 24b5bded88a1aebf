// An image stretched or shrunk. MODE: "nearest", "linear", "cubic", or "area" (linear over all that an element covers).
// Tile: 256 invocations, one per ITEMS chunks of CHUNK neighbouring elements of a row. No workgroup memory.
// Assumes: with CHUNK 2 the rows of y are even and aligned to words.
// Along a dimension that is interpolated, element i of y is at (i + offset) * scale - offset of x.

// Extents that differ are below 2^15, so that the product fits.
fn nearest(i: u32, scaled_from: u32, scaled_to: u32) -> u32 { return i * scaled_from / scaled_to; }

fn x_value(start: u32, h: i32, w: i32) -> f32 {
  let row = u32(clamp(h, 0, i32(p.size_2) - 1));
  let column = u32(clamp(w, 0, i32(p.size_3) - 1));
  return x_at(start + row * p.x_2 + column * p.x_3);
}

#if MODE == "cubic"
fn near_weight(d: f32) -> f32 { return (1.25 * d - 2.25) * d * d + 1.0; }
fn far_weight(d: f32) -> f32 { return ((-0.75 * d + 3.75) * d - 6.0) * d + 3.0; }
fn weights(d: f32) -> vec4<f32> {
  return vec4<f32>(far_weight(d + 1.0), near_weight(d), near_weight(1.0 - d), far_weight(2.0 - d));
}
#endif

fn one(n: u32, c: u32, h: u32, w: u32) -> f32 {
  let start = p.x_off + nearest(n, p.from_0, p.to_0) * p.x_0 + nearest(c, p.from_1, p.to_1) * p.x_1;
#if MODE == "nearest"
  return x_value(start, i32(nearest(h, p.from_2, p.to_2)), i32(nearest(w, p.from_3, p.to_3)));
#elif MODE == "area"
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
      sum += weight * x_value(start, i, j);
      total += weight;
    }
  }
  return select(sum / total, 0.0, total == 0.0);
#else
  let y = (f32(h) + p.offset) * p.scale_0 - p.offset;
  let x = (f32(w) + p.offset) * p.scale_1 - p.offset;
  let i = i32(floor(y));
  let j = i32(floor(x));
#if MODE == "linear"
  let v = mix(x_value(start, i, j), x_value(start, i, j + 1), x - floor(x));
  let below = mix(x_value(start, i + 1, j), x_value(start, i + 1, j + 1), x - floor(x));
  return mix(v, below, y - floor(y));
#else
  let across = weights(x - floor(x));
  let down = weights(y - floor(y));
  var sum = 0.0;
#for a in 0..4
  sum += down[{{a}}] * dot(across, vec4<f32>(x_value(start, i + {{a}} - 1, j - 1), x_value(start, i + {{a}} - 1, j),
                                             x_value(start, i + {{a}} - 1, j + 1), x_value(start, i + {{a}} - 1, j + 2)));
#endfor
  return sum;
#endif
#endif
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups) * 256u + lane;
  if (g >= p.total) { return; }
  let width = p.out_3 / {{CHUNK * ITEMS}}u;
  let w = (g % width) * {{CHUNK * ITEMS}}u;
  let row = (g / width) % p.out_2;
  let plane = g / (width * p.out_2);
  let c = plane % p.out_1;
  let n = plane / p.out_1;
  let h = p.first + row;
  let to = p.y_off + n * p.y_0 + c * p.y_1 + row * p.y_2 + w * p.y_3;
#for k in 0..ITEMS
#if CHUNK == 2
  y_put2(to + {{k * 2}}u, vec2<f32>(one(n, c, h, w + {{k * 2}}u), one(n, c, h, w + {{k * 2 + 1}}u)));
#else
  y_put(to + {{k}}u * p.y_3, one(n, c, h, w + {{k}}u));
#endif
#endfor
}
