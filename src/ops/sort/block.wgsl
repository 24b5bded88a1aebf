// Sorts tiles of 2048 elements. A tile holds either several whole rows, in segments of p.segment elements, or a part of
// one row (p.segment is 2048 then). The first p.keep elements of each segment are written.
// Tile: 256 invocations with 8 elements each. They sort their own by swapping neighbours, then merge runs of 8, 16, …
// elements, each invocation 8 elements of the result. Workgroup memory: 16 KiB, keys and where they came from.
// Elements behind the end of a row have the largest key and come after all others, because the order is stable.
// FROM "x": elements of the tensor x; "pairs": keys and indices of an earlier pass.
// TO "y": indices, as the result; "pairs": keys and indices for the next pass.
#include "sort/key.wgsl"
#let LAST = EACH - 1

var<workgroup> shared_places: array<u32, {{TILE}}>;

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups);
  if (g >= p.groups) { return; }
  let first_row = (g / p.tiles) * ({{TILE}}u / p.segment);
  let tile = g % p.tiles;

#for e in 0..EACH
  {
    let t = {{e}}u * {{WORKGROUP}}u + lane;
    let row = first_row + t / p.segment;
    let column = tile * {{TILE}}u + t % p.segment;
    var key = 0xffffffffu;
    if (row < p.rows && column < p.count) {
#if FROM == "x"
      key = order_key(x_at(p.x_off + row * p.x_row + column * p.x_step)) ^ p.flip;
#else
      key = keys_at(p.keys_off + row * p.pair_row + column);
#endif
    }
    shared_keys[t] = key;
  }
#endfor
  workgroupBarrier();
  let own = lane * {{EACH}}u;
#for e in 0..EACH
  var k{{e}} = shared_keys[own + {{e}}u];
  var i{{e}} = own + {{e}}u;
#endfor
#for step in 0..EACH
#for pair in 0..EACH / 2
#let a = pair * 2 + step % 2
#let b = a + 1
#if b < EACH
  {
    let swap = k{{b}} < k{{a}};
    let k = k{{a}};
    let i = i{{a}};
    k{{a}} = select(k, k{{b}}, swap);
    i{{a}} = select(i, i{{b}}, swap);
    k{{b}} = select(k{{b}}, k, swap);
    i{{b}} = select(i{{b}}, i, swap);
  }
#endif
#endfor
#endfor

  for (var run = {{EACH}}u; run < p.segment; run *= 2u) {
    workgroupBarrier();
#for e in 0..EACH
    shared_keys[own + {{e}}u] = k{{e}};
    shared_places[own + {{e}}u] = i{{e}};
#endfor
    workgroupBarrier();
    let a_first = own & ~(2u * run - 1u);
    let b_first = a_first + run;
    let d = own - a_first;
    let split = split_shared(a_first, run, b_first, run, d);
    var a = a_first + split;
    var b = b_first + d - split;
    let b_end = b_first + run;
#for e in 0..EACH
    {
      let from_a = b >= b_end || (a < b_first && shared_keys[min(a, {{TILE - 1}}u)] <= shared_keys[min(b, {{TILE - 1}}u)]);
      let at = select(b, a, from_a);
      k{{e}} = shared_keys[at];
      i{{e}} = shared_places[at];
      a += select(0u, 1u, from_a);
      b += select(1u, 0u, from_a);
    }
#endfor
  }

  workgroupBarrier();
#for e in 0..EACH
  shared_keys[own + {{e}}u] = k{{e}};
  shared_places[own + {{e}}u] = i{{e}};
#endfor
  workgroupBarrier();
#for e in 0..EACH
  {
    let t = {{e}}u * {{WORKGROUP}}u + lane;
    let row = first_row + t / p.segment;
    let rank = t % p.segment;
    if (row < p.rows && rank < p.keep && tile * {{TILE}}u + rank < p.count) {
      let column = tile * {{TILE}}u + shared_places[t] % p.segment;
#if FROM == "x"
      let index = p.first + column;
#else
      let index = index_at(p.index_off + row * p.pair_row + column);
#endif
#if TO == "y"
      y_put(p.y_off + row * p.y_row + rank * p.y_step, bitcast<i32>(index));
#else
      let to = row * p.out_row + tile * p.keep + rank;
      keys_out_put(p.keys_out_off + to, shared_keys[t]);
      index_out_put(p.index_out_off + to, index);
#endif
    }
  }
#endfor
}
