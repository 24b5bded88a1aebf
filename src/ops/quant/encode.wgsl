// Values into blocks: one block per invocation. Tile: WORKGROUP invocations, no workgroup memory. Other implementations of these
// types round in the same places and in the same order, because a level that comes out one off is a visible difference.
// Blocks that share words with their neighbours are stored by atomic operations.
#include "quant/rows.wgsl"
#let WORDS = (BYTES + 3) / 4
var<private> v: array<f32, {{BLOCK}}>;
var<private> words: array<u32, {{WORDS}}>;

fn put_byte(i: u32, value: u32) { words[i / 4u] |= (value & 255u) << ((i & 3u) * 8u); }
fn put_half(i: u32, value: f32) {
  let bits = half_bits(value);
  put_byte(i, bits);
  put_byte(i + 1u, bits >> 8u);
}
fn half_value(value: f32) -> f32 { return unpack2x16float(half_bits(value)).x; }

// A result that is rounded before it goes on, whatever the compiler would join: p.zero is 0, which it does not know.
fn fixed(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ p.zero); }
fn mul(a: f32, b: f32) -> f32 { return fixed(a * b); }
// Quotients and roots rounded to nearest; devices may be off by a little in plain ones.
fn div(a: f32, b: f32) -> f32 {
#if REFINE
  let q = fixed(a / b);
  let r = fixed(fma(-q, b, a)) / b;
  return select(q, q + r, abs(r) < abs(q));  // not if q is infinite
#else
  return a / b;
#endif
}
fn root(x: f32) -> f32 {
#if REFINE
  if (x == 0.0) { return 0.0; }
  let r = fixed(sqrt(x));
  return r + fixed(fma(-r, r, x)) / (2.0 * r);
#else
  return sqrt(x);
#endif
}
// To the nearest integer, halves away from 0; round() takes halves to even.
fn away(x: f32) -> f32 {
  let whole = trunc(x);
  return whole + select(0.0, sign(x), abs(x - whole) >= 0.5);
}
fn inverse(d: f32) -> f32 {
  if (d == 0.0) { return 0.0; }
  return div(1.0, d);
}

#if QTYPE == "q2_K" || QTYPE == "q3_K" || QTYPE == "q4_K" || QTYPE == "q5_K" || QTYPE == "q6_K"
#include "quant/encode_k.wgsl"
#elif QTYPE == "mxfp4" || QTYPE == "nvfp4" || QTYPE == "iq4_nl" || QTYPE == "iq4_xs"
#include "quant/encode_nonlinear.wgsl"
#else
#include "quant/encode_plain.wgsl"
#endif

fn store(at: u32) {
#if ALIGNED
  for (var i = 0u; i < {{WORDS}}u; i++) { table_put_word(at / 4u + i, words[i]); }
#else
  let shift = (at & 3u) * 8u;
  let first = at / 4u;
  var carry = 0u;
  for (var i = first; i <= (at + {{BYTES - 1}}u) / 4u; i++) {
    let next = words[min(i - first, {{WORDS - 1}}u)];
    let bits = carry | select(0u, next << shift, i - first < {{WORDS}}u);
    carry = select(next >> (32u - shift), 0u, shift == 0u);
    let behind = at + {{BYTES}}u - i * 4u;  // bytes of the block that are left
    let mask = (0xffffffffu << select(0u, shift, i == first)) & (0xffffffffu >> select(0u, 32u - behind * 8u, behind < 4u));
    if (mask == 0xffffffffu) {
      table_put_word(i, bits);
    } else {
      table_put_bits(i, mask, bits & mask);
    }
  }
#endif
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let number = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (number >= p.count) { return; }
  let r = number / p.per_row;
  let block = number - r * p.per_row;
  let row = find_row(r);
  if (!row.live) { return; }
  for (var i = 0u; i < {{BLOCK}}u; i++) { v[i] = flat_at(row.flat + (block * {{BLOCK}}u + i) * p.flat_step); }
  encode();
  store(row.table + block * {{BYTES}}u);
}
