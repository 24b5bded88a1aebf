// Rotary positions of STREAMS tensors of the same tokens, one after the other in the grid. Tile: 256 invocations; each
// makes one item of a row (VEC: 4 pairs, or 4 elements that are copied; otherwise one of either) for `heads_each` heads of a
// token, which turn by the same angles. No workgroup memory.
// PAIRS: elements 2i and 2i+1 turn together, otherwise i and i + p.apart. ROWSn: stream n writes the rows of a table that
// its indices name, and nothing for those that the table does not have.
#let N = VEC ? 4 : 1

#include "rope/angle.wgsl" with OWN_SINES=0

#for s in 0..STREAMS
#let HAS_ROWS = s == 0 ? ROWS0 : s == 1 ? ROWS1 : ROWS2
#let X = "x" + s
#let Y = "y" + s
fn stream{{s}}(n: u32) {
  let item = n % p.items_{{s}};
  let head = n / p.items_{{s}} % p.head_blocks_{{s}} * p.heads_each_{{s}};
  let token = n / p.items_{{s}} / p.head_blocks_{{s}} % p.tokens;
  let batch = n / p.items_{{s}} / p.head_blocks_{{s}} / p.tokens;
  let end = min(head + p.heads_each_{{s}}, p.heads_{{s}});
#if HAS_ROWS
  let index = rows{{s}}_at(p.rows{{s}}_off + token * p.rows_t_{{s}});
  if (index < 0i || bitcast<u32>(index) >= p.table_rows_{{s}}) { return; }
  let y_token = bitcast<u32>(index);
#else
  let y_token = token;
#endif
  var x_row = p.{{X}}_off + batch * p.{{X}}_b + token * p.{{X}}_t + head * p.{{X}}_h;
  var y_row = p.{{Y}}_off + batch * p.{{Y}}_b + y_token * p.{{Y}}_t + head * p.{{Y}}_h;
  if (item >= p.turning_{{s}}) {
    // Elements in front of and behind those that turn.
    var e = (item - p.turning_{{s}}) * {{N}}u;
    if (e >= p.offset && p.turning_{{s}} > 0u) { e += p.dims; }
    for (var h = head; h < end; h++) {
#if VEC
      {{Y}}_put4(y_row + e, {{X}}_at4(x_row + e));
#else
      {{Y}}_put(y_row + e * p.{{Y}}_d, {{X}}_at(x_row + e * p.{{X}}_d));
#endif
      x_row += p.{{X}}_h;
      y_row += p.{{Y}}_h;
    }
    return;
  }
#for i in 0..N
  let t{{i}} = turn_of(item * {{N}}u + {{i}}u, token);
#endfor
#if PAIRS
  let e = p.offset + item * {{2 * N}}u;
  let f = e + {{N}}u;
#else
  let e = p.offset + item * {{N}}u;
  let f = e + p.apart;
#endif
#if VEC && PAIRS
  // Two pairs in each group of four: (a, b, c, d) → (a cos - b sin, a sin + b cos, …).
  let cos0 = vec4<f32>(t0.xx, t1.xx);
  let sin0 = vec4<f32>(-t0.y, t0.y, -t1.y, t1.y);
  let cos1 = vec4<f32>(t2.xx, t3.xx);
  let sin1 = vec4<f32>(-t2.y, t2.y, -t3.y, t3.y);
#elif VEC
  let cosines = vec4<f32>(t0.x, t1.x, t2.x, t3.x);
  let sines = vec4<f32>(t0.y, t1.y, t2.y, t3.y);
#endif
  for (var h = head; h < end; h++) {
#if VEC
    let a = {{X}}_at4(x_row + e);
    let b = {{X}}_at4(x_row + f);
#if PAIRS
    {{Y}}_put4(y_row + e, a * cos0 + a.yxwz * sin0);
    {{Y}}_put4(y_row + f, b * cos1 + b.yxwz * sin1);
#else
    {{Y}}_put4(y_row + e, a * cosines - b * sines);
    {{Y}}_put4(y_row + f, a * sines + b * cosines);
#endif
#else
    let a = {{X}}_at(x_row + e * p.{{X}}_d);
    let b = {{X}}_at(x_row + f * p.{{X}}_d);
    {{Y}}_put(y_row + e * p.{{Y}}_d, a * t0.x - b * t0.y);
    {{Y}}_put(y_row + f * p.{{Y}}_d, a * t0.y + b * t0.x);
#endif
    x_row += p.{{X}}_h;
    y_row += p.{{Y}}_h;
  }
}
#endfor

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  var n = group_index(group, groups) * {{WORKGROUP}}u + lane;
#for s in 0..STREAMS
  if (n < p.jobs_{{s}}) {
    stream{{s}}(n);
    return;
  }
  n -= p.jobs_{{s}};
#endfor
}
