// y[n, j] = cos(x[n] · 2^(-rate · j / half)) for j < half, then as many sines, then 0.
// Tile: 256 invocations, one per element. No workgroup memory.
// Sine and cosine are only exact for small angles on some devices, so whole turns are taken off first, in three steps
// of which the first two products are exact for up to 2^12 turns.
fn reduced(angle: f32) -> f32 {
  let turns = round(angle * 0.15915494309189535);
  return ((angle - turns * 6.28125) - turns * 0.0019350051879882812) - turns * 3.0199159819e-07;
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (g >= p.total) { return; }
  let n = g / p.columns;
  let column = g % p.columns;
  let is_sine = column >= p.half;
  let j = column - select(0u, p.half, is_sine);
  // The exponent is split into a whole and a small part, because exp2 loses precision with its argument.
  let exponent = -p.rate * f32(j) / f32(max(p.half, 1u));
  let whole = floor(exponent);
  let angle = reduced(f32(x_at(p.x_off + n * p.x_step)) * ldexp(exp2(exponent - whole), i32(whole)));
  let v = select(cos(angle), sin(angle), is_sine);
  y_put(p.y_off + n * p.y_row + column * p.y_step, select(v, 0.0, column >= 2u * p.half));
}
