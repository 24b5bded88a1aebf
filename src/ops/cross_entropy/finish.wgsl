// Turns the states of rows (states.wgsl) into losses, log-sum-exps and the weight of a row in the result.
// Tile: one workgroup of 256 that goes through all rows, so that sums are always made in the same order. Workgroup
// memory: 2 KiB.
var<workgroup> shared_sums: array<vec2<f32>, {{WORKGROUP}}>;

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(local_invocation_index) lane: u32) {
  var sums = vec2<f32>(0.0);  // of the losses, and of the rows that count
  for (var row = lane; row < p.rows; row += {{WORKGROUP}}u) {
    let at = p.state_off + row * 4u;
    let t = state_at(at + 2u);
    let lse = state_at(at) + log(state_at(at + 1u));
    let loss = select(t * lse - state_at(at + 3u), 0.0, t == 0.0);
    sums += vec2<f32>(loss, {{PROBABILITIES ? "1.0" : "t"}});
#if EACH
    loss_put(p.loss_off + row, loss);
#endif
#if HAS_LSE
    lse_put(p.lse_off + row, lse);
#endif
  }
  shared_sums[lane] = sums;
  for (var step = {{WORKGROUP / 2}}u; step > 0u; step /= 2u) {
    workgroupBarrier();
    if (lane < step) { shared_sums[lane] += shared_sums[lane + step]; }
  }
  if (lane == 0u) {
    let total = shared_sums[0];
    let share = {{MEAN ? "select(1.0 / total.y, 0.0, total.y == 0.0)" : "1.0"}};
#if HAS_LOSS && !EACH
    loss_put(p.loss_off, total.x * share);
#endif
#if HAS_SHARE
    share_put(p.share_off, share);
#endif
  }
}
