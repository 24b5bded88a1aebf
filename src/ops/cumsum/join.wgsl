// How two values of a scan become one (join1, join2 and join4, by the number of elements), and the value that changes nothing.
#let EXTREME = COMBINE == "max" || COMBINE == "min"
#if DOMAIN == "f32" && EXTREME
// Made of bits that are not known ahead: WGSL has no constant for infinity.
var<private> neutral_bits = {{COMBINE == "max" ? "0xff800000u" : "0x7f800000u"}};
fn neutral() -> T { return bitcast<T>(neutral_bits); }
#elif COMBINE == "prod"
fn neutral() -> T { return T(1); }
#elif COMBINE == "min"
fn neutral() -> T { return T({{DOMAIN == "i32" ? "2147483647" : "4294967295"}}); }
#elif COMBINE == "sum" || DOMAIN == "u32"
fn neutral() -> T { return T(); }
#else
fn neutral() -> T { return T({{DOMAIN == "f32" ? "-0x1.fffffep+127" : "-2147483648"}}); }
#endif
#for n in 0..3
#let W = n == 0 ? "T" : n == 1 ? "vec2<T>" : "vec4<T>"
#let U = n == 0 ? "u32" : n == 1 ? "vec2<u32>" : "vec4<u32>"
#let NAME = n == 0 ? "join1" : n == 1 ? "join2" : "join4"
#if DOMAIN == "f32" && (EXTREME || COMBINE == "logsumexp")
// `result`, or NaN where one of two values is that. By bits: drivers may take it that there is no NaN.
fn {{NAME}}_nan(a: {{W}}, b: {{W}}, result: {{W}}) -> {{W}} {
  let mine = select(result, b, (bitcast<{{U}}>(b) & {{U}}(0x7fffffffu)) > {{U}}(0x7f800000u));
  return select(mine, a, (bitcast<{{U}}>(a) & {{U}}(0x7fffffffu)) > {{U}}(0x7f800000u));
}
#endif
#if COMBINE == "logsumexp"
// The sum of nothing at all is -infinity, which stays what it is.
fn {{NAME}}(a: {{W}}, b: {{W}}) -> {{W}} {
  let low = {{W}}(neutral());
  let top = max(max(a, b), low);
  let sum = top + log(exp(max(a, low) - top) + exp(max(b, low) - top));
  return {{NAME}}_nan(a, b, select(sum, min(a, b), max(a, b) <= low));
}
#elif EXTREME && DOMAIN == "f32"
fn {{NAME}}(a: {{W}}, b: {{W}}) -> {{W}} { return {{NAME}}_nan(a, b, {{COMBINE}}(a, b)); }
#elif EXTREME
fn {{NAME}}(a: {{W}}, b: {{W}}) -> {{W}} { return {{COMBINE}}(a, b); }
#else
fn {{NAME}}(a: {{W}}, b: {{W}}) -> {{W}} { return a {{COMBINE == "sum" ? "+" : "*"}} b; }
#endif
#endfor
