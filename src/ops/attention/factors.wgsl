// `scale`, by which products of q and k are multiplied: p.scale in units of log2, with FACTORS also what operands that were scaled to f16 have
// to be multiplied by (halve.wgsl), for head HEAD of the keys of batch BATCH. With GRADIENT what the products of dy and v and their sums,
// dq, dk and dv are multiplied by too: those products are made at most 1 an element, so that they can be lifted.
#if FACTORS
  let factors = p.factors_off + ({{BATCH}}) * p.factors_b + ({{HEAD}}) * p.factors_h;
  let q_by = factors_at(factors);
  let k_by = factors_at(factors + 1u);
  let v_by = factors_at(factors + 2u);
  let scale = p.scale * log2e * q_by * k_by;
#if GRADIENT
  let dy_by = factors_at(factors + 3u);
  const product_by = 0x1p-30;
  let delta_by = product_by / v_by;
  let slope_by = p.scale / lift * 0x1p30 * v_by * dy_by;
#endif
#else
  let scale = p.scale * log2e;
#if GRADIENT
  let slope_by = p.scale / lift;
#endif
#endif
