// How a key and the number of an element become a random number (threefry.hpp and host.hpp have the same on the host). Includers
// have the parameters zero, first_low, first_high and domain, and those of their distribution FUNCTION; with TABLE the operand `table`.
// The results must have the same bits on every device, so there is no division, no function of the driver's library, and
// every sum and product passes through rounded(): a compiler that does not know that p.zero is 0 cannot fuse them.
fn rounded(v: f32) -> f32 { return bitcast<f32>(bitcast<u32>(v) ^ p.zero); }

fn threefry(key: vec2<u32>, counter: vec2<u32>) -> vec2<u32> {
  let third = 0x1bd11bdau ^ key.x ^ key.y;
  var x = counter + key;
#for group in 0..5
#for turn in 0..4
#let R = group % 2 == 0 ? (turn == 0 ? 13 : turn == 1 ? 15 : turn == 2 ? 26 : 6) : (turn == 0 ? 17 : turn == 1 ? 29 : turn == 2 ? 16 : 24)
  x.x += x.y;
  x.y = ((x.y << {{R}}u) | (x.y >> {{32 - R}}u)) ^ x.x;
#endfor
#let A = (group + 1) % 3
#let B = (group + 2) % 3
  x += vec2<u32>({{A == 0 ? "key.x" : A == 1 ? "key.y" : "third"}}, {{B == 0 ? "key.x" : B == 1 ? "key.y" : "third"}} + {{group + 1}}u);
#endfor
  return x;
}

// The block with the bits of element n of this piece; with PAIRS both words are its own, else two elements share it.
fn block_of(key: vec2<u32>, n: u32) -> vec2<u32> {
  let low = p.first_low + n;
  let high = p.first_high + select(0u, 1u, low < n);
#if PAIRS
  return threefry(key, vec2<u32>(low, high ^ p.domain));
#else
  return threefry(key, vec2<u32>((low >> 1u) | (high << 31u), (high >> 1u) ^ p.domain));
#endif
}

// The upper half of a product of 32 bits each.
fn high_product(a: u32, b: u32) -> u32 {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let left = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
  let right = (a & 0xffffu) * (b >> 16u) + (left & 0xffffu);
  return (a >> 16u) * (b >> 16u) + (left >> 16u) + (right >> 16u);
}

#if TABLE
fn coefficient(i: u32) -> f32 { return bitcast<f32>(table_at(p.table_off + i)); }

fn cubic(row: u32, x: f32) -> f32 {
  let at = row * 4u;
  var y = rounded(rounded(coefficient(at + 3u) * x) + coefficient(at + 2u));
  y = rounded(rounded(y * x) + coefficient(at + 1u));
  return rounded(rounded(y * x) + coefficient(at));
}

// The quantile of (m + 0.5) / 2^32 for m below 2^31.
fn quantile(first_row: u32, m: u32) -> f32 {
  let shift = 27u - min(countLeadingZeros(m), 27u);
  let rest = m - ((m >> shift) << shift);
  let kept = min(shift, 23u);
  let x = f32(rest >> (shift - kept)) * bitcast<f32>((127u - kept) << 23u);
  return cubic(first_row + shift * 16u + (m >> shift), x);
}
#endif

#if FUNCTION == "normal" || FUNCTION == "truncated_normal"
fn standard(word: u32) -> f32 {
  let above = (word >> 31u) != 0u;
  let size = quantile(0u, select(word, ~word, above));
  return select(-size, size, above);
}
#endif

#if FUNCTION == "uniform"
fn draw(word: u32) -> f32 {
  return min(rounded(rounded(f32(word >> p.dropped) * p.factor) + p.offset), p.most);
}
#elif FUNCTION == "normal"
fn draw(word: u32) -> f32 { return rounded(rounded(standard(word) * p.factor) + p.offset); }
#elif FUNCTION == "truncated_normal"
fn draw(word: u32) -> f32 {
  let z = min(max(standard(p.start + high_product(word, p.range)), p.least), p.most);
  return rounded(rounded(z * p.factor) + p.offset);
}
#elif FUNCTION == "gumbel"
fn draw(word: u32) -> f32 {
  let above = (word >> 31u) != 0u;
  return quantile(select({{ROWS}}u, 0u, above), select(word, ~word, above));
}
#elif FUNCTION == "bits"
fn draw(word: u32) -> u32 { return word; }
#else
// The whole part of range · (block as a fraction of 64 bits); a range of 0 stands for 2^32.
fn draw(block: vec2<u32>) -> y_t {
  let low = block.x * p.range;
  let sum = low + high_product(block.y, p.range);
  let part = high_product(block.x, p.range) + select(0u, 1u, sum < low);
  return bitcast<y_t>(p.start + select(part, block.x, p.range == 0u));
}
#endif

#if WEIGHTS
fn log_weight(weight: f32) -> f32 {
  let bits = bitcast<u32>(weight);
  if (bits < 0x00800000u || bits >= 0x7f800000u) { return -0x1.fffffep+126; }
  let power = f32(i32(bits >> 23u) - 127);
  let x = f32(bits & 0x7ffffu) * 0x1p-19;
  return rounded(rounded(power * 0.693147182) + cubic({{2 * ROWS}}u + ((bits >> 19u) & 15u), x));
}
#endif
