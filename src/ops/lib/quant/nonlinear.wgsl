// 4-bit types whose levels are not evenly spaced; see decode.wgsl.
#if QTYPE == "mxfp4"
const {{NAME}}_block = 32u;
const {{NAME}}_block_bytes = 17u;
#elif QTYPE == "nvfp4"
const {{NAME}}_block = 64u;
const {{NAME}}_block_bytes = 36u;
#elif QTYPE == "iq4_nl"
const {{NAME}}_block = 32u;
const {{NAME}}_block_bytes = 18u;
#else
const {{NAME}}_block = 256u;
const {{NAME}}_block_bytes = 136u;
#endif
const {{NAME}}_pieces = {{NAME}}_block / 16u;
#if QTYPE == "nvfp4"
const {{NAME}}_gap = 8u;
fn {{NAME}}_first(piece: u32) -> u32 { return piece * 16u; }
#else
const {{NAME}}_gap = 16u;
fn {{NAME}}_first(piece: u32) -> u32 { return (piece / 2u) * 32u + (piece & 1u) * 8u; }
#endif

// The values of the four codes in the low halves of four bytes.
fn {{NAME}}_values(bytes: u32) -> vec4<f32> {
  let code = numbers(bytes & 0x0f0f0f0fu);
#if QTYPE == "mxfp4" || QTYPE == "nvfp4"
  // Twice a 4-bit float of 2 exponent bits and 1 fraction bit; the magnitudes are digits of the constant.
  let size = vec4<f32>((vec4<u32>(0xc8643210u) >> ((code & vec4<u32>(7u)) * 4u)) & vec4<u32>(15u));
  return select(size, -size, code >= vec4<u32>(8u));
#else
  // -127, -104, -83, -65 | -49, -35, -22, -10 | 1, 13, 25, 38 | 53, 69, 89, 113
  let small = select(vec4<u32>(0xbfad9881u), vec4<u32>(0xf6eaddcfu), (code & vec4<u32>(4u)) != vec4<u32>(0u));
  let large = select(vec4<u32>(0x26190d01u), vec4<u32>(0x71594535u), (code & vec4<u32>(4u)) != vec4<u32>(0u));
  let four = bitcast<vec4<i32>>(select(small, large, code >= vec4<u32>(8u)));
  return vec4<f32>((four << (vec4<u32>(24u) - (code & vec4<u32>(3u)) * 8u)) >> vec4<u32>(24u));
#endif
}

#if QTYPE == "mxfp4"
// Half of a power of two that is given by its biased exponent; the value is doubled.
fn {{NAME}}_power(e: u32) -> f32 {
  return bitcast<f32>(select((e - 1u) << 23u, 0x200000u << (e & 1u), e < 2u));
}
#elif QTYPE == "nvfp4"
// Half of an unsigned 8-bit float with 3 fraction bits and exponent bias 7; 0x7f stands for 0.
fn {{NAME}}_small(bits: u32) -> f32 {
  let normal = bitcast<f32>(((bits & 0x7fu) << 20u) + (119u << 23u));
  let tiny = f32(bits & 7u) * 0x1p-10;
  let value = select(normal, tiny, (bits & 0x78u) == 0u);
  return select(value, 0.0, bits == 0x7fu);
}
#endif

fn {{NAME}}_piece(block: u32, piece: u32) -> Piece {
#if QTYPE == "mxfp4"
  let scale = {{NAME}}_power({{NAME}}_u8(block));
  let q = {{NAME}}_bytes8(block + 1u + piece * 8u);
#elif QTYPE == "nvfp4"
  let scale = {{NAME}}_small({{NAME}}_u8(block + piece));
  let q = {{NAME}}_bytes8(block + 4u + piece * 8u);
#elif QTYPE == "iq4_nl"
  let scale = {{NAME}}_half(block);
  let q = {{NAME}}_bytes8(block + 2u + piece * 8u);
#else
  let group = piece / 2u;
  let low = ({{NAME}}_u8(block + 4u + group / 2u) >> ((group & 1u) * 4u)) & 15u;
  let high = ({{NAME}}_u16(block + 2u) >> (group * 2u)) & 3u;
  let scale = {{NAME}}_half(block) * f32(i32(low | (high << 4u)) - 32i);
  let q = {{NAME}}_bytes8(block + 8u + piece * 8u);
#endif
  return Piece(Run({{NAME}}_values(q.x), {{NAME}}_values(q.y), scale, 0.0),
               Run({{NAME}}_values(q.x >> 4u), {{NAME}}_values(q.y >> 4u), scale, 0.0));
}
