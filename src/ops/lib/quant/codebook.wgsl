// Types whose elements are entries of a codebook, 8 or 4 at a time; see decode.wgsl. Blocks of 256 elements in groups of
// 32, two pieces each. The codebook is an operand of the launch (ops/tables.hpp).
#let BYTES = QTYPE == "iq1_s" ? 50 : QTYPE == "iq1_m" ? 56 : QTYPE == "iq2_xxs" ? 66 : QTYPE == "iq2_xs" ? 74 : QTYPE == "iq2_s" ? 82 : QTYPE == "iq3_xxs" ? 98 : 110
const {{NAME}}_block = 256u;
const {{NAME}}_block_bytes = {{BYTES}}u;
const {{NAME}}_pieces = 16u;
const {{NAME}}_gap = 8u;
fn {{NAME}}_first(piece: u32) -> u32 { return piece * 16u; }

fn {{NAME}}_entry(i: u32) -> u32 { return (codebook_at(i / 2u) >> ((i & 1u) * 16u)) & 0xffffu; }

#if QTYPE == "iq3_xxs" || QTYPE == "iq3_s"
fn {{NAME}}_four(i: u32) -> vec4<f32> {
  let level = (vec4<u32>({{NAME}}_entry(i)) >> vec4<u32>(0u, 3u, 6u, 9u)) & vec4<u32>(7u);
#if QTYPE == "iq3_xxs"
  return vec4<f32>(level * 8u + vec4<u32>(4u) + select(vec4<u32>(0u), vec4<u32>(2u), level == vec4<u32>(7u)));
#else
  return vec4<f32>(level * 2u + vec4<u32>(1u));
#endif
}

// The entries i and j with the signs of 8 bits.
fn {{NAME}}_signed(i: u32, j: u32, bits: u32, scale: f32) -> Run {
  return Run({{NAME}}_four(i) * signs(bits), {{NAME}}_four(j) * signs(bits >> 4u), scale, 0.0);
}
#else
fn {{NAME}}_levels(bits: u32) -> vec4<u32> { return (vec4<u32>(bits) >> vec4<u32>(0u, 2u, 4u, 6u)) & vec4<u32>(3u); }
#if QTYPE == "iq1_s" || QTYPE == "iq1_m"
fn {{NAME}}_shifted(i: u32, scale: f32, down: bool) -> Run {
  let bits = {{NAME}}_entry(i);
  return Run(vec4<f32>({{NAME}}_levels(bits)), vec4<f32>({{NAME}}_levels(bits >> 8u)), scale,
             scale * select(-0.875, -1.125, down));
}
#else
fn {{NAME}}_sizes(level: vec4<u32>) -> vec4<f32> {
  return vec4<f32>(level * 17u + vec4<u32>(8u) + (level >> vec4<u32>(1u)));
}

// Entry i with the signs of 8 bits.
fn {{NAME}}_signed(i: u32, bits: u32, scale: f32) -> Run {
  let entry = {{NAME}}_entry(i);
  return Run({{NAME}}_sizes({{NAME}}_levels(entry)) * signs(bits), {{NAME}}_sizes({{NAME}}_levels(entry >> 8u)) * signs(bits >> 4u),
             scale, 0.0);
}
#endif
#endif

#if QTYPE == "iq2_xxs" || QTYPE == "iq2_xs" || QTYPE == "iq3_xxs"
// Seven signs and an eighth that makes the number of set bits even.
fn {{NAME}}_even(bits: u32) -> u32 { return (bits & 127u) | ((countOneBits(bits & 127u) & 1u) << 7u); }
#endif

fn {{NAME}}_piece(block: u32, piece: u32) -> Piece {
  let group = piece / 2u;
  let upper = piece & 1u;
#if QTYPE == "iq1_m"
  let scales = {{NAME}}_u16(block + 48u + (group / 2u) * 2u) >> ((group & 1u) * 6u + upper * 3u);
  let bits = ({{NAME}}_u16(block + 48u) >> 12u) | (({{NAME}}_u16(block + 50u) >> 8u) & 0xf0u) |
             (({{NAME}}_u16(block + 52u) >> 4u) & 0xf00u) | ({{NAME}}_u16(block + 54u) & 0xf000u);
  let scale = unpack2x16float(bits).x * f32(2u * (scales & 7u) + 1u);
  let q = {{NAME}}_u16(block + piece * 2u);
  let high = {{NAME}}_u8(block + 32u + piece);
  return Piece({{NAME}}_shifted((q & 255u) | ((high << 8u) & 0x700u), scale, (high & 8u) != 0u),
               {{NAME}}_shifted((q >> 8u) | ((high << 4u) & 0x700u), scale, (high & 128u) != 0u));
#else
  let d = {{NAME}}_half(block);
#if QTYPE == "iq1_s"
  let q = {{NAME}}_u16(block + 2u + piece * 2u);
  let more = {{NAME}}_u16(block + 34u + group * 2u);
  let scale = d * f32(2u * ((more >> 12u) & 7u) + 1u);
  let down = (more & 0x8000u) != 0u;
  let high = more >> (upper * 6u);
  return Piece({{NAME}}_shifted((q & 255u) | ((high & 7u) << 8u), scale, down),
               {{NAME}}_shifted((q >> 8u) | ((high & 56u) << 5u), scale, down));
#elif QTYPE == "iq2_xxs"
  let q = {{NAME}}_u16(block + 2u + group * 8u + upper * 2u);
  let more = {{NAME}}_bytes4(block + 6u + group * 8u);
  let scale = d * (0.5 + f32(more >> 28u)) * 0.25;
  let bits = more >> (upper * 14u);
  return Piece({{NAME}}_signed(q & 255u, {{NAME}}_even(bits), scale), {{NAME}}_signed(q >> 8u, {{NAME}}_even(bits >> 7u), scale));
#elif QTYPE == "iq2_xs"
  let q0 = {{NAME}}_u16(block + 2u + piece * 4u);
  let q1 = {{NAME}}_u16(block + 4u + piece * 4u);
  let scale = d * (0.5 + f32(({{NAME}}_u8(block + 66u + group) >> (upper * 4u)) & 15u)) * 0.25;
  return Piece({{NAME}}_signed(q0 & 511u, {{NAME}}_even(q0 >> 9u), scale), {{NAME}}_signed(q1 & 511u, {{NAME}}_even(q1 >> 9u), scale));
#elif QTYPE == "iq2_s"
  let q = {{NAME}}_u16(block + 2u + piece * 2u);
  let bits = {{NAME}}_u16(block + 34u + piece * 2u);
  let high = {{NAME}}_u8(block + 66u + group) >> (upper * 4u);
  let scale = d * (0.5 + f32(({{NAME}}_u8(block + 74u + group) >> (upper * 4u)) & 15u)) * 0.25;
  return Piece({{NAME}}_signed((q & 255u) | ((high & 3u) << 8u), bits, scale),
               {{NAME}}_signed((q >> 8u) | ((high & 12u) << 6u), bits >> 8u, scale));
#elif QTYPE == "iq3_xxs"
  let q = {{NAME}}_bytes4(block + 2u + piece * 4u);
  let more = {{NAME}}_bytes4(block + 66u + group * 4u);
  let scale = d * (0.5 + f32(more >> 28u)) * 0.5;
  let bits = more >> (upper * 14u);
  return Piece({{NAME}}_signed(q & 255u, (q >> 8u) & 255u, {{NAME}}_even(bits), scale),
               {{NAME}}_signed((q >> 16u) & 255u, q >> 24u, {{NAME}}_even(bits >> 7u), scale));
#else
  let q = {{NAME}}_bytes4(block + 2u + piece * 4u);
  let high = {{NAME}}_u8(block + 66u + group) >> (upper * 4u);
  let bits = {{NAME}}_u16(block + 74u + piece * 2u);
  let scale = d * f32(1u + 2u * (({{NAME}}_u8(block + 106u + group / 2u) >> ((group & 1u) * 4u)) & 15u));
  return Piece({{NAME}}_signed((q & 255u) | ((high & 1u) << 8u), ((q >> 8u) & 255u) | ((high & 2u) << 7u), bits, scale),
               {{NAME}}_signed(((q >> 16u) & 255u) | ((high & 4u) << 6u), (q >> 24u) | ((high & 8u) << 5u), bits >> 8u, scale));
#endif
#endif
}
