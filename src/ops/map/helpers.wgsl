// What the elementwise functions share: the type T that they are computed in, vectors V of four, and pieces that more
// than one function needs. Includers say NEEDS_ERF, NEEDS_EXPM1, NEEDS_LOG1P, NEEDS_POWER, NEEDS_REST and
// NEEDS_SPECIAL.
alias T = {{DOMAIN}};
alias V = vec4<{{DOMAIN}}>;
#if DOMAIN == "f32"
// Drivers may take it that there is no NaN and make one comparison of another; the bits of a number they have to look at.
fn is_nan(x: V) -> vec4<bool> { return (bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u); }
// `result`, or x where that is NaN.
fn or_nan(x: V, result: V) -> V { return select(result, x, is_nan(x)); }
// Whether two numbers can be compared.
fn ordered(a: V, b: V) -> vec4<bool> { return !(is_nan(a) | is_nan(b)); }
// Whether a number is not 0; NaN is not, nor are numbers too small for a float unit.
fn truth(x: V) -> vec4<bool> { return (bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu)) != vec4<u32>(0u); }
fn sigmoid4(x: V) -> V { return V(1.0) / (V(1.0) + exp(-x)); }
// Builtins may lose all digits near 0 and overflow for large arguments, where the result is 1 anyway: a polynomial there.
fn tanh4(x: V) -> V {
  let z = x * x;
  let small = x + x * z * (V(-0.3333333) + z * (V(0.13332915) + z * (V(-0.05387398) + z * (V(0.021111103) + z * -0.0062693193))));
  let large = V(1.0) - V(2.0) / (exp(2.0 * min(abs(x), V(15.0))) + V(1.0));
  return or_nan(x, select(select(large, -large, x < V(0.0)), small, abs(x) < V(0.6)));
}
// What is left of an angle without its quarter turns, and how many those are. Drivers lose the digits of large angles, and
// builtins need only be right to 2^-11: pi / 2 is cut into pieces of so few bits that the products are exact up to the bound.
const largest_angle = 20000.0;
struct Angle { rest: V, quarters: vec4<i32> }
fn angle4(x: V) -> Angle {
  let quarters = round(x * 0.6366197723675814);
  let rest = ((x - quarters * 1.5703125) - quarters * 0.000483989715576171875) + quarters * 1.629206795526437e-7;
  var angle = Angle(rest, vec4<i32>(quarters));
  if (any(abs(x) > V(largest_angle))) {
    for (var i = 0u; i < 4u; i++) {
      if (abs(x[i]) > largest_angle) {
        let large = large_angle(x[i]);
        angle.rest[i] = large.x;
        angle.quarters[i] = i32(large.y);
      }
    }
  }
  return angle;
}
// The same for a large one: its 24 digits times those 96 digits of 2 / pi that count, as a whole number. Digits before
// them make whole turns.
fn large_angle(x: f32) -> vec2<f32> {
  let two_over_pi = array<u32, 7>(0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu);
  let bits = bitcast<u32>(x);
  let exponent = i32((bits >> 23u) & 0xffu) - 150;  // from -9 on
  let digits = (bits & 0x7fffffu) | 0x800000u;
  let skipped = u32(max(exponent - 2, 0));
  let first = min(skipped / 32u, 3u);
  let shift = skipped % 32u;
  // From the lowest word on, digit by digit of base 2^16.
  var words = vec4<u32>(0u);
  var carry = 0u;
  for (var k = 0u; k < 3u; k++) {
    let high = two_over_pi[first + 2u - k];
    let low = two_over_pi[first + 3u - k];
    let part = (high << shift) | select(low >> (32u - shift), 0u, shift == 0u);
    let product = wide_product(digits, part);
    let sum = product.x + carry;
    words[k] = sum;
    carry = product.y + select(0u, 1u, sum < product.x);
  }
  words[3] = carry;
  // The point lies behind the highest word once this is done.
  let right = u32(2 - (exponent - i32(skipped)));
  var moved = (words << vec4<u32>(2u)) | vec4<u32>(0u, words.xyz >> vec3<u32>(30u));
  if (right > 0u) { moved = (moved >> vec4<u32>(right)) | vec4<u32>(moved.yzw << vec3<u32>(32u - right), 0u); }
  let up = moved.z >> 31u;  // to the nearest quarter
  let fraction = select(moved.yz, ~moved.yz, up == 1u);
  let lead = countLeadingZeros(fraction.y);
  let top = (fraction.y << lead) | select(fraction.x >> (32u - lead), 0u, lead == 0u);
  let size = f32(select(top, fraction.x, lead == 32u)) * bitcast<f32>((95u - min(lead, 32u)) << 23u) * 1.5707963267948966;
  let quarters = f32((moved.w + up) & 3u);
  let rest = select(size, -size, up == 1u);
  return select(vec2<f32>(rest, quarters), vec2<f32>(-rest, -quarters), x < 0.0);
}
fn wide_product(a: u32, b: u32) -> vec2<u32> {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let middle = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
  let other = (a & 0xffffu) * (b >> 16u) + (middle & 0xffffu);
  return vec2<u32>(a * b, (a >> 16u) * (b >> 16u) + (middle >> 16u) + (other >> 16u));
}
fn near_sin(r: V) -> V {
  let z = r * r;
  return r + r * z * (V(-0.16666664) + z * (V(0.008332721) + z * -0.00019582287));
}
fn near_cos(r: V) -> V {
  let z = r * r;
  return V(1.0) - 0.5 * z + z * z * (V(0.041666664) + z * (V(-0.0013888277) + z * 0.000024542529));
}
fn turned(a: Angle, ahead: i32) -> V {
  let k = a.quarters + vec4<i32>(ahead);
  let side = select(near_sin(a.rest), near_cos(a.rest), (k & vec4<i32>(1)) == vec4<i32>(1));
  return select(side, -side, (k & vec4<i32>(2)) == vec4<i32>(2));
}
// NaN where x is not finite.
fn if_finite(x: V, result: V) -> V {
  let bits = bitcast<vec4<u32>>(x);
  return select(result, bitcast<V>(bits | vec4<u32>(0x7fc00000u)), (bits & vec4<u32>(0x7f800000u)) == vec4<u32>(0x7f800000u));
}
fn sin4(x: V) -> V { return if_finite(x, turned(angle4(x), 0i)); }
fn cos4(x: V) -> V { return if_finite(x, turned(angle4(x), 1i)); }
fn tan4(x: V) -> V {
  let a = angle4(x);
  let s = near_sin(a.rest);
  let c = near_cos(a.rest);
  let odd = (a.quarters & vec4<i32>(1)) == vec4<i32>(1);
  return if_finite(x, select(s, -c, odd) / select(c, s, odd));
}
// 0.5 (1 + tanh(u)) = sigmoid(2u), which takes one exponential less.
fn gelu4(x: V) -> V { return x * sigmoid4(1.5957691216057308 * x * (V(1.0) + 0.044715 * x * x)); }
fn gelu_quick4(x: V) -> V { return x * sigmoid4(1.702 * x); }
#if NEEDS_ERF
// erfc of numbers that are not negative, to every digit as long as it is a normal float: exp(-a²) times a polynomial of
// 1 / (1 + 0.4 a). The square is taken of the leading bits alone, which is exact, and the rest comes in as a series.
fn erfc4(a: V) -> V {
  let t = V(1.0) / (V(1.0) + 0.4 * a);
  let poly = t * (V(0.22564063) + t * (V(0.22633432) + t * (V(0.20266104) + t * (V(0.19038361) + t * (V(0.08678555) +
             t * (V(0.07784499) + t * (V(0.092782835) + t * (V(-0.1445514) + t * 0.042118505))))))));
  let top = bitcast<V>(bitcast<vec4<u32>>(a) & vec4<u32>(0xfffff000u));
  let rest = (top - a) * (top + a);
  let series = V(1.0) + rest * (V(1.0) + rest * (V(0.5) + rest * (V(1.0 / 6.0) + rest * (1.0 / 24.0))));
  return poly * series * exp(-top * top);
}
fn erf4(x: V) -> V {
  let a = abs(x);
  let z = x * x;
  let small = x * (V(1.1283791) + z * (V(-0.37612626) + z * (V(0.11283585) + z * (V(-0.026853812) + z * (V(0.0051883277) +
              z * (V(-0.00080101937) + z * 0.00007853861))))));
  let large = V(1.0) - erfc4(min(a, V(9.0)));
  return or_nan(x, select(select(large, -large, x < V(0.0)), small, a < V(1.0)));
}
// The share of a normal distribution below x, whose small values keep their digits.
fn normal_below(x: V) -> V {
  let tail = 0.5 * erfc4(min(abs(x) * 0.7071067811865476, V(9.5)));
  return or_nan(x, select(V(1.0) - tail, tail, x < V(0.0)));
}
fn gelu_erf4(x: V) -> V { return x * normal_below(x); }
#endif
#if NEEDS_EXPM1
// Near zero exp(x) - 1 cancels: there a Taylor polynomial is exact to f32.
fn expm14(x: V) -> V {
  let small = x * (V(1.0) + x * (V(0.5) + x * (V(1.0 / 6.0) + x * (V(1.0 / 24.0) + x * (V(1.0 / 120.0) +
              x * (V(1.0 / 720.0) + x * (V(1.0 / 5040.0) + x * (1.0 / 40320.0))))))));
  return select(exp(x) - V(1.0), small, abs(x) < V(0.5));
}
#endif
// log(1 + x) for -0.3 < x < 0.45, as 2 atanh(x / (2 + x)), to every digit of x.
fn near_log(x: V) -> V {
  let s = x / (V(2.0) + x);
  let z = s * s;
  return 2.0 * s + 2.0 * s * z * (V(1.0 / 3.0) + z * (V(0.2) + z * (V(1.0 / 7.0) + z * (1.0 / 9.0))));
}
// The builtin need only be right to 2^-21 between 0.5 and 2, where logarithms are small.
fn log4(x: V) -> V { return select(log(x), near_log(x - V(1.0)), (x > V(0.72)) & (x < V(1.4))); }
#if NEEDS_LOG1P
fn log1p4(x: V) -> V { return select(log(V(1.0) + x), near_log(x), (x > V(-0.28)) & (x < V(0.4))); }
fn softplus4(x: V) -> V { return or_nan(x, max(x, V(0.0)) + log1p4(exp(-abs(x)))); }
#endif
#if NEEDS_POWER
// Powers of numbers that are not negative. Small whole exponents multiply, so that whole numbers come out whole. In others the
// digits of the exponent that e takes away are kept: log2(a) = e + log2(m) with m near 1, and b e is exact in two parts.
fn power4(a: V, b: V, whole: vec4<bool>) -> V {
  var product = V(1.0);
  var square = a;
  let n = vec4<u32>(min(abs(b), V(16.0)));
  for (var bit = 0u; bit < 5u; bit++) {
    product = select(product, product * square, ((n >> vec4<u32>(bit)) & vec4<u32>(1u)) == vec4<u32>(1u));
    square *= square;
  }
  let few = whole & (abs(b) <= V(16.0)) & (product > V(1e-37)) & (product < V(1e37));
  let multiplied = select(product, V(1.0) / product, b < V(0.0));

  let bits = bitcast<vec4<u32>>(a);
  let digits = bitcast<V>((bits & vec4<u32>(0x7fffffu)) | vec4<u32>(0x3f800000u));
  let upper = digits > V(1.4142135);
  let m = select(digits, 0.5 * digits, upper);
  let e = V(vec4<i32>(bits >> vec4<u32>(23u)) - vec4<i32>(127i)) + select(V(0.0), V(1.0), upper);
  let top = bitcast<V>(bitcast<vec4<u32>>(b) & vec4<u32>(0xfffff000u));
  let low = (b - top) * e + b * (near_log(m - V(1.0)) * 1.4426950408889634);
  let turns = clamp(round(top * e + low), V(-250.0), V(250.0));
  let first = trunc(turns * 0.5);
  let general = exp2((top * e - turns) + low) * two_to(first) * two_to(turns - first);

  let usual = (a >= V(1.1754944e-38)) & (a <= V(3.4028234e38)) & (abs(b) < V(1e30));
  let outside = select(pow(a, b), V(1.0) / a, (a == V(0.0)) & (b < V(0.0)));
  return select(select(select(outside, general, usual), multiplied, few), V(1.0), a == V(1.0));
}
fn two_to(n: V) -> V { return bitcast<V>((vec4<i32>(n) + vec4<i32>(127i)) << vec4<u32>(23u)); }
#endif
#if NEEDS_REST
fn signed_zero(x: V) -> V { return bitcast<V>(bitcast<vec4<u32>>(x) & vec4<u32>(0x80000000u)); }
// What a leaves when b is taken away as often as possible, with the sign of a: exact, however large the quotient is, by
// dividing the digits of both as whole numbers, 8 digits of the quotient at a time.
fn rest4(a: V, b: V) -> V {
  var rest = V();
  for (var i = 0u; i < 4u; i++) { rest[i] = rest_of(a[i], b[i]); }
  return rest;
}
fn rest_of(a: f32, b: f32) -> f32 {
  let size = bitcast<u32>(a) & 0x7fffffffu;
  let by = bitcast<u32>(b) & 0x7fffffffu;
  if (size >= 0x7f800000u || by > 0x7f800000u || by == 0u) { return bitcast<f32>(size | 0x7fc00000u); }
  if (size < by) { return a; }
  let exponent = max(by >> 23u, 1u);
  let divisor = (by & 0x7fffffu) | select(0u, 0x800000u, by >= 0x800000u);
  var rest = ((size & 0x7fffffu) | select(0u, 0x800000u, size >= 0x800000u)) % divisor;
  for (var left = max(size >> 23u, 1u) - exponent; left > 0u;) {
    let step = min(left, 8u);
    rest = (rest << step) % divisor;
    left -= step;
  }
  // rest · 2^(exponent - 150), in two steps that are floats
  let half = exponent / 2u;
  let value = f32(rest) * bitcast<f32>((half + 52u) << 23u) * bitcast<f32>((exponent - half + 52u) << 23u);
  return select(value, -value, bitcast<u32>(a) != size);
}
#endif
#if NEEDS_SPECIAL
#include "map/special.wgsl"
#endif
fn sigmoid_slope(x: V) -> V {
  let s = sigmoid4(x);
  return s * (V(1.0) - s);
}
// The derivative of x sigmoid(rate x).
fn silu_slope(x: V, rate: f32) -> V {
  let s = sigmoid4(rate * x);
  return s + rate * x * s * (V(1.0) - s);
}
fn gelu_slope(x: V) -> V {
  let s = sigmoid4(1.5957691216057308 * x * (V(1.0) + 0.044715 * x * x));
  return s + x * s * (V(1.0) - s) * 1.5957691216057308 * (V(1.0) + 0.134145 * x * x);
}
#if NEEDS_ERF
fn gelu_erf_slope(x: V) -> V {
  return normal_below(x) + x * exp(-0.5 * x * x) * 0.3989422804014327;
}
#endif
#else
fn truth(x: V) -> vec4<bool> { return x != V(0); }
#endif
