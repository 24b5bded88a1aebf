// The gradient of the weights, one element per workgroup: its invocations go through the windows of all images in turn
// and add their sums up as a tree. x is the image, e the gradient of the output, y that of the weights.
// Workgroup memory: 256 bytes.
var<workgroup> sums: array<f32, {{WORKGROUP}}>;

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups);
  if (g >= p.total) { return; }
  let kernel = vec3<u32>(vec3<i32>(p.kernel_0, p.kernel_1, p.kernel_2));
  let kw = g % kernel.z;
  let kh = (g / kernel.z) % kernel.y;
  let kd = (g / (kernel.z * kernel.y)) % kernel.x;
  let pair = g / (kernel.z * kernel.y * kernel.x);
  let c = pair % p.group_from;
  let channel = pair / p.group_from;
  let x_start = p.x_off + ((channel / p.group_to) * p.group_from + c) * p.x_1;
  let e_start = p.e_off + channel * p.e_1;
  let out = vec3<u32>(vec3<i32>(p.out_0, p.out_1, p.out_2));
  let pad = vec3<i32>(p.pad_0, p.pad_1, p.pad_2);
  let stride = vec3<i32>(p.stride_0, p.stride_1, p.stride_2);
  let dilation = vec3<i32>(p.dilation_0, p.dilation_1, p.dilation_2);
  let first = vec3<i32>(vec3<u32>(kd, kh, kw)) * dilation - pad;

  var sum = 0.0;
  for (var i = lane; i < p.windows; i += {{WORKGROUP}}u) {
    let w = i % out.z;
    let h = (i / out.z) % out.y;
    let plane = i / (out.z * out.y);
    let d = plane % out.x;
    let n = plane / out.x;
    let at = vec3<i32>(vec3<u32>(d, h, w)) * stride + first;
    if (any(at < vec3<i32>(0)) || any(at >= vec3<i32>(p.size_0, p.size_1, p.size_2))) { continue; }
    let u = vec3<u32>(at);
    sum += x_at(x_start + n * p.x_0 + u.x * p.x_2 + u.y * p.x_3 + u.z * p.x_4) *
           e_at(e_start + n * p.e_0 + d * p.e_2 + h * p.e_3 + w * p.e_4);
  }
  sums[lane] = sum;
  workgroupBarrier();
  for (var step = {{WORKGROUP / 2}}u; step > 0u; step /= 2u) {
    if (lane < step) { sums[lane] += sums[lane + step]; }
    workgroupBarrier();
  }
  if (lane == 0u) {
    y_put(p.y_off + channel * p.y_0 + c * p.y_1 + kd * p.y_2 + kh * p.y_3 + kw * p.y_4, sums[0]);
  }
}
