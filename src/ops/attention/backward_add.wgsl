// Adds to OUT<r>_<c> the WEIGHTS of this subgroup's rows times the BK rows of TILE, which have SIZE elements, in its COUNT matrices of columns.
#for k in 0..BK / MK
    {
#for r in 0..TM
      let w{{r}} = subgroupMatrixLoad<{{LEFT}}, row_major>(&{{WEIGHTS}}, (sub_m * {{RM}}u + {{r * MM}}u) * {{WEIGHT_ROW}}u + {{k * MK / 4}}u, {{WEIGHT_ROW}}u);
#endfor
#for c in 0..COUNT
      let b{{c}} = subgroupMatrixLoad<{{RIGHT}}, row_major>(&{{TILE}}, {{k * MK * (SIZE / PER + 1)}}u + sub_n * {{COUNT * MN / PER}}u + {{c * MN / PER}}u, {{SIZE / PER + 1}}u);
#for r in 0..TM
      {{OUT}}{{r}}_{{c}} = subgroupMatrixMultiplyAccumulate(w{{r}}, b{{c}}, {{OUT}}{{r}}_{{c}});
#endfor
#endfor
    }
#endfor
