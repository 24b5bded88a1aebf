// Adds to OUT0, OUT1, … the weights of this subgroup's rows times the BK rows of TILE, which have SIZE elements.
#for k in 0..BK / MK
    {
      let w = subgroupMatrixLoad<{{LEFT}}, row_major>(&weights, sg * {{MM * WEIGHT_ROW}}u + {{k * MK / 4}}u, {{WEIGHT_ROW}}u);
#for c in 0..SIZE / MN
      {{OUT}}{{c}} = subgroupMatrixMultiplyAccumulate(w, subgroupMatrixLoad<{{RIGHT}}, row_major>(&{{TILE}}, {{k * MK * (SIZE / 8 + 1) + c * MN / 8}}u, {{SIZE / 8 + 1}}u), {{OUT}}{{c}});
#endfor
    }
#endfor
