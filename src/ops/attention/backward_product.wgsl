// Products of this subgroup's rows (matrices OWN<r>_<d>) with its share of the BK rows of TILE along SIZE elements, to STRIPS.
    {
#for r in 0..TM
#for c in 0..TC
      var s{{r}}_{{c}} = {{SUMS}}();
#endfor
#endfor
#for d in 0..SIZE / MK
#for c in 0..TC
      let b{{c}}_{{d}} = subgroupMatrixLoad<{{RIGHT}}, col_major>(&{{TILE}}, (sub_n * {{TC * MN}}u + {{c * MN}}u) * {{SIZE / PER + 1}}u + {{d * MK / PER}}u, {{SIZE / PER + 1}}u);
#for r in 0..TM
      s{{r}}_{{c}} = subgroupMatrixMultiplyAccumulate({{OWN}}{{r}}_{{d}}, b{{c}}_{{d}}, s{{r}}_{{c}});
#endfor
#endfor
#endfor
#for r in 0..TM
#for c in 0..TC
      subgroupMatrixStore<row_major>(&{{STRIPS}}, strip + {{r * MM * STRIP_ROW + c * MN / 4}}u, s{{r}}_{{c}}, {{STRIP_ROW}}u);
#endfor
#endfor
    }
