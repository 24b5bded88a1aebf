// Blocks of 256 elements with a scale for every 16 or 32 of them; see decode.wgsl.
#let BYTES = QTYPE == "q2_K" ? 84 : QTYPE == "q3_K" ? 110 : QTYPE == "q4_K" ? 144 : QTYPE == "q5_K" ? 176 : 210
const {{NAME}}_block = 256u;
const {{NAME}}_block_bytes = {{BYTES}}u;
const {{NAME}}_pieces = 16u;
const {{NAME}}_gap = {{QTYPE == "q6_K" ? 64 : 32}}u;
#if QTYPE == "q6_K"
fn {{NAME}}_first(piece: u32) -> u32 { return (piece / 8u) * 128u + (piece & 7u) * 8u; }
#else
fn {{NAME}}_first(piece: u32) -> u32 { return (piece / 4u) * 64u + (piece & 3u) * 8u; }
#endif

#if QTYPE == "q4_K" || QTYPE == "q5_K"
// Scale and minimum of 32 elements: 6 bits each, of which the last four pairs keep the upper 2 bits elsewhere.
fn {{NAME}}_scale(s: vec3<u32>, j: u32) -> vec2<f32> {
  let t = (j & 3u) * 8u;
  let low = (vec2<u32>(s.x, s.y) >> vec2<u32>(t)) & vec2<u32>(63u);
  let high = ((vec2<u32>(s.z) >> vec2<u32>(t, t + 4u)) & vec2<u32>(15u)) |
             (((vec2<u32>(s.x, s.y) >> vec2<u32>(t + 6u)) & vec2<u32>(3u)) << vec2<u32>(4u));
  return vec2<f32>(select(high, low, j < 4u));
}

fn {{NAME}}_part(block: u32, pair: u32, odd: u32) -> Piece {
  let chunk = pair / 2u;
  let part = (pair & 1u) * 16u + odd * 8u;
  let d = {{NAME}}_halves(block);
  let s = vec3<u32>({{NAME}}_bytes8(block + 4u), {{NAME}}_bytes4(block + 12u));
  let a_scale = d * {{NAME}}_scale(s, chunk * 2u);
  let b_scale = d * {{NAME}}_scale(s, chunk * 2u + 1u);
#if QTYPE == "q4_K"
  let b = {{NAME}}_bytes8(block + 16u + chunk * 32u + part);
  let a = b << vec2<u32>(4u);
  const mask = mask4;
  const size = 16.0;
#else
  let q = {{NAME}}_bytes8(block + 48u + chunk * 32u + part);
  let high = {{NAME}}_bytes8(block + 16u + part) >> vec2<u32>(chunk * 2u);
  let a = ((q & vec2<u32>(0x0f0f0f0fu)) << vec2<u32>(3u)) | ((high & vec2<u32>(0x01010101u)) << vec2<u32>(7u));
  let b = ((q >> vec2<u32>(1u)) & vec2<u32>(0x78787878u)) | ((high & vec2<u32>(0x02020202u)) << vec2<u32>(6u));
  const mask = mask5;
  const size = 32.0;
#endif
  return Piece(Run(levels(a.x, mask), levels(a.y, mask), a_scale.x * size, -a_scale.x * size - a_scale.y),
               Run(levels(b.x, mask), levels(b.y, mask), b_scale.x * size, -b_scale.x * size - b_scale.y));
}
#elif QTYPE == "q6_K"
fn {{NAME}}_part(block: u32, pair: u32, odd: u32) -> Piece {
  let half = pair / 4u;
  let quarter = (pair / 2u) & 1u;
  let part = (pair & 1u) * 16u + odd * 8u;
  let q = {{NAME}}_bytes8(block + half * 64u + quarter * 32u + part);
  let high = {{NAME}}_bytes8(block + 128u + half * 32u + part) >> vec2<u32>(quarter * 2u);
  let a = ((q & vec2<u32>(0x0f0f0f0fu)) << vec2<u32>(2u)) | ((high & vec2<u32>(0x03030303u)) << vec2<u32>(6u));
  let b = ((q >> vec2<u32>(2u)) & vec2<u32>(0x3c3c3c3cu)) | ((high & vec2<u32>(0x30303030u)) << vec2<u32>(2u));
  let scales = block + 192u + half * 8u + quarter * 2u + (pair & 1u);
  let d = {{NAME}}_half(block + 208u);
  let a_scale = d * f32(extractBits(i32({{NAME}}_u8(scales)), 0u, 8u));
  let b_scale = d * f32(extractBits(i32({{NAME}}_u8(scales + 4u)), 0u, 8u));
  return Piece(Run(levels(a.x, mask6), levels(a.y, mask6), a_scale * 64.0, a_scale * -96.0),
               Run(levels(b.x, mask6), levels(b.y, mask6), b_scale * 64.0, b_scale * -96.0));
}
#elif QTYPE == "q2_K"
fn {{NAME}}_part(block: u32, pair: u32, odd: u32) -> Piece {
  let half = pair / 4u;
  let shift = ((pair / 2u) & 1u) * 4u;
  let part = (pair & 1u) * 16u + odd * 8u;
  let q = {{NAME}}_bytes8(block + 16u + half * 32u + part) >> vec2<u32>(shift);
  let a = q << vec2<u32>(6u);
  let b = q << vec2<u32>(4u);
  let scales = block + half * 8u + shift + (pair & 1u);
  let a_packed = {{NAME}}_u8(scales);
  let b_packed = {{NAME}}_u8(scales + 2u);
  let d = {{NAME}}_halves(block + 80u);
  let a_scale = d * vec2<f32>(vec2<u32>(a_packed & 15u, a_packed >> 4u));
  let b_scale = d * vec2<f32>(vec2<u32>(b_packed & 15u, b_packed >> 4u));
  return Piece(Run(levels(a.x, mask2), levels(a.y, mask2), a_scale.x * 4.0, -a_scale.x * 4.0 - a_scale.y),
               Run(levels(b.x, mask2), levels(b.y, mask2), b_scale.x * 4.0, -b_scale.x * 4.0 - b_scale.y));
}
#else
// Scale number s of 16: 4 bits in the first 8 bytes, 2 more in the last 4.
fn {{NAME}}_scale(scales: u32, s: u32) -> f32 {
  let low = ({{NAME}}_u8(scales + (s & 7u)) >> ((s / 8u) * 4u)) & 15u;
  let high = ({{NAME}}_u8(scales + 8u + (s & 3u)) >> ((s / 4u) * 2u)) & 3u;
  return f32(i32(low | (high << 4u)) - 32i);
}

fn {{NAME}}_part(block: u32, pair: u32, odd: u32) -> Piece {
  let half = pair / 4u;
  let quarter = (pair / 2u) & 1u;
  let part = (pair & 1u) * 16u + odd * 8u;
  let q = {{NAME}}_bytes8(block + 32u + half * 32u + part) >> vec2<u32>(quarter * 4u);
  let high = {{NAME}}_bytes8(block + part) >> vec2<u32>(half * 4u + quarter * 2u);
  let a = ((q & vec2<u32>(0x03030303u)) << vec2<u32>(5u)) | ((high & vec2<u32>(0x01010101u)) << vec2<u32>(7u));
  let b = ((q & vec2<u32>(0x0c0c0c0cu)) << vec2<u32>(3u)) | ((high & vec2<u32>(0x02020202u)) << vec2<u32>(6u));
  let d = {{NAME}}_half(block + 108u);
  let number = half * 8u + quarter * 4u + (pair & 1u);
  let a_scale = d * {{NAME}}_scale(block + 96u, number);
  let b_scale = d * {{NAME}}_scale(block + 96u, number + 2u);
  return Piece(Run(levels(a.x, mask3), levels(a.y, mask3), a_scale * 8.0, a_scale * -12.0),
               Run(levels(b.x, mask3), levels(b.y, mask3), b_scale * 8.0, b_scale * -12.0));
}
#endif
fn {{NAME}}_piece(block: u32, piece: u32) -> Piece { return {{NAME}}_part(block, piece / 2u, piece & 1u); }
