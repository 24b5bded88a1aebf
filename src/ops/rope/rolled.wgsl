// The same as rope.wgsl for software adapters where every place that reads or writes memory is long once it is compiled: the
// streams share the search for their place and the angles, and an invocation makes PAIRS ? 2 : 4 elements of a row, which turn or are
// copied, for `heads_each` heads. Tile: WORKGROUP invocations; no workgroup memory. With NARROWn y has two elements in a word.
#include "rope/angle.wgsl" with OWN_SINES=1

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  var n = group_index(group, groups) * {{WORKGROUP}}u + lane;
#if STREAMS == 1
  if (n >= p.jobs_0) { return; }
#else
  if (n >= p.jobs_0 + p.jobs_1{{STREAMS == 3 ? " + p.jobs_2" : ""}}) { return; }
#endif
#let STREAM = STREAMS == 1 ? "0" : "stream"
#if STREAMS > 1
  let stream = u32(n >= p.jobs_0){{STREAMS == 3 ? " + u32(n >= p.jobs_0 + p.jobs_1)" : ""}};
  n -= select(0u, p.jobs_0, stream > 0u){{STREAMS == 3 ? " + select(0u, p.jobs_1, stream > 1u)" : ""}};
#endif
#for what in 0..5
#let OF = what == 0 ? "items" : what == 1 ? "turning" : what == 2 ? "head_blocks" : what == 3 ? "heads_each" : "heads"
#if STREAMS == 1
  let {{OF}} = p.{{OF}}_0;
#else
  let {{OF}} = select({{STREAMS == 3 ? "select(p." + OF + "_1, p." + OF + "_2, stream == 2u)" : "p." + OF + "_1"}}, p.{{OF}}_0, stream == 0u);
#endif
#endfor
  let row = n / items;
  let item = n - row * items;
  let block = row / head_blocks;
  let head = (row - block * head_blocks) * heads_each;
  let batch = block / p.tokens;
  let token = block - batch * p.tokens;
  let end = min(head + heads_each, heads);
  let turns = item < turning;
  // Those in front of and behind those that turn are copied.
  var e = (item - turning) * {{PAIRS ? 2 : 4}}u;
  if (e >= p.offset && turning > 0u) { e += p.dims; }
  var t = vec2<f32>(1.0, 0.0);
#if PAIRS
  if (turns) {
    t = turn_of(item, token);
    e = p.offset + item * 2u;
  }
#else
  var f = e + 2u;
  var other = t;
  if (turns) {
    for (var i = 0u; i < 2u; i++) {
      other = t;
      t = turn_of(item * 2u + i, token);
    }
    e = p.offset + item * 2u;
    f = e + p.apart;
  }
  let cosines = vec2<f32>(other.x, t.x);
  let sines = vec2<f32>(other.y, t.y);
#endif
#for s in 0..STREAMS
#let HAS_ROWS = s == 0 ? ROWS0 : s == 1 ? ROWS1 : ROWS2
#let NARROW = s == 0 ? NARROW0 : s == 1 ? NARROW1 : NARROW2
#let X = "x" + s
#let Y = "y" + s
{{STREAMS == 1 ? "  {" : s == 0 ? "  if (stream == 0u) {" : s == STREAMS - 1 ? "  else {" : "  else if (stream == " + s + "u) {"}}
#if HAS_ROWS
    let index = rows{{s}}_at(p.rows{{s}}_off + token * p.rows_t_{{s}});
    if (index < 0i || bitcast<u32>(index) >= p.table_rows_{{s}}) { return; }
    let y_token = bitcast<u32>(index);
#else
    let y_token = token;
#endif
    var x_row = p.{{X}}_off + batch * p.{{X}}_b + token * p.{{X}}_t + head * p.{{X}}_h;
    var y_row = p.{{Y}}_off + batch * p.{{Y}}_b + y_token * p.{{Y}}_t + head * p.{{Y}}_h;
    for (var h = head; h < end; h++) {
      let a = vec2<f32>({{X}}_at(x_row + e), {{X}}_at(x_row + e + 1u));
#if PAIRS
      let v = select(a, vec2<f32>(a.x * t.x - a.y * t.y, a.y * t.x + a.x * t.y), turns);
#else
      let b = vec2<f32>({{X}}_at(x_row + f), {{X}}_at(x_row + f + 1u));
      let v = select(a, a * cosines - b * sines, turns);
      let w = select(b, a * sines + b * cosines, turns);
#endif
#for half in 0..PAIRS ? 1 : 2
#let AT = half == 0 ? "e" : "f"
#let V = half == 0 ? "v" : "w"
#if NARROW
      {{Y}}_put2(y_row + {{AT}}, {{V}});
#else
      {{Y}}_put(y_row + {{AT}}, {{V}}.x);
      {{Y}}_put(y_row + {{AT}} + 1u, {{V}}.y);
#endif
#endfor
      x_row += p.{{X}}_h;
      y_row += p.{{Y}}_h;
    }
  }
#endfor
}
