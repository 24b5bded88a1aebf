// Rotary positions of STREAMS tensors of the same tokens, one after the other in the grid. Tile: 256 invocations; each
// makes one item of a row (VEC: 4 pairs, or 4 elements that are copied; otherwise one of either) for `heads_each` heads of a
// token, which turn by the same angles. No workgroup memory.
// PAIRS: elements 2i and 2i+1 turn together, otherwise i and i + p.apart. ROWSn: stream n writes the rows of a table that
// its indices name, and nothing for those that the table does not have.
#let N = VEC ? 4 : 1

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

#for s in 0..STREAMS
#let HAS_ROWS = s == 0 ? ROWS0 : s == 1 ? ROWS1 : ROWS2
#let X = "x" + s
#let Y = "y" + s
fn stream{{s}}(n: u32) {
  let item = n % p.items_{{s}};
  let head = n / p.items_{{s}} % p.head_blocks_{{s}} * p.heads_each_{{s}};
  let token = n / p.items_{{s}} / p.head_blocks_{{s}} % p.tokens;
  let batch = n / p.items_{{s}} / p.head_blocks_{{s}} / p.tokens;
  let end = min(head + p.heads_each_{{s}}, p.heads_{{s}});
#if HAS_ROWS
  let index = rows{{s}}_at(p.rows{{s}}_off + token * p.rows_t_{{s}});
  if (index < 0i || bitcast<u32>(index) >= p.table_rows_{{s}}) { return; }
  let y_token = bitcast<u32>(index);
#else
  let y_token = token;
#endif
  var x_row = p.{{X}}_off + batch * p.{{X}}_b + token * p.{{X}}_t + head * p.{{X}}_h;
  var y_row = p.{{Y}}_off + batch * p.{{Y}}_b + y_token * p.{{Y}}_t + head * p.{{Y}}_h;
  if (item >= p.turning_{{s}}) {
    // Elements in front of and behind those that turn.
    var e = (item - p.turning_{{s}}) * {{N}}u;
    if (e >= p.offset && p.turning_{{s}} > 0u) { e += p.dims; }
    for (var h = head; h < end; h++) {
#if VEC
      {{Y}}_put4(y_row + e, {{X}}_at4(x_row + e));
#else
      {{Y}}_put(y_row + e * p.{{Y}}_d, {{X}}_at(x_row + e * p.{{X}}_d));
#endif
      x_row += p.{{X}}_h;
      y_row += p.{{Y}}_h;
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
    let a = {{X}}_at4(x_row + e);
    let b = {{X}}_at4(x_row + f);
#if PAIRS
    {{Y}}_put4(y_row + e, a * cos0 + a.yxwz * sin0);
    {{Y}}_put4(y_row + f, b * cos1 + b.yxwz * sin1);
#else
    {{Y}}_put4(y_row + e, a * cosines - b * sines);
    {{Y}}_put4(y_row + f, a * sines + b * cosines);
#endif
#else
    let a = {{X}}_at(x_row + e * p.{{X}}_d);
    let b = {{X}}_at(x_row + f * p.{{X}}_d);
    {{Y}}_put(y_row + e * p.{{Y}}_d, a * t0.x - b * t0.y);
    {{Y}}_put(y_row + f * p.{{Y}}_d, a * t0.y + b * t0.x);
#endif
    x_row += p.{{X}}_h;
    y_row += p.{{Y}}_h;
  }
}
#endfor

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  var n = group_index(group, groups) * {{WORKGROUP}}u + lane;
#for s in 0..STREAMS
  if (n < p.jobs_{{s}}) {
    stream{{s}}(n);
    return;
  }
  n -= p.jobs_{{s}};
#endfor
}
