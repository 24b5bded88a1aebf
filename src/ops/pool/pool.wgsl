// A pool (MODE "forward"), FN "max" or "mean", or the gradient of a "mean" ("backward"; that of "max" is in gather.wgsl).
// Tile: 256 invocations, one per CHUNK elements that are neighbours along the last dimension. No workgroup memory.
// The gradient is gathered: each element goes through the windows that it lies in.
// Assumes: with CHUNK 2 rows of the result are even and aligned to words.
const lowest = -3.4028234663852886e38;

fn size() -> vec3<i32> { return vec3<i32>(p.size_0, p.size_1, p.size_2); }
fn kernel() -> vec3<i32> { return vec3<i32>(p.kernel_0, p.kernel_1, p.kernel_2); }
fn stride() -> vec3<i32> { return vec3<i32>(p.stride_0, p.stride_1, p.stride_2); }
fn dilation() -> vec3<i32> { return vec3<i32>(p.dilation_0, p.dilation_1, p.dilation_2); }
fn pad() -> vec3<i32> { return vec3<i32>(p.pad_0, p.pad_1, p.pad_2); }
fn is_inside(at: vec3<i32>) -> bool { return all(at >= vec3<i32>(0)) && all(at < size()); }

#if MODE == "forward"
fn x_value(n: u32, c: u32, at: vec3<i32>) -> f32 {
  let u = vec3<u32>(at);
  return x_at(p.x_off + n * p.x_0 + c * p.x_1 + u.x * p.x_2 + u.y * p.x_3 + u.z * p.x_4);
}
#endif

// Elements of a window that lie inside, and with a value their sum or the largest.
struct Window {
  value: f32,
  count: f32,
}
fn window(n: u32, c: u32, o: vec3<i32>) -> Window {
  let base = o * stride() - pad();
  let k = kernel();
  var found = Window({{FN == "max" ? "lowest" : "0.0"}}, 0.0);
  for (var kd = 0; kd < k.x; kd++) {
    for (var kh = 0; kh < k.y; kh++) {
      for (var kw = 0; kw < k.z; kw++) {
        let at = base + vec3<i32>(kd, kh, kw) * dilation();
        if (!is_inside(at)) { continue; }
        found.count += 1.0;
#if FN == "max"
        let v = x_value(n, c, at);
        if (v > found.value) { found.value = v; }
#elif MODE == "forward"
        found.value += x_value(n, c, at);
#endif
      }
    }
  }
#if FN == "mean"
#if OUTSIDE
  found.count = f32(k.x * k.y * k.z);
#endif
  found.count = max(found.count, 1.0);
#endif
  return found;
}

#if MODE == "forward"
fn one(n: u32, c: u32, at: vec3<i32>) -> f32 {
  let found = window(n, c, at);
#if FN == "max"
  return found.value;
#else
  return found.value / found.count;
#endif
}
#else
fn one(n: u32, c: u32, at: vec3<i32>) -> f32 {
  let k = kernel();
  let out = vec3<i32>(p.out_0, p.out_1, p.out_2);
  var sum = 0.0;
  for (var kd = k.x - 1; kd >= 0; kd--) {
    for (var kh = k.y - 1; kh >= 0; kh--) {
      for (var kw = k.z - 1; kw >= 0; kw--) {
        let t = at + pad() - vec3<i32>(kd, kh, kw) * dilation();
        let o = t / stride();
        if (any(t < vec3<i32>(0)) || any(o * stride() != t) || any(o >= out)) { continue; }
        let u = vec3<u32>(o);
        let e = e_at(p.e_off + n * p.e_0 + c * p.e_1 + u.x * p.e_2 + u.y * p.e_3 + u.z * p.e_4);
        sum += e / window(n, c, o).count;
      }
    }
  }
  return sum;
}
#endif

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups) * 256u + lane;
  if (g >= p.total) { return; }
#if MODE == "forward"
  let extent = vec3<u32>(vec3<i32>(p.out_0, p.out_1, p.out_2));
#else
  let extent = vec3<u32>(size());
#endif
  let width = extent.z / {{CHUNK}}u;
  let w = (g % width) * {{CHUNK}}u;
  let h = (g / width) % extent.y;
  let plane = g / (width * extent.y);
  let d = plane % extent.x;
  let c = (plane / extent.x) % p.channels;
  let n = plane / (extent.x * p.channels);
  let to = p.y_off + n * p.y_0 + c * p.y_1 + d * p.y_2 + h * p.y_3 + w * p.y_4;
#if CHUNK == 2
  y_put2(to, vec2<f32>(one(n, c, vec3<i32>(vec3<u32>(d, h, w))), one(n, c, vec3<i32>(vec3<u32>(d, h, w + 1u)))));
#else
  y_put(to, one(n, c, vec3<i32>(vec3<u32>(d, h, w))));
#endif
}
