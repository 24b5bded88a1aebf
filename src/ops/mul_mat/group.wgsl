// Groups of packed x (pack.wgsl), and products of words of it with those of units (lib/quant/unit.wgsl, which comes first).

// 32 elements of x are scale · byte.
struct Group {
  lo: Words,
  hi: Words,
  scale: f32,
}

fn group_at(x: u32, g: u32) -> Group {
#if QUARTERS
  return Group(x_word(x + g * 4u + quarter), x_word(x + (p.blocks + g) * 4u + quarter), bitcast<f32>(x_word(x + p.blocks * 8u + g)));
#else
  return Group(x_words4(x + g * 4u), x_words4(x + (p.blocks + g) * 4u), bitcast<f32>(x_word(x + p.blocks * 8u + g)));
#endif
}

fn dot16(a: Words, b: Words) -> i32 {
#if QUARTERS
  return dot4I8Packed(a, b);
#else
  return dot4I8Packed(a.x, b.x) + dot4I8Packed(a.y, b.y) + dot4I8Packed(a.z, b.z) + dot4I8Packed(a.w, b.w);
#endif
}
#if LOWS
fn sum16(a: Words) -> i32 { return dot16(a, Words(0x01010101u)); }
#endif
