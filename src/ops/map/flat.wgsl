// y = f(a, b, c) for tensors that start at their bindings and fill every workgroup: no place, no bounds, no tail.
// Tile: GROUP invocations, one chunk of CHUNK elements each. Two or four chunks in flight were measured on an H200 and
// are not faster.
#include "map/functions.wgsl"
#include "map/convert.wgsl"
#let HALVES = CHUNK == 8 ? 2 : 1

@compute @workgroup_size({{GROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let i = (group.x * {{GROUP}}u + lane) * {{CHUNK}}u;
#for k in 0..INPUTS
#let NAME = k == 0 ? "a" : k == 1 ? "b" : "c"
#if CHUNK == 8
  let v{{k}} = {{NAME}}_at8(i);
#else
  let v{{k}} = array<vec4<{{NAME}}_t>, 1>({{NAME}}_at4(i));
#endif
#endfor
#for h in 0..HALVES
  let r{{h}} = convert(f({{INPUTS > 0 ? "V(v0[" + h + "])" : "V()"}}, {{INPUTS > 1 ? "V(v1[" + h + "])" : "V()"}}, {{INPUTS > 2 ? "V(v2[" + h + "])" : "V()"}}));
#endfor
#if CHUNK == 8
  y_put8(i, r0, r1);
#else
  y_put4(i, r0);
#endif
}
