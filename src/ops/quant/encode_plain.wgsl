// Types with one scale per block; see encode.wgsl.
fn largest() -> f32 {
  var most = 0.0;
  for (var i = 0u; i < {{BLOCK}}u; i++) { most = max(most, abs(v[i])); }
  return most;
}
// The value of largest size, with its sign; the first of several.
fn extreme() -> f32 {
  var most = 0.0;
  for (var i = 0u; i < {{BLOCK}}u; i++) {
    if (abs(v[i]) > abs(most)) { most = v[i]; }
  }
  return most;
}

fn encode() {
#if QTYPE == "q1_0"
  var sum = 0.0;
  for (var i = 0u; i < 128u; i++) {
    sum += abs(v[i]);
    put_byte(2u + i / 8u, select(0u, 1u, v[i] >= 0.0) << (i & 7u));
  }
  put_half(0u, sum / 128.0);
#elif QTYPE == "q2_0"
  let d = largest();
  let id = inverse(d);
  put_half(0u, d);
  for (var i = 0u; i < 64u; i++) {
    let q = u32(clamp(away(mul(v[i], id)) + 1.0, 0.0, 3.0));
    put_byte(2u + i / 4u, q << ((i & 3u) * 2u));
  }
#elif QTYPE == "q4_0" || QTYPE == "q5_0"
#let HALF = QTYPE == "q4_0" ? 8 : 16
  let d = extreme() / {{0 - HALF}}.0;
  let id = inverse(d);
  put_half(0u, d);
  var high = 0u;
  for (var i = 0u; i < 32u; i++) {
    let q = u32(min(i32(mul(v[i], id) + {{HALF}}.5), {{HALF * 2 - 1}}i));
    put_byte({{QTYPE == "q4_0" ? 2 : 6}}u + (i & 15u), (q & 15u) << ((i / 16u) * 4u));
    high |= (q >> 4u) << i;
  }
#if QTYPE == "q5_0"
  for (var i = 0u; i < 4u; i++) { put_byte(2u + i, high >> (i * 8u)); }
#endif
#elif QTYPE == "q4_1" || QTYPE == "q5_1"
#let TOP = QTYPE == "q4_1" ? 15 : 31
  var low = v[0];
  var top = v[0];
  for (var i = 1u; i < 32u; i++) {
    low = min(low, v[i]);
    top = max(top, v[i]);
  }
  let d = div(top - low, {{TOP}}.0);
  let id = inverse(d);
  put_half(0u, d);
  put_half(2u, low);
  var high = 0u;
  for (var i = 0u; i < 32u; i++) {
    let q = u32(min(i32(mul(v[i] - low, id) + 0.5), {{TOP}}i));
    put_byte({{QTYPE == "q4_1" ? 4 : 8}}u + (i & 15u), (q & 15u) << ((i / 16u) * 4u));
    high |= (q >> 4u) << i;
  }
#if QTYPE == "q5_1"
  for (var i = 0u; i < 4u; i++) { put_byte(4u + i, high >> (i * 8u)); }
#endif
#elif QTYPE == "q8_0" || QTYPE == "q8_1"
  let most = largest();
  let d = div(most, 127.0);
  var id = 0.0;
  if (most != 0.0) { id = div(127.0, most); }
  put_half(0u, d);
  var sum = 0i;
  for (var i = 0u; i < 32u; i++) {
    let q = i32(round(mul(v[i], id)));
    sum += q;
    put_byte({{QTYPE == "q8_0" ? 2 : 4}}u + i, bitcast<u32>(q));
  }
#if QTYPE == "q8_1"
  put_half(2u, f32(sum) * d);
#endif
#elif QTYPE == "q8_K"
  let most = extreme();
  if (most == 0.0) { return; }
  let scale = div(-127.0, most);
  words[0] = bitcast<u32>(div(1.0, scale));
  for (var j = 0u; j < 16u; j++) {
    var sum = 0i;
    for (var i = j * 16u; i < j * 16u + 16u; i++) {
      let q = min(127i, i32(round(mul(scale, v[i]))));
      sum += q;
      put_byte(4u + i, bitcast<u32>(q));
    }
    put_byte(260u + j * 2u, bitcast<u32>(sum));
    put_byte(261u + j * 2u, bitcast<u32>(sum >> 8u));
  }
#elif QTYPE == "tq2_0"
  let d = largest();
  let id = inverse(d);
  for (var i = 0u; i < 256u; i++) {
    let q = u32(away(mul(v[i], id)) + 1.0);
    put_byte((i / 128u) * 32u + (i & 31u), (q & 3u) << (((i / 32u) & 3u) * 2u));
  }
  put_half(64u, d);
#elif QTYPE == "tq1_0"
  let d = largest();
  let id = inverse(d);
  // Five digits of base 3 as a fraction of 256, rounded up.
  for (var byte = 0u; byte < 52u; byte++) {
    var first = byte;
    var step = 32u;
    if (byte >= 32u) { first = 160u + byte - 32u; step = 16u; }
    if (byte >= 48u) { first = 240u + byte - 48u; step = 4u; }
    var q = 0u;
    for (var n = 0u; n < 5u; n++) {
      var digit = 0u;
      if (byte < 48u || n < 4u) { digit = u32(away(mul(v[first + n * step], id)) + 1.0); }
      q = q * 3u + digit;
    }
    put_byte(byte, (q * 256u + 242u) / 243u);
  }
  put_half(52u, d);
#else
#error "There is no encoder for blocks of type {{QTYPE}}."
#endif
}
