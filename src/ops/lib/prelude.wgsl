// Small pieces that every kernel may use. The renderer includes this file in front of every kernel.

// The number of this workgroup in a grid made by grid_1d().
fn group_index(group: vec3<u32>, groups: vec3<u32>) -> u32 {
  return group.x + group.y * groups.x;
}

// f32 → bf16 bits, round to nearest even; NaN stays NaN.
fn bf16_bits(v: f32) -> u32 {
  let x = bitcast<u32>(v);
  let rounded = (x + 0x7fffu + ((x >> 16u) & 1u)) >> 16u;
  return select(rounded, (x >> 16u) | 0x40u, (x & 0x7fffffffu) > 0x7f800000u);
}

fn pack_bf16(v: vec2<f32>) -> u32 { return bf16_bits(v.x) | (bf16_bits(v.y) << 16u); }

fn unpack_bf16(word: u32) -> vec2<f32> {
  return vec2<f32>(bitcast<f32>(word << 16u), bitcast<f32>(word & 0xffff0000u));
}

// i64 as (low, high) words → i32, saturated: values that do not fit become the nearest limit, so that range
// checks on indices still see them as out of range.
fn i64_to_i32(low: u32, high: u32) -> i32 {
  let fits = bitcast<i32>(high) == (bitcast<i32>(low) >> 31u);
  return select(select(0x7fffffffi, -0x7fffffffi - 1i, bitcast<i32>(high) < 0i), bitcast<i32>(low), fits);
}
