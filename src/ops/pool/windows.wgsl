// What a pool takes of each window. MODE "forward": the largest element or the mean (FUNCTION); "which": the number of the first
// largest one, counted inside of [D, H, W], or none where there is no element (without NAN: none larger than the lowest
// float). The gradient needs that once, however many elements share a window. NAN: a NaN is larger than every number.
// Tile: 256 invocations, one per ITEMS rows of windows in CHUNK neighbouring columns. No workgroup memory.
// Assumes: with CHUNK 2 rows of the result are even and aligned to words.
#let PLACES = MODE == "which"
#if NAN
// Made of bits that are not known ahead: WGSL has no constant for infinity.
var<private> lowest_bits = 0xff800000u;
// By bits: drivers may take it that there is no NaN.
fn beyond(v: f32, best: f32) -> bool {
  let nan = (bitcast<u32>(v) & 0x7fffffffu) > 0x7f800000u;
  return (v > best || nan) && (bitcast<u32>(best) & 0x7fffffffu) <= 0x7f800000u;
}
#endif
@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (g >= p.total) { return; }
  let extent = vec3<u32>(vec3<i32>(p.out_0, p.out_1, p.out_2));
  let size = vec3<u32>(vec3<i32>(p.size_0, p.size_1, p.size_2));
#include "pool/place.wgsl"
  let start = p.x_off + n * p.x_0 + c * p.x_1;
  let base = vec3<i32>(vec3<u32>(d, h, w)) * vec3<i32>(p.stride_0, p.stride_1, p.stride_2) - vec3<i32>(p.pad_0, p.pad_1, p.pad_2);
#for k in 0..ITEMS
#for o in 0..CHUNK
  var value{{k}}_{{o}} = {{FUNCTION == "mean" ? "0.0" : NAN ? "bitcast<f32>(lowest_bits)" : "-3.4028234663852886e38"}};
#if PLACES
  var at{{k}}_{{o}} = 0xffffffffu;
#elif FUNCTION == "mean"
  var count{{k}}_{{o}} = 0.0;
#endif
#endfor
#endfor
  for (var kd = 0; kd < p.kernel_0; kd++) {
    let z = bitcast<u32>(base.x + kd * p.dilation_0);
    if (z >= size.x) { continue; }
    for (var kh = 0; kh < p.kernel_1; kh++) {
#for k in 0..ITEMS
      let y{{k}} = bitcast<u32>(base.y + kh * p.dilation_1 + {{k}} * p.stride_1);
      let row{{k}} = start + z * p.x_2 + min(y{{k}}, size.y - 1u) * p.x_3;
#endfor
      for (var kw = 0; kw < p.kernel_2; kw++) {
#for o in 0..CHUNK
        let x{{o}} = bitcast<u32>(base.z + kw * p.dilation_2 + {{o}} * p.stride_2);
        let column{{o}} = min(x{{o}}, size.z - 1u) * p.x_4;
#endfor
#for k in 0..ITEMS
#for o in 0..CHUNK
        let v{{k}}_{{o}} = x_at(row{{k}} + column{{o}});
#endfor
#endfor
#for k in 0..ITEMS
#for o in 0..CHUNK
#let V = "v" + k + "_" + o
#let BEST = "value" + k + "_" + o
#let FIRST = PLACES && NAN ? "at" + k + "_" + o + " == 0xffffffffu || " : ""
#let LARGER = FUNCTION == "mean" ? "true" : NAN ? FIRST + "beyond(" + V + ", " + BEST + ")" : V + " > " + BEST
        if (({{LARGER}}) && y{{k}} < size.y && x{{o}} < size.z) {
#if FUNCTION == "max"
          value{{k}}_{{o}} = v{{k}}_{{o}};
#else
          value{{k}}_{{o}} += v{{k}}_{{o}};
          count{{k}}_{{o}} += 1.0;
#endif
#if PLACES
          at{{k}}_{{o}} = (z * size.y + y{{k}}) * size.z + x{{o}};
#endif
        }
#endfor
#endfor
      }
    }
  }
#if FUNCTION == "mean"
#for k in 0..ITEMS
#for o in 0..CHUNK
  value{{k}}_{{o}} /= {{OUTSIDE ? "f32(p.kernel_0 * p.kernel_1 * p.kernel_2)" : "max(count" + k + "_" + o + ", 1.0)"}};
#endfor
#endfor
#endif
#include "pool/store.wgsl" with RESULT=PLACES ? "at" : "value"
}
