// The gradient of a pool of largest elements: each element takes what belongs to the windows that it is the first largest of
// (windows.wgsl). The windows that may hold it end at most p.reach steps in front of the last one, along each dimension.
// Tile: 256 invocations, one per ITEMS rows of CHUNK neighbouring columns. No workgroup memory.
// Assumes: with CHUNK 2 rows of the result are even and aligned to words.
@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (g >= p.total) { return; }
  let extent = vec3<u32>(vec3<i32>(p.size_0, p.size_1, p.size_2));
  let out = vec3<u32>(vec3<i32>(p.out_0, p.out_1, p.out_2));
#include "pool/place.wgsl"
  let start = p.e_off + n * p.e_0 + c * p.e_1;
  let which_start = p.which_off + volume * out.x * out.y * out.z;

  // The last window that may hold an element, along each dimension; padding can be negative, which puts some in front of all.
  let last_d = floor_div(i32(d) + p.pad_0, p.stride_0);
#for o in 0..CHUNK
  let last_w{{o}} = floor_div(i32(w) + {{o}} + p.pad_2, p.stride_2);
#endfor
  let last_h0 = floor_div(i32(h) + p.pad_1, p.stride_1);
  let rest0 = i32(h) + p.pad_1 - last_h0 * p.stride_1;
#for k in 1..ITEMS
  let full{{k}} = rest{{k - 1}} + 1 == p.stride_1;
  let rest{{k}} = select(rest{{k - 1}} + 1, 0, full{{k}});
  let last_h{{k}} = last_h{{k - 1}} + select(0, 1, full{{k}});
#endfor

  let mine = (d * extent.y + h) * extent.z + w;
#for k in 0..ITEMS
#for o in 0..CHUNK
  var sum{{k}}_{{o}} = 0.0;
#endfor
#endfor
  for (var a = -p.reach_0; a <= 0; a++) {
    let z = bitcast<u32>(last_d + a);
    if (z >= out.x) { continue; }
    for (var b = -p.reach_1; b <= 0; b++) {
#for k in 0..ITEMS
      let y{{k}} = bitcast<u32>(last_h{{k}} + b);
      let row{{k}} = which_start + (z * out.y + min(y{{k}}, out.y - 1u)) * out.z;
#endfor
      for (var i = -p.reach_2; i <= 0; i++) {
#for o in 0..CHUNK
        let x{{o}} = bitcast<u32>(last_w{{o}} + i);
#endfor
#for k in 0..ITEMS
#for o in 0..CHUNK
        let found{{k}}_{{o}} = which_at(row{{k}} + min(x{{o}}, out.z - 1u));
        let e{{k}}_{{o}} = e_at(start + z * p.e_2 + min(y{{k}}, out.y - 1u) * p.e_3 + min(x{{o}}, out.z - 1u) * p.e_4);
#endfor
#endfor
#for k in 0..ITEMS
#for o in 0..CHUNK
        if (found{{k}}_{{o}} == mine + {{k}}u * extent.z + {{o}}u && y{{k}} < out.y && x{{o}} < out.z) { sum{{k}}_{{o}} += e{{k}}_{{o}}; }
#endfor
#endfor
      }
    }
  }

#include "pool/store.wgsl" with RESULT="sum"
}

fn floor_div(a: i32, b: i32) -> i32 {
  if (a < 0) { return -1; }
  return a / b;
}
