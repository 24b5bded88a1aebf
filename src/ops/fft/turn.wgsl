// (cos 2πt, sin 2πt) for t in [0, 1], to about 1e-7: built-in functions may be far less exact.
fn turn(t: f32) -> vec2<f32> {
  let quarter = round(t * 4.0);
  let a = (t - quarter * 0.25) * 6.2831853071795865;
  let b = a * a;
  let s = a * (1.0 + b * (-1.6666666667e-1 + b * (8.3333333333e-3 + b * (-1.9841269841e-4 + b * 2.7557319224e-6))));
  let c = 1.0 + b * (-0.5 + b * (4.1666666667e-2 + b * (-1.3888888889e-3 + b * (2.4801587302e-5 - b * 2.7557319224e-7))));
  let odd = select(vec2<f32>(c, s), vec2<f32>(-s, c), (u32(quarter) & 1u) == 1u);
  return select(odd, -odd, (u32(quarter) & 2u) == 2u);
}

fn times(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> { return vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
