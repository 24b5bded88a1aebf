// How blocks of 32 floats become signed bytes with a scale, x ≈ scale · byte: for pack.wgsl and for kernels that write their
// results in this form as well. A packed row has the first 16 bytes of every block, then the last 16 of every block, then
// the scales, so that neighbours read neighbours. `most` is the largest magnitude of a block.

// Blocks of zeros, and of values so small that the inverse would not be finite, become zeros.
fn pack_scale(most: f32) -> f32 { return select(0.0, most / 127.0, most > 1e-36); }

// Four neighbours of a block.
fn pack_bytes(v: vec4<f32>, most: f32) -> u32 {
  let inverse = select(0.0, 127.0 / most, most > 1e-36);
  // The lowest byte of 1.5 · 2²³ + i is that of i.
  let bytes = bitcast<vec4<u32>>(fma(v, vec4<f32>(inverse), vec4<f32>(12582912.0))) & vec4<u32>(255u);
  return bytes.x | (bytes.y << 8u) | (bytes.z << 16u) | (bytes.w << 24u);
}

// The word of a packed row of so many blocks that has elements 4 · chunk to 4 · chunk + 3, and the word of the chunk's scale.
fn pack_word(chunk: u32, blocks: u32) -> u32 {
  return (select(0u, blocks, (chunk & 4u) != 0u) + chunk / 8u) * 4u + (chunk & 3u);
}
fn pack_scale_word(chunk: u32, blocks: u32) -> u32 { return blocks * 8u + chunk / 8u; }

fn pack_magnitude(v: vec4<f32>) -> f32 {
  let size = abs(v);
  return max(max(size.x, size.y), max(size.z, size.w));
}
