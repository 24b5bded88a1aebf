// table[index] += source for whole rows: the first entry that names a row owns it.
// Tile: a workgroup of 256 per line, entry and 256 chunks of CHUNK columns. The invocations look for the index among
// the entries before their own together; a workgroup that finds it has nothing to do. The owner goes through 256
// entries at a time, marks those with its index in a bit mask and adds them up in order, so that the result is always
// the same. Workgroup memory: 40 bytes. Assumes: with CHUNK 4 a row is whole in chunks.
#include "gather/scatter_lines.wgsl"
alias V = {{CHUNK == 4 ? "vec4<T>" : "T"}};
#let AT = CHUNK == 4 ? "at4" : "at"
#let PUT = CHUNK == 4 ? "put4" : "put"
#let YV = CHUNK == 4 ? "vec4<y_t>" : "y_t"

var<workgroup> seen: atomic<u32>;
var<workgroup> skip: u32;
var<workgroup> marks: array<atomic<u32>, {{WORKGROUP / 32}}>;

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let g = group_index(group, groups);
  if (g >= p.total) { return; }
  let block = g % p.blocks;
  let entry = (g / p.blocks) % p.entries;
  let line = line_place(g / (p.blocks * p.entries));
  let row = index_of(line, entry);
  if (lane == 0u && block == 0u && !is_good(row)) { report_bad(line, entry); }

  // Workgroup memory may hold anything at the start: fast mode does not clear it.
  if (lane == 0u) { atomicStore(&seen, 0u); }
  workgroupBarrier();
  if (is_here(row)) {
    for (var k = lane; k < entry; k += {{WORKGROUP}}u) {
      if (index_of(line, k) == row) {
        atomicStore(&seen, 1u);
        break;
      }
    }
  }
  workgroupBarrier();
  if (lane == 0u) { skip = select(1u, atomicLoad(&seen), is_here(row)); }
  if (workgroupUniformLoad(&skip) != 0u) { return; }

  let column = block * {{WORKGROUP}}u + lane;
  let live = column < p.columns;
  let start = line.source + column * p.source_column;
  var sum = V();
  for (var first = entry - entry % {{WORKGROUP}}u; first < p.entries; first += {{WORKGROUP}}u) {
    if (lane < {{WORKGROUP / 32}}u) { atomicStore(&marks[lane], 0u); }
    workgroupBarrier();
    let k = first + lane;
    if (k >= entry && k < p.entries) {
      if (index_of(line, k) == row) { atomicOr(&marks[lane / 32u], 1u << (lane % 32u)); }
    }
    workgroupBarrier();
    if (live) {
      for (var w = 0u; w < {{WORKGROUP / 32}}u; w++) {
        for (var bits = atomicLoad(&marks[w]); bits != 0u; bits &= bits - 1u) {
          let found = first + w * 32u + firstTrailingBit(bits);
          sum += V(source_{{AT}}(start + found * p.source_entry));
        }
      }
    }
    workgroupBarrier();
  }
  if (live) {
    let to = line.y + (bitcast<u32>(row) - p.first_row) * p.y_row + column * p.y_column;
    y_{{PUT}}(to, {{YV}}(V(y_{{AT}}(to)) + sum));
  }
}
