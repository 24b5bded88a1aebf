// For each window of a pool the number of its first largest element, counted inside of [D, H, W], or none where no element is
// larger than the lowest float. The gradient needs it once, however many elements share a window.
// Tile: 256 invocations, one per ITEMS rows of windows in one column. No workgroup memory.
const none = 0xffffffffu;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups) * 256u + lane;
  if (g >= p.total) { return; }
  let extent = vec3<u32>(vec3<i32>(p.out_0, p.out_1, p.out_2));
  let size = vec3<u32>(vec3<i32>(p.size_0, p.size_1, p.size_2));
  let height = (extent.y + {{ITEMS - 1}}u) / {{ITEMS}}u;
  let line = g / extent.z;
  let w = g - line * extent.z;
  let plane = line / height;
  let h = (line - plane * height) * {{ITEMS}}u;
  let volume = plane / extent.x;
  let d = plane - volume * extent.x;
  let n = volume / p.channels;
  let c = volume - n * p.channels;
  let start = p.x_off + n * p.x_0 + c * p.x_1;
  let base = vec3<i32>(vec3<u32>(d, h, w)) * vec3<i32>(p.stride_0, p.stride_1, p.stride_2) - vec3<i32>(p.pad_0, p.pad_1, p.pad_2);
#for k in 0..ITEMS
  var most{{k}} = -3.4028234663852886e38;
  var at{{k}} = none;
#endfor
  for (var kd = 0; kd < p.kernel_0; kd++) {
    let z = bitcast<u32>(base.x + kd * p.dilation_0);
    if (z >= size.x) { continue; }
    for (var kh = 0; kh < p.kernel_1; kh++) {
      let top = base.y + kh * p.dilation_1;
      for (var kw = 0; kw < p.kernel_2; kw++) {
        let x = bitcast<u32>(base.z + kw * p.dilation_2);
        if (x >= size.z) { continue; }
        let column = start + z * p.x_2 + x * p.x_4;
#for k in 0..ITEMS
        let y{{k}} = bitcast<u32>(top + {{k}} * p.stride_1);
        let v{{k}} = x_at(column + min(y{{k}}, size.y - 1u) * p.x_3);
#endfor
#for k in 0..ITEMS
        if (v{{k}} > most{{k}} && y{{k}} < size.y) {
          most{{k}} = v{{k}};
          at{{k}} = (z * size.y + y{{k}}) * size.z + x;
        }
#endfor
      }
    }
  }
  let to = p.y_off + (plane * extent.y + h) * extent.z + w;
#for k in 0..ITEMS
  if (h + {{k}}u < extent.y) { y_put(to + {{k}}u * extent.z, at{{k}}); }
#endfor
}
