// Decodes the blocks of quantized operand NAME, whose blocks are of type QTYPE. Included with NAME, QTYPE and ALIGNED
// (every block starts at a multiple of 4 bytes). A block falls into pieces of 16 elements: two runs of 8 that lie
// NAME_gap apart, because many types keep them in the halves of the same bytes.
//   NAME_block, NAME_block_bytes, NAME_pieces, NAME_gap   constants of the type
//   NAME_first(piece)          the element of the block that the first run of a piece starts with
//   NAME_piece(block, piece)   the two runs; `block` is the byte at which the block starts in its binding
//   NAME_part(block, pair, odd)   piece 2 * pair + odd; what both of a pair read is the same to a compiler
//   NAME_unit                  bytes that NAME_off counts
//   run_value(run)             the 8 values of a run
// QTYPE may also be f32, f16 or bf16, as blocks of 16 elements that start at multiples of 16 bytes.
// The elements of a run are run.scale · (run.lo, run.hi) + run.offset, so that dot products can leave the scale and
// the offset to the end. Levels of n bits come as 1 + level / 2ⁿ: bits put into the fraction of an f32 are a float
// without any conversion. The kernel includes lib/quant/run.wgsl in front, and its launch has what
// add_codebook() of ops/tables.hpp adds.

#if QTYPE == "f32" || QTYPE == "f16" || QTYPE == "bf16"
#include "lib/quant/float.wgsl"
#else
const {{NAME}}_unit = 1u;
fn {{NAME}}_u8(at: u32) -> u32 { return ({{NAME}}_word(at / 4u) >> ((at & 3u) * 8u)) & 0xffu; }
fn {{NAME}}_u16(at: u32) -> u32 { return ({{NAME}}_word(at / 4u) >> ((at & 2u) * 8u)) & 0xffffu; }
fn {{NAME}}_half(at: u32) -> f32 { return unpack2x16float({{NAME}}_u16(at)).x; }
#if ALIGNED
fn {{NAME}}_bytes4(at: u32) -> u32 { return {{NAME}}_word(at / 4u); }
fn {{NAME}}_bytes8(at: u32) -> vec2<u32> { return vec2<u32>({{NAME}}_word(at / 4u), {{NAME}}_word(at / 4u + 1u)); }
fn {{NAME}}_bytes16(at: u32) -> vec4<u32> { return vec4<u32>({{NAME}}_bytes8(at), {{NAME}}_bytes8(at + 8u)); }
#else
// The last word is that of the last byte, so that nothing behind the tensor is read.
fn {{NAME}}_bytes4(at: u32) -> u32 {
  return joined({{NAME}}_word(at / 4u), {{NAME}}_word((at + 3u) / 4u), (at & 3u) * 8u);
}
fn {{NAME}}_bytes8(at: u32) -> vec2<u32> {
  let shift = (at & 3u) * 8u;
  let middle = {{NAME}}_word(at / 4u + 1u);
  return vec2<u32>(joined({{NAME}}_word(at / 4u), middle, shift), joined(middle, {{NAME}}_word((at + 7u) / 4u), shift));
}
fn {{NAME}}_bytes16(at: u32) -> vec4<u32> {
  let shift = (at & 3u) * 8u;
  let w = at / 4u;
  let w1 = {{NAME}}_word(w + 1u);
  let w2 = {{NAME}}_word(w + 2u);
  let w3 = {{NAME}}_word(w + 3u);
  return vec4<u32>(joined({{NAME}}_word(w), w1, shift), joined(w1, w2, shift), joined(w2, w3, shift),
                   joined(w3, {{NAME}}_word((at + 15u) / 4u), shift));
}
#endif
// Two halves that lie in one word where blocks are aligned.
fn {{NAME}}_halves(at: u32) -> vec2<f32> { return unpack2x16float({{NAME}}_bytes4(at)); }

#let PARTS = QTYPE == "q2_K" || QTYPE == "q3_K" || QTYPE == "q4_K" || QTYPE == "q5_K" || QTYPE == "q6_K"
#if QTYPE == "q1_0" || QTYPE == "q2_0" || QTYPE == "q4_0" || QTYPE == "q4_1" || QTYPE == "q5_0" || QTYPE == "q5_1" || QTYPE == "q8_0" || QTYPE == "q8_1" || QTYPE == "q8_K"
#include "lib/quant/plain.wgsl"
#elif PARTS
#include "lib/quant/k.wgsl"
#elif QTYPE == "tq1_0" || QTYPE == "tq2_0"
#include "lib/quant/ternary.wgsl"
#elif QTYPE == "mxfp4" || QTYPE == "nvfp4" || QTYPE == "iq4_nl" || QTYPE == "iq4_xs"
#include "lib/quant/nonlinear.wgsl"
#elif QTYPE == "iq1_s" || QTYPE == "iq1_m" || QTYPE == "iq2_xxs" || QTYPE == "iq2_xs" || QTYPE == "iq2_s" || QTYPE == "iq3_xxs" || QTYPE == "iq3_s"
#include "lib/quant/codebook.wgsl"
#else
#error "There is no decoder for blocks of type {{QTYPE}}."
#endif
#if !PARTS
fn {{NAME}}_part(block: u32, pair: u32, odd: u32) -> Piece { return {{NAME}}_piece(block, pair * 2u + odd); }
#endif
#endif
