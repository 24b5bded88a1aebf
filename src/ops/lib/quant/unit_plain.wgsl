// Two blocks of 32 elements as a unit; see unit.wgsl.
#let UNITS_PER_SPAN = 1
#let SPAN_BYTES = QTYPE == "q4_0" ? 36 : QTYPE == "q4_1" ? 40 : QTYPE == "q5_0" ? 44 : QTYPE == "q5_1" ? 48 : 68
fn unit_groups(u: u32) -> vec2<u32> { return vec2<u32>(u * 2u, u * 2u + 1u); }

#if QTYPE == "q4_0"
// 16 · (level - 8) of the upper four bits of each byte.
fn unit_upper(q: Words) -> Words { return (q ^ Words(0x88888888u)) & Words(0xf0f0f0f0u); }
#elif QTYPE == "q5_0" || QTYPE == "q5_1"
// 16 bits, the upper ones of 16 levels, as bit PLACE of 16 bytes.
#let PLACE = QTYPE == "q5_0" ? 7 : 4
fn unit_fifth(bits: u32) -> Words {
  let four = (Words(bits) >> {{QUARTERS ? "(quarter * 4u)" : "vec4<u32>(0u, 4u, 8u, 12u)"}}) & Words(15u);
  return (four * {{QTYPE == "q5_0" ? "0x10204080u" : "0x02040810u"}}) & Words({{QTYPE == "q5_0" ? "0x80808080u" : "0x10101010u"}});
}
#endif

fn unit_at(row: u32, u: u32) -> Unit {
  let at = row / 4u + u * {{SPAN_BYTES / 4}}u;
#if QTYPE == "q4_0"
  let a = unit_middle4(at);
  let b = unit_words4(at + 5u);
  let d = vec2<f32>(unit_halves(unit_word(at)).x, unit_halves(unit_word(at + 4u)).y) * 0.0625;
  return Unit(unit_upper(a << Words(4u)), unit_upper(a), unit_upper(b << Words(4u)), unit_upper(b), d.xyxy, vec4<f32>());
#elif QTYPE == "q4_1"
  let a = unit_words4(at + 1u);
  let b = unit_words4(at + 6u);
  let mask = Words(0x0f0f0f0fu);
  let of_a = unit_halves(unit_word(at));
  let of_b = unit_halves(unit_word(at + 5u));
  return Unit(a & mask, (a >> Words(4u)) & mask, b & mask, (b >> Words(4u)) & mask,
              vec4<f32>(of_a.x, of_b.x, 0.0, 0.0), vec4<f32>(of_a.y, of_b.y, 0.0, 0.0));
#elif QTYPE == "q5_0"
  // 8 · (level - 16)
  let a = unit_middle4(at + 1u);
  let b = unit_words4(at + 7u);
  let first = unit_word(at);
  let a_bits = (first >> 16u) | (unit_word(at + 1u) << 16u);
  let b_bits = unit_word(at + 6u);
  let mask = Words(0x78787878u);
  let sign = Words(0x80808080u);
  let d = vec2<f32>(unit_halves(first).x, unit_halves(unit_word(at + 5u)).y) * 0.125;
  return Unit((((a << Words(3u)) & mask) | unit_fifth(a_bits)) ^ sign, (((a >> Words(1u)) & mask) | unit_fifth(a_bits >> 16u)) ^ sign,
              (((b << Words(3u)) & mask) | unit_fifth(b_bits)) ^ sign, (((b >> Words(1u)) & mask) | unit_fifth(b_bits >> 16u)) ^ sign,
              d.xyxy, vec4<f32>());
#elif QTYPE == "q5_1"
  let a = unit_words4(at + 2u);
  let b = unit_words4(at + 8u);
  let a_bits = unit_word(at + 1u);
  let b_bits = unit_word(at + 7u);
  let mask = Words(0x0f0f0f0fu);
  let of_a = unit_halves(unit_word(at));
  let of_b = unit_halves(unit_word(at + 6u));
  return Unit((a & mask) | unit_fifth(a_bits), ((a >> Words(4u)) & mask) | unit_fifth(a_bits >> 16u),
              (b & mask) | unit_fifth(b_bits), ((b >> Words(4u)) & mask) | unit_fifth(b_bits >> 16u),
              vec4<f32>(of_a.x, of_b.x, 0.0, 0.0), vec4<f32>(of_a.y, of_b.y, 0.0, 0.0));
#elif QTYPE == "q8_0"
  let d = vec2<f32>(unit_halves(unit_word(at)).x, unit_halves(unit_word(at + 8u)).y);
  return Unit(unit_middle4(at), unit_middle4(at + 4u), unit_words4(at + 9u), unit_words4(at + 13u), d.xyxy, vec4<f32>());
#else
#error "Blocks of type {{QTYPE}} cannot be read as units."
#endif
}
