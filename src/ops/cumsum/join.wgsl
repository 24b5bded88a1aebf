// How two values of a scan become one (join1, join2 and join4, by the number of elements), and the value that changes nothing.
#if COMBINE == "prod"
const neutral = T(1);
#elif COMBINE == "min"
const neutral = T({{DOMAIN == "f32" ? "0x1.fffffep+127" : DOMAIN == "i32" ? "2147483647" : "4294967295"}});
#elif COMBINE == "sum" || DOMAIN == "u32"
const neutral = T();
#else
const neutral = T({{DOMAIN == "f32" ? "-0x1.fffffep+127" : "-2147483648"}});
#endif
#for n in 0..3
#let W = n == 0 ? "T" : n == 1 ? "vec2<T>" : "vec4<T>"
#let NAME = n == 0 ? "join1" : n == 1 ? "join2" : "join4"
#if COMBINE == "logsumexp"
fn {{NAME}}(a: {{W}}, b: {{W}}) -> {{W}} {
  let top = max(max(a, b), {{W}}(neutral));
  return top + log(exp(max(a, {{W}}(neutral)) - top) + exp(max(b, {{W}}(neutral)) - top));
}
#elif COMBINE == "max" || COMBINE == "min"
fn {{NAME}}(a: {{W}}, b: {{W}}) -> {{W}} { return {{COMBINE}}(a, b); }
#else
fn {{NAME}}(a: {{W}}, b: {{W}}) -> {{W}} { return a {{COMBINE == "sum" ? "+" : "*"}} b; }
#endif
#endfor
