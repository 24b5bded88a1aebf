// Each element of a convolution (MODE "forward") or of a transposed one ("transposed") by itself.
// Tile: 256 invocations, one per ITEMS times CHUNK elements that are neighbours along the last dimension, or one per
// CHUNK channels of an element (LAST). SINGLE: an element comes from one channel. No workgroup memory. Assumes: with CHUNK 2
// rows (LAST: channels) are even and aligned to words.
// Extents: size is that of the tensor with windows, out that with one element for each window.
fn along_channels(x_first: u32, w_first: u32, w_step: u32) -> f32 {
#if SINGLE
  return x_at(x_first) * w_at(w_first);
#else
  var sum = 0.0;
  var x_at_ = x_first;
  var w_at_ = w_first;
  for (var c = 0u; c < p.group_from; c++) {
    sum += x_at(x_at_) * w_at(w_at_);
    x_at_ += p.x_1;
    w_at_ += w_step;
  }
  return sum;
#endif
}

fn one(n: u32, channel: u32, at: vec3<i32>) -> f32 {
  let pad = vec3<i32>(p.pad_0, p.pad_1, p.pad_2);
  let stride = vec3<i32>(p.stride_0, p.stride_1, p.stride_2);
#if MODE == "forward"
  let base = at * stride - pad;
  let extent = vec3<i32>(p.size_0, p.size_1, p.size_2);
#else
  let base = at + pad;
  let extent = vec3<i32>(p.out_0, p.out_1, p.out_2);
#endif
  let group = channel / p.group_to;
  let x_start = p.x_off + n * p.x_0 + group * p.group_from * p.x_1;
  // Weights are [out channels, in channels of the group]; a transposed convolution goes the other way.
#if MODE == "forward"
  let w_start = p.w_off + channel * p.w_0;
  let w_step = p.w_1;
#else
  let w_start = p.w_off + group * p.group_from * p.w_0 + (channel % p.group_to) * p.w_1;
  let w_step = p.w_0;
#endif
  var sum = 0.0;
#if BIAS
  sum = bias_at(p.bias_off + channel * p.bias_step);
#endif
#if MODE == "forward"
  for (var kd = 0; kd < p.kernel_0; kd++) {
    let z = bitcast<u32>(base.x + kd * p.dilation_0);
    if (z >= u32(extent.x)) { continue; }
    for (var kh = 0; kh < p.kernel_1; kh++) {
      let y = bitcast<u32>(base.y + kh * p.dilation_1);
      if (y >= u32(extent.y)) { continue; }
      let x_row = x_start + z * p.x_2 + y * p.x_3;
      var w_at_ = w_start + u32(kd) * p.w_2 + u32(kh) * p.w_3;
      var x = base.z;
      for (var kw = 0; kw < p.kernel_2; kw++) {
        if (bitcast<u32>(x) < u32(extent.z)) { sum += along_channels(x_row + u32(x) * p.x_4, w_at_, w_step); }
        x += p.dilation_2;
        w_at_ += p.w_4;
      }
    }
  }
#else
  for (var kd = 0; kd < p.kernel_0; kd++) {
    for (var kh = 0; kh < p.kernel_1; kh++) {
      for (var kw = 0; kw < p.kernel_2; kw++) {
        let k = vec3<i32>(kd, kh, kw);
        let t = base - k * vec3<i32>(p.dilation_0, p.dilation_1, p.dilation_2);
        let i = t / stride;
        if (any(t < vec3<i32>(0)) || any(i * stride != t) || any(i >= extent)) { continue; }
        let u = vec3<u32>(i);
        sum += along_channels(x_start + u.x * p.x_2 + u.y * p.x_3 + u.z * p.x_4,
                              w_start + u32(kd) * p.w_2 + u32(kh) * p.w_3 + u32(kw) * p.w_4, w_step);
      }
    }
  }
#endif
  return sum;
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (g >= p.total) { return; }
#if MODE == "forward"
  let extent = vec3<u32>(vec3<i32>(p.out_0, p.out_1, p.out_2));
#else
  let extent = vec3<u32>(vec3<i32>(p.size_0, p.size_1, p.size_2));
#endif
#if LAST
  let channels = p.channels / {{CHUNK}}u;
  let rest = g / channels;
  let channel = (g - rest * channels) * {{CHUNK}}u;
#let ALONG = ITEMS
#else
  let rest = g;
#let ALONG = CHUNK * ITEMS
#endif
  let width = extent.z / {{ALONG}}u;
  let line = rest / width;
  let w = (rest - line * width) * {{ALONG}}u;
  let plane = line / extent.y;
  let h = line - plane * extent.y;
  let volume = plane / extent.x;
  let d = plane - volume * extent.x;
#if LAST
  let n = volume;
#else
  let n = volume / p.channels;
  let channel = volume - n * p.channels;
#endif
  let to = p.y_off + n * p.y_0 + channel * p.y_1 + d * p.y_2 + h * p.y_3 + w * p.y_4;
#if CHUNK == 2 && LAST
  let at = vec3<i32>(vec3<u32>(d, h, w));
  y_put2(to, vec2<f32>(one(n, channel, at), one(n, channel + 1u, at)));
#elif CHUNK == 2
  y_put2(to, vec2<f32>(one(n, channel, vec3<i32>(vec3<u32>(d, h, w))),
                       one(n, channel, vec3<i32>(vec3<u32>(d, h, w + 1u)))));
#elif ITEMS > 1
  for (var k = 0u; k < {{ITEMS}}u; k++) {
    y_put(to + k * p.y_4, one(n, channel, vec3<i32>(vec3<u32>(d, h, w + k))));
  }
#else
  y_put(to, one(n, channel, vec3<i32>(vec3<u32>(d, h, w))));
#endif
}
