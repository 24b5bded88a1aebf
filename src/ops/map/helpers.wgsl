// What the elementwise functions share: the type T that they are computed in, vectors V of four, and pieces that more
// than one function needs. Includers say NEEDS_ERF, NEEDS_EXPM1 and NEEDS_LOG1P.
alias T = {{DOMAIN}};
alias V = vec4<{{DOMAIN}}>;
#if DOMAIN == "f32"
// `result`, or x where that is NaN. Drivers may take it that there is no NaN, and make max and min of comparisons; its bits
// they have to look at.
fn or_nan(x: V, result: V) -> V {
  return select(result, x, (bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u));
}
fn sigmoid4(x: V) -> V { return V(1.0) / (V(1.0) + exp(-x)); }
// The builtin may overflow for large arguments, where the result is 1 to every digit anyway. NaN stays NaN.
fn tanh4(x: V) -> V { return select(tanh(x), sign(x), abs(x) > V(15.0)); }
// Whole turns taken away from an angle: drivers lose the digits of large ones. 2 pi is cut into pieces of so few bits that
// the products are exact up to the bound.
fn angle4(x: V) -> V {
  let turns = round(x * 0.15915494309189535);
  let rest = ((x - turns * 6.28125) - turns * 0.0019359588623046875) + turns * 6.516827182105748e-7;
  return select(rest, x, abs(x) > V(100000.0));
}
// Quarter turns taken away, so that what is left near a pole is small and has all its digits.
fn tan4(x: V) -> V {
  let quarters = round(x * 0.6366197723675814);
  let rest = ((x - quarters * 1.5703125) - quarters * 0.000483989715576171875) + quarters * 1.629206795526437e-7;
  let slope = tan(rest);
  let odd = abs(quarters - 2.0 * trunc(quarters * 0.5)) == V(1.0);
  return select(select(slope, V(-1.0) / slope, odd), tan(x), abs(x) > V(100000.0));
}
// 0.5 (1 + tanh(u)) = sigmoid(2u), which takes one exponential less.
fn gelu4(x: V) -> V { return x * sigmoid4(1.5957691216057308 * x * (V(1.0) + 0.044715 * x * x)); }
fn gelu_quick4(x: V) -> V { return x * sigmoid4(1.702 * x); }
#if NEEDS_ERF
// Abramowitz and Stegun 7.1.26, with an absolute error below 1.5e-7; odd by construction.
fn erf4(x: V) -> V {
  let a = abs(x);
  let t = V(1.0) / (V(1.0) + 0.3275911 * a);
  let poly = t * (V(0.254829592) + t * (V(-0.284496736) + t * (V(1.421413741) + t * (V(-1.453152027) + t * 1.061405429))));
  return sign(x) * (V(1.0) - poly * exp(-a * a));
}
fn gelu_erf4(x: V) -> V { return 0.5 * x * (V(1.0) + erf4(x * 0.7071067811865476)); }
#endif
#if NEEDS_EXPM1
// Near zero exp(x) - 1 cancels: there a Taylor polynomial is exact to f32.
fn expm14(x: V) -> V {
  let small = x * (V(1.0) + x * (V(0.5) + x * (V(1.0 / 6.0) + x * (V(1.0 / 24.0) + x * (V(1.0 / 120.0) + x * (1.0 / 720.0))))));
  return select(exp(x) - V(1.0), small, abs(x) < V(0.25));
}
#endif
#if NEEDS_LOG1P
// Near zero log(1 + x) loses the low bits of x: there a Taylor polynomial is exact to f32.
fn log1p4(x: V) -> V {
  let small = x * (V(1.0) + x * (V(-0.5) + x * (V(1.0 / 3.0) + x * (V(-0.25) + x * (V(0.2) + x * (V(-1.0 / 6.0) + x * (1.0 / 7.0)))))));
  return select(log(V(1.0) + x), small, abs(x) < V(0.06));
}
fn softplus4(x: V) -> V { return max(x, V(0.0)) + log1p4(exp(-abs(x))); }
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
  return 0.5 * (V(1.0) + erf4(x * 0.7071067811865476)) + x * exp(-0.5 * x * x) * 0.3989422804014327;
}
#endif
#endif
