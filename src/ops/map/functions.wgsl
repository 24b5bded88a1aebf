// The elementwise functions on vectors V of four T (T: the type the function is computed in). Only the function
// FUNCTION is kept, with the helpers it needs, as f(a, b, c); its scalar parameters are s0() … s3(). An includer that needs
// several functions includes helpers.wgsl itself and gives each its names F_NAME and S_NAME.
#if !defined(F_NAME)
#let F_NAME = "f"
#let S_NAME = "s"
#let NEEDS_ERF = FUNCTION == "erf" || FUNCTION == "gelu" || FUNCTION == "geglu" || FUNCTION == "gelu_back" || FUNCTION == "geglu_back"
#let NEEDS_EXPM1 = FUNCTION == "expm1" || FUNCTION == "elu" || FUNCTION == "xielu"
#let NEEDS_POWER = FUNCTION == "pow"
#let NEEDS_REST = FUNCTION == "fmod" || FUNCTION == "remainder" || FUNCTION == "floor_divide"
#let NEEDS_SPECIAL = FUNCTION == "asin" || FUNCTION == "acos" || FUNCTION == "atan" || FUNCTION == "atan2" || FUNCTION == "sinh" || FUNCTION == "cosh" || FUNCTION == "asinh" || FUNCTION == "acosh" || FUNCTION == "atanh" || FUNCTION == "erfinv" || FUNCTION == "lgamma" || FUNCTION == "digamma"
#let NEEDS_LOG1P = FUNCTION == "log1p" || FUNCTION == "logaddexp" || FUNCTION == "softplus" || FUNCTION == "mish" || FUNCTION == "mish_back" || NEEDS_SPECIAL
#include "map/helpers.wgsl"
#endif
#for k in 0..4
fn {{S_NAME}}{{k}}() -> T { return bitcast<T>(p.{{S_NAME}}_{{k}}); }
#endfor

#if FUNCTION == "copy"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return a; }
#elif FUNCTION == "abs"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return abs(a); }
#elif FUNCTION == "neg"
#if DOMAIN == "u32"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return V(0u) - a; }
#else
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return -a; }
#endif
#elif FUNCTION == "sign"
#if DOMAIN == "u32"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return min(a, V(1u)); }
#else
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return {{DOMAIN == "f32" ? "or_nan(a, sign(a))" : "sign(a)"}}; }
#endif
#elif FUNCTION == "step"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return select(V(0), V(1), a > V(0)); }
#elif FUNCTION == "square"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return a * a; }
#elif FUNCTION == "exp"
// Devices multiply by log2(e), whose rounding is large for large numbers: whole powers of two are taken out exactly first.
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  let power = clamp(round(a * 1.4426950), V(-150.0), V(150.0));
  let rest = (a - power * 0.693145751953125) - power * 1.4286068e-6;
  let half = trunc(power * 0.5);
  return ldexp(ldexp(exp(rest), vec4<i32>(half)), vec4<i32>(power - half));
}
#elif FUNCTION == "expm1"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return expm14(a); }
#elif FUNCTION == "log"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return log4(a); }
#elif FUNCTION == "log1p"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return log1p4(a); }
#elif FUNCTION == "sqrt"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return sqrt(a); }
#elif FUNCTION == "rsqrt"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return inverseSqrt(a); }
#elif FUNCTION == "reciprocal"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return V(1.0) / a; }
#elif FUNCTION == "sin"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return select(sin4(a), a, a == V(0.0)); }  // -0 stays
#elif FUNCTION == "cos"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return cos4(a); }
#elif FUNCTION == "tan"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return select(tan4(a), a, a == V(0.0)); }  // -0 stays
#elif FUNCTION == "tanh"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return select(tanh4(a), a, a == V(0.0)); }  // -0 stays
#elif FUNCTION == "erf"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return erf4(a); }
#elif FUNCTION == "sigmoid"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return sigmoid4(a); }
#elif FUNCTION == "relu"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return {{DOMAIN == "f32" ? "or_nan(a, max(a, V(0.0)))" : "max(a, V(0))"}}; }
#elif FUNCTION == "leaky_relu"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return select(a * {{S_NAME}}0(), a, a > V(0.0)); }
#elif FUNCTION == "elu"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return or_nan(a, select({{S_NAME}}0() * expm14(min(a, V(0.0))), a, a > V(0.0))); }
#elif FUNCTION == "gelu_tanh"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return gelu4(a); }
#elif FUNCTION == "gelu"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return gelu_erf4(a); }
#elif FUNCTION == "gelu_quick"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return gelu_quick4(a); }
#elif FUNCTION == "silu"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return a * sigmoid4(a); }
#elif FUNCTION == "hardswish"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return a * clamp((a + V(3.0)) / 6.0, V(0.0), V(1.0)); }
#elif FUNCTION == "hardsigmoid"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return or_nan(a, clamp((a + V(3.0)) / 6.0, V(0.0), V(1.0))); }
#elif FUNCTION == "softplus"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return softplus4(a); }
#elif FUNCTION == "mish"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return a * tanh4(softplus4(a)); }
#elif FUNCTION == "xielu"
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  return or_nan(a, select((expm14(min(a, V({{S_NAME}}3()))) - a) * {{S_NAME}}0() + {{S_NAME}}2() * a, {{S_NAME}}1() * a * a + {{S_NAME}}2() * a, a > V(0.0)));
}
#elif FUNCTION == "floor"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return floor(a); }
#elif FUNCTION == "ceil"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return ceil(a); }
#elif FUNCTION == "round"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return round(a); }
#elif FUNCTION == "round_away"
// Comparing the rest, not adding 0.5 first: that would round 0.49999997 up.
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  let whole = trunc(a);
  return whole + select(V(0.0), sign(a), abs(a - whole) >= V(0.5));
}
#elif FUNCTION == "trunc"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return trunc(a); }
#elif FUNCTION == "clamp"
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  let inside = min(max(a, V({{S_NAME}}0())), V({{S_NAME}}1()));
  return {{DOMAIN == "f32" ? "or_nan(a, inside)" : "inside"}};
}
#elif FUNCTION == "scale"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return a * {{S_NAME}}0() + V({{S_NAME}}1()); }
#elif FUNCTION == "add"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return a + b; }
#elif FUNCTION == "sub"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return a - b; }
#elif FUNCTION == "mul"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return a * b; }
#elif (FUNCTION == "fmod" || FUNCTION == "remainder") && DOMAIN == "f32"
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  let rest = rest4(a, b);
#if FUNCTION == "fmod"
  return rest;
#else
  let other_side = (rest != V(0.0)) & ((rest < V(0.0)) != (b < V(0.0)));
  return or_nan(rest, select(select(rest, rest + b, other_side), signed_zero(b), rest == V(0.0)));
#endif
}
#elif FUNCTION == "div" || FUNCTION == "fmod" || FUNCTION == "remainder"
#let OPERATOR = FUNCTION == "div" ? "/" : "%"
#if DOMAIN == "f32"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return a / b; }
#elif DOMAIN == "u32"
// Integer division by zero is undefined where the compiler's own guards are off: x / 0 = x and x % 0 = 0 here.
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return a {{OPERATOR}} select(b, V(1u), b == V(0u)); }
#else
// Nor is the remainder of negative numbers defined by Vulkan.
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  let overflow = (a == V(-0x7fffffffi - 1i)) & (b == V(-1i));
  let d = select(b, V(1i), (b == V(0i)) | overflow);
#if FUNCTION == "div"
  return a / d;
#elif FUNCTION == "fmod"
  return a - a / d * d;
#else
  let rest = a - a / d * d;
  return select(rest, rest + d, (rest != V(0i)) & ((rest < V(0i)) != (d < V(0i))));
#endif
}
#endif
#elif FUNCTION == "maximum"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return {{DOMAIN == "f32" ? "or_nan(a, or_nan(b, max(a, b)))" : "max(a, b)"}}; }
#elif FUNCTION == "minimum"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return {{DOMAIN == "f32" ? "or_nan(a, or_nan(b, min(a, b)))" : "min(a, b)"}}; }
#elif FUNCTION == "pow" && DOMAIN != "f32"
#let ONE = DOMAIN == "u32" ? "V(1u)" : "V(1i)"
// By the bits of the exponent, going round the range of the type. With exponents below 0 only powers of 1 and -1 are whole
// numbers; the others are 0.
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  var power = {{ONE}};
  var base = a;
  var rest = b;
  for (var bit = 0; bit < 32; bit++) {
    if (all(rest <= V())) { break; }
    power = select(power, power * base, (rest & {{ONE}}) == {{ONE}});
    base = base * base;
    rest = rest >> vec4<u32>(1u);
  }
#if DOMAIN == "u32"
  return power;
#else
  let turned = select(V(), select(V(1i), V(-1i), (b & V(1i)) == V(1i)), a == V(-1i));
  return select(power, select(turned, V(1i), a == V(1i)), b < V());
#endif
}
#elif FUNCTION == "pow"
// With a whole exponent the sign follows from its parity; the root of a negative number is NaN, which the square root gives.
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  let whole = trunc(b) == b;
  let size = power4(abs(a), b, whole);
  let odd = abs(b - 2.0 * trunc(b * 0.5)) == V(1.0);
  let minus = (bitcast<vec4<u32>>(a) >> vec4<u32>(31u)) == vec4<u32>(1u);
  let power = select(size, -size, minus & odd);
  let real = select(power, sqrt(a), (a < V(0.0)) & (abs(a) <= V(3.4028234e38)) & !whole);
  return select(or_nan(a, or_nan(b, real)), V(1.0), (b == V(0.0)) | (a == V(1.0)));
}
#elif FUNCTION == "logaddexp"
// Where the larger one is infinite, so is the sum, whatever the difference of two infinities is.
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  let larger = max(a, b);
  let sum = larger + log1p4(exp(-abs(a - b)));
  return or_nan(a, or_nan(b, select(sum, larger, abs(larger) > V(3.4028234e38))));
}
#elif FUNCTION == "atan2"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return atan24(a, b); }
#elif FUNCTION == "equal" || FUNCTION == "less" || FUNCTION == "less_equal" || FUNCTION == "greater" || FUNCTION == "greater_equal"
#let SIGN = FUNCTION == "equal" ? "==" : FUNCTION == "less" ? "<" : FUNCTION == "less_equal" ? "<=" : FUNCTION == "greater" ? ">" : ">="
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return select(V(0), V(1), {{DOMAIN == "f32" ? "ordered(a, b) & " : ""}}(a {{SIGN}} b)); }
#elif FUNCTION == "not_equal"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return select(V(1), V(0), {{DOMAIN == "f32" ? "ordered(a, b) & " : ""}}(a == b)); }
#elif FUNCTION == "logical_and"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return select(V(0), V(1), truth(a) & truth(b)); }
#elif FUNCTION == "logical_or"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return select(V(0), V(1), truth(a) | truth(b)); }
#elif FUNCTION == "logical_xor"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return select(V(0), V(1), truth(a) != truth(b)); }
#elif FUNCTION == "logical_not"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return select(V(1), V(0), truth(a)); }
#elif FUNCTION == "isnan"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return select(V(0.0), V(1.0), is_nan(a)); }
#elif FUNCTION == "isinf"
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  return select(V(0.0), V(1.0), (bitcast<vec4<u32>>(a) & vec4<u32>(0x7fffffffu)) == vec4<u32>(0x7f800000u));
}
#elif FUNCTION == "isfinite"
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  return select(V(0.0), V(1.0), (bitcast<vec4<u32>>(a) & vec4<u32>(0x7f800000u)) != vec4<u32>(0x7f800000u));
}
#elif FUNCTION == "nan_to_num"
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  let bits = bitcast<vec4<u32>>(a);
  let high = select(a, V({{S_NAME}}1()), bits == vec4<u32>(0x7f800000u));
  return select(select(high, V({{S_NAME}}2()), bits == vec4<u32>(0xff800000u)), V({{S_NAME}}0()), is_nan(a));
}
#elif FUNCTION == "exp2"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return exp2(a); }
#elif FUNCTION == "log2"
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  return select(log2(a), near_log(a - V(1.0)) * 1.4426950408889634, (a > V(0.72)) & (a < V(1.4)));
}
#elif FUNCTION == "log10"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return log4(a) * 0.4342944819032518; }
#elif FUNCTION == "asinh" || FUNCTION == "atanh"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return select({{FUNCTION}}4(a), a, a == V(0.0)); }
#elif FUNCTION == "asin" || FUNCTION == "acos" || FUNCTION == "atan" || FUNCTION == "sinh" || FUNCTION == "cosh" || FUNCTION == "acosh" || FUNCTION == "erfinv" || FUNCTION == "lgamma" || FUNCTION == "digamma"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return {{FUNCTION}}4(a); }
#elif FUNCTION == "div_scalar"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return a / V({{S_NAME}}0()); }
#elif FUNCTION == "scalar_div"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return V({{S_NAME}}0()) / a; }
#elif FUNCTION == "floor_divide" && DOMAIN == "f32"
// Without its rest a is a whole multiple of b, so that the quotient is one of whole numbers.
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  let rest = rest4(a, b);
  let lower = (rest != V(0.0)) & ((rest < V(0.0)) != (b < V(0.0)));
  let whole = round((a - rest) / b) - select(V(0.0), V(1.0), lower);
  return select(or_nan(rest, whole), a / b, (b == V(0.0)) | (a == V(0.0)));  // of 0 with the sign of a / b
}
#elif FUNCTION == "floor_divide" && DOMAIN == "u32"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return select(a / max(b, V(1u)), V(0u), b == V(0u)); }
#elif FUNCTION == "floor_divide"
// Nothing divided by 0; Vulkan leaves that open, and the lowest number divided by -1, which goes round.
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  let overflow = (a == V(-0x7fffffffi - 1i)) & (b == V(-1i));
  let d = select(b, V(1i), (b == V(0i)) | overflow);
  let quotient = a / d;
  let lower = (a - quotient * d != V(0i)) & ((a < V(0i)) != (d < V(0i)));
  return select(select(quotient, quotient - V(1i), lower), V(0i), b == V(0i));
}
#elif FUNCTION == "bitwise_and"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return a & b; }
#elif FUNCTION == "bitwise_or"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return a | b; }
#elif FUNCTION == "bitwise_xor"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return a ^ b; }
#elif FUNCTION == "bitwise_not"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return ~a; }
#elif FUNCTION == "left_shift"
// Nothing is left of shifts by 32 and more, or by less than 0.
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  let n = vec4<u32>(b);
  return select(a << min(n, vec4<u32>(31u)), V(0), n > vec4<u32>(31u));
}
#elif FUNCTION == "right_shift"
// With its sign, if the type has one.
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  let n = vec4<u32>(b);
  return {{DOMAIN == "u32" ? "select(a >> min(n, vec4<u32>(31u)), V(0u), n > vec4<u32>(31u))" : "a >> min(n, vec4<u32>(31u))"}};
}
#elif FUNCTION == "where"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return select(c, b, truth(a)); }
#elif FUNCTION == "reglu"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return or_nan(a, max(a, V(0.0))) * b; }
#elif FUNCTION == "geglu_tanh"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return gelu4(a) * b; }
#elif FUNCTION == "geglu"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return gelu_erf4(a) * b; }
#elif FUNCTION == "geglu_quick"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return gelu_quick4(a) * b; }
#elif FUNCTION == "swiglu"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return a * sigmoid4(a) * b; }
#elif FUNCTION == "swiglu_oai"
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  let gate = min(a, V({{S_NAME}}1()));
  let up = clamp(b, V(-{{S_NAME}}1()), V({{S_NAME}}1()));
  return gate * sigmoid4({{S_NAME}}0() * gate) * (up + V(1.0));
}
#elif FUNCTION == "swiglu_clamp"
fn {{F_NAME}}(a: V, b: V, c: V) -> V {
  let gate = min(a, V({{S_NAME}}0()));
  return gate * sigmoid4(gate) * clamp(b, V(-{{S_NAME}}0()), V({{S_NAME}}0()));
}
#elif FUNCTION == "fill"
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return V({{S_NAME}}0()); }
#elif FUNCTION == "arange"
// `a` holds element numbers here, see map.wgsl.
fn {{F_NAME}}(a: V, b: V, c: V) -> V { return V({{S_NAME}}0()) + a * {{S_NAME}}1(); }
#else
#include "map/backward.wgsl"
#endif
