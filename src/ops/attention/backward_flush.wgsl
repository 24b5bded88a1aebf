// Stores the sums OUT0, OUT1, … of this subgroup's rows, SIZE columns of them times FACTOR, to operand NAME; this lane's row
// starts at AT and is stored where LIVE.
#for chunk in 0..(SIZE + BK - 1) / BK
  workgroupBarrier();
#for c in chunk * CHUNK_MATRICES..min((chunk + 1) * CHUNK_MATRICES, SIZE / MN)
  subgroupMatrixStore<row_major>(&strips, strip + {{(c - chunk * CHUNK_MATRICES) * MN / 2}}u, {{OUT}}{{c}}, {{STRIP_ROW}}u);
#endfor
  workgroupBarrier();
  if ({{LIVE}}) {
#for g in 0..GROUPS
    {{NAME}}_store4({{AT}}, {{chunk * BK + g * LPR * 4}}u + part * 4u, strip_load(own + {{g * LPR * 2}}u) * {{FACTOR}});
#endfor
  }
#endfor
