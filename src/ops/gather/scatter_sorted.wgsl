// A scatter_add of many entries, in passes; a key is a row of a line, a slot a place in the order of the keys.
//   "count": how many entries name each key.        (then starts = running sums of the counts)
//   "place": the entries of a key into its slots, in any order; counts go down to 0 again.
//   "rank":  the entries of a key in the order of their numbers, so that sums are always made in the same order.
//   "sum":   the first slot of a key owns its row and adds up its entries.
// Tile: 256 invocations, one per entry ("sum": per slot and column; with GROUPS a workgroup per slot and 256 chunks of
// CHUNK columns). No workgroup memory. Ranking compares the entries of one key with one another: that is quadratic
// where all entries name the same row, at a few nanoseconds per thousand comparisons.
#include "gather/scatter_lines.wgsl"

struct Entry { line: Line, entry: u32, key: u32, good: bool, here: bool }

// Entry `number` of all lines.
fn entry_of(number: u32) -> Entry {
  let n = number / p.entries;
  var e: Entry;
  e.entry = number - n * p.entries;
  e.line = line_place(n);
  let row = index_of(e.line, e.entry);
  e.good = is_good(row);
  e.here = is_here(row);
  e.key = n * p.piece_rows + (bitcast<u32>(row) - p.first_row);
  return e;
}

#if PASS == "sum"
alias V = {{CHUNK == 4 ? "vec4<T>" : "T"}};
#let AT = CHUNK == 4 ? "at4" : "at"
#let PUT = CHUNK == 4 ? "put4" : "put"
#let YV = CHUNK == 4 ? "vec4<y_t>" : "y_t"
// Entries of one key lie in one line.
fn source_of(line: Line, slot: u32, column: u32) -> V {
  let entry = sorted_at(p.sorted_off + slot) % p.entries;
  return V(source_{{AT}}(line.source + entry * p.source_entry + column * p.source_column));
}
#endif

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let slots = p.line_count * p.entries;
#if PASS == "sum"
#if GROUPS
  let g = group_index(group, groups);
  let slot = g / p.blocks;
  let column = (g % p.blocks) * {{WORKGROUP}}u + lane;
#else
  let n = group_index(group, groups) * {{WORKGROUP}}u + lane;
  let slot = n / p.columns;
  let column = n % p.columns;
#endif
  let keys = p.line_count * p.piece_rows;
  if (slot >= slots || column >= p.columns || slot >= starts_at(p.starts_off + keys)) { return; }
  let e = entry_of(sorted_at(p.sorted_off + slot));
  if (starts_at(p.starts_off + e.key) != slot) { return; }
  let end = starts_at(p.starts_off + e.key + 1u);
  var sum = V();
  var s = slot;
  for (; s + 4u <= end; s += 4u) {
#for k in 0..4
    let v{{k}} = source_of(e.line, s + {{k}}u, column);
#endfor
#for k in 0..4
    sum += v{{k}};
#endfor
  }
  for (; s < end; s++) { sum += source_of(e.line, s, column); }
  let to = e.line.y + (e.key % p.piece_rows) * p.y_row + column * p.y_column;
  y_{{PUT}}(to, {{YV}}(V(y_{{AT}}(to)) + sum));
#else
  let number = group_index(group, groups) * {{WORKGROUP}}u + lane;
  if (number >= slots) { return; }
#if PASS == "rank"
  let keys = p.line_count * p.piece_rows;
  if (number >= starts_at(p.starts_off + keys)) { return; }
  let mine = order_at(p.order_off + number);
  let key = entry_of(mine).key;
  let first = starts_at(p.starts_off + key);
  let end = starts_at(p.starts_off + key + 1u);
  var rank = 0u;
  for (var s = first; s < end; s++) { rank += select(0u, 1u, order_at(p.order_off + s) < mine); }
  sorted_put(p.sorted_off + first + rank, mine);
#else
  let e = entry_of(number);
#if PASS == "count"
  if (!e.good) { report_bad(e.line, e.entry); }
  if (e.here) { counts_add(p.counts_off + e.key, 1u); }
#else
  if (!e.here) { return; }
  let left = atomicSub(&{{counts_BUFFER}}[p.counts_off + e.key], 1u);
  order_put(p.order_off + starts_at(p.starts_off + e.key) + left - 1u, number);
#endif
#endif
#endif
}
