// Types with one scale (and minimum) per block; see decode.wgsl. Blocks of 32 keep elements i and i + 16 in one byte.
#if QTYPE == "q1_0"
const {{NAME}}_block = 128u;
const {{NAME}}_block_bytes = 18u;
#elif QTYPE == "q2_0"
const {{NAME}}_block = 64u;
const {{NAME}}_block_bytes = 18u;
#elif QTYPE == "q8_K"
const {{NAME}}_block = 256u;
const {{NAME}}_block_bytes = 292u;
#else
const {{NAME}}_block = 32u;
const {{NAME}}_block_bytes = {{QTYPE == "q4_0" ? 18 : QTYPE == "q4_1" ? 20 : QTYPE == "q5_0" ? 22 : QTYPE == "q5_1" ? 24 : QTYPE == "q8_0" ? 34 : 36}}u;
#endif
const {{NAME}}_pieces = {{NAME}}_block / 16u;
#let NIBBLES = QTYPE == "q4_0" || QTYPE == "q4_1" || QTYPE == "q5_0" || QTYPE == "q5_1"
const {{NAME}}_gap = {{NIBBLES ? 16 : 8}}u;
fn {{NAME}}_first(piece: u32) -> u32 { return piece * {{NIBBLES ? 8 : 16}}u; }

fn {{NAME}}_piece(block: u32, piece: u32) -> Piece {
#if QTYPE == "q8_K"
  let d = bitcast<f32>({{NAME}}_bytes4(block));
#elif QTYPE == "q4_1" || QTYPE == "q5_1"
  let head = {{NAME}}_halves(block);
  let d = head.x;
#else
  let d = {{NAME}}_half(block);
#endif
#if QTYPE == "q1_0"
  let q = {{NAME}}_u16(block + 2u + piece * 2u);
  let a = vec2<u32>(spread1(q), spread1(q >> 4u)) << vec2<u32>(7u);
  let b = vec2<u32>(spread1(q >> 8u), spread1(q >> 12u)) << vec2<u32>(7u);
  const mask = mask1;
  let scale = 4.0 * d;
  let offset = -5.0 * d;
#elif QTYPE == "q2_0"
  let q = {{NAME}}_bytes4(block + 2u + piece * 4u);
  let a = vec2<u32>(spread2(q), spread2(q >> 8u)) << vec2<u32>(6u);
  let b = vec2<u32>(spread2(q >> 16u), spread2(q >> 24u)) << vec2<u32>(6u);
  const mask = mask2;
  let scale = 4.0 * d;
  let offset = -5.0 * d;
#elif QTYPE == "q4_0" || QTYPE == "q4_1"
  let b = {{NAME}}_bytes8(block + {{QTYPE == "q4_0" ? 2 : 4}}u + piece * 8u);
  let a = b << vec2<u32>(4u);
  const mask = mask4;
  let scale = 16.0 * d;
  let offset = {{QTYPE == "q4_0" ? "-24.0 * d" : "head.y - scale"}};
#elif QTYPE == "q5_0" || QTYPE == "q5_1"
#let START = QTYPE == "q5_0" ? 2 : 4
  let q = {{NAME}}_bytes8(block + {{START + 4}}u + piece * 8u);
  let high = {{NAME}}_bytes4(block + {{START}}u) >> (piece * 8u);
  let a_high = vec2<u32>(spread1(high), spread1(high >> 4u)) << vec2<u32>(7u);
  let b_high = vec2<u32>(spread1(high >> 16u), spread1(high >> 20u)) << vec2<u32>(7u);
  let a = ((q & vec2<u32>(0x0f0f0f0fu)) << vec2<u32>(3u)) | a_high;
  let b = ((q >> vec2<u32>(1u)) & vec2<u32>(0x78787878u)) | b_high;
  const mask = mask5;
  let scale = 32.0 * d;
  let offset = {{QTYPE == "q5_0" ? "-48.0 * d" : "head.y - scale"}};
#else
  let q = {{NAME}}_bytes16(block + {{QTYPE == "q8_0" ? 2 : 4}}u + piece * 16u) ^ vec4<u32>(0x80808080u);
  let a = q.xy;
  let b = q.zw;
  const mask = mask8;
  let scale = 256.0 * d;
  let offset = -384.0 * d;
#endif
  return Piece(Run(levels(a.x, mask), levels(a.y, mask), scale, offset),
               Run(levels(b.x, mask), levels(b.y, mask), scale, offset));
}
