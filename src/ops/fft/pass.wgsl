// One pass of transforms by the method of Stockham: results of p.done earlier elements each become results of LENGTH times as
// many, in an order that needs no sorting at the end. A pass is itself a transform of LENGTH elements by stages (stage.wgsl),
// whose radices STAGES holds as digits of base 32, so that memory is read and written once for all of them.
// MODE: "whole" is a transform in one pass, "first" the first of several, "later" any other one. "convolve" turns a transform
// of p.n elements into a circular convolution of LENGTH (see chirp.wgsl), all of it in workgroup memory.
// Tile: SIZE invocations have TOGETHER transforms. Workgroup memory: 9 bytes for each element of them, where there are several
// stages. A transform with the other sign is one with real and imaginary parts exchanged on the way in and out.
#include "fft/turn.wgsl"
#let LENGTH = 1
#let REST = STAGES
#let LAST = 0
#for s in 0..12
#if REST > 0
#let LENGTH = LENGTH * (REST % 32)
#let REST = REST / 32
#let LAST = s
#endif
#endfor
// Gaps keep neighbours of a stage, and of transforms side by side, in different banks.
#let PITCH = LENGTH + LENGTH / 8 + (LENGTH + LENGTH / 8 + 1) % 2
#if LAST > 0 || MODE == "convolve"
var<workgroup> values: array<vec2<f32>, {{TOGETHER * PITCH}}>;
fn place(t: u32, i: u32) -> u32 { return t * {{PITCH}}u + i + i / 8u; }
#endif
#if MODE == "convolve"
fn chirp(j: u32) -> vec2<f32> { return bitcast<vec2<f32>>(c_words2(p.c_off + j * 2u)) * vec2<f32>(1.0, -1.0); }
#endif
fn sided(v: vec2<f32>) -> vec2<f32> { return select(v, v.yx, p.inverse != 0u); }
// The conjugate, which is what transforms with a minus take.
fn back(t: f32) -> vec2<f32> { return turn(t) * vec2<f32>(1.0, -1.0); }

@compute @workgroup_size({{SIZE}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let first = group_index(group, groups) * {{TOGETHER}}u;
  if (first >= p.total) { return; }
#for round in 0..(MODE == "convolve" ? 2 : 1)
#let DONE = 1
#let REST = STAGES
#for s in 0..LAST + 1
#let RADIX = REST % 32
#let FROM = s > 0 || round > 0 ? "values" : MODE == "convolve" ? "chirp" : "memory"
#let TO = s < LAST ? "values" : MODE != "convolve" ? "memory" : round == 0 ? "product" : "chirp"
#include "fft/stage.wgsl" with RADIX=RADIX DONE=DONE FROM=FROM TO=TO
#let DONE = DONE * RADIX
#let REST = REST / 32
#endfor
#endfor
}
