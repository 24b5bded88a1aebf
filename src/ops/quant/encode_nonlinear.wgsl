// 4-bit types whose levels are not evenly spaced; see encode.wgsl.
#if QTYPE == "mxfp4" || QTYPE == "nvfp4"
// The code of the 4-bit float (times d) that is nearest to x, the smaller one of two.
fn nearest_code(x: f32, d: f32) -> u32 {
  var best = 0u;
  var best_error = abs(x);
  for (var i = 1u; i < 8u; i++) {
    let error = abs(mul(f32((0xc8643210u >> (i * 4u)) & 15u), d) - abs(x));
    if (error < best_error) {
      best = i;
      best_error = error;
    }
  }
  return select(best, best + 8u, x < 0.0 && best > 0u);
}
#else
const levels = array<f32, 16>(-127.0, -104.0, -83.0, -65.0, -49.0, -35.0, -22.0, -10.0, 1.0, 13.0, 25.0, 38.0, 53.0, 69.0, 89.0, 113.0);
fn nearest_level(x: f32) -> u32 {
  if (!(x > -127.0)) { return 0u; }
  if (x >= 113.0) { return 15u; }
  var above = 1u;
  while (x >= levels[above]) { above++; }
  return select(above, above - 1u, x - levels[above - 1u] < levels[above] - x);
}

// How well 32 elements are met when they are divided by 1 / id: Σ w q x and Σ w q q.
fn fit(first: u32, id: f32) -> vec2<f32> {
  var sums = vec2<f32>(0.0);
  for (var i = first; i < first + 32u; i++) {
    let q = levels[nearest_level(mul(id, v[i]))];
    let w = mul(v[i], v[i]);
    sums.x += mul(mul(w, q), v[i]);
    sums.y += mul(mul(w, q), q);
  }
  return sums;
}

fn extreme(first: u32) -> f32 {
  var most = 0.0;
  for (var i = first; i < first + 32u; i++) {
    if (abs(v[i]) > abs(most)) { most = v[i]; }
  }
  return most;
}
#endif

fn encode() {
#if QTYPE == "mxfp4"
  var most = 0.0;
  for (var i = 0u; i < 32u; i++) { most = max(most, abs(v[i])); }
  // The exponent of the largest value less 2.
  let e = select(0u, u32(max(i32(bitcast<u32>(most) >> 23u) - 2i, 0i)), most > 0.0);
  let d = bitcast<f32>(select((e - 1u) << 23u, 0x200000u << (e & 1u), e < 2u));
  put_byte(0u, e);
  for (var i = 0u; i < 32u; i++) { put_byte(1u + (i & 15u), nearest_code(v[i], d) << ((i / 16u) * 4u)); }
#elif QTYPE == "nvfp4"
  for (var s = 0u; s < 4u; s++) {
    var most = 0.0;
    for (var i = s * 16u; i < s * 16u + 16u; i++) { most = max(most, abs(v[i])); }
    // An unsigned 8-bit float with 3 fraction bits, rounded half up.
    let x = min(div(most, 6.0), 448.0);
    var bits = ((bitcast<u32>(x) + 0x80000u) >> 20u);
    let exponent = i32(bitcast<u32>(x) >> 23u) - 120i;
    if (exponent <= 0i) {
      bits = min(u32(mul(x, 512.0) + 0.5), 7u);
    } else {
      bits = min(bits - (120u << 3u), 0x7eu);
    }
    if (exponent >= 15i) { bits = 0x7eu; }
    put_byte(s, bits);
    let normal = bitcast<f32>(((bits & 0x7fu) << 20u) + (119u << 23u));
    let d = select(normal, f32(bits & 7u) * 0x1p-10, (bits & 0x78u) == 0u);
    for (var i = 0u; i < 16u; i++) {
      put_byte(4u + s * 8u + (i & 7u), nearest_code(v[s * 16u + i], d) << ((i / 8u) * 4u));
    }
  }
#elif QTYPE == "iq4_nl"
  let most = extreme(0u);
  if (abs(most) < 1e-15) { return; }
  let id = inverse(div(most, -127.0));
  let sums = fit(0u, id);
  var d = 0.0;
  if (sums.y > 0.0) { d = div(sums.x, sums.y); }
  put_half(0u, d);
  for (var i = 0u; i < 32u; i++) { put_byte(2u + (i & 15u), nearest_level(mul(id, v[i])) << ((i / 16u) * 4u)); }
#else
  var scales = array<f32, 8>();
  var max_scale = 0.0;
  for (var g = 0u; g < 8u; g++) {
    let most = extreme(g * 32u);
    if (abs(most) < 1e-15) { continue; }
    var sums = fit(g * 32u, inverse(div(-most, -127.0)));
    var d = 0.0;
    if (sums.y > 0.0) { d = div(sums.x, sums.y); }
    var best = mul(d, sums.x);
    for (var t = -7i; t <= 7i; t++) {
      sums = fit(g * 32u, div(f32(t - 127i), most));
      if (sums.y > 0.0 && mul(sums.x, sums.x) > mul(best, sums.y)) {
        d = div(sums.x, sums.y);
        best = mul(d, sums.x);
      }
    }
    scales[g] = d;
    if (abs(d) > abs(max_scale)) { max_scale = d; }
  }
  let d = -max_scale / 32.0;
  put_half(0u, d);
  let id = inverse(d);
  for (var g = 0u; g < 8u; g++) {
    let l = clamp(i32(round(mul(id, scales[g]))), -32i, 31i);
    let inner = inverse(mul(d, f32(l)));
    for (var i = 0u; i < 32u; i++) {
      put_byte(8u + g * 16u + (i & 15u), nearest_level(mul(inner, v[g * 32u + i])) << ((i / 16u) * 4u));
    }
    let code = u32(l + 32i);
    put_byte(4u + g / 2u, (code & 15u) << ((g & 1u) * 4u));
    put_byte(2u + g / 4u, (code >> 4u) << ((g & 3u) * 2u));
  }
#endif
}
