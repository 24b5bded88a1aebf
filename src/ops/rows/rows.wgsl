// Moves rows between a table and a flat tensor: get reads table rows by index (and with PLUS adds a tensor that lies as the
// flat one does), set writes them.
// Tile: 256 invocations x ITEMS chunks of CHUNK columns; neighbours take neighbouring chunks, or ALONG neighbouring runs of
// ITEMS chunks of one row. No workgroup memory.
// Assumes: a row is whole in chunks; chunks are aligned in both tensors. p.first_row and p.piece_rows say which part of
// the table is bound: rows elsewhere are left to other launches. A bad index never leads to an access to the table.
#let FROM = SET ? "flat" : "table"
#let TO = SET ? "table" : "flat"
#let HALVES = CHUNK == 8 ? 2 : 1

struct Row { flat: u32, batch: u32, index: i32, position: u32 }

fn find_row(number: u32) -> Row {
  var rest = number;
  var row = Row(p.flat_off, p.table_off, 0i, p.first_position);
  var index = p.index_off;
#for back in 0..RANK
#let d = RANK - 1 - back
#include "lib/coordinate.wgsl" with D=d LAST=back == RANK - 1
  row.flat += c{{d}} * p.flat_{{d}};
  row.batch += c{{d}} * p.batch_{{d}};
  row.position += c{{d}} * p.position_{{d}};
  index += c{{d}} * p.index_{{d}};
#endfor
  row.index = index_at(index);
  return row;
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
#if ALONG
  let first = (group_index(group, groups) * {{WORKGROUP}}u + lane) * {{ITEMS}}u;
  let number = min(first, p.chunks - 1u) / p.row_chunks;
  let row = find_row(number);
#else
  let first = group_index(group, groups) * {{WORKGROUP * ITEMS}}u + lane;
#endif
  // All loads first, so that they are in flight together.
#for k in 0..ITEMS
  let chunk{{k}} = first + {{ALONG ? k : k * WORKGROUP}}u;
  var live{{k}} = false;
  var to{{k}} = 0u;
#for h in 0..HALVES
  var v{{k}}_{{h}} = {{CHUNK == 1 ? TO + "_t()" : CHUNK == 2 ? "vec2<" + TO + "_t>()" : "vec4<" + TO + "_t>()"}};
#endfor
  if (chunk{{k}} < p.chunks) {
#if !ALONG
    let number = chunk{{k}} / p.row_chunks;
    let row = find_row(number);
#endif
    let column = (chunk{{k}} - number * p.row_chunks) * {{CHUNK}}u;
    let good = row.index >= 0i && bitcast<u32>(row.index) < p.table_rows;
    let inside = bitcast<u32>(row.index) - p.first_row;
    live{{k}} = good && inside < p.piece_rows;
    let in_table = row.batch + inside * p.row_step + column * p.table_step;
    let in_flat = row.flat + column * p.flat_step;
    to{{k}} = {{SET ? "in_table" : "in_flat"}};
    if (live{{k}}) {
      let start = {{SET ? "in_flat" : "in_table"}};
#if CHUNK == 8
      let both = {{FROM}}_at8(start);
      v{{k}}_0 = vec4<{{TO}}_t>(both[0]);
      v{{k}}_1 = vec4<{{TO}}_t>(both[1]);
#elif CHUNK == 4
      v{{k}}_0 = vec4<{{TO}}_t>({{FROM}}_at4(start));
#elif CHUNK == 2
      v{{k}}_0 = vec2<{{TO}}_t>(vec2<{{FROM}}_t>({{FROM}}_at(start), {{FROM}}_at(start + 1u)));
#else
      v{{k}}_0 = {{TO}}_t({{FROM}}_at(start));
#endif
    }
#if HAS_STATUS
    if (!good && column == 0u) {
      status_add(p.status_off, 1u);
      status_max(p.status_off + 1u, ~row.position);
    }
#endif
#if !SET
    live{{k}} = live{{k}} || (!good && p.first_row == 0u);
#endif
#if PLUS
    if (live{{k}}) {
      let beside = in_flat - p.flat_off + p.plus_off;
#if CHUNK == 8
      let added = plus_at8(beside);
      v{{k}}_0 += added[0];
      v{{k}}_1 += added[1];
#elif CHUNK == 4
      v{{k}}_0 += plus_at4(beside);
#elif CHUNK == 2
      v{{k}}_0 += vec2<f32>(plus_at(beside), plus_at(beside + 1u));
#else
      v{{k}}_0 += plus_at(beside);
#endif
    }
#endif
  }
#endfor
#for k in 0..ITEMS
  if (live{{k}}) {
#if CHUNK == 8
    {{TO}}_put8(to{{k}}, v{{k}}_0, v{{k}}_1);
#elif CHUNK == 4
    {{TO}}_put4(to{{k}}, v{{k}}_0);
#elif CHUNK == 2
    {{TO}}_put2(to{{k}}, v{{k}}_0);
#else
    {{TO}}_put(to{{k}}, v{{k}}_0);
#endif
  }
#endfor
}
