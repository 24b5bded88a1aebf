// Stores the sums SUMS_OF<c>, COUNT matrices of this subgroup's rows, times FACTOR to operand NAME through the subgroup's strip; this lane's
// row starts at AT and is stored where LIVE.
#for c in 0..COUNT
  subgroupMatrixStore<row_major>(&strips, strip, {{SUMS_OF}}{{c}}, {{STRIP_ROW}}u);
#for g in 0..CHUNK_GROUPS
  let {{SUMS_OF}}{{c}}_{{g}}_out = strip_load(own + {{g * LPR}}u) * {{FACTOR}};
  if ({{LIVE}}) { {{NAME}}_store4({{AT}}, {{c * MN + g * LPR * 4}}u + part * 4u, {{SUMS_OF}}{{c}}_{{g}}_out); }
#endfor
#endfor
