// Blocks of 256 with a scale for every 16 or 32 elements; see encode.wgsl.
#if QTYPE == "q2_K" || QTYPE == "q4_K" || QTYPE == "q5_K"
#let GROUP = QTYPE == "q2_K" ? 16 : 32
#let TOP = QTYPE == "q2_K" ? 3 : QTYPE == "q4_K" ? 15 : 31
#let STEPS = QTYPE == "q4_K" ? 20 : 15
#let GROUPS = 256 / GROUP
const first_step = {{QTYPE == "q4_K" ? "-1.0" : "-0.5"}}f;

// What an error at element i counts.
fn weight(i: u32, mean: f32) -> f32 { return mean + abs(v[i]); }
fn level(i: u32, low: f32, scale: f32) -> f32 { return clamp(round(mul(scale, v[i] - low)), 0.0, {{TOP}}.0); }
fn error_of(first: u32, mean: f32, low: f32, inverse_scale: f32, scale: f32, offset: f32) -> f32 {
  var sum = 0.0;
  for (var i = first; i < first + {{GROUP}}u; i++) {
    let diff = mul(scale, level(i, low, inverse_scale)) + offset - v[i];
    sum += mul(weight(i, mean), {{QTYPE == "q2_K" ? "abs(diff)" : "mul(diff, diff)"}});
  }
  return sum;
}

// Scale and minimum (negated) of a group: the best of several divisions.
fn fit(first: u32) -> vec2<f32> {
  var mean = 0.0;
#if QTYPE != "q2_K"
  for (var i = first; i < first + {{GROUP}}u; i++) { mean += mul(v[i], v[i]); }
  mean = root(mean / {{GROUP}}.0);
#endif
  var low = v[first];
  var top = v[first];
  var sum_w = weight(first, mean);
  var sum_x = mul(sum_w, v[first]);
  for (var i = first + 1u; i < first + {{GROUP}}u; i++) {
    low = min(low, v[i]);
    top = max(top, v[i]);
    let w = weight(i, mean);
    sum_w += w;
    sum_x += mul(w, v[i]);
  }
  low = min(low, 0.0);
  if (top == low) { return vec2<f32>(0.0, -low); }
  var inverse_scale = div({{TOP}}.0, top - low);
  var scale = div(1.0, inverse_scale);
  var best = error_of(first, mean, low, inverse_scale, scale, low);
  for (var step = 0u; step <= {{STEPS}}u; step++) {
    inverse_scale = div(first_step + mul(0.1f, f32(step)) + {{TOP}}.0, top - low);
    var sum_l = 0.0;
    var sum_l2 = 0.0;
    var sum_xl = 0.0;
    for (var i = first; i < first + {{GROUP}}u; i++) {
      let l = level(i, low, inverse_scale);
      let wl = mul(weight(i, mean), l);
      sum_l += wl;
      sum_l2 += mul(wl, l);
      sum_xl += mul(wl, v[i]);
    }
    let d = mul(sum_w, sum_l2) - mul(sum_l, sum_l);
    if (d > 0.0) {
      var this_scale = div(mul(sum_w, sum_xl) - mul(sum_x, sum_l), d);
      var this_low = div(mul(sum_l2, sum_x) - mul(sum_l, sum_xl), d);
      if (this_low > 0.0) {
        this_low = 0.0;
        this_scale = div(sum_xl, sum_l2);
      }
      let error = error_of(first, mean, low, inverse_scale, this_scale, this_low);
      if (error < best) {
        best = error;
        scale = this_scale;
        low = this_low;
      }
    }
  }
  return vec2<f32>(scale, -low);
}

fn encode() {
  var fits = array<vec2<f32>, {{GROUPS}}>();
  var most = vec2<f32>(0.0);
  for (var g = 0u; g < {{GROUPS}}u; g++) {
    fits[g] = fit(g * {{GROUP}}u);
    most = max(most, fits[g]);
  }
#let STEPS_OF_SCALES = QTYPE == "q2_K" ? 15 : 63
  const parts = {{STEPS_OF_SCALES}}.0;
  let to_scale = select(0.0, div(parts, most.x), most.x > 0.0);
  let to_low = select(0.0, div(parts, most.y), most.y > 0.0);
  let d = div(most.x, parts);
  let dm = div(most.y, parts);
  put_half({{QTYPE == "q2_K" ? 80 : 0}}u, d);
  put_half({{QTYPE == "q2_K" ? 82 : 2}}u, dm);
  for (var g = 0u; g < {{GROUPS}}u; g++) {
    let s = min(u32(round(mul(to_scale, fits[g].x))), {{STEPS_OF_SCALES}}u);
    let m = min(u32(round(mul(to_low, fits[g].y))), {{STEPS_OF_SCALES}}u);
#if QTYPE == "q2_K"
    put_byte(g, s | (m << 4u));
#else
    if (g < 4u) {
      put_byte(4u + g, s);
      put_byte(8u + g, m);
    } else {
      put_byte(8u + g, (s & 15u) | ((m & 15u) << 4u));
      put_byte(g, (s >> 4u) << 6u);
      put_byte(4u + g, (m >> 4u) << 6u);
    }
#endif
    let scale = mul(half_value(d), f32(s));
    if (scale == 0.0) { continue; }
    let low = mul(half_value(dm), f32(m));
    for (var i = g * {{GROUP}}u; i < (g + 1u) * {{GROUP}}u; i++) {
      let l = u32(clamp(round(div(v[i] + low, scale)), 0.0, {{TOP}}.0));
#if QTYPE == "q2_K"
      put_byte(16u + (i / 128u) * 32u + (i & 31u), l << (((i / 32u) & 3u) * 2u));
#else
      put_byte({{QTYPE == "q4_K" ? 16 : 48}}u + (i / 64u) * 32u + (i & 31u), (l & 15u) << (((i / 32u) & 1u) * 4u));
#if QTYPE == "q5_K"
      put_byte(16u + (i & 31u), (l >> 4u) << (i / 32u));
#endif
#endif
    }
  }
}
#else
#let HALF = QTYPE == "q3_K" ? 4 : 32
fn level(x: f32, scale: f32) -> f32 { return clamp(round(mul(scale, x)), -{{HALF}}.0, {{HALF - 1}}.0); }

fn extreme(first: u32) -> f32 {
  var most = 0.0;
  for (var i = first; i < first + 16u; i++) {
    if (abs(v[i]) > abs(most)) { most = v[i]; }
  }
  return most;
}

#if QTYPE == "q3_K"
// The scale of 16 elements: levels change one by one as long as that helps.
fn fit(first: u32) -> f32 {
  let most = extreme(first);
  if (abs(most) < 1e-15) { return 0.0; }
  let scale = div(-4.0, most);
  var l = array<f32, 16>();
  var lx = 0.0;
  var l2 = 0.0;
  for (var i = 0u; i < 16u; i++) {
    let x = v[first + i];
    l[i] = level(x, scale);
    let w = mul(x, x);
    lx += mul(mul(w, x), l[i]);
    l2 += mul(mul(w, l[i]), l[i]);
  }
  for (var turn = 0u; turn < 5u; turn++) {
    var changed = false;
    for (var i = 0u; i < 16u; i++) {
      let x = v[first + i];
      let w = mul(x, x);
      var new_lx = lx - mul(mul(w, x), l[i]);
      if (new_lx > 0.0) {
        var new_l2 = l2 - mul(mul(w, l[i]), l[i]);
        let other = clamp(round(div(mul(x, new_l2), new_lx)), -4.0, 3.0);
        if (other != l[i]) {
          new_lx += mul(mul(w, x), other);
          new_l2 += mul(mul(w, other), other);
          if (new_l2 > 0.0 && mul(mul(new_lx, new_lx), l2) > mul(mul(lx, lx), new_l2)) {
            l[i] = other;
            lx = new_lx;
            l2 = new_l2;
            changed = true;
          }
        }
      }
    }
    if (!changed) { break; }
  }
  if (l2 > 0.0) { return div(lx, l2); }
  return 0.0;
}
#else
fn sums_of(first: u32, scale: f32) -> vec2<f32> {
  var sums = vec2<f32>(0.0);
  for (var i = first; i < first + 16u; i++) {
    let l = level(v[i], scale);
    let w = mul(v[i], v[i]);
    sums.x += mul(mul(w, v[i]), l);
    sums.y += mul(mul(w, l), l);
  }
  return sums;
}

// The scale of 16 elements: the best of several divisions.
fn fit(first: u32) -> f32 {
  let most = extreme(first);
  if (abs(most) < 1e-15) { return 0.0; }
  var sums = sums_of(first, div(-32.0, most));
  var scale = 0.0;
  if (sums.y != 0.0) { scale = div(sums.x, sums.y); }
  var best = mul(scale, sums.x);
  for (var step = -9i; step <= 9i; step++) {
    if (step == 0i) { continue; }
    sums = sums_of(first, div(-(32.0 + mul(0.1f, f32(step))), most));
    if (sums.y > 0.0 && mul(sums.x, sums.x) > mul(best, sums.y)) {
      scale = div(sums.x, sums.y);
      best = mul(scale, sums.x);
    }
  }
  return scale;
}
#endif

fn encode() {
  var scales = array<f32, 16>();
  var most = 0.0;
  for (var g = 0u; g < 16u; g++) {
    scales[g] = fit(g * 16u);
    if (abs(scales[g]) > abs(most)) { most = scales[g]; }
  }
#if QTYPE == "q3_K"
  // Levels of groups without a scale are 0, which is 4 with the bit that they are kept with.
  let inverse_scale = select(0.0, div(-32.0, most), most != 0.0);
  const d_at = 108u;
#else
  if (abs(most) < 1e-15) { return; }
  let inverse_scale = div(-128.0, most);
  const d_at = 208u;
#endif
  var d = 0.0;
  if (inverse_scale != 0.0) { d = div(1.0, inverse_scale); }
  put_half(d_at, d);
  for (var g = 0u; g < 16u; g++) {
#if QTYPE == "q3_K"
    var code = 0i;
    if (inverse_scale != 0.0) { code = clamp(i32(round(mul(inverse_scale, scales[g]))), -32i, 31i) + 32i; }
    put_byte(96u + (g & 7u), (bitcast<u32>(code) & 15u) << ((g / 8u) * 4u));
    put_byte(104u + (g & 3u), (bitcast<u32>(code) >> 4u) << ((g / 4u) * 2u));
    let scale = mul(half_value(d), f32(code - 32i));
#else
    let code = min(127i, i32(round(mul(inverse_scale, scales[g]))));
    put_byte(192u + g, bitcast<u32>(code));
    let scale = mul(half_value(d), f32(code));
#endif
    if (scale == 0.0) { continue; }
    for (var i = g * 16u; i < g * 16u + 16u; i++) {
      let l = u32(clamp(round(div(v[i], scale)), -{{HALF}}.0, {{HALF - 1}}.0) + {{HALF}}.0);
      let quarter = (i / 32u) & 3u;
#if QTYPE == "q3_K"
      put_byte(i & 31u, (l >> 2u) << (i / 32u));
      put_byte(32u + (i / 128u) * 32u + (i & 31u), (l & 3u) << (quarter * 2u));
#else
      put_byte((i / 128u) * 64u + (quarter & 1u) * 32u + (i & 31u), (l & 15u) << ((quarter / 2u) * 4u));
      put_byte(128u + (i / 128u) * 32u + (i & 31u), (l >> 4u) << (quarter * 2u));
#endif
    }
  }
}
#endif
