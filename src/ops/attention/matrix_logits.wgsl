// The products of this subgroup's queries with its share of the keys in k_tile: PART "multiply" makes them, "store" hands them over.
#for r in 0..TM
#for c in 0..TC
#if PART == "store"
    subgroupMatrixStore<row_major>(&strips, strip + {{r * MM * STRIP_ROW + c * MN / 4}}u, s{{r}}_{{c}}, {{STRIP_ROW}}u);
#else
    var s{{r}}_{{c}} = {{SUMS}}();
#endif
#endfor
#endfor
#if PART == "multiply"
#for d in 0..DK / MK
#for c in 0..TC
    let k{{c}}_{{d}} = subgroupMatrixLoad<{{RIGHT}}, col_major>(&k_tile, (sub_n * {{TC * MN}}u + {{c * MN}}u) * {{K_ROW}}u + {{d * MK / PER}}u, {{K_ROW}}u);
#for r in 0..TM
    s{{r}}_{{c}} = subgroupMatrixMultiplyAccumulate(q{{r}}_{{d}}, k{{c}}_{{d}}, s{{r}}_{{c}});
#endfor
#endfor
#endfor
#endif
