// A token for each row of logits (sample.hpp). Thresholds are found without sorting: the digits of an order-preserving key from
// the highest down, each by a histogram of the elements that have the digits so far: of their number for TOP_K, of their
// probabilities for TOP_P. Those are added up as whole numbers in units of 2^-32 of the largest, so that the order of the invocations
// does not matter.
// Tile: WORKGROUP invocations, one row; BATCH elements in flight each. Workgroup memory: at most 12 KiB.
#let W = WORKGROUP
#let SEES = 1
#if !GREEDY
#include "random/draw.wgsl"
#endif
#include "sample/common.wgsl"

@compute @workgroup_size({{W}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let row = group_index(group, groups);
  if (row >= p.rows) { return; }
  let lowest = bitcast<f32>(p.lowest);
#if PENALTY
  for (var j = lane; j < p.vocabulary; j += {{W}}u) {
    w_put(p.w_off + row * p.vocabulary + j, logits_at(p.logits_off + row * p.logits_row + j * p.logits_step));
  }
  storageBarrier();
  workgroupBarrier();
  // A token that comes twice gets the same value twice.
  for (var i = lane; i < p.previous; i += {{W}}u) {
    let token = previous_at(p.previous_off + row * p.previous_row + i * p.previous_step);
    if (token >= 0i && u32(token) < p.vocabulary) {
      w_put(p.w_off + row * p.vocabulary + u32(token),
            penalized(logits_at(p.logits_off + row * p.logits_row + u32(token) * p.logits_step)));
    }
  }
  storageBarrier();
  workgroupBarrier();
#endif

  var threshold = 0u;
#if TOP_P || MIN_P
  var top = lowest;
  for (var j = lane; j < p.vocabulary; j += {{W * BATCH}}u) {
#for b in 0..BATCH
    let x{{b}} = value_if(row, j + {{b * W}}u);
#endfor
#for b in 0..BATCH
    top = max(top, x{{b}});
#endfor
  }
  largest(lane, top, 0u);
  let most = workgroupUniformLoad(&best[0]);
#endif
#if TOP_K
  var same = f32(p.top_k);
  for (var shift = 24i; shift >= 0i; shift -= 8i) {
    clear(lane);
    for (var j = lane; j < p.vocabulary; j += {{W * BATCH}}u) {
#for b in 0..BATCH
      let key{{b}} = order_key(value_if(row, j + {{b * W}}u));
#endfor
#for b in 0..BATCH
      let other{{b}} = ((key{{b}} ^ threshold) >> 8u) >> u32(shift);
      if (other{{b}} == 0u && j + {{b * W}}u < p.vocabulary) { atomicAdd(&counts[(key{{b}} >> u32(shift)) & 255u], 1u); }
#endfor
    }
    threshold |= digit_of(lane, same) << u32(shift);
    same = workgroupUniformLoad(&left);
  }
#endif
#if TOP_P
  // What all that stay have together; of those that equal the last, as many as TOP_K counted.
  clear(lane);
  for (var j = lane; j < p.vocabulary; j += {{W * BATCH}}u) {
#for b in 0..BATCH
    let x{{b}} = value_if(row, j + {{b * W}}u);
#endfor
#for b in 0..BATCH
    if (order_key(x{{b}}) {{TOP_K ? ">" : ">="}} threshold && j + {{b * W}}u < p.vocabulary) {
      add_mass(lane & 255u, mass_of(x{{b}}, most));
    }
#endfor
  }
  workgroupBarrier();
  var share = 0.0;
  for (var bin = lane; bin < 256u; bin += {{W}}u) { share += size_of(bin); }
  best[lane] = share;
  workgroupBarrier();
  if (lane == 0u) {
    var sum = 0.0;
    for (var i = 0u; i < {{W}}u; i++) { sum += best[i]; }
#if TOP_K
    let bits = select(~threshold, threshold & 0x7fffffffu, threshold >= 0x80000000u);
    sum += same * f32(mass_of(bitcast<f32>(bits), most));
#endif
    left = sum * p.top_p;
  }
  workgroupBarrier();
  var wanted = workgroupUniformLoad(&left);
  var lower = 0u;
  for (var shift = 24i; shift >= 0i; shift -= 8i) {
    clear(lane);
    for (var j = lane; j < p.vocabulary; j += {{W * BATCH}}u) {
#for b in 0..BATCH
      let x{{b}} = value_if(row, j + {{b * W}}u);
#endfor
#for b in 0..BATCH
      let key{{b}} = order_key(x{{b}});
      let other{{b}} = ((key{{b}} ^ lower) >> 8u) >> u32(shift);
      if (key{{b}} >= threshold && other{{b}} == 0u && j + {{b * W}}u < p.vocabulary) {
        add_mass((key{{b}} >> u32(shift)) & 255u, mass_of(x{{b}}, most));
      }
#endfor
    }
    lower |= digit_of(lane, wanted) << u32(shift);
    wanted = workgroupUniformLoad(&left);
  }
  threshold = max(threshold, lower);
#endif

#if !GREEDY
  let key = vec2<u32>(key_at(p.key_off), key_at(p.key_off + 1u));
#endif
  var score = lowest;
  var place = 0xffffffffu;
  for (var j0 = lane; j0 < p.vocabulary; j0 += {{W * BATCH}}u) {
#for b in 0..BATCH
    let x{{b}} = value_if(row, j0 + {{b * W}}u);
#endfor
#for b in 0..BATCH
    {
      let j = j0 + {{b * W}}u;
      var stays = j < p.vocabulary && order_key(x{{b}}) >= threshold;
#if MIN_P
      stays = stays && x{{b}} >= most + p.min_p;
#endif
      if (stays) {
#if GREEDY
        let mine = x{{b}};
#else
        let n = row * p.vocabulary + j;
        let block = block_of(key, n);
        let mine = x{{b}} + draw(select(block.x, block.y, ((p.first_low + n) & 1u) == 1u));
#endif
        if (mine > score || place == 0xffffffffu) {
          score = mine;
          place = j;
        }
      }
    }
#endfor
  }
  workgroupBarrier();
  largest(lane, score, place);
  if (lane == 0u) { y_put(p.y_off + row * p.y_step, i32(min(places[0], p.vocabulary - 1u))); }
}
