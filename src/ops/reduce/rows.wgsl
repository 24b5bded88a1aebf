// Reduces rows whose elements lie closer together than the rows do (contiguous ones CHUNK at a time).
// Tile: SIZE invocations, LANES of them per row, UNROLL loads in flight per invocation; with p.parts > 1 a row falls to
// several workgroups (ALONE: lanes), which leave their results side by side for another pass.
// Workgroup memory: 1 KiB (2 KiB for arg), none when the lanes of a row lie in one subgroup.
// Assumes: with REDUCED_RANK > 1 a chunk stays inside one innermost run. Order of summation depends on shapes only.
#let KEPT_USED = KEPT_RANK
#let STEP = CHUNK
#include "reduce/combine.wgsl"
#let ALL = LANES == WORKGROUP
#let IN_SUBGROUP = SHUFFLE && !ALL

#if LANES > 1 && !IN_SUBGROUP
var<workgroup> shared_v: array<T, {{SIZE}}>;
#if ARG
var<workgroup> shared_i: array<u32, {{SIZE}}>;
#endif

fn share(at: u32, a: One) {
  shared_v[at] = a.v;
#if ARG
  shared_i[at] = a.i;
#endif
}

fn shared_one(at: u32) -> One {
#if ARG
  return One(shared_v[at], shared_i[at]);
#else
  return One(shared_v[at]);
#endif
}
#endif

#if SHUFFLE
fn join_across(a: One, mask: u32) -> One {
#if ARG
  return join_One(a, One(subgroupShuffleXor(a.v, mask), subgroupShuffleXor(a.i, mask)));
#else
  return join_One(a, One(subgroupShuffleXor(a.v, mask)));
#endif
}
#endif

@compute @workgroup_size({{SIZE}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
{{SHUFFLE ? "        @builtin(subgroup_size) width: u32, @builtin(subgroup_invocation_id) place: u32," : ""}}
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups);
  if (g >= p.groups) { return; }
#if ALONE
  let number = g * {{SIZE}}u + lane;
  let part = number % p.parts;
  let row = number / p.parts;
#else
  let part = g % p.parts;
  let row = (g / p.parts) * {{SIZE / LANES}}u + lane / {{LANES}}u;
#endif
  let me = lane % {{LANES}}u;
  let live = row < p.rows;
  let at = kept_place(min(row, p.rows - 1u));
  let begin = part * p.span;
  let end = select(begin, min(begin + p.span, p.count), live);
  let index_step = p.reduced_index_{{REDUCED_RANK - 1}};

  // Two sets of accumulators shorten the chain of dependent additions.
#for a in 0..(2 * LOADS)
  var acc{{a}} = empty();
#endfor
  var c = begin + me;
  for (; c + {{(UNROLL - 1) * LANES}}u < end; c += {{UNROLL * LANES}}u) {
#for u in 0..UNROLL
    let r{{u}} = reduced_place(c + {{u * LANES}}u);
    let v{{u}} = load(add_at(at.x, r{{u}}.x), r{{u}}.index, index_step);
#endfor
#for u in 0..UNROLL
#for h in 0..LOADS
    acc{{(u % 2) * LOADS + h}} = join_Acc(acc{{(u % 2) * LOADS + h}}, v{{u}}[{{h}}]);
#endfor
#endfor
  }
#if UNROLL > 1
  // Fewer than UNROLL chunks are left for each lane; their loads are in flight together too.
  if (c < end) {
#for u in 0..(UNROLL - 1)
    var v{{u}}: array<Acc, {{LOADS}}>;
#for h in 0..LOADS
    v{{u}}[{{h}}] = empty();
#endfor
    if (c + {{u * LANES}}u < end) {
      let r = reduced_place(c + {{u * LANES}}u);
      v{{u}} = load(add_at(at.x, r.x), r.index, index_step);
    }
#endfor
#for u in 0..(UNROLL - 1)
#for h in 0..LOADS
    acc{{(u % 2) * LOADS + h}} = join_Acc(acc{{(u % 2) * LOADS + h}}, v{{u}}[{{h}}]);
#endfor
#endfor
  }
#endif
#if TAIL
  if (live && part == p.parts - 1u) {
    for (var t = me; t < p.tail; t += {{LANES}}u) {
      let element = p.count * {{CHUNK}}u + t;
      var v = W(identity());
      v.x = prepare(W(value_at(at.x, element))).x;
      var i = I(no_index);
#if INDEXED
      i.x = xi_at(p.xi_off + at.x + element);
#else
      i.x = p.first_index + element * index_step;
#endif
      acc0 = join_Acc(acc0, make_Acc(v, i));
    }
  }
#endif
#if LOADS == 2
  acc0 = join_Acc(acc0, acc1);
  acc2 = join_Acc(acc2, acc3);
#endif
  var one = fold(join_Acc(acc0, acc{{LOADS}}));

#if IN_SUBGROUP
#let M = LANES
#for s in 0..8
#if M > 1
#let M = M / 2
  one = join_across(one, {{M}}u);
#endif
#endfor
#elif SHUFFLE
  for (var m = width / 2u; m > 0u; m /= 2u) { one = join_across(one, m); }
  if (place == 0u) { share(lane / width, one); }
  workgroupBarrier();
  let subgroups = {{SIZE}}u / width;
  one = make_One(identity(), no_index);
  for (var k = place; k < subgroups; k += width) { one = join_One(one, shared_one(k)); }
  for (var m = width / 2u; m > 0u; m /= 2u) { one = join_across(one, m); }
#elif LANES > 1
  share(lane, one);
#let M = LANES
#for s in 0..8
#if M > 1
#let M = M / 2
  workgroupBarrier();
  if (me < {{M}}u) {
    one = join_One(one, shared_one(lane + {{M}}u));
    share(lane, one);
  }
#endif
#endfor
#endif
  if (live && me == 0u) {
    let to = at.y + part * p.part_stride;
    y_put(p.y_off + to, result_One(one));
#if PARTIAL
    yi_put(p.yi_off + to, one.i);
#endif
  }
}
