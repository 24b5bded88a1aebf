// Adds to O[chunk * 4 + r] the product of the 16 x 64 weights in workgroup memory with 64 rows of B, 64 columns per chunk.
// Weights lie in slots: slot n belongs to row n % 4 * 16 + n / 4 of B, as inner.wgsl leaves them. B_AT, B_LAST, B_STEP as
// there; COUNT chunks. Stands inside main().
  for (var chunk = 0u; chunk < {{COUNT}}; chunk++) {
#for r in 0..4
    var o{{r}} = {{O}}[chunk * 4u + {{r}}u];
#endfor
    for (var half = 0u; half < 2u{{ONCE}}; half++) {
      workgroupBarrier();
      for (var n = t; n < 512u{{ONCE}}; n += {{WORKGROUP}}u) {
        let slot = half * 32u + n / 16u;
        let row = min(slot % 4u * 16u + slot / 4u, {{B_LAST}});
        pool[144u + n] = {{B}}_load4({{B_AT}} + row * {{B_STEP}}, chunk * 64u + n % 16u * 4u);
      }
      workgroupBarrier();
      for (var n = 0u; n < 8u{{ONCE}}; n++) {
#for j in 0..4
        let b{{j}} = pool[144u + (n * 4u + {{j}}u) * 16u + column];
#endfor
#for r in 0..4
        let w{{r}} = pool[720u + (group_row + {{r}}u) * 17u + half * 8u + n];
        o{{r}} += w{{r}}.x * b0 + w{{r}}.y * b1 + w{{r}}.z * b2 + w{{r}}.w * b3;
#endfor
      }
    }
#for r in 0..4
    {{O}}[chunk * 4u + {{r}}u] = o{{r}};
#endfor
  }
