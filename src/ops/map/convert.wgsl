// Results of f() as elements of y; floats that an integer type cannot hold become its nearest limit and NaN 0,
// integers go round.
fn convert(v: V) -> vec4<y_t> {
#if Y_DTYPE == "bool"
  return select(vec4<u32>(0u), vec4<u32>(1u), truth(v));
#elif DOMAIN == "f32" && (Y_DTYPE == "u8" || Y_DTYPE == "i8" || Y_DTYPE == "i16" || Y_DTYPE == "i32" || Y_DTYPE == "u32")
  let number = select(v, V(0.0), is_nan(v));
#if Y_DTYPE == "u8"
  return vec4<u32>(clamp(number, V(0.0), V(255.0)));
#elif Y_DTYPE == "i8"
  return vec4<i32>(clamp(number, V(-128.0), V(127.0)));
#elif Y_DTYPE == "i16"
  return vec4<i32>(clamp(number, V(-32768.0), V(32767.0)));
#elif Y_DTYPE == "i32"
  // No float is the largest number itself.
  return select(vec4<i32>(clamp(number, V(-2147483648.0), V(2147483520.0))), vec4<i32>(0x7fffffff), number >= V(2147483648.0));
#else
  return select(vec4<u32>(clamp(number, V(0.0), V(4294967040.0))), vec4<u32>(0xffffffffu), number >= V(4294967296.0));
#endif
#else
  return vec4<y_t>(v);
#endif
}
