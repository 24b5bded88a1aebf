// Finds the rows of a job (job.hpp): `flat` in elements, `table` in bytes; `live` is false where the index points outside
// the part of the table that is bound, `good` where it points outside the whole table. RANK dimensions count.
struct Row {
  flat: u32,
  table: u32,
  live: bool,
  good: bool,
}

fn find_row(number: u32) -> Row {
  var rest = number;
  var row = Row(p.flat_off, p.table_off, true, true);
  var index = {{INDEXED ? "p.index_off" : "0u"}};
  // Divisions are slow on software adapters: only as many as there are dimensions.
#for back in 0..RANK
#let d = 3 - back
#include "lib/coordinate.wgsl" with D=d LAST=back == RANK - 1
  row.flat += c{{d}} * p.flat_{{d}};
  row.table += c{{d}} * p.table_{{d}};
  index += c{{d}} * p.index_{{d}};
#endfor
#if INDEXED
  let i = index_at(index);
  let inside = bitcast<u32>(i) - p.first_row;
  row.good = i >= 0i && bitcast<u32>(i) < p.table_rows;
  row.live = row.good && inside < p.piece_rows;
  row.table += inside * p.row_step;
#endif
  return row;
}
