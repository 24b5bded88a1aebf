// y = a chain of elementwise functions. fused.cpp writes the functions of the chain in front of this file: chain(),
// whole() and single() (the chain for four neighbours and for one element), and load functions of fused/input.wgsl.
// Tile: 256 invocations, a chunk of CHUNK neighbouring elements of the dense output each. No workgroup memory.
// Assumes: without RAGGED a chunk stays inside one innermost row; with it every element is located on its own. The
// words of a chunk belong to one invocation.

// Where an element lies in each input.
struct Place {
#for k in 0..INPUTS
  i{{k}}: u32,
#endfor
  unused: u32,
}

fn place(number: u32) -> Place {
  var at: Place;
  var rest = number;
#for k in 0..INPUTS
  at.i{{k}} = p.x{{k}}_off;
#endfor
#for back in 0..RANK
#let d = RANK - 1 - back
#include "lib/coordinate.wgsl" with D=d LAST=back == RANK - 1
#for k in 0..INPUTS
  at.i{{k}} += c{{d}} * p.stride{{k}}_{{d}};
#endfor
#endfor
  return at;
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let number = (group_index(group, groups) * {{WORKGROUP}}u + lane) * {{CHUNK}}u;
  if (number >= p.count) { return; }
  if (number + {{CHUNK}}u > p.count) {
    for (var i = number; i < p.count; i++) { y_put(p.y_off + i, single(place(i)).x); }
    return;
  }
#if RAGGED && CHUNK == 1
  y_put(p.y_off + number, single(place(number)).x);
#elif RAGGED
  y_put2(p.y_off + number, vec2<f32>(single(place(number)).x, single(place(number + 1u)).x));
#else
  let at = place(number);
#if CHUNK == 8
  y_put8(p.y_off + number, whole(at, 0u), whole(at, 1u));
#else
  y_put4(p.y_off + number, whole(at, 0u));
#endif
#endif
}
