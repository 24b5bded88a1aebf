// Stores the sums SUMS_OF<r>_<c>, COUNT matrices of this subgroup's columns, times FACTOR to operand NAME through the strips; this lane's
// row starts at AT and is stored where LIVE. A strip has TC matrices of each subgroup's columns at a time.
#for chunk in 0..(COUNT + TC - 1) / TC
  workgroupBarrier();
#for c in chunk * TC..min((chunk + 1) * TC, COUNT)
#for r in 0..TM
  subgroupMatrixStore<row_major>(&strips, strip + {{r * MM * STRIP_ROW + (c - chunk * TC) * MN / 4}}u, {{SUMS_OF}}{{r}}_{{c}}, {{STRIP_ROW}}u);
#endfor
#endfor
  workgroupBarrier();
  if ({{LIVE}}) {
#for g in 0..GROUPS
    {
      let at_strip = {{g * LPR * 4}}u + part * 4u;
      let within = {{chunk * TC * MN}}u + at_strip % {{TC * MN}}u;
      if (within < {{COUNT * MN}}u) {
        {{NAME}}_store4({{AT}}, at_strip / {{TC * MN}}u * {{COUNT * MN}}u + within, strip_load(own + {{g * LPR}}u) * {{FACTOR}});
      }
    }
#endfor
  }
#endfor
