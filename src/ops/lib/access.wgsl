// Access to one tensor, by element number i counted from the start of its binding. The renderer includes this
// file once per operand with NAME, BUFFER, DTYPE, UNIT (words per array element), WRITE and ATOMIC. Operands of
// quantized types are seen as u32 words here; see lib/quant for what they hold.
//   NAME_t                the scalar type that values have in registers: f32, i32 or u32
//   NAME_word(w)          32-bit word w;    NAME_words2(w), NAME_words4(w): w a multiple of 2, 4
//   NAME_at(i)            element i
//   NAME_at4(i), at8(i)   elements i…i+3, i…i+7; i a multiple of 4, 8
//   NAME_put4, NAME_put8  store as many; the words must belong to this invocation alone
//   NAME_put(i, v)        stores one element. With ATOMIC any invocation may own the rest of the word; without, the
//                         whole word belongs to this invocation and its other elements are kept.
//   NAME_add(i, v), NAME_max(i, v)   with ATOMIC and u32: atomically add to or raise element i
#if DTYPE == "f32" || DTYPE == "f16" || DTYPE == "bf16"
#let T = "f32"
#elif DTYPE == "u32" || DTYPE == "u8"
#let T = "u32"
#else
#let T = "i32"
#endif
#let PER_WORD = (DTYPE == "f16" || DTYPE == "bf16" || DTYPE == "i16") ? 2 : (DTYPE == "i8" || DTYPE == "u8") ? 4 : 1
alias {{NAME}}_t = {{T}};

#if ATOMIC
fn {{NAME}}_word(w: u32) -> u32 { return atomicLoad(&{{BUFFER}}[w]); }
#elif UNIT == 1
fn {{NAME}}_word(w: u32) -> u32 { return {{BUFFER}}[w]; }
#else
fn {{NAME}}_word(w: u32) -> u32 { return {{BUFFER}}[w / {{UNIT}}u][w % {{UNIT}}u]; }
#endif

#if UNIT == 4
fn {{NAME}}_words2(w: u32) -> vec2<u32> {
  let q = {{BUFFER}}[w / 4u];
  return select(q.zw, q.xy, (w & 2u) == 0u);
}
fn {{NAME}}_words4(w: u32) -> vec4<u32> { return {{BUFFER}}[w / 4u]; }
#elif UNIT == 2
fn {{NAME}}_words2(w: u32) -> vec2<u32> { return {{BUFFER}}[w / 2u]; }
fn {{NAME}}_words4(w: u32) -> vec4<u32> { return vec4<u32>({{BUFFER}}[w / 2u], {{BUFFER}}[w / 2u + 1u]); }
#else
fn {{NAME}}_words2(w: u32) -> vec2<u32> { return vec2<u32>({{NAME}}_word(w), {{NAME}}_word(w + 1u)); }
fn {{NAME}}_words4(w: u32) -> vec4<u32> {
  return vec4<u32>({{NAME}}_word(w), {{NAME}}_word(w + 1u), {{NAME}}_word(w + 2u), {{NAME}}_word(w + 3u));
}
#endif

#if DTYPE == "f16"
fn {{NAME}}_unpack2(word: u32) -> vec2<f32> { return unpack2x16float(word); }
fn {{NAME}}_pack2(v: vec2<f32>) -> u32 { return pack_half(v); }
#elif DTYPE == "bf16"
fn {{NAME}}_unpack2(word: u32) -> vec2<f32> { return unpack_bf16(word); }
fn {{NAME}}_pack2(v: vec2<f32>) -> u32 { return pack_bf16(v); }
#elif DTYPE == "i16"
fn {{NAME}}_unpack2(word: u32) -> vec2<i32> { return (vec2<i32>(bitcast<i32>(word)) << vec2<u32>(16u, 0u)) >> vec2<u32>(16u); }
fn {{NAME}}_pack2(v: vec2<i32>) -> u32 { return (bitcast<u32>(v.x) & 0xffffu) | (bitcast<u32>(v.y) << 16u); }
#endif

#if PER_WORD == 2
fn {{NAME}}_at(i: u32) -> {{T}} {
  let pair = {{NAME}}_unpack2({{NAME}}_word(i / 2u));
  return select(pair.x, pair.y, (i & 1u) == 1u);
}
fn {{NAME}}_at4(i: u32) -> vec4<{{T}}> {
  let w = {{NAME}}_words2(i / 2u);
  return vec4<{{T}}>({{NAME}}_unpack2(w.x), {{NAME}}_unpack2(w.y));
}
fn {{NAME}}_at8(i: u32) -> array<vec4<{{T}}>, 2> {
  let w = {{NAME}}_words4(i / 2u);
  return array<vec4<{{T}}>, 2>(vec4<{{T}}>({{NAME}}_unpack2(w.x), {{NAME}}_unpack2(w.y)),
                             vec4<{{T}}>({{NAME}}_unpack2(w.z), {{NAME}}_unpack2(w.w)));
}
#elif DTYPE == "u8"
fn {{NAME}}_at(i: u32) -> u32 { return ({{NAME}}_word(i / 4u) >> ((i & 3u) * 8u)) & 0xffu; }
fn {{NAME}}_at4(i: u32) -> vec4<u32> {
  return (vec4<u32>({{NAME}}_word(i / 4u)) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(0xffu);
}
#elif DTYPE == "i8"
fn {{NAME}}_at(i: u32) -> i32 { return extractBits(bitcast<i32>({{NAME}}_word(i / 4u)), (i & 3u) * 8u, 8u); }
fn {{NAME}}_at4(i: u32) -> vec4<i32> {
  let w = bitcast<i32>({{NAME}}_word(i / 4u));
  return vec4<i32>(extractBits(w, 0u, 8u), extractBits(w, 8u, 8u), extractBits(w, 16u, 8u), extractBits(w, 24u, 8u));
}
#elif DTYPE == "i64"
fn {{NAME}}_at(i: u32) -> i32 { let w = {{NAME}}_words2(i * 2u); return i64_to_i32(w.x, w.y); }
fn {{NAME}}_at4(i: u32) -> vec4<i32> {
  return vec4<i32>({{NAME}}_at(i), {{NAME}}_at(i + 1u), {{NAME}}_at(i + 2u), {{NAME}}_at(i + 3u));
}
#else
fn {{NAME}}_at(i: u32) -> {{T}} { return bitcast<{{T}}>({{NAME}}_word(i)); }
fn {{NAME}}_at4(i: u32) -> vec4<{{T}}> { return bitcast<vec4<{{T}}>>({{NAME}}_words4(i)); }
#endif
#if PER_WORD != 2
fn {{NAME}}_at8(i: u32) -> array<vec4<{{T}}>, 2> {
  return array<vec4<{{T}}>, 2>({{NAME}}_at4(i), {{NAME}}_at4(i + 4u));
}
#endif

#if WRITE
#if ATOMIC
fn {{NAME}}_put_word(w: u32, v: u32) { atomicStore(&{{BUFFER}}[w], v); }
// Replaces the bits of `mask`, whatever other invocations do to the rest of the word.
fn {{NAME}}_put_bits(w: u32, mask: u32, bits: u32) {
  var old = atomicLoad(&{{BUFFER}}[w]);
  loop {
    let tried = atomicCompareExchangeWeak(&{{BUFFER}}[w], old, (old & ~mask) | bits);
    if (tried.exchanged) { break; }
    old = tried.old_value;
  }
}
#if DTYPE == "u32"
fn {{NAME}}_add(i: u32, v: u32) { atomicAdd(&{{BUFFER}}[i], v); }
fn {{NAME}}_max(i: u32, v: u32) { atomicMax(&{{BUFFER}}[i], v); }
#endif
#else
#if UNIT == 1
fn {{NAME}}_put_word(w: u32, v: u32) { {{BUFFER}}[w] = v; }
#else
fn {{NAME}}_put_word(w: u32, v: u32) { {{BUFFER}}[w / {{UNIT}}u][w % {{UNIT}}u] = v; }
#endif
fn {{NAME}}_put_bits(w: u32, mask: u32, bits: u32) { {{NAME}}_put_word(w, ({{NAME}}_word(w) & ~mask) | bits); }
#endif

#if UNIT == 4
fn {{NAME}}_put_words2(w: u32, v: vec2<u32>) { {{NAME}}_put_word(w, v.x); {{NAME}}_put_word(w + 1u, v.y); }
fn {{NAME}}_put_words4(w: u32, v: vec4<u32>) { {{BUFFER}}[w / 4u] = v; }
#elif UNIT == 2
fn {{NAME}}_put_words2(w: u32, v: vec2<u32>) { {{BUFFER}}[w / 2u] = v; }
fn {{NAME}}_put_words4(w: u32, v: vec4<u32>) { {{BUFFER}}[w / 2u] = v.xy; {{BUFFER}}[w / 2u + 1u] = v.zw; }
#else
fn {{NAME}}_put_words2(w: u32, v: vec2<u32>) { {{NAME}}_put_word(w, v.x); {{NAME}}_put_word(w + 1u, v.y); }
fn {{NAME}}_put_words4(w: u32, v: vec4<u32>) { {{NAME}}_put_words2(w, v.xy); {{NAME}}_put_words2(w + 2u, v.zw); }
#endif

#if PER_WORD == 2
fn {{NAME}}_put(i: u32, v: {{T}}) {
  let shift = (i & 1u) * 16u;
  {{NAME}}_put_bits(i / 2u, 0xffffu << shift, ({{NAME}}_pack2(vec2<{{T}}>(v, {{T}}(0))) & 0xffffu) << shift);
}
fn {{NAME}}_put2(i: u32, v: vec2<{{T}}>) { {{NAME}}_put_word(i / 2u, {{NAME}}_pack2(v)); }
fn {{NAME}}_put4(i: u32, v: vec4<{{T}}>) {
  {{NAME}}_put_words2(i / 2u, vec2<u32>({{NAME}}_pack2(v.xy), {{NAME}}_pack2(v.zw)));
}
fn {{NAME}}_put8(i: u32, a: vec4<{{T}}>, b: vec4<{{T}}>) {
  {{NAME}}_put_words4(i / 2u, vec4<u32>({{NAME}}_pack2(a.xy), {{NAME}}_pack2(a.zw), {{NAME}}_pack2(b.xy), {{NAME}}_pack2(b.zw)));
}
#elif PER_WORD == 4
fn {{NAME}}_put(i: u32, v: {{T}}) {
  let shift = (i & 3u) * 8u;
  {{NAME}}_put_bits(i / 4u, 0xffu << shift, (bitcast<u32>(v) & 0xffu) << shift);
}
fn {{NAME}}_put4(i: u32, v: vec4<{{T}}>) {
  let b = bitcast<vec4<u32>>(v) & vec4<u32>(0xffu);
  {{NAME}}_put_word(i / 4u, b.x | (b.y << 8u) | (b.z << 16u) | (b.w << 24u));
}
#elif DTYPE == "i64"
fn {{NAME}}_put(i: u32, v: i32) { {{NAME}}_put_words2(i * 2u, vec2<u32>(bitcast<u32>(v), bitcast<u32>(v >> 31u))); }
fn {{NAME}}_put4(i: u32, v: vec4<i32>) {
  {{NAME}}_put(i, v.x); {{NAME}}_put(i + 1u, v.y); {{NAME}}_put(i + 2u, v.z); {{NAME}}_put(i + 3u, v.w);
}
#else
fn {{NAME}}_put(i: u32, v: {{T}}) { {{NAME}}_put_word(i, bitcast<u32>(v)); }
fn {{NAME}}_put4(i: u32, v: vec4<{{T}}>) { {{NAME}}_put_words4(i, bitcast<vec4<u32>>(v)); }
#endif
#if PER_WORD != 2
fn {{NAME}}_put8(i: u32, a: vec4<{{T}}>, b: vec4<{{T}}>) { {{NAME}}_put4(i, a); {{NAME}}_put4(i + 4u, b); }
#endif
#endif
