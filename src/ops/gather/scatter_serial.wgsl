// y[index] += source for single elements where lines are many: an invocation goes through the entries of its line and column in
// their order, so that no other one touches the same elements and sums are always made in the same order.
// Tile: WORKGROUP = 32 invocations, because each is on its way for long and all processors should have some; FLIGHT entries in flight each, and the
// indices and values of the next ones on their way meanwhile. Entries of the same row among these are added up first. No
// workgroup memory.
#include "gather/scatter_lines.wgsl"
#let FLIGHT = 16

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let n = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (n >= p.total) { return; }
  let column = n / p.line_count;
  let line = line_place(n % p.line_count);
  let begin = line.source + column * p.source_column;
  let to = line.y + column * p.y_column;
#for k in 0..FLIGHT
  let begin{{k}} = min({{k}}u, p.entries - 1u);
  var next_row{{k}} = index_of(line, begin{{k}});
  var next{{k}} = T(source_at(begin + begin{{k}} * p.source_entry));
#endfor
  for (var first = 0u; first < p.entries; first += {{FLIGHT}}u) {
#for k in 0..FLIGHT
    let row{{k}} = next_row{{k}};
    var sum{{k}} = next{{k}};
    let inside{{k}} = first + {{k}}u < p.entries;
    var mine{{k}} = inside{{k}} && is_here(row{{k}});
    if (inside{{k}} && !is_good(row{{k}}) && column == 0u) { report_bad(line, first + {{k}}u); }
#endfor
    if (first + {{FLIGHT}}u < p.entries) {
#for k in 0..FLIGHT
      let entry{{k}} = min(first + {{FLIGHT + k}}u, p.entries - 1u);
      next_row{{k}} = index_of(line, entry{{k}});
      next{{k}} = T(source_at(begin + entry{{k}} * p.source_entry));
#endfor
    }
#for k in 1..FLIGHT
#for j in 0..k
    if (mine{{k}} && mine{{j}} && row{{j}} == row{{k}}) {
      sum{{j}} += sum{{k}};
      mine{{k}} = false;
    }
#endfor
#endfor
#for k in 0..FLIGHT
    let at{{k}} = select(to, to + (bitcast<u32>(row{{k}}) - p.first_row) * p.y_row, mine{{k}});
    let old{{k}} = T(y_at(at{{k}}));
#endfor
#for k in 0..FLIGHT
    if (mine{{k}}) { y_put(at{{k}}, y_t(old{{k}} + sum{{k}})); }
#endfor
  }
}
