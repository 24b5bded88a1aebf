// Columns n … n+3 of row m of an operand NAME that broadcasts to c; MODE is how (see Traits).
fn {{NAME}}_along(base: u32, m: u32, n: u32) -> vec4<f32> {
  let i = base + m * p.{{NAME}}_m + n * p.{{NAME}}_n;
#if MODE == "row"
  return vec4<f32>({{NAME}}_at(i));
#else
  return vec4<f32>({{NAME}}_at(i), {{NAME}}_at(i + p.{{NAME}}_n), {{NAME}}_at(i + 2u * p.{{NAME}}_n), {{NAME}}_at(i + 3u * p.{{NAME}}_n));
#endif
}
