// From the maximum m and the sum of a row: `at`, where the row of the result starts, and `factor` for its sums; stores what else there is
// of a row, statistics of a part or the logarithm of the sum.
  let most = select(m / log2e, hidden, m < counts_from);
#if PARTIAL
  let at = p.part_off + (((batch * p.heads + head) * p.queries + i) * p.splits_total + p.splits_first + split) * p.part_row;
  const factor = 1.0;
  if (i < p.queries && part == 0u) {
    part_put(at + p.part_stats, most);
    part_put(at + p.part_stats + 1u, sum);
  }
#else
#if SINKS
  let sink = sinks_at(p.sinks_off + head * p.sinks_h);
  let top = max(most, sink);
  let all = sum * exp(most - top) + exp(sink - top);
#else
  let top = most;
  let all = sum;
#endif
  let factor = select(exp(most - top) / all, 0.0, all == 0.0);
  let at = p.y_off + batch * p.y_b + head * p.y_h + i * p.y_t;
#if LSE
  if (i < p.queries && part == 0u) {
    lse_put(p.lse_off + batch * p.lse_b + head * p.lse_h + i * p.lse_t, select(top + log(all), hidden, all == 0.0));
  }
#endif
#endif
