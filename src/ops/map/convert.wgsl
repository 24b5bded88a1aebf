// Results of f() as elements of y; floats that a narrow type cannot hold become its nearest limit, integers go round.
fn convert(v: V) -> vec4<y_t> {
#if Y_DTYPE == "bool"
  return select(vec4<u32>(0u), vec4<u32>(1u), truth(v));
#elif DOMAIN == "f32" && Y_DTYPE == "u8"
  return vec4<u32>(clamp(v, V(0.0), V(255.0)));
#elif DOMAIN == "f32" && Y_DTYPE == "i8"
  return vec4<i32>(clamp(v, V(-128.0), V(127.0)));
#elif DOMAIN == "f32" && Y_DTYPE == "i16"
  return vec4<i32>(clamp(v, V(-32768.0), V(32767.0)));
#else
  return vec4<y_t>(v);
#endif
}
