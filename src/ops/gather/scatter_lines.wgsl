// Where things lie in a scatter_add, and which indices are good; shared by its kernels.
#let DATA = PASS == "" || PASS == "sum"
alias T = {{DOMAIN}};

struct Line { y: u32, source: u32, index: u32, position: u32 }

fn line_place(n: u32) -> Line {
  var rest = n;
  var at = Line({{DATA ? "p.y_off" : "0u"}}, {{DATA ? "p.source_off" : "0u"}}, p.index_off, p.first_position);
#for back in 0..RANK
#let d = RANK - 1 - back
#include "lib/coordinate.wgsl" with D=d LAST=back == RANK - 1
  at.y += c{{d}} * p.y_line_{{d}};
  at.source += c{{d}} * p.source_line_{{d}};
  at.index += c{{d}} * p.index_line_{{d}};
  at.position += c{{d}} * p.position_line_{{d}};
#endfor
  return at;
}

fn index_of(line: Line, entry: u32) -> i32 { return index_at(line.index + entry * p.index_entry); }

fn is_good(index: i32) -> bool { return index >= 0i && bitcast<u32>(index) < p.rows; }

// The part of y that is bound holds this row.
fn is_here(index: i32) -> bool { return is_good(index) && bitcast<u32>(index) - p.first_row < p.piece_rows; }

fn report_bad(line: Line, entry: u32) {
#if HAS_STATUS
  status_add(p.status_off, 1u);
  status_max(p.status_off + 1u, ~(line.position + entry));
#endif
}
