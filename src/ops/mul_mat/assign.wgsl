// Sorts the rows of x by the matrix that the ids name. One workgroup, in which an invocation has PER neighbours of BUCKETS;
// workgroup memory: a counter for each bucket, the last of which takes ids that are no matrix, and sums over invocations.
// `order` gets the numbers of the rows, those of one matrix together; `tiles` three numbers for each tile of at most
// {{WIDTH}} of them: the bucket, the first row in `order` and how many. Tiles that are not needed have none.
// Rows of one matrix come in any order, which no result depends on.
var<workgroup> counts: array<atomic<u32>, {{BUCKETS}}>;
var<workgroup> sums: array<vec2<u32>, {{WORKGROUP}}>;
#let PER = (BUCKETS + WORKGROUP - 1) / WORKGROUP

fn bucket_of(row: u32) -> u32 {
  let token = row / p.used;
  let id = ids_at(p.ids_off + token * p.ids_token + (row - token * p.used) * p.ids_slot);
  return select({{BUCKETS - 1}}u, bitcast<u32>(id), id >= 0i && bitcast<u32>(id) < {{BUCKETS - 1}}u);
}

@compute @workgroup_size({{WORKGROUP}})
fn main(@builtin(local_invocation_index) lane: u32) {
  for (var i = lane; i < {{BUCKETS}}u; i += {{WORKGROUP}}u) { atomicStore(&counts[i], 0u); }
  workgroupBarrier();
  for (var row = lane; row < p.rows; row += {{WORKGROUP}}u) { atomicAdd(&counts[bucket_of(row)], 1u); }
  workgroupBarrier();
  // Rows and tiles in front of the buckets of each invocation.
  let first = min(lane * {{PER}}u, {{BUCKETS}}u);
  let end = min(first + {{PER}}u, {{BUCKETS}}u);
  var own = vec2<u32>();
  for (var i = first; i < end; i++) {
    let count = atomicLoad(&counts[i]);
    own += vec2<u32>(count, (count + {{WIDTH - 1}}u) / {{WIDTH}}u);
  }
  sums[lane] = own;
  workgroupBarrier();
  for (var step = 1u; step < {{WORKGROUP}}u; step *= 2u) {
    let before = select(vec2<u32>(), sums[max(lane, step) - step], lane >= step);
    workgroupBarrier();
    sums[lane] += before;
    workgroupBarrier();
  }
  let tile_count = sums[{{WORKGROUP - 1}}].y;
  var at = sums[lane] - own;
  for (var i = first; i < end; i++) {
    let count = atomicLoad(&counts[i]);
    atomicStore(&counts[i], at.x);
    for (var done = 0u; done < count; done += {{WIDTH}}u) {
      let tile = p.tiles_off + at.y * 3u;
      tiles_put(tile, i);
      tiles_put(tile + 1u, at.x + done);
      tiles_put(tile + 2u, min({{WIDTH}}u, count - done));
      at.y++;
    }
    at.x += count;
  }
  workgroupBarrier();
  for (var i = tile_count + lane; i < p.tiles; i += {{WORKGROUP}}u) { tiles_put(p.tiles_off + i * 3u + 2u, 0u); }
  for (var row = lane; row < p.rows; row += {{WORKGROUP}}u) {
    order_put(p.order_off + atomicAdd(&counts[bucket_of(row)], 1u), row);
  }
}
