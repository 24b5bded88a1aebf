// Stores four columns of a row, from d on: v is their sum of weighted values, `most` the largest logit, `total` the sum of weights.
fn finish(v: vec4<f32>, row: u32, most: f32, total: f32, d: u32, batch: u32, head0: u32, split: u32) {
  let head = head0 + row / p.queries;
  let i = row % p.queries;
#if PARTIAL
  let at = p.part_off + (((batch * p.heads + head) * p.queries + i) * p.splits_total + p.splits_first + split) * p.part_row;
  part_store4(at, d, v);
  if (d == 0u) {
    part_put(at + p.part_stats, most);
    part_put(at + p.part_stats + 1u, total);
  }
#else
#if SINKS
  let sink = sinks_at(p.sinks_off + head * p.sinks_h);
  let top = max(most, sink);
  let all = total * exp(most - top) + exp(sink - top);
#else
  let top = most;
  let all = total;
#endif
  let factor = select(exp(most - top) / all, 0.0, all == 0.0);
  y_store4(p.y_off + batch * p.y_b + head * p.y_h + i * p.y_t, d, v * factor);
#if LSE
  if (d == 0u) {
    lse_put(p.lse_off + batch * p.lse_b + head * p.lse_h + i * p.lse_t, select(top + log(all), hidden, all == 0.0));
  }
#endif
#endif
}
