// Defines S: products of 16 rows of A with 64 rows of B along p.SIZE; S[r][c] belongs to row group_row + r of A and row
// column + 16 c of B. A_AT and B_AT are where row 0 lies, A_LAST and B_LAST the last valid rows, A_STEP and B_STEP the
// distances of rows. Stands inside main() of kernels with tiles.wgsl.
#for r in 0..4
  var {{S}}{{r}} = vec4<f32>();
#endfor
  for (var d = 0u; d < p.{{SIZE}}; d += 32u) {
    workgroupBarrier();
    for (var n = t; n < 128u{{ONCE}}; n += {{WORKGROUP}}u) {
      pool[n / 8u * 9u + n % 8u] = {{A}}_load4({{A_AT}} + min(n / 8u, {{A_LAST}}) * {{A_STEP}}, d + n % 8u * 4u);
    }
    for (var n = t; n < 512u{{ONCE}}; n += {{WORKGROUP}}u) {
      pool[144u + n / 8u * 9u + n % 8u] = {{B}}_load4({{B_AT}} + min(n / 8u, {{B_LAST}}) * {{B_STEP}}, d + n % 8u * 4u);
    }
    workgroupBarrier();
    for (var c = 0u; c < 8u{{ONCE}}; c++) {
#for j in 0..4
      let b{{j}} = pool[144u + (column + {{16 * j}}u) * 9u + c];
#endfor
#for r in 0..4
      let a{{r}} = pool[(group_row + {{r}}u) * 9u + c];
      {{S}}{{r}} += vec4<f32>(dot(a{{r}}, b0), dot(a{{r}}, b1), dot(a{{r}}, b2), dot(a{{r}}, b3));
#endfor
    }
  }
  var {{S}} = Rows({{S}}0, {{S}}1, {{S}}2, {{S}}3);
