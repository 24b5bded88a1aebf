// A sum as it is stored: as it is, or times a scale plus a bias, as a float or as a whole number again on top of a zero point.
fn finished(sum: i32, row: u32, column: u32) -> y_t {
#if FACTORS
  let at = p.factors_off + {{CHANNELS == "rows" ? "row" : "column"}} * p.factors_step;
#if OTHERS
  let sized = f32(sum) * others_at(p.others_off + row * p.others_step);
#else
  let sized = f32(sum);
#endif
  let v = sized * factors_at(at) + factors_at(at + p.factors_next);
#if HIGH > 0
  let zero = factors_at(at + 2u * p.factors_next);
  // NaN counts as 0. Its bits tell, since drivers may compute as if there were none.
  let known = select(round(v) + zero, zero, (bitcast<u32>(v) & 0x7fffffffu) > 0x7f800000u);
  return y_t(i32(clamp(known, {{LOW}}.0, {{HIGH}}.0)));
#else
  return v;
#endif
#else
  return sum;
#endif
}
