// Reduces across rows: outputs lie closer together in the input than the elements of one output do.
// Tile: LANES chunks of CHUNK neighbouring outputs x (256 / LANES) rows at a time, UNROLL rows in flight per
// invocation; with p.parts > 1 several workgroups share the rows of an output and leave results for another pass.
// Workgroup memory: 4 KiB (8 KiB for arg). Assumes: the innermost kept dimension is whole in chunks.
#let KEPT_USED = KEPT_RANK - 1
#let STEP = 1
#include "reduce/combine.wgsl"
#let ROWS = WORKGROUP / LANES
#let INNER = KEPT_RANK - 1

#if ROWS > 1
var<workgroup> shared_v: array<W, {{WORKGROUP}}>;
#if ARG
var<workgroup> shared_i: array<I, {{WORKGROUP}}>;
#endif

fn share(at: u32, a: Acc) {
  shared_v[at] = a.v;
#if ARG
  shared_i[at] = a.i;
#endif
}

fn shared_acc(at: u32) -> Acc {
#if ARG
  return Acc(shared_v[at], shared_i[at]);
#else
  return Acc(shared_v[at]);
#endif
}
#endif

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups);
  if (g >= p.groups) { return; }
  let rest = g / p.blocks;
  let column = (g % p.blocks) * {{LANES}}u + lane % {{LANES}}u;
  let part = rest % p.parts;
  let row = lane / {{LANES}}u;
  let live = column < p.rows;
  let outer = kept_place(rest / p.parts);
#if CHAIN > 0
  var start = outer.x;
#for k in 0..CHAIN
  start[{{k}}] += column * {{CHUNK}}u * p.kept{{k}}_{{INNER}};
#endfor
#else
  let start = outer.x + column * {{CHUNK}}u * p.kept_x_{{INNER}};
#endif
  let begin = part * p.span;
  let end = select(begin, min(begin + p.span, p.count), live);

#for a in 0..(2 * LOADS)
  var acc{{a}} = empty();
#endfor
  var c = begin + row;
  for (; c + {{(UNROLL - 1) * ROWS}}u < end; c += {{UNROLL * ROWS}}u) {
#for u in 0..UNROLL
    let r{{u}} = reduced_place(c + {{u * ROWS}}u);
    let v{{u}} = load(add_at(start, r{{u}}.x), r{{u}}.index, 0u);
#endfor
#for u in 0..UNROLL
#for h in 0..LOADS
    acc{{(u % 2) * LOADS + h}} = join_Acc(acc{{(u % 2) * LOADS + h}}, v{{u}}[{{h}}]);
#endfor
#endfor
  }
#if UNROLL > 1
  if (c < end) {
#for u in 0..(UNROLL - 1)
    var v{{u}}: array<Acc, {{LOADS}}>;
#for h in 0..LOADS
    v{{u}}[{{h}}] = empty();
#endfor
    if (c + {{u * ROWS}}u < end) {
      let r = reduced_place(c + {{u * ROWS}}u);
      v{{u}} = load(add_at(start, r.x), r.index, 0u);
    }
#endfor
#for u in 0..(UNROLL - 1)
#for h in 0..LOADS
    acc{{(u % 2) * LOADS + h}} = join_Acc(acc{{(u % 2) * LOADS + h}}, v{{u}}[{{h}}]);
#endfor
#endfor
  }
#endif
#for h in 0..LOADS
  acc{{h}} = join_Acc(acc{{h}}, acc{{LOADS + h}});
#endfor

#if ROWS > 1
#for h in 0..LOADS
{{h > 0 ? "  workgroupBarrier();" : ""}}
  share(lane, acc{{h}});
#let M = ROWS
#for s in 0..8
#if M > 1
#let M = M / 2
  workgroupBarrier();
  if (row < {{M}}u) {
    acc{{h}} = join_Acc(acc{{h}}, shared_acc(lane + {{M * LANES}}u));
    share(lane, acc{{h}});
  }
#endif
#endfor
#endfor
#endif
  if (live && row == 0u) {
    let to = outer.y + column * {{CHUNK}}u * p.kept_y_{{INNER}} + part * p.part_stride;
#if VECTOR_OUT
#if CHUNK == 8
    y_put8(p.y_off + to, result_Acc(acc0), result_Acc(acc1));
#if PARTIAL
    yi_put8(p.yi_off + to, acc0.i, acc1.i);
#endif
#else
    y_put4(p.y_off + to, result_Acc(acc0));
#if PARTIAL
    yi_put4(p.yi_off + to, acc0.i);
#endif
#endif
#else
#for j in 0..CHUNK
    {
      let one = lane_of(acc{{j / 4}}, {{j % 4}}u);
      let element = to + {{j}}u * p.kept_y_{{INNER}};
      y_put(p.y_off + element, result_One(one));
#if PARTIAL
      yi_put(p.yi_off + element, one.i);
#endif
    }
#endfor
#endif
  }
}
