// Units of 64 elements as packed signed bytes, for integer dot products with weights of type QTYPE. A kernel includes it
// once, behind a function unit_word(i) that gives 32-bit word i of the memory that blocks are read from.
//   UNITS_PER_SPAN, SPAN_BYTES   spans of so many units, and bytes, follow one another
//   FINE                         1: there is a scale for every 16 elements, else for every 32
//   LOWS                         1: `low` times the sum of x is to be added
//   TABLE                        1: unit_prepare(lane) must run first, with a barrier behind it
//   unit_at(row, u)              unit u of the row that starts at byte `row`, a multiple of 4 (LOOSE: of any number)
//   unit_groups(u)               which 32 elements each half of unit u holds, counted in 32s
// With QUARTERS, which only plain types have, `quarter` must be set first: lanes share a unit then, and each has that one of every
// four words. Neighbours read neighbours, which software adapters do at once instead of lane by lane.
// Levels with a sign come in the upper bits of their byte, and their scale is smaller by as much.
#let FINE = QTYPE == "q2_K" || QTYPE == "q3_K" || QTYPE == "q6_K" || QTYPE == "nvfp4"
#let LOWS = QTYPE == "q4_1" || QTYPE == "q5_1" || QTYPE == "q2_K" || QTYPE == "q4_K" || QTYPE == "q5_K"
#let TABLE = QTYPE == "iq4_nl" || QTYPE == "iq4_xs" || QTYPE == "mxfp4" || QTYPE == "nvfp4"
#let LOOSE = QTYPE == "q3_K" || QTYPE == "q6_K" || QTYPE == "mxfp4"
const w_unit = 1u;

#if QUARTERS
alias Words = u32;
var<private> quarter: u32;
#else
alias Words = vec4<u32>;
#endif
struct Unit {
  a0: Words,  // elements 0 … 15 of the first half
  a1: Words,
  b0: Words,
  b1: Words,
  scale: vec4<f32>,  // of a0, a1, b0, b1 where FINE, else of a and b
  low: vec4<f32>,
}

#if QUARTERS
fn unit_words4(i: u32) -> u32 { return unit_word(i + quarter); }
fn unit_middle4(i: u32) -> u32 { return (unit_word(i + quarter) >> 16u) | (unit_word(i + quarter + 1u) << 16u); }
#else
fn unit_words4(i: u32) -> vec4<u32> {
  return vec4<u32>(unit_word(i), unit_word(i + 1u), unit_word(i + 2u), unit_word(i + 3u));
}
// Four words that start in the middle of word i.
fn unit_middle4(i: u32) -> vec4<u32> {
  let q = unit_words4(i);
  return (q >> vec4<u32>(16u)) | (vec4<u32>(q.yzw, unit_word(i + 4u)) << vec4<u32>(16u));
}
#endif
#if LOOSE
fn unit_u8(at: u32) -> u32 { return (unit_word(at / 4u) >> ((at & 3u) * 8u)) & 0xffu; }
fn unit_u16(at: u32) -> u32 { return (unit_word(at / 4u) >> ((at & 2u) * 8u)) & 0xffffu; }
// 16 bytes from any place. The last word is that of the last byte, so that nothing behind the tensor is read.
fn unit_bytes16(at: u32) -> vec4<u32> {
  let i = at / 4u;
  let q = unit_words4(i);
  let shift = vec4<u32>((at & 3u) * 8u);
  // In two steps, since a shift by 32 is none.
  return (q >> shift) | ((vec4<u32>(q.yzw, unit_word((at + 15u) / 4u)) << (vec4<u32>(24u) - shift)) << vec4<u32>(8u));
}
#endif
fn unit_halves(word: u32) -> vec2<f32> { return unpack2x16float(word); }

#if TABLE
#include "lib/quant/unit_table.wgsl"
#elif QTYPE == "q2_K" || QTYPE == "q3_K" || QTYPE == "q4_K" || QTYPE == "q5_K" || QTYPE == "q6_K"
#include "lib/quant/unit_k.wgsl"
#else
#include "lib/quant/unit_plain.wgsl"
#endif
