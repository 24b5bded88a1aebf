// 4-bit types whose levels are not evenly spaced, looked up two at a time; see unit.wgsl.
#let UNITS_PER_SPAN = QTYPE == "iq4_xs" ? 4 : 1
#let SPAN_BYTES = QTYPE == "iq4_nl" ? 36 : QTYPE == "nvfp4" ? 36 : QTYPE == "mxfp4" ? 34 : 136
fn unit_groups(u: u32) -> vec2<u32> { return vec2<u32>(u * 2u, u * 2u + 1u); }

// For each byte: the value of its lower code in byte 0, of its upper code in byte 2.
var<workgroup> unit_values: array<u32, 256>;

fn unit_value(code: u32) -> u32 {
#if QTYPE == "mxfp4" || QTYPE == "nvfp4"
  // Twice a 4-bit float of 2 exponent bits and 1 fraction bit; the magnitudes are digits of the constant.
  let size = (0xc8643210u >> ((code & 7u) * 4u)) & 15u;
  return select(size, (256u - size) & 255u, code >= 8u);
#else
  // -127, -104, -83, -65 | -49, -35, -22, -10 | 1, 13, 25, 38 | 53, 69, 89, 113
  let four = select(select(0xbfad9881u, 0xf6eaddcfu, (code & 4u) != 0u), select(0x26190d01u, 0x71594535u, (code & 4u) != 0u), code >= 8u);
  return (four >> ((code & 3u) * 8u)) & 255u;
#endif
}

fn unit_prepare(lane: u32) {
  for (var i = lane; i < 256u; i += {{THREADS}}u) { unit_values[i] = unit_value(i & 15u) | (unit_value(i / 16u) << 16u); }
}

// The values of the lower and of the upper codes of four bytes.
fn unit_look(q: u32) -> vec2<u32> {
  let first = unit_values[q & 255u] | (unit_values[(q >> 8u) & 255u] << 8u);
  let last = unit_values[(q >> 16u) & 255u] | (unit_values[q >> 24u] << 8u);
  return vec2<u32>((first & 0xffffu) | (last << 16u), (first >> 16u) | (last & 0xffff0000u));
}

#if QTYPE == "mxfp4"
// Half of a power of two that is given by its biased exponent; the value is doubled.
fn unit_power(e: u32) -> f32 { return bitcast<f32>(select((e - 1u) << 23u, 0x200000u << (e & 1u), e < 2u)); }
#elif QTYPE == "nvfp4"
// Half of an unsigned 8-bit float with 3 fraction bits and exponent bias 7; 0x7f stands for 0.
fn unit_small(bits: u32) -> f32 {
  let normal = bitcast<f32>(((bits & 0x7fu) << 20u) + (119u << 23u));
  let value = select(normal, f32(bits & 7u) * 0x1p-10, (bits & 0x78u) == 0u);
  return select(value, 0.0, bits == 0x7fu);
}
#endif

fn unit_at(row: u32, u: u32) -> Unit {
#if QTYPE == "mxfp4"
  let at = row + u * 34u;
  let a = unit_bytes16(at + 1u);
  let b = unit_bytes16(at + 18u);
  let scale = vec4<f32>(unit_power(unit_u8(at)), unit_power(unit_u8(at + 17u)), 0.0, 0.0);
#elif QTYPE == "nvfp4"
  let at = row / 4u + u * 9u;
  let a = unit_words4(at + 1u);
  let b = unit_words4(at + 5u);
  let s = (vec4<u32>(unit_word(at)) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(255u);
  let scale = vec4<f32>(unit_small(s.x), unit_small(s.y), unit_small(s.z), unit_small(s.w));
#elif QTYPE == "iq4_nl"
  let at = row / 4u + u * 9u;
  let a = unit_middle4(at);
  let b = unit_words4(at + 5u);
  let scale = vec4<f32>(unit_halves(unit_word(at)).x, unit_halves(unit_word(at + 4u)).y, 0.0, 0.0);
#else
  let at = row / 4u + (u / 4u) * 34u;
  let chunk = u & 3u;
  let a = unit_words4(at + 2u + chunk * 8u);
  let b = unit_words4(at + 6u + chunk * 8u);
  let head = unit_word(at);
  let low = (vec2<u32>(unit_word(at + 1u)) >> (vec2<u32>(chunk * 8u) + vec2<u32>(0u, 4u))) & vec2<u32>(15u);
  let high = (vec2<u32>(head >> 16u) >> (vec2<u32>(chunk * 4u) + vec2<u32>(0u, 2u))) & vec2<u32>(3u);
  let scale = unit_halves(head).x * vec2<f32>(vec2<i32>(low | (high << vec2<u32>(4u))) - vec2<i32>(32i)).xyxy;
#endif
  let a0 = unit_look(a.x);
  let a1 = unit_look(a.y);
  let a2 = unit_look(a.z);
  let a3 = unit_look(a.w);
  let b0 = unit_look(b.x);
  let b1 = unit_look(b.y);
  let b2 = unit_look(b.z);
  let b3 = unit_look(b.w);
#if QTYPE == "nvfp4"
  return Unit(vec4<u32>(a0.x, a1.x, a0.y, a1.y), vec4<u32>(a2.x, a3.x, a2.y, a3.y), vec4<u32>(b0.x, b1.x, b0.y, b1.y),
              vec4<u32>(b2.x, b3.x, b2.y, b3.y), scale, vec4<f32>());
#else
  return Unit(vec4<u32>(a0.x, a1.x, a2.x, a3.x), vec4<u32>(a0.y, a1.y, a2.y, a3.y), vec4<u32>(b0.x, b1.x, b2.x, b3.x),
              vec4<u32>(b0.y, b1.y, b2.y, b3.y), scale, vec4<f32>());
#endif
}
