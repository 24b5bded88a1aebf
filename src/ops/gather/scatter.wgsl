// y[index] += source for single elements (or few columns): the first entry that names a row owns it.
// Tile: 256 invocations, one per line, entry and column. Each looks for its index among the entries before its own
// and stops if it is there; else it adds up all entries with that index, in order. No workgroup memory.
#include "gather/scatter_lines.wgsl"

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let n = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (n >= p.total) { return; }
#if ENTRIES_INNER
  let column = n % p.columns;
  let entry = (n / p.columns) % p.entries;
  let line = line_place(n / (p.columns * p.entries));
#else
  let column = n / (p.line_count * p.entries);
  let entry = (n / p.line_count) % p.entries;
  let line = line_place(n % p.line_count);
#endif
  let row = index_of(line, entry);
  if (!is_good(row) && column == 0u) { report_bad(line, entry); }
  if (!is_here(row)) { return; }
  for (var k = 0u; k < entry; k++) {
    if (index_of(line, k) == row) { return; }
  }
  let start = line.source + column * p.source_column;
  var sum = T();
  for (var k = entry; k < p.entries; k++) {
    if (index_of(line, k) == row) { sum += T(source_at(start + k * p.source_entry)); }
  }
  let to = line.y + (bitcast<u32>(row) - p.first_row) * p.y_row + column * p.y_column;
  y_put(to, y_t(T(y_at(to)) + sum));
}
