// Adds to OUT0_<c> the weights of this subgroup's rows, which the lanes have as NAME<g>, times the BK rows of the tile at AT, which have
// SIZE elements.
#let LINE = SIZE / 8 + 1
#for g in 0..GROUPS
      weights[weight_row + {{g * LPR}}u] = packed({{NAME}}{{g}});
#endfor
#for k in 0..BK / MK
      let {{NAME}}_left{{k}} = subgroupMatrixLoad<{{LEFT}}, row_major>(&weights, weight_strip + {{k * MK / 4}}u, {{WEIGHT_ROW}}u);
#endfor
#for k in 0..BK / MK
#for c in 0..SIZE / MN
      {{OUT}}0_{{c}} = subgroupMatrixMultiplyAccumulate({{NAME}}_left{{k}}, subgroupMatrixLoad<{{RIGHT}}, row_major>(&tiles, {{AT + k * MK * LINE + c * MN / 8}}u, {{LINE}}u), {{OUT}}0_{{c}});
#endfor
#endfor
