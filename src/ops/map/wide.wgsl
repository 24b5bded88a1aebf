// y = f(a, b, c) in 64-bit integers, which are pairs of words (low, high), with inputs and outputs of any plain type.
// Tile: 256 invocations, one element each. No workgroup memory.
alias W = vec2<u32>;

fn whole(v: i32) -> W { return W(bitcast<u32>(v), bitcast<u32>(v >> 31u)); }
fn add(a: W, b: W) -> W {
  let low = a.x + b.x;
  return W(low, a.y + b.y + select(0u, 1u, low < a.x));
}
fn negative(a: W) -> W { return add(~a, W(1u, 0u)); }
fn below_zero(a: W) -> bool { return (a.y >> 31u) == 1u; }
fn size(a: W) -> W { return select(a, negative(a), below_zero(a)); }
// The upper word of a product of words, from halves.
fn upper(a: u32, b: u32) -> u32 {
  let al = a & 0xffffu;
  let ah = a >> 16u;
  let bl = b & 0xffffu;
  let bh = b >> 16u;
  let middle = ah * bl + ((al * bl) >> 16u);
  let other = al * bh + (middle & 0xffffu);
  return ah * bh + (middle >> 16u) + (other >> 16u);
}
fn mul(a: W, b: W) -> W { return W(a.x * b.x, upper(a.x, b.x) + a.x * b.y + a.y * b.x); }
fn smaller(a: W, b: W) -> bool { return below(a, b, 0x80000000u); }
// As numbers without a sign, or with one where the highest bit is turned round.
fn below(a: W, b: W, flip: u32) -> bool {
  return (a.y ^ flip) < (b.y ^ flip) || (a.y == b.y && a.x < b.x);
}
fn is_true(a: W) -> bool { return (a.x | a.y) != 0u; }
fn truth(yes: bool) -> W { return W(select(0u, 1u, yes), 0u); }

// Quotients of numbers without signs, bit by bit; x / 0 = x, as for 32 bits.
struct Parts { quotient: W, rest: W }
fn divide(a: W, b: W) -> Parts {
  if (!is_true(b)) { return Parts(a, W()); }
  var quotient = W();
  var rest = W();
  for (var i = 0; i < 64; i++) {
    let word = select(a.x, a.y, i < 32);
    let bit = (word >> u32((63 - i) & 31)) & 1u;
    let lost = rest.y >> 31u;
    rest = W((rest.x << 1u) | bit, (rest.y << 1u) | (rest.x >> 31u));
    quotient = W(quotient.x << 1u, (quotient.y << 1u) | (quotient.x >> 31u));
    if (lost == 1u || !below(rest, b, 0u)) {
      rest = add(rest, negative(b));
      quotient.x |= 1u;
    }
  }
  return Parts(quotient, rest);
}
// Rounded towards 0, and what is left with the sign of a.
fn divide_signed(a: W, b: W) -> Parts {
  let parts = divide(size(a), size(b));
  if (!is_true(b)) { return Parts(a, W()); }
  return Parts(select(parts.quotient, negative(parts.quotient), below_zero(a) != below_zero(b)),
               select(parts.rest, negative(parts.rest), below_zero(a)));
}

// A float without its fraction; what is too large becomes the nearest limit, and NaN 0.
fn from_float(v: f32) -> W {
  let bits = bitcast<u32>(v);
  if ((bits & 0x7fffffffu) > 0x7f800000u) { return W(); }
  let exponent = i32((bits >> 23u) & 0xffu) - 127;
  if (exponent < 0) { return W(); }
  if (exponent >= 63) { return select(W(0xffffffffu, 0x7fffffffu), W(0u, 0x80000000u), bits >= 0x80000000u); }
  let digits = (bits & 0x7fffffu) | 0x800000u;
  var number = W(digits, 0u);
  let shift = exponent - 23;
  if (shift < 0) {
    number.x = digits >> u32(-shift);
  } else if (shift < 32) {
    number = W(digits << u32(shift), select(digits >> (32u - u32(shift)), 0u, shift == 0));
  } else {
    number = W(0u, digits << u32(shift - 32));
  }
  return select(number, negative(number), bits >= 0x80000000u);
}
// The nearest float: the first 32 digits, the last of which says whether there are more.
fn to_float(a: W) -> f32 {
  let positive = size(a);
  var result = f32(positive.x);
  if (positive.y != 0u) {
    let lead = countLeadingZeros(positive.y);
    let first = (positive.y << lead) | select(positive.x >> (32u - lead), 0u, lead == 0u);
    let more = (positive.x << lead) != 0u;
    result = ldexp(f32(first | select(0u, 1u, more)), i32(32u - lead));
  }
  return select(result, -result, below_zero(a));
}

#for k in 0..INPUTS
#let NAME = k == 0 ? "a" : k == 1 ? "b" : "c"
#let DTYPE = k == 0 ? A_DTYPE : k == 1 ? B_DTYPE : C_DTYPE
fn load_{{NAME}}(i: u32) -> W {
#if DTYPE == "i64"
  return {{NAME}}_words2(i * 2u);
#elif DTYPE == "u32" || DTYPE == "u8" || DTYPE == "bool"
  return W({{NAME}}_at(i), 0u);
#elif DTYPE == "i32" || DTYPE == "i16" || DTYPE == "i8"
  return whole({{NAME}}_at(i));
#elif FUNCTION == "where" || FUNCTION == "logical_and" || FUNCTION == "logical_or" || FUNCTION == "logical_xor" || FUNCTION == "logical_not"
  return truth((bitcast<u32>({{NAME}}_at(i)) & 0x7fffffffu) != 0u);
#else
  return from_float({{NAME}}_at(i));
#endif
}
#endfor

fn store(i: u32, v: W) {
#if Y_DTYPE == "i64"
  y_put_words2(i * 2u, v);
#elif Y_DTYPE == "bool"
  y_put(i, select(0u, 1u, is_true(v)));
#elif Y_DTYPE == "u32" || Y_DTYPE == "u8"
  y_put(i, v.x);
#elif Y_DTYPE == "i32" || Y_DTYPE == "i16" || Y_DTYPE == "i8"
  y_put(i, bitcast<i32>(v.x));
#else
  y_put(i, to_float(v));
#endif
}

fn f(a: W, b: W, c: W, number: u32) -> W {
  let s0 = W(p.s_0, p.s_1);
  let s1 = W(p.s_2, p.s_3);
#if FUNCTION == "copy"
  return a;
#elif FUNCTION == "abs"
  return size(a);
#elif FUNCTION == "neg"
  return negative(a);
#elif FUNCTION == "sign"
  return select(truth(is_true(a)), W(0xffffffffu), below_zero(a));
#elif FUNCTION == "step"
  return truth(is_true(a) && !below_zero(a));
#elif FUNCTION == "square"
  return mul(a, a);
#elif FUNCTION == "relu"
  return select(a, W(), below_zero(a));
#elif FUNCTION == "clamp"
  let high = select(a, s0, smaller(a, s0));
  return select(high, s1, smaller(s1, high));
#elif FUNCTION == "scale"
  return add(mul(a, s0), s1);
#elif FUNCTION == "add"
  return add(a, b);
#elif FUNCTION == "sub"
  return add(a, negative(b));
#elif FUNCTION == "mul"
  return mul(a, b);
#elif FUNCTION == "pow"
  if (below_zero(b)) {  // only powers of 1 and -1 are whole numbers
    let turned = all(a == W(0xffffffffu)) && (b.x & 1u) == 1u;
    return select(truth(all(size(a) == W(1u, 0u))), a, turned);
  }
  var power = W(1u, 0u);
  var base = a;
  var rest = b;
  while (is_true(rest)) {
    if ((rest.x & 1u) == 1u) { power = mul(power, base); }
    base = mul(base, base);
    rest = W((rest.x >> 1u) | (rest.y << 31u), rest.y >> 1u);
  }
  return power;
#elif FUNCTION == "maximum"
  return select(a, b, smaller(a, b));
#elif FUNCTION == "minimum"
  return select(b, a, smaller(a, b));
#elif FUNCTION == "div"
  return divide_signed(a, b).quotient;
#elif FUNCTION == "fmod"
  return divide_signed(a, b).rest;
#elif FUNCTION == "remainder" || FUNCTION == "floor_divide"
  // Towards the lower number: one less where something with the other sign is left.
  if (!is_true(b)) { return W(); }
  let parts = divide_signed(a, b);
  let lower = is_true(parts.rest) && below_zero(parts.rest) != below_zero(b);
#if FUNCTION == "remainder"
  return select(parts.rest, add(parts.rest, b), lower);
#else
  return select(parts.quotient, add(parts.quotient, W(0xffffffffu)), lower);
#endif
#elif FUNCTION == "equal"
  return truth(all(a == b));
#elif FUNCTION == "not_equal"
  return truth(any(a != b));
#elif FUNCTION == "less"
  return truth(smaller(a, b));
#elif FUNCTION == "less_equal"
  return truth(!smaller(b, a));
#elif FUNCTION == "greater"
  return truth(smaller(b, a));
#elif FUNCTION == "greater_equal"
  return truth(!smaller(a, b));
#elif FUNCTION == "where"
  return select(c, b, is_true(a));
#elif FUNCTION == "logical_and"
  return truth(is_true(a) && is_true(b));
#elif FUNCTION == "logical_or"
  return truth(is_true(a) || is_true(b));
#elif FUNCTION == "logical_xor"
  return truth(is_true(a) != is_true(b));
#elif FUNCTION == "logical_not"
  return truth(!is_true(a));
#elif FUNCTION == "bitwise_and"
  return a & b;
#elif FUNCTION == "bitwise_or"
  return a | b;
#elif FUNCTION == "bitwise_xor"
  return a ^ b;
#elif FUNCTION == "bitwise_not"
  return ~a;
#elif FUNCTION == "left_shift"
  // Nothing is left of shifts by 64 and more, or by less than 0.
  if (b.y != 0u || b.x >= 64u) { return W(); }
  if (b.x >= 32u) { return W(0u, a.x << (b.x - 32u)); }
  return W(a.x << b.x, (a.y << b.x) | select(a.x >> (32u - b.x), 0u, b.x == 0u));
#elif FUNCTION == "right_shift"
  let ends = W(bitcast<u32>(bitcast<i32>(a.y) >> 31u));
  if (b.y != 0u || b.x >= 64u) { return ends; }
  if (b.x >= 32u) { return W(bitcast<u32>(bitcast<i32>(a.y) >> (b.x - 32u)), ends.y); }
  return W((a.x >> b.x) | select(a.y << (32u - b.x), 0u, b.x == 0u), bitcast<u32>(bitcast<i32>(a.y) >> b.x));
#elif FUNCTION == "fill"
  return s0;
#elif FUNCTION == "arange"
  return add(s0, mul(W(number, 0u), s1));
#else
#error "wide.wgsl has no function {{FUNCTION}}"
#endif
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let number = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (number >= p.count) { return; }
  var rest = number;
#for k in 0..INPUTS
  var i{{k}} = p.{{k == 0 ? "a" : k == 1 ? "b" : "c"}}_off;
#endfor
  var to = p.y_off;
#for back in 0..RANK
#let d = RANK - 1 - back
#include "lib/coordinate.wgsl" with D=d LAST=back == RANK - 1
#for k in 0..INPUTS
  i{{k}} += c{{d}} * p.stride{{k}}_{{d}};
#endfor
  to += c{{d}} * p.stride_y_{{d}};
#endfor
  store(to, f({{INPUTS > 0 ? "load_a(i0)" : "W()"}}, {{INPUTS > 1 ? "load_b(i1)" : "W()"}}, {{INPUTS > 2 ? "load_c(i2)" : "W()"}}, number));
}
