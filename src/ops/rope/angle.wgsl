// The angles of rotary positions, for rope.wgsl and rolled.wgsl. OWN_SINES: sines and cosines are computed here, for compilers
// whose own ones are long, or not exact enough.
// base^(-2 power / dims), from powers with exponents 1, 2, 4, … that were rounded once: accurate to a few units.
fn frequency(power: u32) -> f32 {
  var f = 1.0;
#for b in 0..BITS
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
#if OWN_SINES
  // What is left of a quarter turn, and polynomials with the smallest largest errors there: together 1e-7 at most.
  let quarters = round(rest * 0.63661977237);
  let r = (rest - quarters * 1.5703125) - quarters * 0.00048382679;
  let r2 = r * r;
  let sine = r + r * r2 * (-0.16666651 + r2 * (0.008331973 - r2 * 0.0001949495));
  let cosine = 1.0 - 0.5 * r2 + r2 * r2 * (0.041666646 + r2 * (-0.0013887362 + r2 * 2.443773e-5));
  let q = i32(quarters);
  let both = select(vec2<f32>(cosine, sine), vec2<f32>(-sine, cosine), (q & 1) == 1);
  return select(both, -both, (q & 2) == 2);
#else
  return vec2<f32>(cos(rest), sin(rest));
#endif
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
