// Blocks of 256 elements -1, 0 or 1 times one scale; see decode.wgsl.
const {{NAME}}_block = 256u;
const {{NAME}}_block_bytes = {{QTYPE == "tq1_0" ? 54 : 66}}u;
const {{NAME}}_pieces = 16u;
#if QTYPE == "tq2_0"
const {{NAME}}_gap = 32u;
fn {{NAME}}_first(piece: u32) -> u32 { return (piece / 4u) * 64u + (piece & 3u) * 8u; }

fn {{NAME}}_piece(block: u32, piece: u32) -> Piece {
  let q = {{NAME}}_bytes8(block + (piece / 8u) * 32u + (piece & 3u) * 8u) >> vec2<u32>(((piece / 4u) & 1u) * 4u);
  let a = q << vec2<u32>(6u);
  let b = q << vec2<u32>(4u);
  let d = {{NAME}}_half(block + 64u);
  return Piece(Run(levels(a.x, mask2), levels(a.y, mask2), 4.0 * d, -5.0 * d),
               Run(levels(b.x, mask2), levels(b.y, mask2), 4.0 * d, -5.0 * d));
}
#else
const {{NAME}}_gap = 8u;
fn {{NAME}}_first(piece: u32) -> u32 { return piece * 16u; }

// Bytes hold five ternary digits as a fraction of 243 parts: times a power of 3 it has the wanted digit in front. Digit n
// of 32 bytes are the elements 32 n …, of the next 16 bytes 160 + 16 n …, of the last 4 (four digits) 240 + 4 n ….
fn {{NAME}}_digit(bytes: u32, n: u32) -> vec4<f32> {
  let power = select(select(1u, 3u, n == 1u), select(select(9u, 27u, n == 3u), 81u, n == 4u), n >= 2u);
  return vec4<f32>((((numbers(bytes) * power) & vec4<u32>(255u)) * 3u) >> vec4<u32>(8u));
}

fn {{NAME}}_run(block: u32, e: u32, d: f32) -> Run {
  var at = e & 31u;
  var n = e / 32u;
  if (e >= 160u) {
    at = 32u + (e & 15u);
    n = (e - 160u) / 16u;
  }
  if (e >= 240u) {
    let last = {{NAME}}_bytes4(block + 48u);
    n = (e - 240u) / 4u;
    return Run({{NAME}}_digit(last, n), {{NAME}}_digit(last, n + 1u), d, -d);
  }
  let q = {{NAME}}_bytes8(block + at);
  return Run({{NAME}}_digit(q.x, n), {{NAME}}_digit(q.y, n), d, -d);
}

fn {{NAME}}_piece(block: u32, piece: u32) -> Piece {
  let d = {{NAME}}_half(block + 52u);
  return Piece({{NAME}}_run(block, piece * 16u, d), {{NAME}}_run(block, piece * 16u + 8u, d));
}
#endif
