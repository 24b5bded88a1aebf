// The elementwise functions on vectors V of four T (T: the type the function is computed in). Only the function
// FN is kept, with the helpers it needs. Scalar parameters are s(0) … s(3).
alias T = {{DOMAIN}};
alias V = vec4<{{DOMAIN}}>;
#for k in 0..4
fn s{{k}}() -> T { return bitcast<T>(p.s_{{k}}); }
#endfor

#let NEEDS_ERF = FN == "erf" || FN == "gelu_erf" || FN == "geglu_erf" || FN == "gelu_erf_back" || FN == "geglu_erf_back"
#let NEEDS_EXPM1 = FN == "expm1" || FN == "elu" || FN == "xielu"
#let NEEDS_LOG1P = FN == "log1p" || FN == "softplus" || FN == "mish" || FN == "mish_back"
#if DOMAIN == "f32"
fn sigmoid4(x: V) -> V { return V(1.0) / (V(1.0) + exp(-x)); }
// The builtin may overflow for large arguments, where the result is 1 to every digit anyway.
fn tanh4(x: V) -> V { return tanh(clamp(x, V(-15.0), V(15.0))); }
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
#endif

#if FN == "copy"
fn f(a: V, b: V, c: V) -> V { return a; }
#elif FN == "abs"
fn f(a: V, b: V, c: V) -> V { return abs(a); }
#elif FN == "neg"
#if DOMAIN == "u32"
fn f(a: V, b: V, c: V) -> V { return V(0u) - a; }
#else
fn f(a: V, b: V, c: V) -> V { return -a; }
#endif
#elif FN == "sign"
#if DOMAIN == "u32"
fn f(a: V, b: V, c: V) -> V { return min(a, V(1u)); }
#else
fn f(a: V, b: V, c: V) -> V { return sign(a); }
#endif
#elif FN == "step"
fn f(a: V, b: V, c: V) -> V { return select(V(0), V(1), a > V(0)); }
#elif FN == "sqr"
fn f(a: V, b: V, c: V) -> V { return a * a; }
#elif FN == "exp"
fn f(a: V, b: V, c: V) -> V { return exp(a); }
#elif FN == "expm1"
fn f(a: V, b: V, c: V) -> V { return expm14(a); }
#elif FN == "log"
fn f(a: V, b: V, c: V) -> V { return log(a); }
#elif FN == "log1p"
fn f(a: V, b: V, c: V) -> V { return log1p4(a); }
#elif FN == "sqrt"
fn f(a: V, b: V, c: V) -> V { return sqrt(a); }
#elif FN == "rsqrt"
fn f(a: V, b: V, c: V) -> V { return inverseSqrt(a); }
#elif FN == "reciprocal"
fn f(a: V, b: V, c: V) -> V { return V(1.0) / a; }
#elif FN == "sin"
fn f(a: V, b: V, c: V) -> V { return sin(a); }
#elif FN == "cos"
fn f(a: V, b: V, c: V) -> V { return cos(a); }
#elif FN == "tan"
fn f(a: V, b: V, c: V) -> V { return tan(a); }
#elif FN == "tanh"
fn f(a: V, b: V, c: V) -> V { return tanh4(a); }
#elif FN == "erf"
fn f(a: V, b: V, c: V) -> V { return erf4(a); }
#elif FN == "sigmoid"
fn f(a: V, b: V, c: V) -> V { return sigmoid4(a); }
#elif FN == "relu"
fn f(a: V, b: V, c: V) -> V { return max(a, V(0)); }
#elif FN == "leaky_relu"
fn f(a: V, b: V, c: V) -> V { return select(a * s0(), a, a > V(0.0)); }
#elif FN == "elu"
fn f(a: V, b: V, c: V) -> V { return select(s0() * expm14(min(a, V(0.0))), a, a > V(0.0)); }
#elif FN == "gelu"
fn f(a: V, b: V, c: V) -> V { return gelu4(a); }
#elif FN == "gelu_erf"
fn f(a: V, b: V, c: V) -> V { return gelu_erf4(a); }
#elif FN == "gelu_quick"
fn f(a: V, b: V, c: V) -> V { return gelu_quick4(a); }
#elif FN == "silu"
fn f(a: V, b: V, c: V) -> V { return a * sigmoid4(a); }
#elif FN == "hardswish"
fn f(a: V, b: V, c: V) -> V { return a * clamp((a + V(3.0)) / 6.0, V(0.0), V(1.0)); }
#elif FN == "hardsigmoid"
fn f(a: V, b: V, c: V) -> V { return clamp((a + V(3.0)) / 6.0, V(0.0), V(1.0)); }
#elif FN == "softplus"
fn f(a: V, b: V, c: V) -> V { return softplus4(a); }
#elif FN == "mish"
fn f(a: V, b: V, c: V) -> V { return a * tanh4(softplus4(a)); }
#elif FN == "xielu"
fn f(a: V, b: V, c: V) -> V {
  return select((expm14(min(a, V(s3()))) - a) * s0() + s2() * a, s1() * a * a + s2() * a, a > V(0.0));
}
#elif FN == "floor"
fn f(a: V, b: V, c: V) -> V { return floor(a); }
#elif FN == "ceil"
fn f(a: V, b: V, c: V) -> V { return ceil(a); }
#elif FN == "round"
fn f(a: V, b: V, c: V) -> V { return round(a); }
#elif FN == "round_away"
// Comparing the rest, not adding 0.5 first: that would round 0.49999997 up.
fn f(a: V, b: V, c: V) -> V {
  let whole = trunc(a);
  return whole + select(V(0.0), sign(a), abs(a - whole) >= V(0.5));
}
#elif FN == "trunc"
fn f(a: V, b: V, c: V) -> V { return trunc(a); }
#elif FN == "clamp"
fn f(a: V, b: V, c: V) -> V { return min(max(a, V(s0())), V(s1())); }
#elif FN == "scale"
fn f(a: V, b: V, c: V) -> V { return a * s0() + V(s1()); }
#elif FN == "add"
fn f(a: V, b: V, c: V) -> V { return a + b; }
#elif FN == "sub"
fn f(a: V, b: V, c: V) -> V { return a - b; }
#elif FN == "mul"
fn f(a: V, b: V, c: V) -> V { return a * b; }
#elif FN == "div" || FN == "mod"
#let OPERATOR = FN == "div" ? "/" : "%"
#if DOMAIN == "f32"
fn f(a: V, b: V, c: V) -> V { return a {{OPERATOR}} b; }
#elif DOMAIN == "u32"
// Integer division by zero is undefined where the compiler's own guards are off: x / 0 = x and x % 0 = 0 here.
fn f(a: V, b: V, c: V) -> V { return a {{OPERATOR}} select(b, V(1u), b == V(0u)); }
#else
fn f(a: V, b: V, c: V) -> V {
  let overflow = (a == V(-0x7fffffffi - 1i)) & (b == V(-1i));
  return a {{OPERATOR}} select(b, V(1i), (b == V(0i)) | overflow);
}
#endif
#elif FN == "max"
fn f(a: V, b: V, c: V) -> V { return max(a, b); }
#elif FN == "min"
fn f(a: V, b: V, c: V) -> V { return min(a, b); }
#elif FN == "pow"
// The builtin takes no negative base; with a whole exponent the sign follows from its parity.
fn f(a: V, b: V, c: V) -> V {
  let size = pow(abs(a), b);
  let odd = abs(b % V(2.0)) == V(1.0);
  return select(size, -size, (a < V(0.0)) & odd);
}
#elif FN == "atan2"
fn f(a: V, b: V, c: V) -> V { return atan2(a, b); }
#elif FN == "eq"
fn f(a: V, b: V, c: V) -> V { return select(V(0), V(1), a == b); }
#elif FN == "ne"
fn f(a: V, b: V, c: V) -> V { return select(V(0), V(1), a != b); }
#elif FN == "lt"
fn f(a: V, b: V, c: V) -> V { return select(V(0), V(1), a < b); }
#elif FN == "le"
fn f(a: V, b: V, c: V) -> V { return select(V(0), V(1), a <= b); }
#elif FN == "gt"
fn f(a: V, b: V, c: V) -> V { return select(V(0), V(1), a > b); }
#elif FN == "ge"
fn f(a: V, b: V, c: V) -> V { return select(V(0), V(1), a >= b); }
#elif FN == "where"
fn f(a: V, b: V, c: V) -> V { return select(c, b, a != V(0)); }
#elif FN == "reglu"
fn f(a: V, b: V, c: V) -> V { return max(a, V(0.0)) * b; }
#elif FN == "geglu"
fn f(a: V, b: V, c: V) -> V { return gelu4(a) * b; }
#elif FN == "geglu_erf"
fn f(a: V, b: V, c: V) -> V { return gelu_erf4(a) * b; }
#elif FN == "geglu_quick"
fn f(a: V, b: V, c: V) -> V { return gelu_quick4(a) * b; }
#elif FN == "swiglu"
fn f(a: V, b: V, c: V) -> V { return a * sigmoid4(a) * b; }
#elif FN == "swiglu_oai"
fn f(a: V, b: V, c: V) -> V {
  let gate = min(a, V(s1()));
  let up = clamp(b, V(-s1()), V(s1()));
  return gate * sigmoid4(s0() * gate) * (up + V(1.0));
}
#elif FN == "swiglu_clamp"
fn f(a: V, b: V, c: V) -> V {
  let gate = min(a, V(s0()));
  return gate * sigmoid4(gate) * clamp(b, V(-s0()), V(s0()));
}
#elif FN == "fill"
fn f(a: V, b: V, c: V) -> V { return V(s0()); }
#elif FN == "arange"
// `a` holds element numbers here, see map.wgsl.
fn f(a: V, b: V, c: V) -> V { return V(s0()) + a * s1(); }
#else
#include "map/backward.wgsl"
#endif
