// Merges neighbouring sorted runs of p.run elements of each row into runs twice as long; the last run of a row may be
// shorter or missing. Only the first p.keep elements of a row are written.
// Tile: 256 invocations write 2048 elements. Where the tile's part of the two runs begins and ends is searched by 128
// invocations each, in p.rounds steps that divide the range by 128. Then their keys go to workgroup memory and each
// invocation merges 8 elements of the result. Workgroup memory: 8 KiB and 16 bytes.
// Assumes that p.run is a multiple of 2048. TO as in block.wgsl.
#include "sort/key.wgsl"
#let WAYS = WORKGROUP / 2

var<workgroup> found: array<atomic<u32>, 2>;

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups);
  if (g >= p.groups) { return; }
  let row = g / p.tiles;
  let first = (g % p.tiles) * {{TILE}}u;
  let pair = first / (2u * p.run) * (2u * p.run);
  let a_count = min(p.run, p.count - pair);
  let b_count = min(p.run, p.count - pair - a_count);
  let start = row * p.pair_row + pair;
  let keys_a = p.keys_off + start;
  let keys_b = keys_a + a_count;

  // Invocations below WAYS search for the beginning of the tile, the others for its end.
  let which = lane / {{WAYS}}u;
  let d = min(first - pair + which * {{TILE}}u, a_count + b_count);
  var low = select(0u, d - b_count, d > b_count);
  var high = min(d, a_count);
  for (var round = 0u; round < p.rounds; round++) {
    if (lane < 2u) { atomicStore(&found[lane], 0u); }
    workgroupBarrier();
    let step = (high - low + {{WAYS - 1}}u) / {{WAYS}}u;
    let probe = low + (lane % {{WAYS}}u + 1u) * step - 1u;
    if (step > 0u && probe < high) {
      if (keys_at(keys_a + probe) <= keys_at(keys_b + d - 1u - probe)) { atomicAdd(&found[which], 1u); }
    }
    workgroupBarrier();
    low += atomicLoad(&found[which]) * step;
    high = min(high, low + max(step, 1u) - 1u);
    workgroupBarrier();
  }
  if (lane % {{WAYS}}u == 0u) { atomicStore(&found[which], low); }
  workgroupBarrier();
  let a_first = atomicLoad(&found[0]);
  let a_end = atomicLoad(&found[1]);
  let d_first = first - pair;
  let d_end = min(d_first + {{TILE}}u, a_count + b_count);
  let b_first = d_first - a_first;
  let a_here = a_end - a_first;
  let b_here = d_end - a_end - b_first;
#for e in 0..EACH
  {
    let t = {{e}}u * {{WORKGROUP}}u + lane;
    if (t < a_here) {
      shared_keys[t] = keys_at(keys_a + a_first + t);
    } else if (t < a_here + b_here) {
      shared_keys[t] = keys_at(keys_b + b_first + t - a_here);
    }
  }
#endfor
  workgroupBarrier();

  let live = a_here + b_here;
  let own = min(lane * {{EACH}}u, live);
  let split = split_shared(0u, a_here, a_here, b_here, own);
  var a = split;
  var b = a_here + own - split;
#for e in 0..EACH
  // Places of a tile's elements: those of the first run, then those of the second.
  let from_a{{e}} = b >= live || (a < a_here && shared_keys[min(a, {{TILE - 1}}u)] <= shared_keys[min(b, {{TILE - 1}}u)]);
  let place{{e}} = select(b, a, from_a{{e}});
  a += select(0u, 1u, from_a{{e}});
  b += select(1u, 0u, from_a{{e}});
#endfor
  workgroupBarrier();
#for e in 0..EACH
  if (own + {{e}}u < live) { shared_keys[own + {{e}}u] = place{{e}}; }
#endfor
  workgroupBarrier();
#for e in 0..EACH
  {
    let t = {{e}}u * {{WORKGROUP}}u + lane;
    if (t < live && first + t < p.keep) {
      let place = shared_keys[t];
      let source = start + select(a_count + b_first + place - a_here, a_first + place, place < a_here);
      let index = index_at(p.index_off + source);
#if TO == "y"
      y_put(p.y_off + row * p.y_row + (first + t) * p.y_step, bitcast<i32>(index));
#else
      let to = row * p.out_row + first + t;
      keys_out_put(p.keys_out_off + to, keys_at(p.keys_off + source));
      index_out_put(p.index_out_off + to, index);
#endif
    }
  }
#endfor
}
