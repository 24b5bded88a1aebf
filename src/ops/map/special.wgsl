// Inverse, hyperbolic and gamma functions on vectors V of four f32, included by helpers.wgsl where one is needed. Builtins
// for the angles may be off in the fourth digit; these polynomials keep all of them.
// NaN where `outside`, else the result.
fn nan_if(outside: vec4<bool>, result: V) -> V {
  return select(result, bitcast<V>(bitcast<vec4<u32>>(result) | vec4<u32>(0x7fc00000u)), outside);
}
// A size with the sign of x, that of -0 too.
fn signed_as(x: V, size: V) -> V {
  return bitcast<V>(bitcast<vec4<u32>>(size) | (bitcast<vec4<u32>>(x) & vec4<u32>(0x80000000u)));
}
// atan of numbers from 0 to 1; above tan(pi / 8) the angle is taken from pi / 4 on.
fn unit_atan(x: V) -> V {
  let upper = x > V(0.41421357);
  let t = select(x, (x - V(1.0)) / (x + V(1.0)), upper);
  let z = t * t;
  let angle = t + t * z * (V(-0.33333332) + z * (V(0.19999537) + z * (V(-0.14263808) + z * (V(0.107418725) + z * -0.064451243))));
  return select(angle, V(0.7853981633974483) + angle, upper);
}
fn atan4(x: V) -> V {
  let a = abs(x);
  let angle = select(unit_atan(min(a, V(1.0))), V(1.5707963267948966) - unit_atan(V(1.0) / max(a, V(1.0))), a > V(1.0));
  return or_nan(x, signed_as(x, angle));
}
fn atan24(y: V, x: V) -> V {
  let top = max(abs(x), abs(y));
  let low = min(abs(x), abs(y));
  // Of two infinities, and of two zeros, neither is larger.
  let share = select(low / top, select(V(1.0), V(0.0), top == V(0.0)), low == top);
  let first = unit_atan(share);
  let quarter = select(first, V(1.5707963267948966) - first, abs(y) > abs(x));
  let back = (bitcast<vec4<u32>>(x) >> vec4<u32>(31u)) == vec4<u32>(1u);
  let half = select(quarter, V(3.141592653589793) - quarter, back);
  return or_nan(x, or_nan(y, signed_as(y, half)));
}
// asin of numbers from 0 to 0.5.
fn near_asin(x: V) -> V {
  let z = x * x;
  return x + x * z * (V(0.16666666) + z * (V(0.075000984) + z * (V(0.044598136) + z * (V(0.03111506) + z * (V(0.01708269) + z * 0.033798207)))));
}
fn asin4(x: V) -> V {
  let a = abs(x);
  let far = V(1.5707963267948966) - 2.0 * near_asin(sqrt(max(0.5 - 0.5 * a, V(0.0))));
  let angle = select(near_asin(a), far, a > V(0.5));
  return or_nan(x, nan_if(a > V(1.0), signed_as(x, angle)));
}
fn acos4(x: V) -> V {
  let a = abs(x);
  let far = 2.0 * near_asin(sqrt(max(0.5 - 0.5 * a, V(0.0))));
  let outer = select(far, V(3.141592653589793) - far, x < V(0.0));
  let near = near_asin(a);
  let inner = V(1.5707963267948966) - select(near, -near, x < V(0.0));
  return or_nan(x, nan_if(a > V(1.0), select(inner, outer, a > V(0.5))));
}
// Half of a number that is at least 1, by its exponent: compilers would multiply 0.5 * e * e in another order, past the largest
// number.
fn half_of(e: V) -> V { return bitcast<V>(bitcast<vec4<u32>>(e) - vec4<u32>(0x800000u)); }
fn sinh4(x: V) -> V {
  let z = x * x;
  let small = x + x * z * (V(1.0 / 6.0) + z * (V(1.0 / 120.0) + z * (V(1.0 / 5040.0) + z * (1.0 / 362880.0))));
  let e = exp(0.5 * abs(x));
  let large = half_of(e) * e - V(0.5) / (e * e);
  return select(select(large, -large, x < V(0.0)), small, abs(x) < V(1.0));
}
fn cosh4(x: V) -> V {
  let e = exp(0.5 * abs(x));
  return half_of(e) * e + V(0.5) / (e * e);
}
fn asinh4(x: V) -> V {
  let a = abs(x);
  let b = min(a, V(10000.0));
  let size = select(log1p4(b + b * b / (V(1.0) + sqrt(b * b + V(1.0)))), log4(a) + V(0.6931471805599453), a > V(10000.0));
  return or_nan(x, select(size, -size, x < V(0.0)));
}
fn acosh4(x: V) -> V {
  let t = clamp(x - V(1.0), V(0.0), V(10000.0));
  let size = select(log1p4(t + sqrt(t * (t + V(2.0)))), log4(x) + V(0.6931471805599453), x > V(10000.0));
  return or_nan(x, nan_if(x < V(1.0), size));
}
fn atanh4(x: V) -> V {
  let a = abs(x);
  let size = 0.5 * log1p4(2.0 * a / (V(1.0) - a));
  return or_nan(x, nan_if(a > V(1.0), select(size, -size, x < V(0.0))));
}
// Polynomials of -log(1 - x²) near the middle and of its root near the ends.
fn erfinv4(x: V) -> V {
  let side = abs(x);
  // Near the ends 1 - x² has digits only as a product.
  let w = -select(log1p4(-min(x * x, V(0.5))), log4(max((V(1.0) - side) * (V(1.0) + side), V(1e-30))), side > V(0.5));
  let l = min(w, V(5.0)) - V(2.5);
  let middle = V(1.5014094) + l * (V(0.24664073) + l * (V(-0.0041777078) + l * (V(-0.0012537075) + l * (V(0.0002186022) +
               l * (V(-0.0000043967848) + l * (V(-0.0000035288625) + l * (V(3.4372739e-7) + l * 2.8535036e-8)))))));
  let h = sqrt(clamp(w, V(5.0), V(17.4))) - V(3.0);
  let ends = V(2.8329771) + h * (V(1.0016746) + h * (V(0.0094320245) + h * (V(-0.007632649) + h * (V(0.0057840306) +
             h * (V(-0.0036337354) + h * (V(0.0012533352) + h * (V(0.00006081116) + h * -0.00013186316)))))));
  let a = abs(x);
  let infinite = bitcast<V>((bitcast<vec4<u32>>(x) & vec4<u32>(0x80000000u)) | vec4<u32>(0x7f800000u));
  return or_nan(x, nan_if(a > V(1.0), select(x * select(middle, ends, w > V(5.0)), infinite, a == V(1.0))));
}
// For x of at least 3: Stirling's series from x + 6 on, brought back by the logarithm of what lies between.
fn far_lgamma(x: V) -> V {
  let few = x < V(8.0);
  let between = x * (x + V(1.0)) * (x + V(2.0)) * (x + V(3.0)) * (x + V(4.0)) * (x + V(5.0));
  let y = select(x, x + V(6.0), few);
  let r = V(1.0) / y;
  let series = (y - V(0.5)) * (log(y) - V(1.0)) + V(0.41893853320467274) + r * (V(1.0 / 12.0) - r * r * (1.0 / 360.0));
  return series - select(V(0.0), log(between), few);
}
// For numbers above 0; from 1 to 3 as (x - 1)(x - 2) times a polynomial, so that the zeros at 1 and 2 are exact.
fn positive_lgamma(x: V) -> V {
  let lower = x < V(1.0);
  let y = select(x, x + V(1.0), lower);
  let t = select(y - V(2.0), x - V(1.0), lower);  // both without rounding
  let first = select(y - V(1.0), x, lower);
  let middle = first * t * (V(0.42278448) + t * (V(-0.10031769) + t * (V(0.032957977) + t * (V(-0.012376691) + t * (V(0.0050527108) +
               t * (V(-0.0021485364) + t * (V(0.00077316624) + t * (V(-0.0003192134) + t * (V(0.00032613242) + t * -0.00015886982)))))))));
  return select(select(middle, middle - log4(x), lower), far_lgamma(x), x > V(3.0));
}
// sin and cos of pi times the part of x behind the point, which is exact.
fn lgamma4(x: V) -> V {
  let part = x - round(x);
  let away = positive_lgamma(select(x, V(1.0) - x, x < V(0.0)));
  let mirrored = V(1.1447298858494002) - log4(abs(sin4(3.141592653589793 * part))) - away;
  let bits = bitcast<vec4<u32>>(x);
  let infinite = ((x <= V(0.0)) & (part == V(0.0))) | ((bits & vec4<u32>(0x7fffffffu)) == vec4<u32>(0x7f800000u));
  let plus_infinity = bitcast<V>((bits & vec4<u32>(0u)) | vec4<u32>(0x7f800000u));
  return or_nan(x, select(select(away, mirrored, x < V(0.0)), plus_infinity, infinite));
}
fn digamma4(x: V) -> V {
  let part = x - round(x);
  let a = select(x, V(1.0) - x, x < V(0.0));
  var less = V(0.0);
  for (var k = 0; k < 6; k++) { less += V(1.0) / (a + V(f32(k))); }
  let y = a + V(6.0);
  let r = V(1.0) / (y * y);
  let far = log(y) - V(0.5) / y - r * (V(1.0 / 12.0) - r * (V(1.0 / 120.0) - r * (1.0 / 252.0))) - less;
  let mirrored = far - 3.141592653589793 / tan4(3.141592653589793 * part);
  // -infinity at 0, and no value where the function jumps.
  let bits = bitcast<vec4<u32>>(x);
  let minus_infinity = bitcast<V>(~(bits & vec4<u32>(0u)) & vec4<u32>(0xff800000u));
  let value = select(nan_if((x < V(0.0)) & (part == V(0.0)), select(far, mirrored, x < V(0.0))), minus_infinity, x == V(0.0));
  return or_nan(x, value);
}
