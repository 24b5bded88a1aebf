// The gradient of the weights of a convolution whose outputs come from one channel each (see window.wgsl for the windows): all
// KERNEL_H x KERNEL_W of an output channel per workgroup, so that elements that windows share are read once.
// Tile: SIZE invocations go through all images, ITEMS rows of one column at a time; their sums are added up as a tree, four
// weights at a time. x is the image, e the gradient of the output, y that of the weights. Workgroup memory: 16 bytes per invocation.
#let ROWS = (ITEMS - 1) * STRIDE + KERNEL_H
#let TAPS = KERNEL_H * KERNEL_W
var<workgroup> sums: array<vec4<f32>, {{SIZE}}>;

@compute @workgroup_size({{SIZE}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let channel = group_index(group, groups);
  if (channel >= p.channels) { return; }
  let x_start = p.x_off + (channel / p.group_to) * p.x_1;
  let e_start = p.e_off + channel * p.y_1;
  let height = (p.out_h + {{ITEMS - 1}}u) / {{ITEMS}}u;
#for tap in 0..TAPS
  var sum{{tap}} = 0.0;
#endfor
  for (var g = lane; g < p.total; g += {{SIZE}}u) {
    let line = g / p.out_w;
    let w = g - line * p.out_w;
    let n = line / height;
    let h = (line - n * height) * {{ITEMS}}u;
    let e_from = e_start + n * p.y_0 + w * p.y_3;
#for i in 0..ITEMS
    let e{{i}} = select(0.0, e_at(e_from + min(h + {{i}}u, p.out_h - 1u) * p.y_2), h + {{i}}u < p.out_h);
#endfor
    let left = i32(w * {{STRIDE}}u) - p.pad_w;
    let top = i32(h * {{STRIDE}}u) - p.pad_h;
#for j in 0..KERNEL_W
    let inside{{j}} = bitcast<u32>(left + {{j}}) < p.in_w;
    let column{{j}} = x_start + n * p.x_0 + min(bitcast<u32>(left + {{j}}), p.in_w - 1u) * p.x_3;
#endfor
#for r in 0..ROWS
    let here{{r}} = bitcast<u32>(top + {{r}}) < p.in_h;
    let row{{r}} = min(bitcast<u32>(top + {{r}}), p.in_h - 1u) * p.x_2;
#for j in 0..KERNEL_W
    let x{{r}}_{{j}} = select(0.0, x_at(row{{r}} + column{{j}}), here{{r}} && inside{{j}});
#for i in 0..ITEMS
#let KH = r - i * STRIDE
#if KH >= 0 && KH < KERNEL_H
    sum{{KH * KERNEL_W + j}} += x{{r}}_{{j}} * e{{i}};
#endif
#endfor
#endfor
#endfor
  }

#for four in 0..(TAPS + 3) / 4
  sums[lane] = vec4<f32>(sum{{four * 4}}, {{four * 4 + 1 < TAPS ? "sum" + (four * 4 + 1) : "0.0"}}, {{four * 4 + 2 < TAPS ? "sum" + (four * 4 + 2) : "0.0"}}, {{four * 4 + 3 < TAPS ? "sum" + (four * 4 + 3) : "0.0"}});
  workgroupBarrier();
  for (var step = {{SIZE / 2}}u; step > 0u; step /= 2u) {
    if (lane < step) { sums[lane] += sums[lane + step]; }
    workgroupBarrier();
  }
  if (lane < {{min(4, TAPS - four * 4)}}u) {
    let tap = {{four * 4}}u + lane;
    y_put(p.y_off + channel * p.w_channel + (tap / {{KERNEL_W}}u) * p.w_2 + (tap % {{KERNEL_W}}u) * p.w_3, sums[0][lane]);
  }
  workgroupBarrier();
#endfor
}
