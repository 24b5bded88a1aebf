// y = f(a, b, c), element by element, over the collapsed iteration space of map.cpp.
// Tile: 256 invocations, a chunk of CHUNK elements each; chunk c of the space is elements c*CHUNK … of the output
// order. More chunks per invocation and other workgroup sizes were measured on an H200 and are not faster.
// Assumes: with RANK > 1 and not RAGGED a chunk stays inside one innermost row (CHUNK divides its length). With
// RAGGED the output is dense and inputs are located element by element. With RANK 1 the last chunk may be partial.
// Kinds: "vec" inputs step by 1 and are aligned to chunks, "splat" ones stay, "step" ones are read one by one.
#include "map/functions.wgsl"
#include "map/convert.wgsl"
#let DENSE = RANK == 1 || RAGGED
#let HALVES = CHUNK == 8 ? 2 : 1
#let LANES = min(CHUNK, 4)

#if ARANGE
fn load_index(i: u32) -> V { return V(vec4<u32>(i) + vec4<u32>(0u, 1u, 2u, 3u)); }
#endif

// Where element or chunk `number` of the iteration space lies in each operand.
struct Place {
#for k in 0..INPUTS
  i{{k}}: u32,
#endfor
  y: u32,
}

fn place(number: u32) -> Place {
  var at: Place;
  var rest = number;
#for k in 0..INPUTS
  at.i{{k}} = p.{{k == 0 ? "a" : k == 1 ? "b" : "c"}}_off;
#endfor
  at.y = p.y_off;
#for back in 0..RANK
#let d = RANK - 1 - back
#include "lib/coordinate.wgsl" with D=d LAST=back == RANK - 1
#for k in 0..INPUTS
  at.i{{k}} += c{{d}} * p.stride{{k}}_{{d}};
#endfor
  at.y += c{{d}} * p.stride_y_{{d}};
#endfor
  return at;
}

#for k in 0..INPUTS
#let NAME = k == 0 ? "a" : k == 1 ? "b" : "c"
#let KIND = k == 0 ? A_KIND : k == 1 ? B_KIND : C_KIND
// Input {{NAME}} ({{KIND}}): half h of the chunk that starts at element i of its binding.
fn load_{{NAME}}(i: u32, h: u32) -> V {
#if KIND == "vec" && CHUNK >= 4
  return V({{NAME}}_at4(i + h * 4u));
#elif KIND == "splat"
  return V(T({{NAME}}_at(i)));
#else
  var v = V();
#for j in 0..LANES
  v[{{j}}] = T({{NAME}}_at(i + (h * 4u + {{j}}u) * p.inner{{k}}));
#endfor
  return v;
#endif
}
#endfor

#if RAGGED
fn element(number: u32) -> y_t {
  let at = place(number);
  return convert(f({{INPUTS > 0 ? "V(T(a_at(at.i0)))" : "V()"}}, {{INPUTS > 1 ? "V(T(b_at(at.i1)))" : "V()"}}, {{INPUTS > 2 ? "V(T(c_at(at.i2)))" : "V()"}})).x;
}
#endif

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let chunk = group_index(group, groups) * {{WORKGROUP}}u + lane;
#if RAGGED
  // One output word per invocation: CHUNK elements that each have their own place in the inputs.
  if (chunk >= p.chunks) { return; }
  let number = chunk * {{CHUNK}}u;
  if (number + {{CHUNK}}u <= p.count) {
    let v = array<y_t, {{CHUNK}}>({{""}}
#for j in 0..CHUNK
      element(number + {{j}}u),
#endfor
    );
#if CHUNK == 2
    y_put2(p.y_off + number, vec2<y_t>(v[0], v[1]));
#else
    y_put4(p.y_off + number, vec4<y_t>(v[0], v[1], v[2], v[3]));
#endif
  } else {
    for (var i = number; i < p.count; i++) { y_put(p.y_off + i, element(i)); }
  }
#else
  if (chunk < p.{{RANK == 1 ? "whole_chunks" : "chunks"}}) {
    let at = place(chunk);
#for k in 0..INPUTS
#let NAME = k == 0 ? "a" : k == 1 ? "b" : "c"
#let KIND = k == 0 ? A_KIND : k == 1 ? B_KIND : C_KIND
#if KIND == "vec" && CHUNK == 8
    let both{{k}} = {{NAME}}_at8(at.i{{k}});
    let v{{k}}_0 = V(both{{k}}[0]);
    let v{{k}}_1 = V(both{{k}}[1]);
#else
#for h in 0..HALVES
    let v{{k}}_{{h}} = load_{{NAME}}(at.i{{k}}, {{h}}u);
#endfor
#endif
#endfor
#for h in 0..HALVES
#if ARANGE
    let r{{h}} = convert(f(load_index(chunk * {{CHUNK}}u + {{h * 4}}u), V(), V()));
#else
    let r{{h}} = convert(f({{INPUTS > 0 ? "v0_" + h : "V()"}}, {{INPUTS > 1 ? "v1_" + h : "V()"}}, {{INPUTS > 2 ? "v2_" + h : "V()"}}));
#endif
#endfor
#if CHUNK == 8
    y_put8(at.y, r0, r1);
#elif CHUNK == 4
    y_put4(at.y, r0);
#elif CHUNK == 2
    y_put2(at.y, r0.xy);
#else
    y_put(at.y, r0.x);
#endif
  }
#if RANK == 1 && CHUNK > 1
  // The last, partial chunk, one element at a time; its words belong to this invocation alone.
  if (chunk == 0u) {
    for (var i = p.whole_chunks * {{CHUNK}}u; i < p.count; i++) {
#for k in 0..INPUTS
#let NAME = k == 0 ? "a" : k == 1 ? "b" : "c"
#let KIND = k == 0 ? A_KIND : k == 1 ? B_KIND : C_KIND
      let w{{k}} = V(T({{NAME}}_at(p.{{NAME}}_off + {{KIND == "splat" ? "0u" : "i * p.inner" + k}})));
#endfor
#if ARANGE
      let r = convert(f(load_index(i), V(), V()));
#else
      let r = convert(f({{INPUTS > 0 ? "w0" : "V()"}}, {{INPUTS > 1 ? "w1" : "V()"}}, {{INPUTS > 2 ? "w2" : "V()"}}));
#endif
      y_put(p.y_off + i, r.x);
    }
  }
#endif
#endif
}
