// 16 elements of a float type as a piece; see decode.wgsl.
#let SIZE = QTYPE == "f32" ? 4 : 2
const {{NAME}}_unit = {{SIZE}}u;
const {{NAME}}_block = 16u;
const {{NAME}}_block_bytes = {{SIZE * 16}}u;
const {{NAME}}_pieces = 1u;
const {{NAME}}_gap = 8u;
fn {{NAME}}_first(piece: u32) -> u32 { return 0u; }

fn {{NAME}}_piece(block: u32, piece: u32) -> Piece {
  let a = {{NAME}}_at8(block / {{SIZE}}u);
  let b = {{NAME}}_at8(block / {{SIZE}}u + 8u);
  return Piece(Run(a[0], a[1], 1.0, 0.0), Run(b[0], b[1], 1.0, 0.0));
}
