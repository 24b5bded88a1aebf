// Products of this subgroup's rows (matrices OWN0, OWN1, …) with the BK rows of TILE along SIZE elements, to its strip.
#for c in 0..BK / MN
    {
      var s = {{SUMS}}();
#for d in 0..SIZE / MK
      s = subgroupMatrixMultiplyAccumulate({{OWN}}{{d}}, subgroupMatrixLoad<{{RIGHT}}, col_major>(&{{TILE}}, {{c * MN * (SIZE / 8 + 1) + d * MK / 8}}u, {{SIZE / 8 + 1}}u), s);
#endfor
      subgroupMatrixStore<row_major>(&strips, strip + {{c * MN / 2}}u, s, {{STRIP_ROW}}u);
    }
#endfor
