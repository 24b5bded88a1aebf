// image[n, c, i…] = the sum of columns[n, o…, c, k…] over all o and k with o * stride - pad + k * dilation = i.
// Tile: 256 invocations, one per CHUNK neighbouring elements of the image. No workgroup memory.
// Assumes: with CHUNK 2 the rows of the image are dense, even and aligned to words.
fn total(n: u32, c: u32, i: vec3<i32>) -> f32 {
  let stride = vec3<i32>(p.stride_0, p.stride_1, p.stride_2);
  let base = i + vec3<i32>(p.pad_0, p.pad_1, p.pad_2);
  let start = p.columns_off + n * p.columns_0 + c * p.columns_4;
  var sum = 0.0;
  for (var kd = 0; kd < i32(p.kernel_0); kd++) {
    let d = base.x - kd * p.dilation_0;
    if (d < 0 || d % stride.x != 0 || d / stride.x >= i32(p.out_0)) { continue; }
    let at_d = start + u32(d / stride.x) * p.columns_1 + u32(kd) * p.columns_5;
    for (var kh = 0; kh < i32(p.kernel_1); kh++) {
      let h = base.y - kh * p.dilation_1;
      if (h < 0 || h % stride.y != 0 || h / stride.y >= i32(p.out_1)) { continue; }
      let at_h = at_d + u32(h / stride.y) * p.columns_2 + u32(kh) * p.columns_6;
      for (var kw = 0; kw < i32(p.kernel_2); kw++) {
        let w = base.z - kw * p.dilation_2;
        if (w < 0 || w % stride.z != 0 || w / stride.z >= i32(p.out_2)) { continue; }
        sum += columns_at(at_h + u32(w / stride.z) * p.columns_3 + u32(kw) * p.columns_7);
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
  let width = u32(p.size_2) / {{CHUNK}}u;
  let w = (g % width) * {{CHUNK}}u;
  let h = (g / width) % u32(p.size_1);
  let plane = g / (width * u32(p.size_1));
  let d = plane % u32(p.size_0);
  let c = (plane / u32(p.size_0)) % p.channels;
  let n = plane / (u32(p.size_0) * p.channels);
  let to = p.image_off + n * p.batch_0 + c * p.batch_1 + d * u32(p.step_0) + h * u32(p.step_1) + w * u32(p.step_2);
#if CHUNK == 2
  image_put2(to, vec2<f32>(total(n, c, vec3<i32>(vec3<u32>(d, h, w))), total(n, c, vec3<i32>(vec3<u32>(d, h, w + 1u)))));
#else
  image_put(to, total(n, c, vec3<i32>(vec3<u32>(d, h, w))));
#endif
}
