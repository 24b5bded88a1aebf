// Defines the matrices MATRIX<r>_<d> of this subgroup's own rows of operand NAME, SIZE elements of them, which go through TILE as many
// rows at a time as it has.
#let ROW = SIZE / 8
#let TILE_ROW = SIZE / PER + 1
#for r in 0..TM
#for d in 0..SIZE / MK
  var {{MATRIX}}{{r}}_{{d}} = {{LEFT}}();
#endfor
#endfor
#for round in 0..max(1, BO / TILE_ROWS)
#let FIRST = round * TILE_ROWS
  workgroupBarrier();
#let STAGED = min(BO, TILE_ROWS)
#include "attention/stage.wgsl" with COUNT=STAGED
  workgroupBarrier();
  if (sub_m / {{TILE_ROWS / RM}}u == {{round}}u) {
#for r in 0..TM
#for d in 0..SIZE / MK
    {{MATRIX}}{{r}}_{{d}} = subgroupMatrixLoad<{{LEFT}}, row_major>(&{{TILE}}, (sub_m % {{TILE_ROWS / RM}}u * {{RM}}u + {{r * MM}}u) * {{TILE_ROW}}u + {{d * MK / PER}}u, {{TILE_ROW}}u);
#endfor
#endfor
  }
#endfor
