// Adds up sum{{r}}_{{c}} of ROWS rows and COLS columns over each team and stores them; expanded at the end of main. SG
// invocations add by shuffles, the rest through `sums`. FN: what is applied at the
// end, with GATED a gated unit of rows that take turns, or "none".
#let STEP = 1
#for level in 0..7
#if STEP < SG
#for r in 0..ROWS
#for c in 0..COLS
  sum{{r}}_{{c}} += subgroupShuffleXor(sum{{r}}_{{c}}, {{STEP}}u);
#endfor
#endfor
#let STEP = STEP * 2
#endif
#endfor
  if (lane % {{SG}}u == 0u) {
    let at = lane / {{SG}}u * {{VALUES}}u;
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
      y_put(y_start + c * y_column + r * p.y_row, {{FN == "none" ? "total" : "f(V(total), V(), V()).x"}});
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
      y_put(y_start + c * y_column + r * p.y_row, f(V(gate), V(through), V()).x);
    }
  }
#endif
