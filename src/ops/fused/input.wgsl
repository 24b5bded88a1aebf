// Input NAME of a chain, number K: elements h*4 … h*4+3 of the chunk that starts at element i. Kinds: "vec" inputs step by
// 1 and are aligned to chunks, "splat" ones stay, "step" ones are read one by one.
fn load_{{NAME}}(i: u32, h: u32) -> V {
#if KIND == "vec"
  return V({{NAME}}_at4(i + h * 4u));
#elif KIND == "splat"
  return V(T({{NAME}}_at(i)));
#else
  let step = p.stride{{K}}_{{RANK - 1}};
  let first = i + h * 4u * step;
  return V(T({{NAME}}_at(first)), T({{NAME}}_at(first + step)), T({{NAME}}_at(first + 2u * step)), T({{NAME}}_at(first + 3u * step)));
#endif
}
