// The backward family of the elementwise functions, included by functions.wgsl: a is x and b is dy, or a and b are the
// inputs of a gated unit and c is dy.
#if FUNCTION == "abs_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return b * sign(a); }
#elif FUNCTION == "square_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return 2.0 * a * b; }
#elif FUNCTION == "exp_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return b * exp(a); }
#elif FUNCTION == "expm1_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return b * exp(a); }
#elif FUNCTION == "log_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return b / a; }
#elif FUNCTION == "log1p_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return b / (V(1.0) + a); }
#elif FUNCTION == "sqrt_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return 0.5 * b * inverseSqrt(a); }
#elif FUNCTION == "rsqrt_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return -0.5 * b * inverseSqrt(a) / a; }
#elif FUNCTION == "reciprocal_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return -b / (a * a); }
#elif FUNCTION == "sin_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return b * cos4(a); }
#elif FUNCTION == "cos_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return -b * sin4(a); }
#elif FUNCTION == "tan_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  let slope = cos4(a);
  return b / (slope * slope);
}
#elif FUNCTION == "tanh_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return b * 4.0 * sigmoid_slope(2.0 * a); }
#elif FUNCTION == "erf_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return b * 1.1283791670955126 * exp(-a * a); }
#elif FUNCTION == "sigmoid_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return b * sigmoid_slope(a); }
#elif FUNCTION == "relu_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return select(V(0.0), b, a > V(0.0)); }
#elif FUNCTION == "leaky_relu_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return select(b * {{S_NAME}}0(), b, a > V(0.0)); }
#elif FUNCTION == "elu_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return select(b * {{S_NAME}}0() * exp(min(a, V(0.0))), b, a > V(0.0)); }
#elif FUNCTION == "gelu_tanh_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return b * gelu_slope(a); }
#elif FUNCTION == "gelu_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return b * gelu_erf_slope(a); }
#elif FUNCTION == "gelu_quick_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return b * silu_slope(a, 1.702); }
#elif FUNCTION == "silu_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return b * silu_slope(a, 1.0); }
#elif FUNCTION == "hardswish_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return b * select(select((2.0 * a + V(3.0)) / 6.0, V(1.0), a >= V(3.0)), V(0.0), a <= V(-3.0)); }
#elif FUNCTION == "hardsigmoid_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return select(V(0.0), b / 6.0, abs(a) < V(3.0)); }
#elif FUNCTION == "softplus_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return b * sigmoid4(a); }
#elif FUNCTION == "mish_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  let t = tanh4(softplus4(a));
  return b * (t + a * (V(1.0) - t * t) * sigmoid4(a));
}
#elif FUNCTION == "xielu_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  let low = {{S_NAME}}0() * (select(V(0.0), exp(min(a, V(0.0))), a < V({{S_NAME}}3())) - V(1.0));
  return b * (select(low, 2.0 * {{S_NAME}}1() * a, a > V(0.0)) + V({{S_NAME}}2()));
}
#elif FUNCTION == "clamp_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return select(V(0.0), b, (a >= V({{S_NAME}}0())) & (a <= V({{S_NAME}}1()))); }
#elif FUNCTION == "reglu_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return select(V(0.0), b * c, a > V(0.0)); }
#elif FUNCTION == "geglu_tanh_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return b * c * gelu_slope(a); }
#elif FUNCTION == "geglu_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return b * c * gelu_erf_slope(a); }
#elif FUNCTION == "geglu_quick_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return b * c * silu_slope(a, 1.702); }
#elif FUNCTION == "swiglu_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return b * c * silu_slope(a, 1.0); }
#elif FUNCTION == "swiglu_oai_back"
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  let up = clamp(b, V(-{{S_NAME}}1()), V({{S_NAME}}1()));
  return c * select(silu_slope(a, {{S_NAME}}0()) * (up + V(1.0)), V(0.0), a > V({{S_NAME}}1()));
}
#elif FUNCTION == "swiglu_oai_back_up"
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  let gate = min(a, V({{S_NAME}}1()));
  return c * select(gate * sigmoid4({{S_NAME}}0() * gate), V(0.0), abs(b) > V({{S_NAME}}1()));
}
#else
#error "neither functions.wgsl nor backward.wgsl has a function {{FUNCTION}}"
#endif
