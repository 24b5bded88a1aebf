// The KEEP least (key, place) pairs that an invocation was offered, in no order. Keys are floats as numbers that order like them,
// NaN behind everything; equal keys are told apart by their places.
var<private> kept_keys: array<u32, {{KEEP}}>;
var<private> kept_places: array<u32, {{KEEP}}>;
var<private> worst: u32;
var<private> worst_key: u32;
var<private> worst_place: u32;

fn key_of(score: f32) -> u32 {
  let bits = bitcast<u32>(score);
  let size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) { return 0xfffffffeu; }
  if (size == 0u) { return 0x80000000u; }
  return select(bits | 0x80000000u, ~bits, (bits >> 31u) == 1u);
}

fn score_of(key: u32) -> f32 { return bitcast<f32>(select(~key, key & 0x7fffffffu, key >= 0x80000000u)); }

fn comes_before(key: u32, place: u32, other: u32, other_place: u32) -> bool {
  return (key < other) | ((key == other) & (place < other_place));
}

fn clear_list() {
  for (var i = 0u; i < {{KEEP}}u; i++) {
    kept_keys[i] = 0xffffffffu;
    kept_places[i] = 0xffffffffu;
  }
  worst = 0u;
  worst_key = 0xffffffffu;
  worst_place = 0xffffffffu;
}

fn offer(key: u32, place: u32) {
  if (!comes_before(key, place, worst_key, worst_place)) { return; }
  kept_keys[worst] = key;
  kept_places[worst] = place;
  worst_key = 0u;
  worst_place = 0u;
  for (var i = 0u; i < {{KEEP}}u; i++) {
    if (!comes_before(kept_keys[i], kept_places[i], worst_key, worst_place)) {
      worst = i;
      worst_key = kept_keys[i];
      worst_place = kept_places[i];
    }
  }
}
