// The same as sample.wgsl by several workgroups for each row, each with a part of its elements, and a launch for each step: PHASE
//   "clear"    what the steps count in becomes 0                "copy", "penalty"   logits as f32, those of previous tokens changed
//   "max"      the largest element of each part
//   "count"    how many elements have each next digit (TOP_K)   "mass", "share"     their probabilities, of all and by the next digit
//   "draw"     the winner of each part                          "finish"            the winner of the row
// PRIOR says what the step before counted, from which every workgroup finds the next digit for itself.
// Words of a row in s: a largest element, a score and a place for each part; then for each step the threshold of the counts, that of
// the probabilities, what is wanted beyond them, and 256 sums of three words, of 16 bits each and of what is above them.
// Tile: WORKGROUP invocations, p.each elements ("penalty": the tokens of a row; "finish": a row). Workgroup memory: 4.1 KiB.
#let W = WORKGROUP
#let COUNTS = PHASE == "count" || PHASE == "mass" || PHASE == "share"
#let SEES = COUNTS || PHASE == "max" || PHASE == "draw"
#let NEEDS_MOST = PHASE == "mass" || PHASE == "share" || (PRIOR == "mass") || (PHASE == "draw" && MIN_P)
#if PHASE == "draw" && !GREEDY
#include "random/draw.wgsl"
#endif
#include "sample/common.wgsl"
#let STEP_WORDS = 3 + 3 * 256

#if COUNTS || PRIOR != "none"
fn step_at(row: u32, step: u32) -> u32 { return p.s_off + row * p.state + 3u * p.parts + step * {{STEP_WORDS}}u; }
#endif

#if PRIOR != "none"
// The sums of a step into workgroup memory.
fn load_sums(lane: u32, at: u32) {
  for (var bin = lane; bin < 256u; bin += {{W}}u) {
    let low = s_at(at + 3u + bin * 3u);
#if PRIOR == "count"
    atomicStore(&counts[bin], low);
    atomicStore(&wraps[bin], 0u);
#else
    let middle = (low >> 16u) + s_at(at + 4u + bin * 3u);
    atomicStore(&counts[bin], (middle << 16u) | (low & 0xffffu));
    atomicStore(&wraps[bin], s_at(at + 5u + bin * 3u) + (middle >> 16u));
#endif
  }
  workgroupBarrier();
}
#endif

#if COUNTS
// What this workgroup has counted, to what others have.
fn store_sums(lane: u32, at: u32) {
  workgroupBarrier();
  for (var bin = lane; bin < 256u; bin += {{W}}u) {
    let low = atomicLoad(&counts[bin]);
#if PHASE == "count"
    if (low > 0u) { s_add(at + 3u + bin * 3u, low); }
#else
    let wrap = atomicLoad(&wraps[bin]);
    if ((low | wrap) != 0u) {
      s_add(at + 3u + bin * 3u, low & 0xffffu);
      s_add(at + 4u + bin * 3u, low >> 16u);
      s_add(at + 5u + bin * 3u, wrap);
    }
#endif
  }
}
#endif

@compute @workgroup_size({{W}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups);
#if PHASE == "clear"
  let word = g * {{W}}u + lane;
  if (word < p.rows * p.state) { s_put(p.s_off + word, 0u); }
#elif PHASE == "penalty"
  if (g >= p.rows) { return; }
  // A token that comes twice gets the same value twice.
  for (var i = lane; i < p.previous; i += {{W}}u) {
    let token = previous_at(p.previous_off + g * p.previous_row + i * p.previous_step);
    if (token >= 0i && u32(token) < p.vocabulary) {
      w_put(p.w_off + g * p.vocabulary + u32(token),
            penalized(logits_at(p.logits_off + g * p.logits_row + u32(token) * p.logits_step)));
    }
  }
#elif PHASE == "finish"
  if (g >= p.rows) { return; }
  let at = p.s_off + g * p.state;
  var score = bitcast<f32>(p.lowest);
  var place = 0xffffffffu;
  if (lane < p.parts) {
    score = bitcast<f32>(s_at(at + p.parts + lane));
    place = s_at(at + 2u * p.parts + lane);
  }
  largest(lane, score, place);
  if (lane == 0u) { y_put(p.y_off + g * p.y_step, i32(min(places[0], p.vocabulary - 1u))); }
#else
  if (g >= p.rows * p.parts) { return; }
  let row = g / p.parts;
  let part = g % p.parts;
  let first = part * p.each;
  let end = min(first + p.each, p.vocabulary);
#if PHASE == "copy"
  for (var j = first + lane; j < end; j += {{W}}u) {
    w_put(p.w_off + row * p.vocabulary + j, logits_at(p.logits_off + row * p.logits_row + j * p.logits_step));
  }
#else
  let lowest = bitcast<f32>(p.lowest);
  let state = p.s_off + row * p.state;
#if NEEDS_MOST
  var top = lowest;
  if (lane < p.parts) { top = bitcast<f32>(s_at(state + lane)); }
  largest(lane, top, 0u);
  let most = workgroupUniformLoad(&best[0]);
#endif
  var threshold = 0u;
  var lower = 0u;
  var wanted = f32(p.top_k);
#if PRIOR != "none"
  let before = step_at(row, p.step - 1u);
  threshold = s_at(before);
  lower = s_at(before + 1u);
  wanted = bitcast<f32>(s_at(before + 2u));
  load_sums(lane, before);
#if PRIOR == "mass"
  // What all that stay have together; of those that equal the last, as many as "count" left.
  var all = 0.0;
  for (var bin = lane; bin < 256u; bin += {{W}}u) { all += size_of(bin); }
  best[lane] = all;
  workgroupBarrier();
  if (lane == 0u) {
    var sum = 0.0;
    for (var i = 0u; i < {{W}}u; i++) { sum += best[i]; }
#if TOP_K
    let bits = select(~threshold, threshold & 0x7fffffffu, threshold >= 0x80000000u);
    sum += wanted * f32(mass_of(bitcast<f32>(bits), most));
#endif
    left = sum * p.top_p;
  }
  workgroupBarrier();
  wanted = workgroupUniformLoad(&left);
#else
  {{PRIOR == "count" ? "threshold" : "lower"}} |= digit_of(lane, wanted) << p.prior_shift;
  wanted = workgroupUniformLoad(&left);
#endif
#endif
#if COUNTS
  let here = step_at(row, p.step);
  if (part == 0u && lane == 0u) {
    s_put(here, threshold);
    s_put(here + 1u, lower);
    s_put(here + 2u, bitcast<u32>(wanted));
  }
  clear(lane);
#endif
  var score = lowest;
  var place = 0xffffffffu;
#if PHASE == "draw" && !GREEDY
  let least = max(threshold, lower);
  let key = vec2<u32>(key_at(p.key_off), key_at(p.key_off + 1u));
#endif
  for (var j = first + lane; j < end; j += {{W}}u) {
    let x = value(row, j);
#if PHASE == "max"
    score = max(score, x);
#elif PHASE == "count"
    let digits = order_key(x);
    if ((((digits ^ threshold) >> 8u) >> p.shift) == 0u) { atomicAdd(&counts[(digits >> p.shift) & 255u], 1u); }
#elif PHASE == "mass"
    if (order_key(x) {{TOP_K ? ">" : ">="}} threshold) { add_mass(lane & 255u, mass_of(x, most)); }
#elif PHASE == "share"
    let digits = order_key(x);
    if (digits >= threshold && (((digits ^ lower) >> 8u) >> p.shift) == 0u) {
      add_mass((digits >> p.shift) & 255u, mass_of(x, most));
    }
#else
#if GREEDY
    let mine = x;
    let stays = true;
#else
    var stays = order_key(x) >= least;
#if MIN_P
    stays = stays && x >= most + p.min_p;
#endif
    let n = row * p.vocabulary + j;
    let block = block_of(key, n);
    let mine = x + draw(select(block.x, block.y, ((p.first_low + n) & 1u) == 1u));
#endif
    if (stays && (mine > score || place == 0xffffffffu)) {
      score = mine;
      place = j;
    }
#endif
  }
#if PHASE == "max" || PHASE == "draw"
  workgroupBarrier();
  largest(lane, score, place);
  if (lane == 0u) {
#if PHASE == "max"
    s_put(state + part, bitcast<u32>(best[0]));
#else
    s_put(state + p.parts + part, bitcast<u32>(best[0]));
    s_put(state + 2u * p.parts + part, places[0]);
#endif
  }
#else
  store_sums(lane, here);
#endif
#endif
#endif
}
