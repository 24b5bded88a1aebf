// A token for each row of logits (sample.hpp). Thresholds are found without sorting: the digits of an order-preserving key from
// the highest down, each by a histogram of the elements that have the digits so far: of their number for TOP_K, of their
// probabilities for TOP_P. Those are added up as whole numbers in units of 2^-32 of the largest, so that the order of the invocations
// does not matter.
// Tile: WORKGROUP invocations, one row; BATCH elements in flight each. Workgroup memory: at most 12 KiB.
#if !GREEDY
#include "random/draw.wgsl"
#endif
#let W = WORKGROUP

var<workgroup> counts: array<atomic<u32>, 256>;
var<workgroup> wraps: array<atomic<u32>, 256>;
var<workgroup> parts: array<f32, 16>;
var<workgroup> best: array<f32, {{W}}>;
var<workgroup> places: array<u32, {{W}}>;
var<workgroup> found: u32;
var<workgroup> left: f32;

fn order_key(v: f32) -> u32 {
  let given = bitcast<u32>(v);
  let bits = select(given, 0u, given == 0x80000000u);
  return select(bits | 0x80000000u, ~bits, bits >= 0x80000000u);
}

fn penalized(x: f32) -> f32 { return select(x * p.penalty, x / p.penalty, x > 0.0); }

fn value(row: u32, j: u32) -> f32 {
#if PENALTY
  let x = w_at(p.w_off + row * p.vocabulary + j);
#else
  let x = logits_at(p.logits_off + row * p.logits_row + j * p.logits_step);
#endif
  let none = (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
  return select({{GREEDY ? "x" : "x / p.temperature"}}, bitcast<f32>(p.lowest), none);
}

// Elements that no row has: for batches that reach past its end.
fn value_if(row: u32, j: u32) -> f32 { return value(row, min(j, p.vocabulary - 1u)); }

// The largest number of all invocations, and where it came from: the first of equals.
fn largest(lane: u32, x: f32, place: u32) {
  best[lane] = x;
  places[lane] = place;
  workgroupBarrier();
  for (var half = {{W / 2}}u; half > 0u; half /= 2u) {
    if (lane < half) {
      let other = best[lane + half];
      if (other > best[lane] || (other == best[lane] && places[lane + half] < places[lane])) {
        best[lane] = other;
        places[lane] = places[lane + half];
      }
    }
    workgroupBarrier();
  }
}

#if TOP_K || TOP_P
fn size_of(bin: u32) -> f32 { return f32(atomicLoad(&wraps[bin])) * 4294967296.0 + f32(atomicLoad(&counts[bin])); }

// The digit from which on down `wanted` is reached, and in `left` what of it is still wanted there. Where sums that were
// rounded do not reach it, the lowest digit that any element has.
fn digit_of(lane: u32, wanted: f32) -> u32 {
  workgroupBarrier();
  for (var part = lane; part < 16u; part += {{W}}u) {
    var sum = 0.0;
    for (var i = 0u; i < 16u; i++) { sum += size_of(part * 16u + i); }
    parts[part] = sum;
  }
  workgroupBarrier();
  if (lane == 0u) {
    var above = 0.0;
    var part = 15u;
    var lowest = 15u;
    loop {
      if (parts[part] > 0.0) {
        lowest = part;
        if (above + parts[part] >= wanted) { break; }
      }
      if (part == 0u) { break; }
      above += parts[part];
      part -= 1u;
    }
    if (part != lowest) {
      part = lowest;
      above -= parts[part];
    }
    var bin = part * 16u + 15u;
    lowest = bin;
    loop {
      let size = size_of(bin);
      if (size > 0.0) {
        lowest = bin;
        if (above + size >= wanted) { break; }
      }
      if (bin == part * 16u) { break; }
      above += size;
      bin -= 1u;
    }
    if (bin != lowest) { above -= size_of(lowest); }
    found = lowest;
    left = wanted - above;
  }
  workgroupBarrier();
  return workgroupUniformLoad(&found);
}

fn clear(lane: u32) {
  workgroupBarrier();
  for (var bin = lane; bin < 256u; bin += {{W}}u) {
    atomicStore(&counts[bin], 0u);
    atomicStore(&wraps[bin], 0u);
  }
  workgroupBarrier();
}
#endif

#if TOP_P
fn mass_of(x: f32, most: f32) -> u32 { return u32(min(exp(x - most) * 4294967296.0 + 0.5, 4294967040.0)); }

fn add_mass(bin: u32, mass: u32) {
  let before = atomicAdd(&counts[bin], mass);
  if (before + mass < before) { atomicAdd(&wraps[bin], 1u); }
}
#endif

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
