// Behind place.wgsl: the rows w{{r}} (bytes) of the invocation's team, the columns x{{c}}, and the sums of both, which finish.wgsl
// adds up.
  let team = lane / {{TEAM}}u;
  let row = first_row + team * {{ROWS}}u;
#for r in 0..ROWS
#if !GATED
  let w{{r}} = w_start + min(row + {{r}}u, m - 1u) * p.w_row;
#else
  let w{{r}} = w_start + min(row + {{r}}u, m - 1u) / 2u * p.w_row + p.part_w_{{r % 2}};
#endif
#endfor
#for c in 0..COLS
  let x{{c}} = x_start + min({{c}}u, p.n - 1u) * p.x_column;
#for r in 0..ROWS
  var sum{{r}}_{{c}} = 0.0;
#endfor
#endfor
