// The gradient of a pool of means: each element goes through the windows that it lies in.
// Tile: 256 invocations, one per CHUNK elements that are neighbours along the last dimension. No workgroup memory.
// Assumes: with CHUNK 2 rows of the result are even and aligned to words.
fn size() -> vec3<i32> { return vec3<i32>(p.size_0, p.size_1, p.size_2); }
fn kernel() -> vec3<i32> { return vec3<i32>(p.kernel_0, p.kernel_1, p.kernel_2); }
fn stride() -> vec3<i32> { return vec3<i32>(p.stride_0, p.stride_1, p.stride_2); }
fn dilation() -> vec3<i32> { return vec3<i32>(p.dilation_0, p.dilation_1, p.dilation_2); }
fn pad() -> vec3<i32> { return vec3<i32>(p.pad_0, p.pad_1, p.pad_2); }

// Elements of a window that count.
fn elements(o: vec3<i32>) -> f32 {
  let k = kernel();
#if OUTSIDE
  return f32(k.x * k.y * k.z);
#else
  // Along each dimension those from the first one inside to the last one inside.
  let base = o * stride() - pad();
  let first = (max(-base, vec3<i32>(0)) + dilation() - 1) / dilation();
  let last = min(k - 1, (size() - 1 - base) / dilation());
  let inside = max(last - first + 1, vec3<i32>(0));
  return f32(max(inside.x * inside.y * inside.z, 1));
#endif
}

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
        sum += e_at(p.e_off + n * p.e_0 + c * p.e_1 + u.x * p.e_2 + u.y * p.e_3 + u.z * p.e_4) / elements(o);
      }
    }
  }
  return sum;
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (g >= p.total) { return; }
  let extent = vec3<u32>(size());
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
