// Finds the rows of a job (job.hpp): `flat` in elements, `table` in bytes; `live` is false where the index points outside
// the part of the table that is bound, `good` where it points outside the whole table.
struct Row {
  flat: u32,
  table: u32,
  live: bool,
  good: bool,
}

fn find_row(number: u32) -> Row {
  let q3 = number / p.shape_3;
  let q2 = q3 / p.shape_2;
  let c3 = number - q3 * p.shape_3;
  let c2 = q3 - q2 * p.shape_2;
  let c0 = q2 / p.shape_1;
  let c1 = q2 - c0 * p.shape_1;
  var row = Row(p.flat_off + c0 * p.flat_0 + c1 * p.flat_1 + c2 * p.flat_2 + c3 * p.flat_3,
                p.table_off + c0 * p.table_0 + c1 * p.table_1 + c2 * p.table_2 + c3 * p.table_3, true, true);
#if INDEXED
  let i = index_at(p.index_off + c0 * p.index_0 + c1 * p.index_1 + c2 * p.index_2 + c3 * p.index_3);
  let inside = bitcast<u32>(i) - p.first_row;
  row.good = i >= 0i && bitcast<u32>(i) < p.table_rows;
  row.live = row.good && inside < p.piece_rows;
  row.table += inside * p.row_step;
#endif
  return row;
}
