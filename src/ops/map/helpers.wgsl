// What the elementwise functions share: the type T that they are computed in, vectors V of four, and pieces that more
// than one function needs. Includers say NEEDS_ERF, NEEDS_EXPM1, NEEDS_LOG1P and NEEDS_SPECIAL.
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
const largest_angle = 100000.0;
struct Angle { rest: V, quarters: V }
fn angle4(x: V) -> Angle {
  let quarters = round(x * 0.6366197723675814);
  let rest = ((x - quarters * 1.5703125) - quarters * 0.000483989715576171875) + quarters * 1.629206795526437e-7;
  return Angle(rest, quarters);
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
  let k = vec4<i32>(a.quarters) + vec4<i32>(ahead);
  let side = select(near_sin(a.rest), near_cos(a.rest), (k & vec4<i32>(1)) == vec4<i32>(1));
  return select(side, -side, (k & vec4<i32>(2)) == vec4<i32>(2));
}
// NaN where x is not finite.
fn if_finite(x: V, result: V) -> V {
  let bits = bitcast<vec4<u32>>(x);
  return select(result, bitcast<V>(bits | vec4<u32>(0x7fc00000u)), (bits & vec4<u32>(0x7f800000u)) == vec4<u32>(0x7f800000u));
}
fn sin4(x: V) -> V { return if_finite(x, select(turned(angle4(x), 0i), sin(x), abs(x) > V(largest_angle))); }
fn cos4(x: V) -> V { return if_finite(x, select(turned(angle4(x), 1i), cos(x), abs(x) > V(largest_angle))); }
fn tan4(x: V) -> V {
  let a = angle4(x);
  let s = near_sin(a.rest);
  let c = near_cos(a.rest);
  let odd = (vec4<i32>(a.quarters) & vec4<i32>(1)) == vec4<i32>(1);
  return if_finite(x, select(select(s, -c, odd) / select(c, s, odd), tan(x), abs(x) > V(largest_angle)));
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
