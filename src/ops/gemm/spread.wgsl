// An operand NAME that broadcasts to c, with MODE saying how (see Traits): what multiplies or joins four columns, or one.
#if MODE != "none"
// Columns n … n+3 of row m.
fn {{NAME}}_four(base: u32, m: u32, n: u32) -> vec4<f32> {
  let i = base + m * p.{{NAME}}_3 + n * p.{{NAME}}_4;
#if MODE == "row"
  return vec4<f32>({{NAME}}_at(i));
#else
  return vec4<f32>({{NAME}}_at(i), {{NAME}}_at(i + p.{{NAME}}_4), {{NAME}}_at(i + 2u * p.{{NAME}}_4), {{NAME}}_at(i + 3u * p.{{NAME}}_4));
#endif
}

fn {{NAME}}_one(base: u32, m: u32, n: u32) -> f32 { return {{NAME}}_at(base + m * p.{{NAME}}_3 + n * p.{{NAME}}_4); }
#endif
