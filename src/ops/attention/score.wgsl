// From products to logits, for every attention kernel. Positions i and j count from the start of the piece.
// `hidden` stands for the logit of a key that does not count; masks may hold -infinity, which is below it.
const hidden = -3.0e38;
const counts_from = -1.0e38;

// Keys [x, y) that any of the queries first…last may see.
fn keys_seen(first: u32, last: u32) -> vec2<u32> {
  let low = clamp(i32(first) + p.window_start, 0, i32(p.keys));
  let high = clamp(i32(last) + p.causal_end, low, i32(p.keys));
  return vec2<u32>(vec2<i32>(low, high));
}

fn slope_of(head: u32) -> f32 {
  if (p.bias == 0.0) { return 1.0; }
  if (head < p.slopes) { return exp2(p.bias * f32(head + 1u)); }
  return exp2(0.5 * p.bias * f32(2u * (head - p.slopes) + 1u));
}

#if MASK
fn mask_head(batch: u32, head: u32) -> u32 {
  return p.mask_off + (batch + p.batch_first) % p.mask_batches * p.mask_b + (head + p.head_first) % p.mask_heads * p.mask_h;
}
#endif

fn capped(product: f32) -> f32 {
  let x = product * p.scale;
  if (p.cap == 0.0) { return x; }
  return p.cap * tanh(clamp(x / p.cap, -12.0, 12.0));
}

// The logit of query i and key j. `mask` is where the mask of this head starts.
fn logit(product: f32, i: u32, j: u32, slope: f32, mask: u32) -> f32 {
  let ahead = i32(j) - i32(i);
  if (i >= p.queries || j >= p.keys || ahead >= p.causal_end || ahead < p.window_start) { return hidden; }
#if MASK
  return capped(product) + slope * mask_at(mask + i * p.mask_i + j * p.mask_j);
#else
  return capped(product);
#endif
}

// exp(z - m), and 0 for keys that do not count; NaN stays NaN.
fn share(z: f32, m: f32) -> f32 { return select(exp(z - m), 0.0, z < counts_from); }
fn share4(z: vec4<f32>, m: f32) -> vec4<f32> { return select(exp(z - m), vec4<f32>(), z < vec4<f32>(counts_from)); }
