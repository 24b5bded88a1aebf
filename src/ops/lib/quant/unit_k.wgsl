// A quarter of a block of 256 elements as a unit: 32 bytes, whose bits hold elements of several groups; see unit.wgsl.
#let UNITS_PER_SPAN = 4
#let SPAN_BYTES = QTYPE == "q2_K" ? 84 : QTYPE == "q3_K" ? 110 : QTYPE == "q4_K" ? 144 : QTYPE == "q5_K" ? 176 : 210
#if QTYPE == "q6_K"
fn unit_groups(u: u32) -> vec2<u32> {
  let first = (u / 2u) * 4u + (u & 1u);
  return vec2<u32>(first, first + 2u);
}
#else
fn unit_groups(u: u32) -> vec2<u32> { return vec2<u32>(u * 2u, u * 2u + 1u); }
#endif

#if QTYPE == "q4_K" || QTYPE == "q5_K"
// Scale and minimum of 32 elements: 6 bits each, of which the last four pairs keep the upper 2 bits elsewhere.
fn unit_scale(s: vec3<u32>, j: u32) -> vec2<f32> {
  let t = (j & 3u) * 8u;
  let near = (s.xy >> vec2<u32>(t)) & vec2<u32>(63u);
  let far = ((vec2<u32>(s.z) >> vec2<u32>(t, t + 4u)) & vec2<u32>(15u)) |
            (((s.xy >> vec2<u32>(t + 6u)) & vec2<u32>(3u)) << vec2<u32>(4u));
  return vec2<f32>(select(far, near, j < 4u));
}

fn unit_at(row: u32, u: u32) -> Unit {
  let at = row / 4u + (u / 4u) * {{SPAN_BYTES / 4}}u;
  let chunk = u & 3u;
  let head = unit_words4(at);
  let d = unit_halves(head.x) * vec2<f32>(1.0, -1.0);
  let of_a = d * unit_scale(head.yzw, chunk * 2u);
  let of_b = d * unit_scale(head.yzw, chunk * 2u + 1u);
  let q0 = unit_words4(at + {{QTYPE == "q4_K" ? 4 : 12}}u + chunk * 8u);
  let q1 = unit_words4(at + {{QTYPE == "q4_K" ? 8 : 16}}u + chunk * 8u);
  let mask = vec4<u32>(0x0f0f0f0fu);
#if QTYPE == "q4_K"
  return Unit(q0 & mask, q1 & mask, (q0 >> vec4<u32>(4u)) & mask, (q1 >> vec4<u32>(4u)) & mask,
              vec4<f32>(of_a.x, of_b.x, 0.0, 0.0), vec4<f32>(of_a.y, of_b.y, 0.0, 0.0));
#else
  let h0 = unit_words4(at + 4u) >> vec4<u32>(chunk * 2u);
  let h1 = unit_words4(at + 8u) >> vec4<u32>(chunk * 2u);
  let fifth = vec4<u32>(0x10101010u);
  return Unit((q0 & mask) | ((h0 << vec4<u32>(4u)) & fifth), (q1 & mask) | ((h1 << vec4<u32>(4u)) & fifth),
              ((q0 >> vec4<u32>(4u)) & mask) | ((h0 << vec4<u32>(3u)) & fifth), ((q1 >> vec4<u32>(4u)) & mask) | ((h1 << vec4<u32>(3u)) & fifth),
              vec4<f32>(of_a.x, of_b.x, 0.0, 0.0), vec4<f32>(of_a.y, of_b.y, 0.0, 0.0));
#endif
}
#elif QTYPE == "q6_K"
// 4 · (level - 32) from four lower and two upper bits.
fn unit_low(q: vec4<u32>, h: vec4<u32>) -> vec4<u32> {
  return (((q << vec4<u32>(2u)) & vec4<u32>(0x3c3c3c3cu)) | ((h << vec4<u32>(6u)) & vec4<u32>(0xc0c0c0c0u))) ^ vec4<u32>(0x80808080u);
}
fn unit_high(q: vec4<u32>, h: vec4<u32>) -> vec4<u32> {
  return (((q >> vec4<u32>(2u)) & vec4<u32>(0x3c3c3c3cu)) | ((h << vec4<u32>(2u)) & vec4<u32>(0xc0c0c0c0u))) ^ vec4<u32>(0x80808080u);
}

fn unit_at(row: u32, u: u32) -> Unit {
  let at = row + (u / 4u) * {{SPAN_BYTES}}u;
  let half = (u / 2u) & 1u;
  let quarter = u & 1u;
  let q0 = unit_bytes16(at + half * 64u + quarter * 32u);
  let q1 = unit_bytes16(at + half * 64u + quarter * 32u + 16u);
  let h0 = unit_bytes16(at + 128u + half * 32u) >> vec4<u32>(quarter * 2u);
  let h1 = unit_bytes16(at + 144u + half * 32u) >> vec4<u32>(quarter * 2u);
  let scales = vec2<u32>(unit_u16(at + 192u + half * 8u + quarter * 2u), unit_u16(at + 196u + half * 8u + quarter * 2u));
  let d = unit_halves(unit_u16(at + 208u)).x * 0.25;
  let s = vec4<f32>((bitcast<vec4<i32>>(scales.xxyy) << vec4<u32>(24u, 16u, 24u, 16u)) >> vec4<u32>(24u));
  return Unit(unit_low(q0, h0), unit_low(q1, h1), unit_high(q0, h0), unit_high(q1, h1), d * s, vec4<f32>());
}
#elif QTYPE == "q2_K"
fn unit_at(row: u32, u: u32) -> Unit {
  let at = row / 4u + (u / 4u) * {{SPAN_BYTES / 4}}u;
  let shift = vec4<u32>((u & 1u) * 4u);
  let half = (u / 2u) & 1u;
  let q0 = unit_words4(at + 4u + half * 8u) >> shift;
  let q1 = unit_words4(at + 8u + half * 8u) >> shift;
  let packed = (vec4<u32>(unit_word(at + (u & 3u))) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(255u);
  let d = unit_halves(unit_word(at + 20u));
  let mask = vec4<u32>(0x03030303u);
  return Unit(q0 & mask, q1 & mask, (q0 >> vec4<u32>(2u)) & mask, (q1 >> vec4<u32>(2u)) & mask,
              d.x * vec4<f32>(packed & vec4<u32>(15u)), -d.y * vec4<f32>(packed >> vec4<u32>(4u)));
}
#else
// 32 · (level - 4) from two lower bits and an upper one.
fn unit_low(q: vec4<u32>, h: vec4<u32>) -> vec4<u32> {
  return (((q << vec4<u32>(5u)) & vec4<u32>(0x60606060u)) | ((h << vec4<u32>(7u)) & vec4<u32>(0x80808080u))) ^ vec4<u32>(0x80808080u);
}

fn unit_at(row: u32, u: u32) -> Unit {
  let at = row + (u / 4u) * {{SPAN_BYTES}}u;
  let pair = u & 1u;
  let half = (u / 2u) & 1u;
  let q0 = unit_bytes16(at + 32u + half * 32u) >> vec4<u32>(pair * 4u);
  let q1 = unit_bytes16(at + 48u + half * 32u) >> vec4<u32>(pair * 4u);
  let h0 = unit_bytes16(at) >> vec4<u32>(half * 4u + pair * 2u);
  let h1 = unit_bytes16(at + 16u) >> vec4<u32>(half * 4u + pair * 2u);
  // Scales 4 (u & 3) …: 4 bits in the first 8 bytes, 2 more in the last 4.
  let at_low = at + 96u + pair * 4u;
  let low = (unit_u16(at_low) | (unit_u16(at_low + 2u) << 16u)) >> (half * 4u);
  let high = (unit_u16(at + 104u) | (unit_u16(at + 106u) << 16u)) >> ((u & 3u) * 2u);
  let six = (low & 0x0f0f0f0fu) | ((high & 0x03030303u) << 4u);
  let s = vec4<f32>(vec4<i32>((vec4<u32>(six) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(63u)) - vec4<i32>(32i));
  let d = unit_halves(unit_u16(at + 108u)).x * 0.03125;
  return Unit(unit_low(q0, h0), unit_low(q1, h1), unit_low(q0 >> vec4<u32>(2u), h0 >> vec4<u32>(1u)),
              unit_low(q1 >> vec4<u32>(2u), h1 >> vec4<u32>(1u)), d * s, vec4<f32>());
}
#endif
