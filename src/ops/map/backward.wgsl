// The backward family of the elementwise functions, included by functions.wgsl: a is x and b is dy, or a and b are the
// inputs of a gated unit and c is dy.
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

#if FN == "abs_back"
fn f(a: V, b: V, c: V) -> V { return b * sign(a); }
#elif FN == "sqr_back"
fn f(a: V, b: V, c: V) -> V { return 2.0 * a * b; }
#elif FN == "exp_back"
fn f(a: V, b: V, c: V) -> V { return b * exp(a); }
#elif FN == "expm1_back"
fn f(a: V, b: V, c: V) -> V { return b * exp(a); }
#elif FN == "log_back"
fn f(a: V, b: V, c: V) -> V { return b / a; }
#elif FN == "log1p_back"
fn f(a: V, b: V, c: V) -> V { return b / (V(1.0) + a); }
#elif FN == "sqrt_back"
fn f(a: V, b: V, c: V) -> V { return 0.5 * b * inverseSqrt(a); }
#elif FN == "rsqrt_back"
fn f(a: V, b: V, c: V) -> V { return -0.5 * b * inverseSqrt(a) / a; }
#elif FN == "reciprocal_back"
fn f(a: V, b: V, c: V) -> V { return -b / (a * a); }
#elif FN == "sin_back"
fn f(a: V, b: V, c: V) -> V { return b * cos(a); }
#elif FN == "cos_back"
fn f(a: V, b: V, c: V) -> V { return -b * sin(a); }
#elif FN == "tan_back"
fn f(a: V, b: V, c: V) -> V { return b / (cos(a) * cos(a)); }
#elif FN == "tanh_back"
fn f(a: V, b: V, c: V) -> V { return b * 4.0 * sigmoid_slope(2.0 * a); }
#elif FN == "erf_back"
fn f(a: V, b: V, c: V) -> V { return b * 1.1283791670955126 * exp(-a * a); }
#elif FN == "sigmoid_back"
fn f(a: V, b: V, c: V) -> V { return b * sigmoid_slope(a); }
#elif FN == "relu_back"
fn f(a: V, b: V, c: V) -> V { return select(V(0.0), b, a > V(0.0)); }
#elif FN == "leaky_relu_back"
fn f(a: V, b: V, c: V) -> V { return select(b * s0(), b, a > V(0.0)); }
#elif FN == "elu_back"
fn f(a: V, b: V, c: V) -> V { return select(b * s0() * exp(min(a, V(0.0))), b, a > V(0.0)); }
#elif FN == "gelu_back"
fn f(a: V, b: V, c: V) -> V { return b * gelu_slope(a); }
#elif FN == "gelu_erf_back"
fn f(a: V, b: V, c: V) -> V { return b * gelu_erf_slope(a); }
#elif FN == "gelu_quick_back"
fn f(a: V, b: V, c: V) -> V { return b * silu_slope(a, 1.702); }
#elif FN == "silu_back"
fn f(a: V, b: V, c: V) -> V { return b * silu_slope(a, 1.0); }
#elif FN == "hardswish_back"
fn f(a: V, b: V, c: V) -> V { return b * select(select((2.0 * a + V(3.0)) / 6.0, V(1.0), a >= V(3.0)), V(0.0), a <= V(-3.0)); }
#elif FN == "hardsigmoid_back"
fn f(a: V, b: V, c: V) -> V { return select(V(0.0), b / 6.0, abs(a) < V(3.0)); }
#elif FN == "softplus_back"
fn f(a: V, b: V, c: V) -> V { return b * sigmoid4(a); }
#elif FN == "mish_back"
fn f(a: V, b: V, c: V) -> V {
  let t = tanh4(softplus4(a));
  return b * (t + a * (V(1.0) - t * t) * sigmoid4(a));
}
#elif FN == "xielu_back"
fn f(a: V, b: V, c: V) -> V {
  let low = s0() * (select(V(0.0), exp(min(a, V(0.0))), a < V(s3())) - V(1.0));
  return b * (select(low, 2.0 * s1() * a, a > V(0.0)) + V(s2()));
}
#elif FN == "clamp_back"
fn f(a: V, b: V, c: V) -> V { return select(V(0.0), b, (a >= V(s0())) & (a <= V(s1()))); }
#elif FN == "reglu_back"
fn f(a: V, b: V, c: V) -> V { return select(V(0.0), b * c, a > V(0.0)); }
#elif FN == "geglu_back"
fn f(a: V, b: V, c: V) -> V { return b * c * gelu_slope(a); }
#elif FN == "geglu_erf_back"
fn f(a: V, b: V, c: V) -> V { return b * c * gelu_erf_slope(a); }
#elif FN == "geglu_quick_back"
fn f(a: V, b: V, c: V) -> V { return b * c * silu_slope(a, 1.702); }
#elif FN == "swiglu_back"
fn f(a: V, b: V, c: V) -> V { return b * c * silu_slope(a, 1.0); }
#elif FN == "swiglu_oai_back"
fn f(a: V, b: V, c: V) -> V {
  let up = clamp(b, V(-s1()), V(s1()));
  return c * select(silu_slope(a, s0()) * (up + V(1.0)), V(0.0), a > V(s1()));
}
#elif FN == "swiglu_oai_back_up"
fn f(a: V, b: V, c: V) -> V {
  let gate = min(a, V(s1()));
  return c * select(gate * sigmoid4(s0() * gate), V(0.0), abs(b) > V(s1()));
}
#else
#error "neither functions.wgsl nor backward.wgsl has a function {{FN}}"
#endif
