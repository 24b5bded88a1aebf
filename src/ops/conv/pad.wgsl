// What implicit.wgsl reads, in f16: an image with its border of zeros and with channels innermost, y[n, row, column, channel], without the
// elements that no window reaches; and with WEIGHTS those of a convolution in the order z[m, tap, channel].
// Tile: 256 invocations, one per 8 channels of a place. Neighbours read neighbouring columns of the image, and neighbouring taps
// of the weights and what lies next to these: other channels, or with TURNED other m. No workgroup memory.
@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups) * {{WORKGROUP}}u + lane;
  var a = vec4<f32>();
  var b = vec4<f32>();
#if WEIGHTS
  if (g >= p.total) {
    let own = g - p.total;
    if (own >= p.total_w) { return; }
    let rest = own / p.taps;
    let tap = own - rest * p.taps;
    let m = {{TURNED ? "rest % p.m" : "rest / p.eights"}};
    let channel = {{TURNED ? "rest / p.m" : "rest % p.eights"}} * 8u;
    let at = p.w_off + m * p.w_0 + tap / p.taps_w * p.w_1 + tap % p.taps_w * p.w_2 + channel * p.w_3;
#for j in 0..4
    a[{{j}}] = w_at(at + {{j}}u * p.w_3);
    b[{{j}}] = w_at(at + {{j + 4}}u * p.w_3);
#endfor
    z_put8(p.z_off + (m * p.taps + tap) * p.eights * 8u + channel, a, b);
    return;
  }
#else
  if (g >= p.total) { return; }
#endif
  let line = g / p.padded_w;
  let column = g - line * p.padded_w;
  let plane = line / p.eights;
  let channel = (line - plane * p.eights) * 8u;
  let n = plane / p.padded_h;
  let row = plane - n * p.padded_h;
  let h = bitcast<u32>(i32(row) - p.pad_h);
  let w = bitcast<u32>(i32(column) - p.pad_w);
  if (h < p.in_h && w < p.in_w) {
    let at = p.x_off + n * p.x_0 + channel * p.x_1 + h * p.x_2 + w * p.x_3;
#for j in 0..4
    a[{{j}}] = x_at(at + {{j}}u * p.x_1);
    b[{{j}}] = x_at(at + {{j + 4}}u * p.x_1);
#endfor
  }
  y_put8(p.y_off + (plane * p.padded_w + column) * p.eights * 8u + channel, a, b);
}
