// One pass of transforms by the method of Stockham: results of p.done earlier elements each become results of RADIX times as
// many, in an order that needs no sorting at the end.
// Tile: 256 invocations, each with RADIX elements of one row. No workgroup memory.
#include "fft/turn.wgsl"

#for r in 0..RADIX
const w{{r}} = vec2<f32>(cos(6.283185307179586 * {{r}}.0 / {{RADIX}}.0), sin(6.283185307179586 * {{r}}.0 / {{RADIX}}.0));
#endfor

fn load(i: u32) -> vec2<f32> { return bitcast<vec2<f32>>(x_words2(p.x_off + i * 2u)); }

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups) * 256u + lane;
  if (g >= p.total) { return; }
  let row = (g / p.count) * p.count * {{RADIX}}u;
  let j = g % p.count;
  let k = j % p.done;
  let turns = vec2<f32>(1.0, p.direction);
  let part = 1.0 / f32(p.done * {{RADIX}}u);
#for r in 0..RADIX
  let v{{r}} = times(load(row + j + {{r}}u * p.count), turn(f32({{r}}u * k) * part) * turns);
#endfor
#for r in 0..RADIX
  let t{{r}} = w{{r}} * turns;
#endfor
  let to = p.y_off + (row + (j - k) * {{RADIX}}u + k) * 2u;
#for q in 0..RADIX
  var s{{q}} = v0;
#for r in 1..RADIX
  s{{q}} += times(v{{r}}, t{{(r * q) % RADIX}});
#endfor
  y_put_words2(to + {{q}}u * p.done * 2u, bitcast<vec2<u32>>(s{{q}} * p.scale));
#endfor
}
