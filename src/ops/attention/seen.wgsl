// The mask upon the logits z<g> of block at0, groups of four keys LPR groups apart, and `hidden` where a query does not see a key.
#if MASK
    if (at0 % 4u != 1u) {
#if MASK_VEC
#for g in 0..GROUPS
      let mask{{g}} = mask_at4(mask_row + min(j0 + {{g * LPR * 4}}u + part * 4u, p.keys - 4u));
#endfor
#for g in 0..GROUPS
      z{{g}} += slope * mask{{g}};
#endfor
#else
#for g in 0..GROUPS
      for (var e = 0u; e < 4u; e++) {
        let j = j0 + {{g * LPR * 4}}u + part * 4u + e;
        if (j < p.keys) { z{{g}}[e] += slope * mask_at(mask_row + j * p.mask_j); }
      }
#endfor
#endif
    }
#endif
    // Only blocks at an edge hold keys that some query does not see.
    let low = i32(j0) - i32(i);
    if (j_last < {{BK - 1}}u || i32(j0 + {{BK - 1}}u) - i32(i0) >= p.causal_end || i32(j0) - i32(i0 + {{BQ - 1}}u) < p.window_start) {
#for g in 0..GROUPS
      {
        let first = {{g * LPR * 4}}u + part * 4u;
        let j = vec4<i32>(i32(first)) + vec4<i32>(0, 1, 2, 3);
        let seen4 = (j <= vec4<i32>(i32(j_last))) & (j + low < vec4<i32>(p.causal_end)) & (j + low >= vec4<i32>(p.window_start));
        z{{g}} = select(vec4<f32>(hidden), z{{g}}, seen4);
      }
#endfor
    }
