  // Coordinate D of a number that counts elements row by row, from the last dimension on; `rest` is what is left of it.
#if LAST
  let c{{D}} = rest;
#else
  let q{{D}} = rest / p.shape_{{D}};
  let c{{D}} = rest - q{{D}} * p.shape_{{D}};
  rest = q{{D}};
#endif
