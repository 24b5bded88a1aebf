// Products of this subgroup's rows (matrices OWN0_<d>) with the BK rows of the tile at AT along SIZE elements, as NAME<g>: this lane's
// groups of four columns.
#let LINE = SIZE / 8 + 1
#for c in 0..TC
      var {{NAME}}_sums{{c}} = {{SUMS}}();
#endfor
#for d in 0..SIZE / MK
#for c in 0..TC
      {{NAME}}_sums{{c}} = subgroupMatrixMultiplyAccumulate({{OWN}}0_{{d}}, subgroupMatrixLoad<{{RIGHT}}, col_major>(&tiles, {{AT + c * MN * LINE + d * MK / 8}}u, {{LINE}}u), {{NAME}}_sums{{c}});
#endfor
#endfor
#for c in 0..TC
      subgroupMatrixStore<row_major>(&strips, strip, {{NAME}}_sums{{c}}, {{STRIP_ROW}}u);
#for g in c * CHUNK_GROUPS..(c + 1) * CHUNK_GROUPS
      let {{NAME}}{{g}} = strip_load(own + {{(g - c * CHUNK_GROUPS) * LPR}}u);
#endfor
#endfor
