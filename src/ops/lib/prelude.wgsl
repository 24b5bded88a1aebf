// Small pieces that every kernel may use. The renderer includes this file in front of every kernel.

#if !defined(WORKGROUP)
#let WORKGROUP = 256  // workgroup.hpp
#endif

// The number of this workgroup in a grid made by grid_1d().
fn group_index(group: vec3<u32>, groups: vec3<u32>) -> u32 {
  return group.x + group.y * groups.x;
}

// f32 → f16 bits, round to nearest even; what is too large becomes infinite and NaN stays NaN.
fn half_bits(v: f32) -> u32 {
  let x = bitcast<u32>(v);
  let m = x & 0x7fffffffu;
  let normal = (m + 0xfffu + ((m >> 13u) & 1u) - 0x38000000u) >> 13u;
  // Below 2^-14 a half counts in steps of 2^-24, which is the last bit of a float from 0.5 to 1.
  let small = bitcast<u32>(abs(v) + 0.5) - 0x3f000000u;
  let bits = min(select(normal, small, m < 0x38800000u), 0x7c00u);
  return select(bits, 0x7e00u, m > 0x7f800000u) | ((x >> 16u) & 0x8000u);
}

// Two f32 → a word of f16, rounded to nearest even. pack2x16float may cut digits off instead (it does on NVIDIA, and gives
// the largest number for what is too large), so half of the last digit is added first and the rest cleared. Only numbers
// below 2^-14 depend on the driver: they may be off by a step of 2^-24. Every invocation of a map runs this, so it is short.
fn pack_half(v: vec2<f32>) -> u32 {
  let x = bitcast<vec2<u32>>(v);
  let power = bitcast<vec2<f32>>(x & vec2<u32>(0xff800000u));
  let last = select(vec2<f32>(0x1p-11 - 0x1p-23), vec2<f32>(0x1p-11), (x & vec2<u32>(0x2000u)) != vec2<u32>(0u));
  let up = v + power * select(last, vec2<f32>(0x1p127), abs(v) >= vec2<f32>(65520.0));
  return pack2x16float(bitcast<vec2<f32>>(bitcast<vec2<u32>>(up) & vec2<u32>(0xffffe000u)));
}

// The same for inner loops: halves go up, and what is too large may stay finite.
fn pack_half_quickly(v: vec2<f32>) -> u32 {
  let power = bitcast<vec2<f32>>(bitcast<vec2<u32>>(v) & vec2<u32>(0xff800000u));
  let up = v + power * 0x1p-11;
  return pack2x16float(bitcast<vec2<f32>>(bitcast<vec2<u32>>(up) & vec2<u32>(0xffffe000u)));
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
