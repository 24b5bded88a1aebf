// From the sums of squares of all gradients: their norm, and the scale that clips it.
// Tile: one workgroup of 256. Workgroup memory: 1 KiB.
var<workgroup> sums: array<f32, {{WORKGROUP}}>;

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(local_invocation_index) lane: u32) {
  var sum = 0.0;
  for (var i = lane; i < p.count; i += {{WORKGROUP}}u) { sum += squares_at(p.squares_off + i); }
  sums[lane] = sum;
  for (var step = {{WORKGROUP / 2}}u; step > 0u; step /= 2u) {
    workgroupBarrier();
    if (lane < step) { sums[lane] += sums[lane + step]; }
  }
  if (lane != 0u) { return; }
#if HAS_LOSS_SCALE
  let shrink = 1.0 / loss_scale_at(p.loss_scale_off);
#else
  const shrink = 1.0;
#endif
  let norm = sqrt(sums[0]) * shrink;
#if HAS_NORM
  norm_put(p.norm_off, norm);
#endif
  var scale = shrink;
  if (p.max_norm > 0.0 && norm > p.max_norm) { scale *= p.max_norm / norm; }
  // Infinite or NaN: tested, and passed on, as bits.
  let bad = (bitcast<u32>(norm) & 0x7f800000u) == 0x7f800000u;
  scale_put(p.scale_off, select(bitcast<u32>(scale), 0x7fc00000u, bad));
}
