// Rotary positions. Tile: 256 invocations; each makes one item of a row (VEC: 4 pairs, or 4 elements that are copied;
// otherwise one of either) for `heads_each` heads of a token, which turn by the same angles. No workgroup memory.
// PAIRS: elements 2i and 2i+1 turn together, otherwise i and i + p.apart.
#let N = VEC ? 4 : 1

// base^(-2 power / dims), from powers with exponents 1, 2, 4, … that were rounded once: accurate to a few units.
fn frequency(power: u32) -> f32 {
  var f = 1.0;
#for b in 0..10
  f *= select(1.0, p.power_{{b}}, ((power >> {{b}}u) & 1u) == 1u);
#endfor
  return f;
}

fn position_of(token: u32, section: u32) -> f32 {
#if POSITIONS
  return f32(positions_at(p.positions_off + section * p.positions_s + token * p.positions_t));
#else
  return f32(p.first_position + i32(token));
#endif
}

// cos and sin; the angle is first reduced to one turn, in parts whose products with the number of turns are exact.
fn turn(angle: f32) -> vec2<f32> {
  let turns = round(angle * 0.15915494309);
  let rest = ((angle - turns * 6.28125) - turns * 0.0019350051879882812) - turns * 3.0199159e-7;
  return vec2<f32>(cos(rest), sin(rest));
}

// cos and sin of pair i of a token, with the sign and the magnitude that the result needs.
fn turn_of(pair: u32, token: u32) -> vec2<f32> {
#if SECTIONS
  let place = pair % p.section_end_3;
  var section = u32(place >= p.section_end_0) + u32(place >= p.section_end_1) + u32(place >= p.section_end_2);
  var power = pair;
  if (p.kind == 1u) {
    let third = place % 3u;
    let ends = vec3<u32>(p.section_0, p.section_1, p.section_2) * 3u;
    section = select(3u, third, place < ends[third]);
  } else if (p.kind == 2u) {
    let starts = vec4<u32>(0u, p.section_end_0, p.section_end_1, p.section_end_2);
    power = place - starts[section];
  }
  let angle = position_of(token, section) * frequency(power){{FACTORS ? " / factors_at(p.factors_off + pair * p.factors_d)" : ""}};
#else
  let angle = position_of(token, 0u) * frequency(pair){{FACTORS ? " / factors_at(p.factors_off + pair * p.factors_d)" : ""}};
#endif
  let ramp = 1.0 - clamp((f32(pair) - p.ramp_low) * p.ramp_rate, 0.0, 1.0);
  let mix = ramp * p.extrapolation;
  let t = turn(angle * p.scale * (1.0 - mix) + angle * mix);
  return t * vec2<f32>(p.magnitude, p.magnitude * p.direction);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let n = group_index(group, groups) * 256u + lane;
  if (n >= p.jobs) { return; }
  let item = n % p.items;
  let head = n / p.items % p.head_blocks * p.heads_each;
  let token = n / p.items / p.head_blocks % p.tokens;
  let batch = n / p.items / p.head_blocks / p.tokens;
  let end = min(head + p.heads_each, p.heads);
  var x_row = p.x_off + batch * p.x_b + token * p.x_t + head * p.x_h;
  var y_row = p.y_off + batch * p.y_b + token * p.y_t + head * p.y_h;
  if (item >= p.turning) {
    // Elements in front of and behind those that turn.
    var e = (item - p.turning) * {{N}}u;
    if (e >= p.offset) { e += p.dims; }
    for (var h = head; h < end; h++) {
#if VEC
      y_put4(y_row + e, x_at4(x_row + e));
#else
      y_put(y_row + e * p.y_d, x_at(x_row + e * p.x_d));
#endif
      x_row += p.x_h;
      y_row += p.y_h;
    }
    return;
  }
#for i in 0..N
  let t{{i}} = turn_of(item * {{N}}u + {{i}}u, token);
#endfor
#if PAIRS
  let e = p.offset + item * {{2 * N}}u;
  let f = e + {{N}}u;
#else
  let e = p.offset + item * {{N}}u;
  let f = e + p.apart;
#endif
#if VEC && PAIRS
  // Two pairs in each group of four: (a, b, c, d) → (a cos - b sin, a sin + b cos, …).
  let cos0 = vec4<f32>(t0.xx, t1.xx);
  let sin0 = vec4<f32>(-t0.y, t0.y, -t1.y, t1.y);
  let cos1 = vec4<f32>(t2.xx, t3.xx);
  let sin1 = vec4<f32>(-t2.y, t2.y, -t3.y, t3.y);
#elif VEC
  let cosines = vec4<f32>(t0.x, t1.x, t2.x, t3.x);
  let sines = vec4<f32>(t0.y, t1.y, t2.y, t3.y);
#endif
  for (var h = head; h < end; h++) {
#if VEC
    let a = x_at4(x_row + e);
    let b = x_at4(x_row + f);
#if PAIRS
    y_put4(y_row + e, a * cos0 + a.yxwz * sin0);
    y_put4(y_row + f, b * cos1 + b.yxwz * sin1);
#else
    y_put4(y_row + e, a * cosines - b * sines);
    y_put4(y_row + f, a * sines + b * cosines);
#endif
#else
    let a = x_at(x_row + e * p.x_d);
    let b = x_at(x_row + f * p.x_d);
    y_put(y_row + e * p.y_d, a * t0.x - b * t0.y);
    y_put(y_row + f * p.y_d, a * t0.y + b * t0.x);
#endif
    x_row += p.x_h;
    y_row += p.y_h;
  }
}
