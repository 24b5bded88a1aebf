// Adds up sum{{r}}_{{c}} of ROWS rows and COLS columns over each team and stores them; expanded at the end of main. SUBGROUP
// invocations add by shuffles, the rest through `sums`. FUNCTION: what is applied at the
// end, with GATED a gated unit of rows that take turns, or "none". With PACKS the results of a workgroup are whole blocks,
// which also go to `packed`.
#let STEP = 1
#for level in 0..7
#if STEP < SUBGROUP
#for r in 0..ROWS
#for c in 0..COLS
  sum{{r}}_{{c}} += subgroupShuffleXor(sum{{r}}_{{c}}, {{STEP}}u);
#endfor
#endfor
#let STEP = STEP * 2
#endif
#endfor
  if (lane % {{SUBGROUP}}u == 0u) {
    let at = lane / {{SUBGROUP}}u * {{VALUES}}u;
#for r in 0..ROWS
#for c in 0..COLS
    sums[at + {{r * COLS + c}}u] = sum{{r}}_{{c}};
#endfor
#endfor
  }
  workgroupBarrier();
#if !GATED
  for (var i = lane; i < {{TEAMS * VALUES}}u; i += {{THREADS}}u) {
    let mine = i / {{VALUES}}u;
    let value = i - mine * {{VALUES}}u;
    let r = first_row + mine * {{ROWS}}u + value / {{COLS}}u;
    let c = value % {{COLS}}u;
    if (r < m && c < p.n) {
      var total = 0.0;
      for (var part = 0u; part < {{PARTS}}u; part++) {
        total += sums[(mine * {{PARTS}}u + part) * {{VALUES}}u + value];
      }
#if IDS
      total = select(0.0, total, known);
#endif
#if BIAS
      total += bias_at(bias_start + c * p.bias_column + r * p.bias_row);
#endif
      y_put(y_start + c * y_column + r * p.y_row, {{FUNCTION == "none" ? "total" : "f(V(total), V(), V()).x"}});
    }
  }
#else
  // Rows 2r and 2r + 1 are a gate and what it lets through.
#let STORED = VALUES / 2
  for (var i = lane; i < {{TEAMS * STORED}}u; i += {{THREADS}}u) {
    let mine = i / {{STORED}}u;
    let value = i - mine * {{STORED}}u;
    let r = (first_row + mine * {{ROWS}}u) / 2u + value / {{COLS}}u;
    let c = value % {{COLS}}u;
    if (2u * r < m && c < p.n) {
      var gate = 0.0;
      var through = 0.0;
      for (var part = 0u; part < {{PARTS}}u; part++) {
        let at = (mine * {{PARTS}}u + part) * {{VALUES}}u + value / {{COLS}}u * {{2 * COLS}}u + c;
        gate += sums[at];
        through += sums[at + {{COLS}}u];
      }
      let result = f(V(gate), V(through), V()).x;
      y_put(y_start + c * y_column + r * p.y_row, result);
#if PACKS
      results[c * {{RESULTS}}u + r - first_row / 2u] = result;
#endif
    }
  }
#if PACKS
  workgroupBarrier();
  for (var i = lane; i < {{RESULTS / 4 * COLS}}u; i += {{THREADS}}u) {
    let c = i / {{RESULTS / 4}}u;
    let own = i % {{RESULTS / 4}}u;
    let chunk = first_row / 8u + own;
    if (c < p.n && chunk < p.packed_blocks * 8u) {
      let first = c * {{RESULTS}}u + (own & ~7u) * 4u;
      var most = 0.0;
      for (var e = 0u; e < 32u; e++) { most = max(most, abs(results[first + e])); }
      let at = c * {{RESULTS}}u + own * 4u;
      let v = vec4<f32>(results[at], results[at + 1u], results[at + 2u], results[at + 3u]);
      let to = p.packed_off + c * p.packed_row;
      packed_put(to + pack_word(chunk, p.packed_blocks), pack_bytes(v, most));
      if ((own & 7u) == 0u) { packed_put(to + pack_scale_word(chunk, p.packed_blocks), bitcast<u32>(pack_scale(most))); }
    }
  }
#endif
#endif
