// Loads weights and biases of a row; expanded inside of norm.wgsl's main.
#if W_KIND != "none"
  let w_start = w_row(row);
#for j in 0..CHUNKS
  let w{{j}} = w_load(w_start, at{{j}});
#endfor
#endif
#if B_KIND != "none"
  let b_start = b_row(row);
#for j in 0..CHUNKS
  let b{{j}} = b_load(b_start, at{{j}});
#endfor
#endif
