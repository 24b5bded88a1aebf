// What all decoders share; see decode.wgsl. A kernel includes it once, before the decoders of its operands.
struct Run {
  lo: vec4<f32>,
  hi: vec4<f32>,
  scale: f32,
  offset: f32,
}
struct Piece {
  a: Run,
  b: Run,
}

fn run_value(run: Run) -> array<vec4<f32>, 2> {
  let scale = vec4<f32>(run.scale);
  let offset = vec4<f32>(run.offset);
  return array<vec4<f32>, 2>(fma(run.lo, scale, offset), fma(run.hi, scale, offset));
}

// The 32 bits that start `shift` bits (0, 8, 16 or 24) into `low` and go on in `high`.
fn joined(low: u32, high: u32, shift: u32) -> u32 {
  return select((low >> shift) | (high << (32u - shift)), low, shift == 0u);
}

// 1 + level / 2ⁿ for the levels in the top n bits of each byte; `mask` has these n bits below bit 23.
fn levels(bytes: u32, mask: u32) -> vec4<f32> {
  let placed = vec4<u32>(bytes << 15u, bytes << 7u, bytes >> 1u, bytes >> 9u);
  return bitcast<vec4<f32>>((placed & vec4<u32>(mask)) | vec4<u32>(0x3f800000u));
}
const mask1 = 0x400000u;
const mask2 = 0x600000u;
const mask3 = 0x700000u;
const mask4 = 0x780000u;
const mask5 = 0x7c0000u;
const mask6 = 0x7e0000u;
const mask8 = 0x7f8000u;

// Bits 0 … 3 as the lowest bits of four bytes.
fn spread1(bits: u32) -> u32 { return ((bits & 15u) * 0x204081u) & 0x01010101u; }
// Four 2-bit fields of a byte as the lowest bits of four bytes.
fn spread2(byte: u32) -> u32 {
  return (byte & 3u) | ((byte & 12u) << 6u) | ((byte & 48u) << 12u) | ((byte & 192u) << 18u);
}
// Four bytes as numbers 0 … 255.
fn numbers(bytes: u32) -> vec4<u32> { return (vec4<u32>(bytes) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(255u); }
// -1 where a bit of `bits` is set, else 1.
fn signs(bits: u32) -> vec4<f32> {
  return select(vec4<f32>(1.0), vec4<f32>(-1.0), (vec4<u32>(bits) & vec4<u32>(1u, 2u, 4u, 8u)) != vec4<u32>(0u));
}
